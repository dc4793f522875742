//! Hands: picking, dragging and throwing bodies.

use bevy::prelude::*;

use super::camera::{Bounds, Eye, Pointer};
use super::frame::{self, BodyLook};
use super::inspect::Picked;
use super::keys::Action;
use super::physics::Physics;
use super::playback::{Begun, Playback};
use crate::math;
use crate::session::{Drag, Input, Throw};
use crate::solve::PartsView;
use crate::world::{BodyId, BodyKind, Shape};

#[derive(Resource, Default)]
pub struct Hands {
    /// The dragged body, and the distance of the grabbed point along the camera's axis (m).
    pub grip: Option<(Drag, f32)>,
    pub selected: Option<BodyId>,
    /// Others that are selected with it.
    pub also: Vec<BodyId>,
    /// What the mouse points at, where the solver has parts.
    pub pointed: Option<BodyId>,
    /// The part whose row of a table the mouse points at.
    pub row: Option<u32>,
    /// The same in the frame before.
    pub last_row: Option<u32>,
}

impl Hands {
    /// Selects one body, or none.
    pub fn select(&mut self, body: Option<BodyId>) {
        self.selected = body;
        self.also.clear();
    }

    /// All selected bodies.
    pub fn all(&self) -> impl Iterator<Item = BodyId> {
        self.selected.into_iter().chain(self.also.iter().copied())
    }

    /// Selects a body with the others, or no more.
    fn toggle(&mut self, body: BodyId) {
        if self.selected == Some(body) {
            self.selected = self.also.pop();
        } else if let Some(place) = self.also.iter().position(|other| *other == body) {
            self.also.remove(place);
        } else {
            self.also.extend(self.selected.replace(body));
        }
    }

