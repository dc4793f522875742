//! Changing a scene by paths: `--set generators.0.size=24`, and the viewer's sliders.
//!
//! The scene is written out in full, the text of one value is replaced, and the schema reads the
//! result. So every field can be reached, those that the file leaves to their defaults too, a new
//! value is written as in a scene file, and a value of the wrong type is refused like in one.

use super::error::SceneError;
use super::locate::{self, Found};
use super::{Scene, options};
use crate::check::did_you_mean;

impl Scene {
    /// Sets one value, as [`Scene::set_all`] does.
    ///
    /// # Errors
    /// As [`Scene::set_all`].
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SceneError> {
        self.set_all(&[(path, value)])
    }

    /// Sets values by their paths, one after the other, and checks the result.
    ///
    /// A path names fields, list indices (from 0) and map keys, joined by dots; the components of a
    /// vector are `x`, `y`, `z` or 0, 1, 2. A key that a map does not have yet is added. Values are
    /// written as in a scene file; strings also without their quotes.
    ///
    /// # Errors
    /// A path that leads nowhere (with what there is), a value that does not fit, or a scene that
    /// makes no sense with the new values. The scene is then as it was.
    pub fn set_all(&mut self, assignments: &[(&str, &str)]) -> Result<(), SceneError> {
        let mut changed = self.clone();
        for (path, value) in assignments {
            let error = |message: String| SceneError::Set {
                assignment: format!("{path}={value}"),
                message,
            };
            changed = changed.with(path, value).map_err(error)?;
        }
        if let Err(error) = changed.check_content() {
            let message = match error {
                SceneError::Invalid {
                    subject, message, ..
                } => format!("{subject}: {message}"),
                other => other.to_string(),
            };
            let list: Vec<_> = assignments
                .iter()
                .map(|(p, v)| format!("{p}={v}"))
                .collect();
            return Err(SceneError::Set {
                assignment: list.join(" --set "),
                message,
            });
        }
        *self = changed;
        Ok(())
    }

    /// The value at a path, as it would be written in a scene file.
    ///
    /// # Errors
    /// A path that leads nowhere, with what there is.
    pub fn get(&self, path: &str) -> Result<String, SceneError> {
        value_in(&write(self), path).map_err(|message| SceneError::Set {
            assignment: path.to_owned(),
            message,
        })
    }

    fn with(&self, path: &str, value: &str) -> Result<Scene, String> {
        let text = write(self);
        let segments: Vec<&str> = path.split('.').collect();
        let found = locate::locate(&text, &segments);
        let missing = segments.len() - found.matched;
        let is_new_key = missing == 1 && found.is_map && !segments[found.matched].is_empty();
        if missing > 0 && !is_new_key {
            return Err(no_such_path(&segments, &found));
        }
        let splice = |value: &str| {
            let mut changed = text.clone();
            if is_new_key {
                let entry = format!("{:?}:{value},", segments[found.matched]);
                changed.insert_str(found.span.start + 1, &entry);
            } else {
                changed.replace_range(found.span.clone(), value);
            }
            options().from_str::<Scene>(&changed)
        };
        let as_written = if locate::is_one_value(value) {
            splice(value).map_err(|e| lower_first(&e.code.to_string()))
        } else {
            Err("this is not one value as a scene file has them".to_owned())
        };
        let mut scene = as_written.or_else(|message| {
            // The shell has eaten the quotes of a string, or there never were any.
            splice(&format!("{value:?}")).map_err(|_| message)
        })?;
        scene.origin = self.origin.clone();
        Ok(scene)
    }
}

/// A scene as text, all fields written out.
pub(super) fn write(scene: &Scene) -> String {
    // Writing plain data to memory cannot fail; an empty text would lead every path nowhere.
    options().to_string(scene).unwrap_or_default()
}

/// The text of the value at a path.
pub(super) fn value_in(text: &str, path: &str) -> Result<String, String> {
    let segments: Vec<&str> = path.split('.').collect();
    let found = locate::locate(text, &segments);
    if found.matched < segments.len() {
        return Err(no_such_path(&segments, &found));
    }
    Ok(text[found.span].to_owned())
}

fn no_such_path(segments: &[&str], found: &Found) -> String {
    let wrong = segments[found.matched];
    let place = match segments[..found.matched].join(".") {
        top if top.is_empty() => "a scene".to_owned(),
        place => place,
    };
    if found.keys.is_empty() {
        format!("{place} has nothing called \"{wrong}\" inside")
    } else {
        let question = did_you_mean(wrong, found.keys.iter().map(String::as_str));
        format!(
            "{place} has no \"{wrong}\"; it has: {}{question}",
            found.keys.join(", ")
        )
    }
}

/// The same with a small letter in front.
pub(super) fn lower_first(message: &str) -> String {
    let mut rest = message.chars();
    let first = rest.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(rest).collect()
}
