//! The scenes that come with Moreau, found from any working directory.
//!
//! A scene named `wall` is looked for as `scenes/wall.ron` in the working directory, then beside the
//! program, then among the copies inside the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::mesh::{Files, embedded};
use super::{Scene, SceneError};
use crate::check::{did_you_mean, nearest};

/// Copies of `scenes/`, in the order of the list.
static SCENES: &[(&str, &str)] = embedded!(
    "scenes",
    ".ron",
    "ball_grid_loose",
    "ball_grid_8",
    "ball_grid_24",
    "ball_grid_40",
    "ball_grid_cannonball",
    "box_stack",
    "heavy_stack",
    "wall",
    "pyramid",
    "house_of_cards",
    "arch",
    "logs",
    "domino_spiral",
    "newtons_cradle",
    "mixed_shapes",
    "incline",
    "rolling_ball",
    "disc_pyramid",
    "disc_pyramid_loaded",
    "sphere_box_300",
    "sphere_box_3000",
    "ball_pile_40",
    "ball_pile_80",
    "pendulum",
    "double_pendulum",
    "slider_crank",
    "four_bar",
    "chain",
    "bridge",
    "rope_net",
    "rope_net_flat",
    "simple_crane",
    "vehicle_parkour",
    "tethered_vehicle",
    "two_cranes_one_load",
    "train",
    "forklift",
    "forwarder",
    "log_tower",
    "simple_winch",
    "crane",
    "winch",
    "offshore",
);

/// The scene that opens when none is asked for.
pub const DEFAULT_SCENE: &str = "crane";

/// A scene of the library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its short name: `ball_grid_8`.
    pub id: String,
    /// Its file; `None` for a copy inside the program.
    pub path: Option<PathBuf>,
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// One sentence about it, or what is wrong with the file.
    pub summary: String,
}

/// All scenes: shipped ones first, group by group, then others found in the folders.
pub fn list() -> Vec<Entry> {
    let mut others = files_in(&folders());
    let mut entries = Vec::new();
    for (id, _) in SCENES {
        entries.push(entry(id, others.remove(*id)));
    }
    for (id, path) in others {
        entries.push(entry(&id, Some(path)));
    }
    // Groups in the order of their first scene; a stable sort keeps the order within.
    let order: Vec<String> = entries.iter().map(|e| e.group.clone()).collect();
    entries.sort_by_key(|e| order.iter().position(|g| *g == e.group));
    entries
}

/// The scene files in some folders by their short names; those of the first folder count.
fn files_in(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    for folder in folders.iter().rev() {
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = file.path();
            let stem = path.file_stem().and_then(|s| s.to_str()).map(str::to_owned);
            if let (Some(stem), true) = (stem, path.extension().is_some_and(|e| e == "ron")) {
                files.insert(stem, path);
            }
        }
    }
    files
}

fn entry(id: &str, path: Option<PathBuf>) -> Entry {
    let scene = match &path {
        Some(path) => Scene::load(path),
        None => shipped(id),
    };
    let (name, group, summary) = match &scene {
        Ok(scene) => (&*scene.name, &*scene.group, scene.summary().to_owned()),
        Err(error) => ("", "", error.to_string()),
    };
    let or = |text: &str, other: &str| String::from(if text.is_empty() { other } else { text });
    Entry {
        id: id.to_owned(),
        path,
        name: or(name, id),
        group: or(group, "Other"),
        summary,
    }
}

/// Opens a scene by path or by the name of a shipped one.
///
/// # Errors
/// No such file or name, with the one that was meant if one is like it, or anything wrong with the scene.
pub fn open(name_or_path: &str) -> Result<Scene, SceneError> {
    let path = Path::new(name_or_path);
    let is_name = !name_or_path.is_empty()
        && path.extension().is_none()
        && path.components().count() == 1
        && !path.is_file();
    if !is_name {
        return Scene::load(path).map_err(|error| with_neighbour(error, path));
    }
    let folders = folders();
    for folder in &folders {
        let file = folder.join(format!("{name_or_path}.ron"));
        if file.is_file() {
            return Scene::load(&file);
        }
    }
    shipped_or(name_or_path, &folders)
}

/// Names the file of nearly the same name in the same folder, where there is none of this one.
fn with_neighbour(error: SceneError, path: &Path) -> SceneError {
    match error {
        SceneError::Read { file, message } if !path.exists() => {
            let folder = path.parent().unwrap_or(Path::new(""));
            let listed = match folder.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => folder.to_owned(),
            };
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let files = files_in(&[listed]);
            let near = nearest(&stem, files.keys().map(String::as_str));
            let near = near.map(|name| folder.join(format!("{name}.ron")).display().to_string());
            let question = near.map(|near| format!("; did you mean \"{near}\"?"));
            let message = message + &question.unwrap_or_default();
            SceneError::Read { file, message }
        }
        error => error,
    }
}

/// Names of the scenes inside the program.
pub fn shipped_names() -> impl Iterator<Item = &'static str> {
    SCENES.iter().map(|(id, _)| *id)
}

/// Text of a scene inside the program.
pub fn shipped_text(id: &str) -> Option<&'static str> {
    SCENES
        .iter()
        .find(|(name, _)| *name == id)
        .map(|(_, text)| *text)
}

/// A scene inside the program, whatever the folders hold.
///
/// # Errors
/// No such scene.
pub fn shipped(id: &str) -> Result<Scene, SceneError> {
    shipped_or(id, &[])
}

/// A scene inside the program; where there is none, one in the folders may have been meant as well.
fn shipped_or(id: &str, folders: &[PathBuf]) -> Result<Scene, SceneError> {
    if let Some(text) = shipped_text(id) {
        return Scene::read(text, format!("{id}.ron"), Files::Shipped);
    }
    let mut message = "there is no such file, and no shipped scene of this name".to_owned();
    let files = files_in(folders);
    let names = files.keys().map(String::as_str);
    match did_you_mean(id, names.chain(SCENES.iter().map(|(name, _)| *name))) {
        none if none.is_empty() => {
            let names: Vec<_> = shipped_names().collect();
            message += &format!("; there are: {}", names.join(", "));
        }
        question => message += &question,
    }
    let file = id.to_owned();
    Err(SceneError::Read { file, message })
}

/// Folders that may hold scenes, the first one first.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("scenes")];
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join("scenes")));
    folders.extend(beside);
    folders
}