    /// The part that the mouse points at, in the picture or in a table.
    pub fn pointed_part(&self, parts: &PartsView) -> Option<u32> {
        let body = self.pointed.and_then(|body| parts.part(body.slot));
        self.row.or(body)
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Hands>()
        .add_systems(Update, (forget, press_keys, drag, point).chain());
}

/// Finds what the mouse points at, where that shows something: every body is looked at.
fn point(
    mut hands: ResMut<Hands>,
    pointer: Res<Pointer>,
    eye: Res<Eye>,
    playback: Res<Playback>,
    mut last: Local<Option<(Option<Vec2>, u64)>>,
) {
    let frame = playback.frame.as_ref();
    let has_parts = frame.is_some_and(|frame| frame.parts.is_some());
    let pixel = pointer.position.filter(|_| pointer.over_scene && has_parts);
    let now = Some((pixel, frame.map_or(0, |frame| frame.step)));
    if *last == now && !eye.is_changed() {
        return;
    }
    *last = now;
    let body = pixel.and_then(|pixel| {
        let (origin, way) = eye.ray(pixel);
        pick(&playback, origin, way)
    });
    hands.pointed = body.map(|(look, _)| look.id);
}

fn forget(mut begun: MessageReader<Begun>, mut hands: ResMut<Hands>) {
    for begun in begun.read() {
        hands.grip = None;
        if begun.loaded {
            hands.select(None);
        }
    }
}

fn press_keys(
    mut actions: MessageReader<Action>,
    mut hands: ResMut<Hands>,
    physics: Res<Physics>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    pointer: Res<Pointer>,
) {
    for action in actions.read() {
        match action {
            Action::Escape => {
                hands.grip = None;
                hands.select(None);
                physics.act(Input::Drag(None));
            }
            Action::Throw => {
                // Towards the mouse, or straight ahead.
                let middle = eye.viewport.min.as_vec2() + 0.5 * eye.cell_size();
                let pixel = pointer
                    .position
                    .filter(|_| pointer.over_scene)
                    .unwrap_or(middle);
                let (origin, way) = eye.ray(pixel);
                let size = bounds.body_size.max(0.01);
                let start = origin + way * (3.0 * size).min(0.5 * eye.focus_distance);
                // It reaches what the camera looks at in about half a second.
                let speed = (2.0 * eye.focus_distance).clamp(2.0, 60.0);
                physics.act(Input::Throw(Throw {
                    start: double(start),
                    velocity: double(way * speed),
                    radius: f64::from(size),
                }));
            }
            _ => {}
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
pub fn drag(
    mut hands: ResMut<Hands>,
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    pointer: Res<Pointer>,
    eye: Res<Eye>,
    playback: Res<Playback>,
    physics: Res<Physics>,
    bounds: Res<Bounds>,
    picked: Res<Picked>,
) {
    let ray = pointer.position.map(|pixel| eye.ray(pixel));
    let forward = eye.rotation * Vec3::NEG_Z;
    if let Some((origin, way)) = ray
        && buttons.just_pressed(MouseButton::Left)
        && pointer.over_scene
        // A contact or a joint lies in front of its bodies.
        && !picked.hit()
    {
        // The button may have been let go and pressed again since the last frame.
        if hands.grip.take().is_some() {
            physics.act(Input::Drag(None));
        }
        let hit = pick(&playback, origin, way);
        let chosen = hit.filter(|(look, _)| !is_ground(look, bounds.body_size));
        let chosen = chosen.map(|(look, _)| look.id);
        if keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight]) {
            chosen.into_iter().for_each(|body| hands.toggle(body));
            return;
        }
        // A body of several that are selected is dragged with the others as they are.
        if !chosen.is_some_and(|body| hands.all().any(|other| other == body)) {
            hands.select(chosen);
        }
        let dynamic = hit.filter(|(look, _)| look.kind == BodyKind::Dynamic);
        hands.grip = dynamic.map(|(look, distance)| {
            let target = double(origin + way * distance);
            let pose = frame::pose(playback.pose(look.id.index()));
            let drag = Drag {
                body: look.id,
                anchor: pose.inverse_transform_point(target),
                target,
            };
            (drag, distance * way.dot(forward))
        });
    }
    if !buttons.pressed(MouseButton::Left) {
        if hands.grip.take().is_some() {
            physics.act(Input::Drag(None));
        }
    } else if let (Some((drag, depth)), Some((origin, way))) = (&mut hands.grip, ray) {
        // In the plane through the grabbed point that faces the camera.
        drag.target = double(origin + way * (*depth / way.dot(forward).max(0.05)));
        physics.act(Input::Drag(Some(*drag)));
    }
}

/// A fixed body this many times larger than the typical moving one is what things stand on (-): somebody who
/// clicks on it means the empty space, and a scene's own fixed parts are hardly as large.
const GROUND_SIZE: f64 = 6.0;

fn is_ground(look: &BodyLook, typical: f32) -> bool {
    let radius = look.shape.as_ref().map_or(0.0, Shape::bounding_radius);
    look.kind == BodyKind::Fixed && radius > GROUND_SIZE * f64::from(typical)
}

/// The first body that a ray hits, and how far away.
pub fn pick(playback: &Playback, origin: Vec3, way: Vec3) -> Option<(&BodyLook, f32)> {
    let frame = playback.frame.as_ref()?;
    let mut best: Option<(&BodyLook, f64)> = None;
    let (origin, way) = (double(origin), double(way));
    for look in frame.table.bodies.iter().flatten() {
        let Some(shape) = &look.shape else { continue };
        let pose = frame::pose(playback.pose(look.id.index())).compose(&look.offset);
        let farthest = best.map_or(1e6, |(_, d)| d);
        let to = pose.position - origin;
        let radius = shape.bounding_radius();
        let along = to.dot(&way);
        let aside = (to - way * along).norm();
        if aside > radius || along > farthest + radius || along < -radius {
            continue;
        }
        let ray = parry3d_f64::query::Ray::new(origin.into(), way.into());
        let hit = shape
            .parry()
            .cast_ray(&pose.to_parry(), &ray, farthest, true);
        // Inside of a body everything else would be out of reach.
        if let Some(distance) = hit.filter(|d| *d > 0.0) {
            best = Some((look, distance));
        }
    }
    best.map(|(look, distance)| (look, distance as f32))
}

pub fn double(v: Vec3) -> math::Vec3 {
    math::Vec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))
}
