//! Trails: where the selected body has been, or every body that forces move if they are not too many.

use bevy::prelude::*;

use super::mesh::MeshLibrary;
use super::{Canvas, Drawing, Instance, Layer, palette};
use crate::viewer::camera::{Bounds, Eye};
use crate::viewer::frame::{BodyLook, Frame};
use crate::viewer::hands::Hands;
use crate::viewer::playback::{Begun, Playback};
use crate::world::{BodyId, BodyKind};

/// Of more moving bodies than this, the selected one alone has a trail.
pub const MOST_TRAILS: usize = 100;
/// Points of a trail; the oldest ones are forgotten.
const POINTS: usize = 200;
/// Distance between two points, in typical body sizes.
const SPACING: f32 = 0.15;
/// Half width of a trail (pixels).
const PIXELS: f32 = 1.0;

/// The last places of a body's centre of mass, the oldest one at `next` once the ring is full.
pub(super) struct Trail {
    body: BodyId,
    places: Vec<Vec3>,
    next: usize,
}

impl Trail {
    fn of(body: BodyId) -> Self {
        Self {
            body,
            places: Vec::with_capacity(POINTS),
            next: 0,
        }
    }

    fn newest(&self) -> Option<Vec3> {
        let last = (self.next + self.places.len()).checked_sub(1)?;
        self.places.get(last % POINTS).copied()
    }

    /// Takes a place that is far enough from the last one.
    fn follow(&mut self, place: Vec3, spacing: f32) {
        let is_far = |last: Vec3| last.distance(place) >= spacing;
        if !place.is_finite() || !self.newest().is_none_or(is_far) {
            return;
        }
        if self.places.len() < POINTS {
            self.places.push(place);
        } else {
            self.places[self.next] = place;
            self.next = (self.next + 1) % POINTS;
        }
    }

    /// From the oldest place to the newest.
    fn places(&self) -> impl Iterator<Item = Vec3> + Clone {
        let (newer, older) = self.places.split_at(self.next);
        older.iter().chain(newer).copied()
    }
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
pub(super) fn paint(
    playback: Res<Playback>,
    drawing: Res<Drawing>,
    hands: Res<Hands>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    mut begun: MessageReader<Begun>,
    mut canvas: ResMut<Canvas>,
    mut trails: Local<Vec<Trail>>,
    mut wanted: Local<Vec<(BodyId, u32)>>,
) {
    if begun.read().count() > 0 || !drawing.trails {
        trails.clear();
    }
    let Some(frame) = playback.frame.as_ref().filter(|_| drawing.trails) else {
        return;
    };
    choose(frame, hands.selected, &mut wanted);
    trails.retain(|trail| wanted.iter().any(|(body, _)| *body == trail.body));
    for (body, _) in &*wanted {
        let at = trails.iter().position(|trail| trail.body == *body);
        let at = at.unwrap_or_else(|| {
            trails.push(Trail::of(*body));
            trails.len() - 1
        });
        let now = Vec3::from(playback.pose(body.index()).translation);
        trails[at].follow(now, SPACING * bounds.body_size);
    }
    let eye = &*eye;
    let lines = trails.iter().flat_map(|trail| {
        let own = wanted.iter().find(|(body, _)| *body == trail.body);
        let color = own.map_or(0, |(_, color)| *color);
        let now = Vec3::from(playback.pose(trail.body.index()).translation);
        let ends = trail.places().skip(1).chain([now]);
        let parts = trail.places().zip(ends);
        parts.filter_map(move |(from, to)| Instance::line(eye, [from, to], PIXELS, color))
    });
    canvas.add(MeshLibrary::SHAFT, Layer::Overlay, lines);
}

/// The bodies that have trails, and in which colour.
fn choose(frame: &Frame, selected: Option<BodyId>, wanted: &mut Vec<(BodyId, u32)>) {
    let of = |look: &BodyLook| {
        let color = look.color.unwrap_or(palette::body(look.id.index()));
        (look.id, palette::pack(color))
    };
    wanted.clear();
    if frame.dynamic_bodies <= MOST_TRAILS {
        let moving = frame.table.bodies.iter().flatten();
        wanted.extend(moving.filter(|l| l.kind == BodyKind::Dynamic).map(of));
    } else {
        wanted.extend(selected.and_then(|id| frame.table.get(id)).map(of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_keeps_its_newest_places_in_order() {
        let mut trail = Trail::of(BodyId {
            slot: 0,
            generation: 0,
        });
        for k in 0..POINTS + 7 {
            trail.follow(Vec3::X * k as f32, 0.5);
            trail.follow(Vec3::X * (k as f32 + 0.4), 0.5);
        }
        trail.follow(Vec3::NAN, 0.5);
        let places: Vec<f32> = trail.places().map(|p| p.x).collect();
        let expected: Vec<f32> = (7..POINTS + 7).map(|k| k as f32).collect();
        assert_eq!(places, expected);
        assert_eq!(trail.newest(), Some(Vec3::X * (POINTS + 6) as f32));
    }
}
