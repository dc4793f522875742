//! The list of scenes, the open one, its sliders, and reloading when its file changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::window::FileDragAndDrop;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::camera::{Eye, StartView};
use super::draw::bodies::Dressing;
use super::draw::contacts::Overlays;
use super::frame::{Notice, Severity};
use super::keys::Action;
use super::physics::{Command, Physics};
use super::setup::Setup;
use crate::scene::{Camera, Scene, library};
use crate::solve::SolverConfig;
use crate::world::Settings;

/// Editors write a file in several goes; it is read when it has been quiet for this long.
const SETTLE: Duration = Duration::from_millis(150);

/// The scenes.
#[derive(Resource, Default)]
pub struct Scenes {
    /// All of them.
    pub entries: Vec<library::Entry>,
    /// What is typed into the search field.
    pub search: String,
    /// The open one, with the sliders' values.
    pub scene: Option<Scene>,
    /// Values of its sliders, by path.
    pub values: BTreeMap<String, f64>,
    /// What went wrong with opening.
    pub notice: Option<Notice>,
    /// Its name in the list, or its path.
    current: String,
    watch: Option<Watch>,
    wanted: Option<Wanted>,
}

enum Wanted {
    Open(String),
    Reload,
    Slider(String, String),
}

struct Watch {
    file: PathBuf,
    touched: Arc<AtomicBool>,
    changed: Option<Instant>,
    _watcher: RecommendedWatcher,
}

/// Sent when a scene has been opened or reloaded.
#[derive(Message, Clone, Debug)]
pub struct Opened {
    /// Its solver.
    pub solver: SolverConfig,
    /// Its time step.
    pub settings: Settings,
}

impl Scenes {
    /// The list, with a scene to open first.
    pub fn new(first: &str) -> Self {
        Self {
            entries: library::list(),
            wanted: Some(Wanted::Open(first.to_owned())),
            ..Self::default()
        }
    }

    /// Opens a scene of the list, or a file.
    pub fn open(&mut self, name_or_path: &str) {
        self.wanted = Some(Wanted::Open(name_or_path.to_owned()));
    }

    /// Builds the scene again with another value of a slider.
    pub fn set(&mut self, path: &str, value: String) {
        self.wanted = Some(Wanted::Slider(path.to_owned(), value));
    }

    /// Whether an entry of the list is the open scene.
    pub fn is_current(&self, entry: &library::Entry) -> bool {
        entry.id == self.current
    }

    fn neighbour(&self, by: isize) -> Option<String> {
        let count = self.entries.len() as isize;
        let here = self.entries.iter().position(|e| self.is_current(e));
        let next = here.map_or(0, |k| (k as isize + by).rem_euclid(count.max(1)));
        self.entries.get(next as usize).map(|e| e.id.clone())
    }

    fn read_values(&mut self) {
        self.values.clear();
        if let Some(scene) = &self.scene {
            for parameter in &scene.parameters {
                let value = scene.get(&parameter.path).ok().and_then(|v| v.parse().ok());
                self.values
                    .extend(value.map(|v| (parameter.path.clone(), v)));
            }
        }
    }

    fn fail(&mut self, error: impl ToString) {
        self.notice = Some(Notice {
            severity: Severity::Error,
            text: error.to_string(),
        });
    }

    /// Watches the folder of the scene's file: editors replace files, and a watch on the file itself
    /// would stay with the old one.
    fn watch(&mut self) {
        self.watch = None;
        let listed = self.entries.iter().find(|e| e.id == self.current);
        let file = match listed {
            Some(entry) => entry.path.clone(),
            None => Some(PathBuf::from(&self.current)),
        };
        let Some(file) = file.and_then(|f| f.canonicalize().ok()) else {
            return;
        };
        let touched = Arc::new(AtomicBool::new(false));
        let heard = touched.clone();
        let name = file.file_name().map(ToOwned::to_owned);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event
                && !event.kind.is_access()
                && event.paths.iter().any(|p| p.file_name() == name.as_deref())
            {
                heard.store(true, Ordering::Relaxed);
            }
        });
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        // Without a watcher the scene runs all the same; F5 reloads it.
        if let Ok(mut watcher) = watcher
            && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok()
        {
            self.watch = Some(Watch {
                file,
                touched,
                changed: None,
                _watcher: watcher,
            });
        }
    }

    fn file_changed(&mut self) -> bool {
        let Some(watch) = &mut self.watch else {
            return false;
        };
        if watch.touched.swap(false, Ordering::Relaxed) {
            watch.changed = Some(Instant::now());
        }
        let settled = watch.changed.is_some_and(|t| t.elapsed() >= SETTLE) && watch.file.is_file();
        if settled {
            watch.changed = None;
        }
        settled
    }
}

