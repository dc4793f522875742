//! What is drawn of the joints: anchors, axes, distances and the way to the centres of mass, in the
//! colour of the joint's error; where joints are not drawn, ropes alone.

use bevy::prelude::*;

use super::contacts::Overlays;
use super::mesh::MeshLibrary;
use super::{Canvas, Instance, Layer, flags, palette};
use crate::viewer::camera::Eye;
use crate::viewer::frame::{Frame, JointMark};
use crate::viewer::physics::Playback;
use crate::world::BodyKind;
use crate::world::joint::WORLD;

/// Half widths of lines and radii of points \[pixels\].
const ROPE_PIXELS: f32 = 1.0;
const AXIS_PIXELS: f32 = 1.5;
const ARM_PIXELS: f32 = 0.7;
const ANCHOR_PIXELS: f32 = 3.5;
/// Half length of an axis in typical body sizes, and at least so many pixels.
const AXIS_SIZE: f32 = 0.7;
const AXIS_LEAST_PIXELS: f32 = 12.0;

/// A line in the world.
pub(super) struct Line {
    from: Vec3,
    to: Vec3,
    pixels: f32,
    color: u32,
}

/// Where one of a joint's frames is.
pub(super) fn anchor(playback: &Playback, mark: &JointMark, side: usize) -> Vec3 {
    let (center, rotation) = body_pose(playback, mark.bodies[side]);
    center + rotation * Vec3::from(mark.anchors[side])
}

fn body_pose(playback: &Playback, slot: u32) -> (Vec3, Quat) {
    if slot == WORLD {
        return (Vec3::ZERO, Quat::IDENTITY);
    }
    let pose = playback.pose(slot as usize);
    (Vec3::from(pose.position), Quat::from_array(pose.rotation))
}

/// Draws them over the bodies.
pub(super) fn paint(
    playback: Res<Playback>,
    overlays: Res<Overlays>,
    eye: Res<Eye>,
    mut canvas: ResMut<Canvas>,
    mut lines: Local<Vec<Line>>,
) {
    let Some(frame) = &playback.frame else {
        return;
    };
    if frame.joints.is_empty() {
        return;
    }
    let pixel = |at: Vec3| eye.pixel_at(at);
    lines.clear();
    let mut points = Vec::with_capacity(2 * frame.joints.len());
    for mark in frame.joints.iter().filter(|m| overlays.joints || m.is_rope) {
        let color = palette::pack(if overlays.joints {
            palette::error(mark.error)
        } else {
            palette::ROPE
        });
        let anchors = [0, 1].map(|side| anchor(&playback, mark, side));
        let [from, to] = anchors;
        let mut line = |from, to, pixels| {
            lines.push(Line {
                from,
                to,
                pixels,
                color,
            });
        };
        if !overlays.joints {
            line(from, to, ROPE_PIXELS);
            continue;
        }
        line(from, to, AXIS_PIXELS);
        for (side, at) in anchors.into_iter().enumerate() {
            let (center, rotation) = body_pose(&playback, mark.bodies[side]);
            if is_dynamic(frame, mark.bodies[side]) {
                line(center, at, ARM_PIXELS);
            }
            if let Some(axis) = mark.axes[side] {
                let half = (AXIS_SIZE * canvas.body_size).max(AXIS_LEAST_PIXELS * pixel(at));
                let reach = rotation * Vec3::from(axis) * half;
                line(at - reach, at + reach, AXIS_PIXELS);
            }
            points.push((at, color));
        }
    }

    let first = canvas.instances.len();
    for line in lines.iter() {
        let middle = 0.5 * (line.from + line.to);
        let (width, along) = (line.pixels * pixel(middle), line.to - line.from);
        let length = along.length();
        if length.is_finite() && length > width {
            canvas.instances.push(Instance {
                position: middle.to_array(),
                flags: flags::UNLIT,
                rotation: Quat::from_rotation_arc(Vec3::Y, along / length).to_array(),
                scale: [width, 0.5 * length, width],
                color: line.color,
            });
        }
    }
    let layer = if overlays.joints {
        Layer::Overlay
    } else {
        Layer::Bodies
    };
    canvas.close_batch(MeshLibrary::SHAFT, first, layer);
    let first = canvas.instances.len();
    canvas
        .instances
        .extend(points.iter().map(|(at, color)| Instance {
            position: at.to_array(),
            flags: flags::UNLIT,
            rotation: Quat::IDENTITY.to_array(),
            scale: [ANCHOR_PIXELS * pixel(*at); 3],
            color: *color,
        }));
    canvas.close_batch(MeshLibrary::BALL + 1, first, Layer::Overlay);
}

/// The way to the centre of mass of what does not move says nothing, and may be long.
fn is_dynamic(frame: &Frame, slot: u32) -> bool {
    let look = frame.table.bodies.get(slot as usize);
    look.is_some_and(|l| l.as_ref().is_some_and(|l| l.kind == BodyKind::Dynamic))
}
