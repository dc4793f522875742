//! Picking contacts and joints: with their layer on, a click near one shows its numbers.

use bevy::prelude::*;

use super::camera::{Bounds, Eye, Pointer};
use super::draw::{Drawing, point_radius};
use super::frame::{Frame, vec3};
use super::hands::{self, pick as pick_body};
use super::inspect::{Picked, Thing};
use super::keys::Action;
use super::playback::{Begun, Playback};
use crate::world::joint::WORLD;

/// How near to a contact point or an anchor a click has to be (pixels).
const REACH: f32 = 9.0;

pub fn plugin(app: &mut App) {
    app.init_resource::<Picked>()
        .add_systems(Update, (forget, keep, pick).chain().before(hands::drag));
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
    bounds: Res<Bounds>,
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
    // Of what only its arrow shows nobody sees whether it is within a body.
    let has_points = drawing.points || drawing.colors || drawing.couplings;
    let is_seen = |place: Vec3, thing: &Thing| {
        let is_drawn = has_points || matches!(thing, Thing::Joint(_));
        (drawing.xray && is_drawn) || !is_hidden(&playback, &eye, bounds.body_size, place)
    };
    let things = things(frame, &playback, &drawing);
    picked.thing = nearest(&eye, pixel, things, is_seen);
    picked.hit = picked.thing.is_some();
}

/// Whether a body is in front of a place, by more than a point there would stick out of it.
fn is_hidden(playback: &Playback, eye: &Eye, size: f32, place: Vec3) -> bool {
    let way = place - eye.position;
    let distance = way.length();
    let hit = pick_body(playback, eye.position, way / distance.max(1e-6));
    let sticks_out = point_radius(eye, size, place);
    hit.is_some_and(|(_, wall)| wall < distance - sticks_out)
}

/// What is drawn that can be picked, and where.
fn things(
    frame: &Frame,
    playback: &Playback,
    drawing: &Drawing,
) -> impl Iterator<Item = (Vec3, Thing)> {
    // Where nothing else asks for contacts, those that couple parts are drawn.
    let others = Drawing {
        couplings: false,
        ..*drawing
    };
    let (shown, parts) = (others.any_contacts(), frame.parts.as_ref());
    let contacts = frame.contacts.iter();
    let contacts = contacts.filter(move |contact| {
        shown || (drawing.couplings && parts.is_some_and(|p| p.couples(contact.bodies)))
    });
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

/// Of what is seen, what is nearest to a pixel, within reach.
fn nearest(
    eye: &Eye,
    pixel: Vec2,
    things: impl Iterator<Item = (Vec3, Thing)>,
    is_seen: impl Fn(Vec3, &Thing) -> bool,
) -> Option<Thing> {
    let away = |place: Vec3| Some(eye.pixel_of(place)?.distance(pixel));
    let near = things.filter_map(|(place, thing)| Some((away(place)?, place, thing)));
    let mut near: Vec<(f32, Vec3, Thing)> = near.filter(|(away, ..)| *away < REACH).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let seen = near
        .into_iter()
        .find(|(_, place, thing)| is_seen(*place, thing));
    seen.map(|(.., thing)| thing)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::solve::SolverConfig;
    use crate::step::Simulation;
    use crate::viewer::frame::BodyTable;
    use crate::viewer::observe::{Observe, fill};
    use crate::world::{BodySpec, Geometry, Settings, Shape, World};

    #[test]
    fn the_nearest_thing_within_reach_is_picked() {
        let mut eye = Eye::default();
        eye.viewport = URect::new(0, 0, 800, 600);
        let pixel = Vec2::new(300.0, 200.0);
        let at = |x: f32, distance: f32| {
            let (origin, way) = eye.ray(pixel + Vec2::X * x);
            origin + way * distance
        };
        let hidden = at(1.0, 3.0);
        let pick = |places: &[Vec3]| {
            let things = places.iter().zip(0..).map(|(p, k)| (*p, Thing::Joint(k)));
            nearest(&eye, pixel, things, |place, _| place != hidden)
        };
        let behind = eye.position - (at(0.0, 5.0) - eye.position);
        let places = [at(6.0, 2.0), at(-3.0, 9.0), at(20.0, 1.0), behind, hidden];
        assert_eq!(pick(&places), Some(Thing::Joint(1)));
        assert_eq!(pick(&places[2..]), None);
    }

    /// A box of 1 m in front of the eye: what is on its near side is seen, what is within and behind it is not.
    #[test]
    fn bodies_hide_what_is_behind_their_surface() {
        let mut world = World::new(Settings::default());
        let half_extents = crate::math::Vec3::repeat(0.5);
        let shape = Shape::new(Geometry::Cuboid { half_extents }).expect("a shape");
        let spec = BodySpec {
            shape: Some(shape),
            ..BodySpec::default()
        };
        world.add_body(spec).expect("a body");
        let simulation = Simulation::new(world, SolverConfig::default(), 1).expect("a solver");
        let mut frame = Frame {
            table: Arc::new(BodyTable::of(&simulation.world().bodies)),
            ..Frame::default()
        };
        fill(&mut frame, &simulation, &Observe::default());
        let mut playback = Playback::default();
        playback.frame = Some(frame);
        let mut eye = Eye::default();
        eye.viewport = URect::new(0, 0, 800, 600);
        eye.look(Vec3::new(0.0, 0.0, 6.0), Vec3::ZERO);
        let is_hidden = |z: f32| is_hidden(&playback, &eye, 0.5, Vec3::new(0.2, 0.1, z));
        assert_eq!(
            [0.6, 0.5, 0.49, 0.3, -0.5, -2.0].map(is_hidden),
            [false, false, false, true, true, true]
        );
    }
}
