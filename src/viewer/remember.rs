//! What the viewer remembers from one time to the next: layout, sizes, the last scene.

use std::path::{Path, PathBuf};

use bevy::prelude::*;
use bevy::time::common_conditions::on_real_timer;
use bevy::window::PrimaryWindow;
use directories::ProjectDirs;
use serde::{Deserialize, Serialize};

use super::panels::theme::Scheme;
use super::panels::{Open, SCALES};
use super::scenes::Scenes;
use super::toasts::Toasts;
use crate::file::{self, Content};

/// Another version is not read.
const VERSION: u32 = 1;
/// What has changed is written after at most this long.
const EVERY: std::time::Duration = std::time::Duration::from_secs(2);
/// The smallest and the largest window (pixels).
const SIZES: [u32; 2] = [320, 16_384];

/// What is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    version: u32,
    /// The scene that was open last.
    pub scene: Option<String>,
    /// Size of the window (pixels).
    pub window: Option<(u32, u32)>,
    /// How large texts are (-); as the display asks for if it is not said.
    pub ui_scale: Option<f32>,
    /// Dark or light; files from before there was a choice do not say it.
    #[serde(default)]
    pub scheme: Scheme,
    pub panels: bool,
    pub plots: bool,
    /// Titles of the plots that are as they are not at the start.
    pub toggled: Vec<String>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            version: VERSION,
            scene: None,
            window: None,
            ui_scale: None,
            scheme: Scheme::default(),
            panels: true,
            plots: true,
            toggled: Vec::new(),
        }
    }
}

impl Memory {
    /// Opens what was open the last time; no panels where they are not wanted.
    pub fn apply(&self, open: &mut Open) {
        open.panels &= self.panels;
        open.plots = self.plots;
        open.scale = self.ui_scale;
        open.scheme = self.scheme;
        open.set_toggled(&self.toggled);
    }

    /// Reads settings.
    ///
    /// # Errors
    /// What is wrong with them.
    fn read(text: &str) -> Result<Self, String> {
        let memory: Self = ron::from_str(text).map_err(|e| e.to_string())?;
        if memory.version != VERSION {
            let version = memory.version;
            return Err(format!("they have version {version}, not {VERSION}"));
        }
        let [least, most] = SCALES;
        if let Some(scale) = memory.ui_scale
            && !(least..=most).contains(&scale)
        {
            let message = format!("ui_scale is {scale}; expected {least} to {most}");
            return Err(message);
        }
        let [least, most] = SIZES;
        let is_size = |size: u32| (least..=most).contains(&size);
        match memory.window {
            Some((width, height)) if !(is_size(width) && is_size(height)) => Err(format!(
                "window is ({width}, {height}); expected {least} to {most} pixels"
            )),
            _ => Ok(memory),
        }
    }
}

/// The file that settings are kept in.
#[derive(Resource, Clone, Debug, Default)]
pub struct Store {
    path: Option<PathBuf>,
    /// What is in it.
    written: Memory,
    /// What is to be said about it once there is a window.
    said: Option<String>,
}

impl Store {
    /// Opens the store of this system's user, and reads what is remembered. A file that cannot be read is renamed.
    pub fn open() -> Self {
        match ProjectDirs::from("", "", "moreau") {
            Some(places) => Self::at(places.config_dir().join("viewer.ron")),
            None => Self::default(),
        }
    }

    fn at(path: PathBuf) -> Self {
        let mut store = Self::default();
        match read(&path) {
            Ok(memory) => store.written = memory,
            Err(error) => {
                let mut aside = path.clone().into_os_string();
                aside.push(".damaged");
                let moved = std::fs::rename(&path, &aside);
                let (path, aside) = (path.display(), Path::new(&aside).display());
                store.said = Some(match moved {
                    Ok(()) => format!(
                        "the settings {path} cannot be used: {error}. They are in {aside} now"
                    ),
                    Err(why) => {
                        // They would be lost by writing others in their place.
                        let said = format!(
                            "the settings {path} cannot be used: {error}; nor moved out of the way ({why}), so \
                             that none are kept"
                        );
                        return Self {
                            said: Some(said),
                            ..Self::default()
                        };
                    }
                });
            }
        }
        store.path = Some(path);
        store
    }

    pub fn memory(&self) -> &Memory {
        &self.written
    }

