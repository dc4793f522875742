//! The list of scenes, the open one, its sliders, and reloading when its file changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bevy::prelude::*;
use bevy::time::common_conditions::on_real_timer;
use bevy::window::FileDragAndDrop;

use super::camera::Eye;
use super::frame::Notice;
use super::keep::{Keep, is_kept};
use super::keys::Action;
use super::physics::{Command, Physics};
use super::setup::Setup;
use crate::scene::{Scene, View, library};

/// Editors write a file in several goes; it is read when it has been left alone for this long.
const SETTLE: Duration = Duration::from_millis(150);

#[derive(Resource, Default)]
pub struct Scenes {
    pub entries: Vec<library::Entry>,
    pub search: String,
    /// The open one, with the sliders' values.
    pub scene: Option<Scene>,
    pub values: BTreeMap<String, f64>,
    pub notice: Option<Notice>,
    /// Its name in the list, or its path.
    current: String,
    /// Its file's stamp: as it was read, and as it was seen last.
    stamps: [Option<Stamp>; 2],
    wanted: Option<Wanted>,
    /// Scenes that the physics thread has been given to build.
    pub sent: u64,
}

/// A scene was opened, which asks to be looked at so.
#[derive(Message)]
pub struct Opened(pub View);

/// When a file was written last, and its length (bytes).
type Stamp = (SystemTime, u64);

enum Wanted {
    Open(String),
    Reload,
    Slider(String, String),
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

    /// The open scene's name in the list, or its path.
    pub fn open_id(&self) -> Option<String> {
        (!self.current.is_empty()).then(|| self.current.clone())
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
            is_error: true,
            text: error.to_string(),
        });
    }

    /// The stamp of a scene's file; none where it is missing, and for a scene that is built in.
    fn stamp(&self, name_or_path: &str) -> Option<Stamp> {
        let listed = self.entries.iter().find(|e| e.id == name_or_path);
        let file = match listed {
            Some(entry) => entry.path.as_deref()?,
            None => Path::new(name_or_path),
        };
        let metadata = file.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}

/// Whether a file is to be read again: it has changed since it was read, and been left alone since it was seen.
fn is_stale([read, seen]: [Option<Stamp>; 2], now: Option<Stamp>) -> bool {
    now.is_some() && now != read && now == seen
}

pub fn plugin(app: &mut App) {
    let watch = watch.run_if(on_real_timer(SETTLE));
    app.add_message::<Opened>()
        .add_systems(First, (ask, watch, open).chain());
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
                scenes.wanted.get_or_insert(Wanted::Reload);
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
}

/// Reads a file again once it has changed and been left alone from one look to the next.
fn watch(mut scenes: ResMut<Scenes>) {
    let now = scenes.stamp(&scenes.current);
    if is_stale(scenes.stamps, now) {
        scenes.wanted.get_or_insert(Wanted::Reload);
    }
    scenes.stamps[1] = now;
}

fn open(
    mut scenes: ResMut<Scenes>,
    mut setup: ResMut<Setup>,
    physics: Res<Physics>,
    mut eye: ResMut<Eye>,
    mut opened: MessageWriter<Opened>,
) {
    let Some(wanted) = scenes.wanted.take() else {
        return;
    };
    let scenes = &mut *scenes;
    scenes.notice = None;
    let before = match &wanted {
        Wanted::Open(_) => None,
        Wanted::Reload | Wanted::Slider(..) => scenes.scene.clone(),
    };
    let mut play = None;
    match wanted {
        Wanted::Open(name) if is_kept(Path::new(&name)) => {
            let (path, threads) = (name.into(), setup.threads);
            return physics.send(Command::Keep(Keep::Open { path, threads }));
        }
        Wanted::Open(name) => {
            let stamp = scenes.stamp(&name);
            match library::open(&name) {
                Err(error) => return scenes.fail(error),
                Ok(scene) => {
                    eye.open(scene.camera);
                    opened.write(Opened(scene.view));
                    play = Some(scene.view.playing);
                    scenes.scene = Some(scene);
                    scenes.current = name;
                    scenes.stamps[0] = stamp;
                }
            }
        }
        Wanted::Reload => {
            scenes.stamps[0] = scenes.stamp(&scenes.current);
            match library::open(&scenes.current) {
                Err(error) => return scenes.fail(error),
                Ok(scene) => scenes.scene = Some(scene),
            }
        }
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
    setup.take(&scene, before.as_ref());
    let (solver, settings, threads) = (setup.solver.clone(), setup.settings, setup.threads);
    let build = move || {
        let mut simulation = scene.simulation(threads).map_err(|e| e.to_string())?;
        simulation.set_solver(solver).map_err(|e| e.to_string())?;
        settings.check().map_err(|e| e.to_string())?;
        simulation.world_mut().settings = settings;
        Ok(simulation)
    };
    scenes.sent += 1;
    physics.send(Command::Load {
        build: Box::new(build),
        play,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_has_changed_and_been_left_alone() {
        let at = |seconds, length| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            Some((time, length))
        };
        let (read, newer, longer) = (at(1, 10), at(2, 10), at(1, 11));
        assert!(!is_stale([read, read], read), "nothing has changed");
        assert!(is_stale([read, newer], newer));
        assert!(is_stale([read, longer], longer), "written within a tick");
        assert!(!is_stale([read, read], newer), "it may still be written");
        assert!(!is_stale([read, None], None), "it has vanished");
        assert!(!is_stale([read, None], newer), "it is back just now");
        assert!(is_stale([None, newer], newer), "it was missing when read");
    }
}
