//! Picking contacts and joints: with their layer on, a click near one shows its numbers.

use bevy::prelude::*;

use super::camera::{Eye, Pointer};
use super::draw::Drawing;
use super::frame::{Frame, vec3};
use super::hands::{self, pick as pick_body};
use super::inspect::Thing;
use super::keys::Action;
use super::playback::{Begun, Playback};
use crate::world::joint::WORLD;

/// How near to a contact point or an anchor a click has to be (pixels).
const REACH: f32 = 9.0;
/// What is hidden counts where it is behind a surface by no more than this share of its distance (-).
const BEHIND: f32 = 0.01;

/// The contact or joint whose numbers are shown.
#[derive(Resource, Default)]
pub struct Picked {
    pub thing: Option<Thing>,
    hit: bool,
}

impl Picked {
    /// Whether the mouse button that went down in this frame picked a contact or a joint, and so no body.
    pub fn hit(&self) -> bool {
        self.hit
    }
}

pub fn plugin(app: &mut App) {
    app.add_systems(Update, (forget, keep, pick).chain().before(hands::drag));
}

fn forget(
    mut begun: MessageReader<Begun>,
    mut actions: MessageReader<Action>,
    mut picked: ResMut<Picked>,
) {
    let is_over = begun.read().any(|b| b.loaded);
    if is_over || actions.read().any(|a| *a == Action::Escape) {
        picked.thing = None;
    }
}

/// A contact has no name: it is looked for where it was last.
fn keep(playback: Res<Playback>, drawing: Res<Drawing>, mut picked: ResMut<Picked>) {
    let drawn = |thing: &Thing| match thing {
        Thing::Contact { .. } => drawing.any_contacts(),
        Thing::Joint(_) => drawing.joints,
    };
    if !picked.thing.as_ref().is_none_or(drawn) {
        picked.thing = None;
    }
    let numbers = playback.frame.as_ref().and_then(|f| f.picked.as_ref());
    if let Some(Thing::Contact { bodies, near }) = &mut picked.thing
        && let Some(numbers) = numbers
        && matches!(&numbers.thing, Thing::Contact { bodies: of, .. } if of == bodies)
    {
        *near = numbers.point;
    }
}

fn pick(
    buttons: Res<ButtonInput<MouseButton>>,
    pointer: Res<Pointer>,
    eye: Res<Eye>,
    playback: Res<Playback>,
    drawing: Res<Drawing>,
    mut picked: ResMut<Picked>,
) {
    picked.hit = false;
    let (Some(pixel), Some(frame)) = (pointer.position, &playback.frame) else {
        return;
    };
    let any = drawing.any_contacts() || drawing.joints;
    if !any || !pointer.over_scene || !buttons.just_pressed(MouseButton::Left) {
        return;
    }
    let (origin, way) = eye.ray(pixel);
    let wall = if drawing.xray {
        None
    } else {
        pick_body(&playback, origin, way).map(|(_, distance)| distance)
    };
    let is_seen = |place: Vec3| {
        let distance = place.distance(eye.position);
        wall.is_none_or(|wall| distance <= wall * (1.0 + BEHIND))
    };
    let things = things(frame, &playback, &drawing);
    picked.thing = nearest(&eye, pixel, things.filter(|(place, _)| is_seen(*place)));
    picked.hit = picked.thing.is_some();
}

/// What is drawn that can be picked, and where.
fn things(
    frame: &Frame,
    playback: &Playback,
    drawing: &Drawing,
) -> impl Iterator<Item = (Vec3, Thing)> {
    let contacts = frame.contacts.iter().filter(|_| drawing.any_contacts());
    let contacts = contacts.map(|contact| {
        let thing = Thing::Contact {
            bodies: contact.bodies,
            near: contact.point,
        };
        (vec3(contact.point), thing)
    });
    let joints = frame.joints.iter().filter(|_| drawing.joints);
    let joints = joints.flat_map(move |mark| {
        [0, 1].map(|side| {
            let pose = match mark.bodies[side] {
                WORLD => Isometry3d::IDENTITY,
                slot => playback.pose(slot as usize),
            };
            (pose * mark.anchors[side], Thing::Joint(mark.joint))
        })
    });
    contacts.chain(joints)
}

/// What is nearest to a pixel, within reach.
fn nearest(eye: &Eye, pixel: Vec2, things: impl Iterator<Item = (Vec3, Thing)>) -> Option<Thing> {
    let mut best = (REACH, None);
    for (place, thing) in things {
        if let Some(at) = eye.pixel_of(place)
            && at.distance(pixel) < best.0
        {
            best = (at.distance(pixel), Some(thing));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_thing_within_reach_is_picked() {
        let mut eye = Eye::default();
        eye.viewport = URect::new(0, 0, 800, 600);
        let pixel = Vec2::new(300.0, 200.0);
        let at = |x: f32, distance: f32| {
            let (origin, way) = eye.ray(pixel + Vec2::X * x);
            origin + way * distance
        };
        let pick = |places: &[Vec3]| {
            let things = places.iter().zip(0..).map(|(p, k)| (*p, Thing::Joint(k)));
            nearest(&eye, pixel, things)
        };
        let behind = eye.position - (at(0.0, 5.0) - eye.position);
        let places = [at(6.0, 2.0), at(-3.0, 9.0), at(20.0, 1.0), behind];
        assert_eq!(pick(&places), Some(Thing::Joint(1)));
        assert_eq!(pick(&places[2..]), None);
    }
}