    fn write(&mut self, memory: Memory) -> Result<(), String> {
        let Some(path) = self.path.as_ref().filter(|_| self.written != memory) else {
            return Ok(());
        };
        let text = ron::ser::to_string_pretty(&memory, ron::ser::PrettyConfig::default());
        let text = text.map_err(|e| e.to_string())?;
        // What could not be written is not tried again until it changes.
        self.written = memory;
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let saved = folder.and_then(|()| file::save(path, text.as_bytes()));
        saved.map_err(|e| format!("the settings {} cannot be written: {e}", path.display()))
    }
}

/// The default where there is no file.
fn read(path: &Path) -> Result<Memory, String> {
    match Content::Settings.read_text(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Memory::default()),
        Err(error) => Err(error.to_string()),
        Ok(text) => Memory::read(&text),
    }
}

/// Remembers from now on; without a [`Store`] nothing is.
pub fn plugin(app: &mut App) {
    app.add_systems(
        Last,
        (
            speak.run_if(resource_exists::<Store>),
            write.run_if(
                resource_exists::<Store>
                    .and_then(on_real_timer(EVERY).or_else(on_message::<AppExit>)),
            ),
        ),
    );
}

fn speak(mut store: ResMut<Store>, mut toasts: ResMut<Toasts>) {
    if store.said.is_some()
        && let Some(text) = store.said.take()
    {
        toasts.fail(text);
    }
}

fn write(
    mut store: ResMut<Store>,
    mut toasts: ResMut<Toasts>,
    open: Res<Open>,
    scenes: Res<Scenes>,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
) {
    let size = window.map(|w| (w.physical_width(), w.physical_height()));
    let [least, most] = SIZES;
    let within = |size: u32| size.clamp(least, most);
    let memory = Memory {
        version: VERSION,
        scene: scenes.open_id(),
        window: size
            .map(|(w, h)| (within(w), within(h)))
            .or(store.written.window),
        ui_scale: open.scale,
        scheme: open.scheme,
        panels: open.panels,
        plots: open.plots,
        toggled: open.toggled(),
    };
    if let Err(error) = store.write(memory) {
        toasts.fail(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("moreau-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder.join("viewer.ron")
    }

    #[test]
    fn what_is_written_is_remembered() {
        let path = scratch("kept");
        let mut store = Store::at(path.clone());
        assert_eq!(store.memory(), &Memory::default());
        assert!(store.said.is_none(), "no file is nothing to speak of");
        let memory = Memory {
            scene: Some("crane".into()),
            window: Some((1280, 720)),
            ui_scale: Some(1.5),
            scheme: Scheme::Light,
            plots: false,
            toggled: vec!["energies [J]".into()],
            ..Memory::default()
        };
        store.write(memory.clone()).expect("it can be written");
        assert_eq!(Store::at(path).memory(), &memory);
    }

    #[test]
    fn settings_from_before_there_was_a_light_theme_are_read() {
        let text = "(version: 1, scene: Some(\"crane\"), window: None, ui_scale: None, panels: true, plots: false, \
                    toggled: [])";
        let memory = Memory::read(text).expect("settings of the first version");
        assert_eq!((memory.scheme, memory.plots), (Scheme::System, false));
    }

    #[test]
    fn what_cannot_be_read_is_set_aside_and_said() {
        let deep = format!("(version: 1, scene: {}", "Some(".repeat(100_000));
        for (k, text) in [
            "not settings",
            "(version: 2, scene: None, window: None, ui_scale: None, panels: true, plots: true, toggled: [])",
            "(version: 1, scene: None, window: None, ui_scale: Some(NaN), panels: true, plots: true, toggled: [])",
            "(version: 1, scene: None, window: Some((0, 9)), ui_scale: None, panels: true, plots: true, toggled: [])",
            "(version: 1, scene: None, window: None, ui_scale: None, panels: true, plots: true, toggled: [], x: 1)",
            deep.as_str(),
        ]
        .into_iter()
        .enumerate()
        {
            let path = scratch(&format!("damaged-{k}"));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, text).expect("a file");
            let store = Store::at(path.clone());
            assert_eq!(store.memory(), &Memory::default());
            let said = store.said.expect("something is said");
            assert!(said.contains("viewer.ron.damaged"), "{said}");
            assert!(!path.exists());
            let aside = path.with_extension("ron.damaged");
            assert_eq!(std::fs::read_to_string(aside).expect("it is kept"), text);
        }
    }
}
