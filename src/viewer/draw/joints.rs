//! What is drawn of the joints: anchors, axes, distances and the way to the centres of mass, in the
//! colour of the joint's error; where joints are not drawn, ropes alone.

use bevy::prelude::*;

use super::mesh::MeshLibrary;
use super::{Canvas, Drawing, Instance, LEAST_PIXELS, Layer, palette};
use crate::viewer::camera::{Bounds, Eye};
use crate::viewer::frame::{Frame, JointMark};
use crate::viewer::playback::Playback;
use crate::world::BodyKind;
use crate::world::joint::WORLD;

/// Half widths of lines and radii of points (pixels).
const ROPE_PIXELS: f32 = 1.0;
const AXIS_PIXELS: f32 = 1.5;
const ARM_PIXELS: f32 = LEAST_PIXELS;
const COUPLING_PIXELS: f32 = 2.0;
const ANCHOR_PIXELS: f32 = 3.5;
/// Half length of an axis in typical body sizes, and at least so many pixels.
const AXIS_SIZE: f32 = 0.7;
const AXIS_LEAST_PIXELS: f32 = 12.0;

/// Where one of a joint's frames is.
pub(super) fn anchor(playback: &Playback, mark: &JointMark, side: usize) -> Vec3 {
    anchor_in(0, playback, mark, side)
}

fn anchor_in(world: usize, playback: &Playback, mark: &JointMark, side: usize) -> Vec3 {
    body_pose(world, playback, mark.bodies[side]) * mark.anchors[side]
}

fn body_pose(world: usize, playback: &Playback, slot: u32) -> Isometry3d {
    match slot {
        WORLD => Isometry3d::IDENTITY,
        slot => playback.pose_in(world, slot as usize),
    }
}

/// A line that is longer than thick: of coinciding anchors nothing is drawn.
fn line(eye: &Eye, ends: [Vec3; 2], pixels: f32, color: u32) -> Option<Instance> {
    let line = Instance::line(eye, ends, pixels, color)?;
    (2.0 * line.scale[1] > line.scale[0]).then_some(line)
}

/// The ropes of the worlds beside the simulation's own; those of its own are drawn with its joints.
fn paint_rivals_ropes(playback: &Playback, frame: &Frame, eye: &Eye, canvas: &mut Canvas) {
    let own = canvas.cell;
    for (k, parallel) in frame.parallel_worlds.iter().enumerate() {
        let world = k + 1;
        canvas.cell = own.map(|_| world as u32);
        let color = palette::pack(own.map_or(parallel.color, |_| palette::ROPE));
        let ropes = frame.joints.iter().filter(|mark| mark.is_rope);
        let ends = ropes.map(|mark| [0, 1].map(|side| anchor_in(world, playback, mark, side)));
        let lines = ends.filter_map(|ends| line(eye, ends, ROPE_PIXELS, color));
        canvas.add(MeshLibrary::SHAFT, Layer::Bodies, lines);
    }
    canvas.cell = own;
}

pub(super) fn paint(
    playback: Res<Playback>,
    drawing: Res<Drawing>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    mut canvas: ResMut<Canvas>,
) {
    let Some(frame) = &playback.frame else {
        return;
    };
    paint_rivals_ropes(&playback, frame, &eye, &mut canvas);
    let pixel = |at: Vec3| eye.pixel_at(at);
    let (mut lines, mut points) = (Vec::new(), Vec::new());
    for mark in frame.joints.iter().filter(|m| drawing.joints || m.is_rope) {
        let parts = frame.parts.as_ref().filter(|_| drawing.parts);
        let part = parts.and_then(|parts| mark.bodies.iter().find_map(|b| parts.part(*b)));
        let color = palette::pack(match part {
            _ if drawing.joints => palette::error(mark.error),
            Some(part) => palette::island(part),
            None => palette::ROPE,
        });
        let mut line = |from: Vec3, to: Vec3, pixels: f32| {
            lines.extend(line(&eye, [from, to], pixels, color));
        };
        let anchors = [0, 1].map(|side| anchor(&playback, mark, side));
        if !drawing.joints {
            line(anchors[0], anchors[1], ROPE_PIXELS);
            continue;
        }
        line(anchors[0], anchors[1], AXIS_PIXELS);
        for (side, at) in anchors.into_iter().enumerate() {
            let pose = body_pose(0, &playback, mark.bodies[side]);
            if is_dynamic(frame, mark.bodies[side]) {
                line(pose.translation.into(), at, ARM_PIXELS);
            }
            if let Some(axis) = mark.axes[side] {
                let half = (AXIS_SIZE * bounds.body_size).max(AXIS_LEAST_PIXELS * pixel(at));
                let reach = pose.rotation * axis * half;
                line(at - reach, at + reach, AXIS_PIXELS);
            }
            points.push(Instance::point(at, ANCHOR_PIXELS * pixel(at), color));
        }
    }
    let layer = if drawing.joints {
        Layer::Overlay
    } else {
        Layer::Bodies
    };
    canvas.add(MeshLibrary::SHAFT, layer, lines);
    canvas.add(MeshLibrary::BALL + 1, Layer::Overlay, points);
    if drawing.couplings {
        paint_couplings(&playback, frame, &eye, &mut canvas);
    }
}

/// The joints that couple the solver's parts: from one body's middle over the anchor to the other's.
fn paint_couplings(playback: &Playback, frame: &Frame, eye: &Eye, canvas: &mut Canvas) {
    let Some(parts) = &frame.parts else {
        return;
    };
    let color = palette::pack(palette::COUPLING);
    let (mut lines, mut points) = (Vec::new(), Vec::new());
    for mark in frame.joints.iter().filter(|m| parts.couples(m.bodies)) {
        let anchors = [0, 1].map(|side| anchor(playback, mark, side));
        let middles = (mark.bodies).map(|b| Vec3::from(body_pose(0, playback, b).translation));
        let ends = [
            [middles[0], anchors[0]],
            [anchors[0], anchors[1]],
            [anchors[1], middles[1]],
        ];
        lines.extend(
            ends.into_iter()
                .flat_map(|ends| line(eye, ends, COUPLING_PIXELS, color)),
        );
        let at = anchors[0].midpoint(anchors[1]);
        // Not so large that the points of a net touch each other.
        let most = 0.2 * middles[0].distance(middles[1]);
        let radius = (2.0 * ANCHOR_PIXELS * eye.pixel_at(at)).min(most);
        points.push(Instance::point(at, radius, color));
    }
    canvas.add(MeshLibrary::SHAFT, Layer::Overlay, lines);
    canvas.add(MeshLibrary::BALL + 1, Layer::Overlay, points);
}

/// The way to the centre of mass of what does not move says nothing, and may be long.
fn is_dynamic(frame: &Frame, slot: u32) -> bool {
    let look = frame.table.bodies.get(slot as usize);
    look.is_some_and(|l| l.as_ref().is_some_and(|l| l.kind == BodyKind::Dynamic))
}
