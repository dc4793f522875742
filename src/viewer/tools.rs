//! What keys and panels ask for: recordings, states and scenes as files, bodies that come and go.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use super::camera::{Bounds, Eye, Pointer};
use super::hands::{Hands, double, pick};
use super::keep::{Keep, RECORDING, STATE, free_name};
use super::keys::Action;
use super::physics::{Command, Physics};
use super::playback::{Begun, Playback};
use super::scenes::Scenes;
use super::setup::Setup;
use super::toasts::Toasts;
use crate::math;
use crate::session::Input;
use crate::world::{BodyId, BodyKind, Edit, Geometry};

/// Shapes that can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewShape {
    #[default]
    Ball,
    Box,
    Capsule,
}

impl NewShape {
    pub const ALL: [Self; 3] = [Self::Ball, Self::Box, Self::Capsule];

    /// The shape of a size: its radius, half of its edge, half of the height of its cylinder (m).
    fn geometry(self, size: f64) -> Geometry {
        match self {
            Self::Ball => Geometry::Ball { radius: size },
            Self::Box => Geometry::Cuboid {
                half_extents: math::Vec3::repeat(size),
            },
            Self::Capsule => Geometry::Capsule {
                half_height: size,
                radius: 0.5 * size,
            },
        }
    }
}

#[derive(Resource, Default)]
pub struct Tools {
    /// The name that somebody has typed for a file; empty for one that is free.
    pub name: String,
    pub shape: NewShape,
    /// Size of new bodies (m); 0 for that of the others.
    pub size: f64,
    /// What the selected body is to be.
    pub draft: Option<Draft>,
    /// The own groups that somebody has made.
    pub groupings: Vec<Grouping>,
}

/// A group that was made by hand.
pub struct Grouping {
    /// Its number.
    part: u32,
    /// Its bodies, with the groups that they were in before.
    before: Vec<(BodyId, u32)>,
}

/// What the selected body is to be, while somebody is changing it.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub body: crate::world::BodyId,
    pub mass: f64,
    pub friction: f64,
    pub shape: Option<Geometry>,
}

impl Draft {
    /// The edits that lead from another one to it.
    pub fn edits_from(&self, before: &Self) -> Vec<Edit> {
        let body = self.body;
        let mut edits = Vec::new();
        if let Some(shape) = self
            .shape
            .clone()
            .filter(|s| Some(s) != before.shape.as_ref())
        {
            edits.push(Edit::Shape { body, shape });
        }
        if self.mass != before.mass {
            let mass = self.mass;
            edits.push(Edit::Mass { body, mass });
        }
        if self.friction != before.friction {
            let friction = self.friction;
            edits.push(Edit::Friction { body, friction });
        }
        edits
    }
}