/// Opens, reloads and watches scenes.
pub struct ScenesPlugin;

impl Plugin for ScenesPlugin {
    fn build(&self, app: &mut App) {
        app.add_message::<Opened>()
            .add_systems(First, (ask, open).chain());
    }
}

fn ask(
    mut scenes: ResMut<Scenes>,
    mut actions: MessageReader<Action>,
    mut dropped: MessageReader<FileDragAndDrop>,
) {
    for action in actions.read() {
        let next = match action {
            Action::NextScene => scenes.neighbour(1),
            Action::PreviousScene => scenes.neighbour(-1),
            Action::Reload => {
                scenes.wanted = Some(Wanted::Reload);
                continue;
            }
            _ => continue,
        };
        if let Some(next) = next {
            scenes.open(&next);
        }
    }
    for event in dropped.read() {
        if let FileDragAndDrop::DroppedFile { path_buf, .. } = event {
            scenes.open(&path_buf.to_string_lossy());
        }
    }
    if scenes.file_changed() {
        scenes.wanted = Some(Wanted::Reload);
    }
}

fn open(
    mut scenes: ResMut<Scenes>,
    setup: Res<Setup>,
    physics: Res<Physics>,
    mut eye: ResMut<Eye>,
    mut overlays: ResMut<Overlays>,
    mut dressing: ResMut<Dressing>,
    mut opened: MessageWriter<Opened>,
) {
    let Some(wanted) = scenes.wanted.take() else {
        return;
    };
    let scenes = &mut *scenes;
    scenes.notice = None;
    let mut play = true;
    match wanted {
        Wanted::Open(name) => match library::open(&name) {
            Err(error) => return scenes.fail(error),
            Ok(scene) => {
                eye.open(start_view(&scene.camera));
                overlays.points = scene.view.contacts;
                overlays.normals = scene.view.normals;
                overlays.normal_forces = scene.view.forces;
                overlays.friction_forces = scene.view.forces;
                overlays.joints = scene.view.joints;
                dressing.options.islands = scene.view.islands;
                dressing.options.grid = scene.view.grid;
                play = scene.view.playing;
                scenes.scene = Some(scene);
                scenes.current = name;
                scenes.watch();
            }
        },
        Wanted::Reload => match library::open(&scenes.current) {
            Err(error) => return scenes.fail(error),
            Ok(scene) => scenes.scene = Some(scene),
        },
        Wanted::Slider(path, value) => {
            if let Some(scene) = &mut scenes.scene
                && let Err(error) = scene.set(&path, &value)
            {
                scenes.fail(error);
                scenes.read_values();
                return;
            }
        }
    }
    scenes.read_values();
    let Some(scene) = scenes.scene.clone() else {
        return;
    };
    opened.write(Opened {
        solver: scene.solver.clone(),
        settings: scene.settings,
    });
    let threads = setup.threads;
    physics.send(Command::Load {
        build: Box::new(move || scene.simulation(threads).map_err(|e| e.to_string())),
        play,
    });
}

/// A scene's camera in single precision.
pub fn start_view(camera: &Camera) -> StartView {
    let vector = |v: [f64; 3]| Vec3::from(v.map(|c| c as f32));
    StartView {
        from: vector(camera.position),
        at: vector(camera.target),
        fov: Some((camera.field_of_view as f32).to_radians()),
    }
}