impl Tools {
    /// Where a file goes: as somebody has typed it, or to a free name.
    pub fn path(&self, extension: &str) -> Option<PathBuf> {
        let name = self.name.trim();
        if name.is_empty() {
            return free_name(extension);
        }
        let typed = Path::new(name);
        // Only the extension that it would get is one: "pile 1.5" has none.
        let known = ["ron", RECORDING, STATE];
        let stem = match typed.extension().and_then(|e| e.to_str()) {
            Some(e) if known.contains(&e) => typed.with_extension(""),
            _ => typed.to_owned(),
        };
        let mut path = stem.into_os_string();
        path.push(".");
        path.push(extension);
        Some(path.into())
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Tools>()
        .add_systems(Update, (press_keys, change_bodies))
        .add_systems(Last, begin);
}

/// Forgets what was done by hand to another scene. A recording or a state that is opened before any scene says nothing
/// about where to look from.
fn begin(
    mut begun: MessageReader<Begun>,
    scenes: Res<Scenes>,
    mut tools: ResMut<Tools>,
    mut actions: MessageWriter<Action>,
) {
    let is_loaded = begun.read().any(|b| b.loaded);
    if is_loaded {
        tools.groupings.clear();
    }
    if is_loaded && scenes.scene.is_none() {
        actions.write(Action::FrameAll);
    }
}

fn press_keys(
    mut actions: MessageReader<Action>,
    tools: Res<Tools>,
    mut toasts: ResMut<Toasts>,
    physics: Res<Physics>,
    playback: Res<Playback>,
    (scenes, setup): (Res<Scenes>, Res<Setup>),
    mut hands: ResMut<Hands>,
) {
    let recording = playback.frame.as_ref().and_then(|f| f.recording);
    let keep = |keep| physics.send(Command::Keep(keep));
    for action in actions.read() {
        let extension = match action {
            Action::Record => RECORDING,
            Action::SaveState | Action::LoadState => STATE,
            Action::SaveScene => "ron",
            _ => continue,
        };
        if *action == Action::Record && recording.is_some() {
            keep(Keep::StopRecording);
            continue;
        }
        if *action == Action::LoadState {
            let threads = setup.threads;
            keep(Keep::OpenSaved { threads });
            continue;
        }
        let Some(path) = tools.path(extension) else {
            toasts.fail("there is no free name left; type one");
            continue;
        };
        match (action, &scenes.scene) {
            (Action::Record, scene) => {
                // What a hand holds is let go, so that it is held again as a part of the recording.
                hands.grip = None;
                physics.act(Input::Drag(None));
                let origin = scene
                    .as_ref()
                    .map_or(String::new(), |s| s.origin().to_owned());
                keep(Keep::Record { origin, path });
            }
            (Action::SaveState, _) => keep(Keep::SaveState(path)),
            (_, Some(scene)) => {
                let scene = Box::new(scene.clone());
                keep(Keep::SaveScene { scene, path });
            }
            (_, None) => toasts.fail("there is no scene yet"),
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
fn change_bodies(
    mut actions: MessageReader<Action>,
    mut tools: ResMut<Tools>,
    physics: Res<Physics>,
    playback: Res<Playback>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    pointer: Res<Pointer>,
    mut hands: ResMut<Hands>,
) {
    for action in actions.read() {
        match action {
            Action::RemoveBody => {
                let bodies: Vec<_> = hands.all().collect();
                hands.select(None);
                for body in bodies {
                    hands.grip = None;
                    physics.act(Input::Drag(None));
                    physics.act(Input::Edit(Edit::Remove { body }));
                }
            }
            Action::OwnGroup => {
                let Some(frame) = &playback.frame else {
                    continue;
                };
                let chosen = hands.all().filter_map(|id| frame.table.get(id));
                let chosen = chosen.filter(|look| look.kind == BodyKind::Dynamic);
                let before: Vec<_> = chosen.map(|look| (look.id, look.part)).collect();
                let parts = frame.table.bodies.iter().flatten().map(|look| look.part);
                // The picture may not have the last one yet.
                let last = tools.groupings.last().map_or(0, |group| group.part);
                let part = parts.fold(last, u32::max).saturating_add(1);
                for (body, _) in before.iter().copied() {
                    physics.act(Input::Edit(Edit::Part { body, part }));
                }
                if !before.is_empty() {
                    tools.groupings.push(Grouping { part, before });
                }
            }
            Action::UndoGroup => {
                let table = playback.frame.as_ref().map(|frame| &frame.table);
                let is_there = |body: BodyId| table.is_some_and(|t| t.get(body).is_some());
                let before = tools.groupings.pop().map(|group| group.before);
                for (body, part) in before
                    .into_iter()
                    .flatten()
                    .filter(|(body, _)| is_there(*body))
                {
                    physics.act(Input::Edit(Edit::Part { body, part }));
                }
            }
            Action::AddBody => {
                let middle = eye.viewport.min.as_vec2() + 0.5 * eye.cell_size();
                let pixel = pointer.position.filter(|_| pointer.over_scene);
                let (origin, way) = eye.ray(pixel.unwrap_or(middle));
                let size = match tools.size {
                    0.0 => f64::from(bounds.body_size),
                    size => size,
                };
                // In front of what is there, so that it falls onto it.
                let room = 2.0 * size as f32;
                let hit = pick(&playback, origin, way);
                let distance = hit.map_or(eye.focus_distance, |(_, d)| (d - room).max(0.5 * d));
                let position = double(origin + way * distance + Vec3::Y * room);
                let shape = tools.shape.geometry(size);
                physics.act(Input::Edit(Edit::Add { shape, position }));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_as_somebody_types() {
        let path = |name: &str, extension: &str| {
            let name = name.to_owned();
            let tools = Tools {
                name,
                ..Tools::default()
            };
            tools.path(extension).expect("a name").display().to_string()
        };
        assert_eq!(path(" pile ", "rec"), "pile.rec");
        assert_eq!(path("pile.rec", "rec"), "pile.rec");
        assert_eq!(path("pile.rec", "snap"), "pile.snap");
        assert_eq!(path("pile 1.5", "snap"), "pile 1.5.snap");
        assert!(path("", "rec").starts_with("moreau-"));
    }

    #[test]
    fn a_draft_asks_for_what_is_other() {
        let body = crate::world::BodyId {
            slot: 3,
            generation: 0,
        };
        let before = Draft {
            body,
            mass: 1.0,
            friction: 0.5,
            shape: Some(NewShape::Ball.geometry(1.0)),
        };
        assert_eq!(before.edits_from(&before), []);
        let mut after = before.clone();
        (after.mass, after.friction) = (2.0, 0.1);
        let (mass, friction) = (2.0, 0.1);
        let expected = [Edit::Mass { body, mass }, Edit::Friction { body, friction }];
        assert_eq!(after.edits_from(&before), expected);
        after.shape = Some(NewShape::Box.geometry(1.0));
        assert!(matches!(after.edits_from(&before)[0], Edit::Shape { .. }));
    }
}
