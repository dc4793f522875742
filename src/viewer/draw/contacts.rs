//! What is drawn over the bodies: contact points, normals, the forces of contacts and joints, and the
//! mouse's spring.

use bevy::prelude::*;

use super::mesh::MeshLibrary;
use super::{Canvas, Drawing, Instance, LEAST_PIXELS, Layer, joints, palette};
use crate::step::ContactView;
use crate::viewer::camera::{Bounds, Eye};
use crate::viewer::frame::{Frame, JointMark, vec3};
use crate::viewer::hands::Hands;
use crate::viewer::playback::Playback;

/// Least and largest radius of an arrow's shaft (pixels): in between it goes with the bodies' size.
const ARROW_PIXELS: [f32; 2] = [1.2, 3.0];
/// The same of a contact point.
const POINT_PIXELS: [f32; 2] = [2.0, 6.0];
/// Half the length of a machine's usual force, as a share of its size.
const MACHINE_SHARE: f32 = 0.04;

pub(super) struct Arrow {
    from: Vec3,
    by: Vec3,
    color: [f32; 3],
}

/// How long the arrow of a force is.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct ArrowScale {
    /// The force whose arrow is as long as a typical body is large (N).
    usual_force: f32,
    /// Length of the arrow of a force (m/N); 0 before there are any.
    pub metres_per_newton: f32,
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
pub(super) fn paint(
    playback: Res<Playback>,
    hands: Res<Hands>,
    drawing: Res<Drawing>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    mut canvas: ResMut<Canvas>,
    mut arrow_scale: ResMut<ArrowScale>,
    mut arrows: Local<Vec<Arrow>>,
) {
    let Some(frame) = &playback.frame else {
        return;
    };
    let size = bounds.body_size;
    arrows.clear();
    let per_second = 1.0 / frame.substep.max(1e-12);
    let marks: &[JointMark] = if drawing.joints && drawing.normal_forces {
        &frame.joints
    } else {
        &[]
    };
    let contact_forces = frame.contacts.iter().map(|c| c.normal_impulse * per_second);
    let joint_forces = marks.iter().map(|mark| f64::from(mark.force.length()));
    follow_forces(
        &mut arrow_scale.usual_force,
        contact_forces.chain(joint_forces),
    );
    // Machines are large against the links of their cables.
    let reach = if marks.is_empty() {
        size
    } else {
        size.max(MACHINE_SHARE * bounds.radius)
    };
    // Metres per newton: each arrow is as long as its force's share of the usual one.
    let force_scale = 2.0 * reach * drawing.scale / arrow_scale.usual_force.max(1e-12);
    arrow_scale.metres_per_newton = force_scale;
    arrows.extend(marks.iter().map(|mark| Arrow {
        from: joints::anchor(&playback, mark, 1),
        by: mark.force * force_scale,
        color: palette::JOINT_FORCE,
    }));
    paint_points(frame, &drawing, &eye, size, &mut canvas);
    let impulse_scale = force_scale * per_second as f32;
    for contact in &frame.contacts {
        contact_arrows(contact, &drawing, size, impulse_scale, &mut arrows);
    }
    if let Some((drag, _)) = &hands.grip
        && frame.table.get(drag.body).is_some()
    {
        let from = playback.pose(drag.body.index()) * vec3(drag.anchor);
        arrows.push(Arrow {
            from,
            by: vec3(drag.target) - from,
            color: palette::SPRING,
        });
    }
    paint_arrows(&mut canvas, &eye, &arrows, 0.035 * size);
}

/// How large the point of a contact is drawn (m), among bodies of a size.
pub fn point_radius(eye: &Eye, size: f32, at: Vec3) -> f32 {
    let [least, most] = POINT_PIXELS.map(|pixels| pixels * eye.pixel_at(at));
    (0.06 * size).clamp(least, most)
}

/// The contact points, by their graph colours where these are wanted and known, else by their states.
fn paint_points(frame: &Frame, drawing: &Drawing, eye: &Eye, size: f32, canvas: &mut Canvas) {
    if let Some(parts) = frame.parts.as_ref().filter(|_| drawing.couplings) {
        let couplings = frame.contacts.iter().filter(|c| parts.couples(c.bodies));
        let points = couplings.map(|contact| {
            let at = vec3(contact.point);
            let radius = 1.6 * point_radius(eye, size, at);
            Instance::point(at, radius, palette::pack(palette::COUPLING))
        });
        canvas.add(MeshLibrary::BALL + 1, Layer::Overlay, points);
    }
    let by_graph = drawing.colors && !frame.colors.is_empty();
    if !(by_graph || drawing.points) {
        return;
    }
    let color = |k: usize| match by_graph {
        true => palette::graph(frame.colors[k]),
        false => palette::contact(frame.states[k]),
    };
    let points = frame.contacts.iter().enumerate().map(|(k, contact)| {
        let at = vec3(contact.point);
        let radius = point_radius(eye, size, at);
        Instance::point(at, radius, palette::pack(color(k)))
    });
    canvas.add(MeshLibrary::BALL + 1, Layer::Overlay, points);
}

/// The arrows of a contact; forces are those on its second body.
fn contact_arrows(
    contact: &ContactView,
    drawing: &Drawing,
    size: f32,
    impulse_scale: f32,
    arrows: &mut Vec<Arrow>,
) {
    let normal = vec3(contact.normal);
    let impulse = contact.normal_impulse as f32 * impulse_scale;
    let friction = vec3(contact.friction_impulse) * impulse_scale;
    let length = 0.6 * size * drawing.scale;
    for (shown, by, color) in [
        (drawing.normals, normal * length, palette::NORMAL),
        (
            drawing.normal_forces,
            normal * impulse,
            palette::NORMAL_FORCE,
        ),
        (drawing.friction_forces, friction, palette::FRICTION_FORCE),
    ] {
        if shown {
            let from = vec3(contact.point);
            arrows.push(Arrow { from, by, color });
        }
    }
}

/// Keeps the force near the mean of the scene's, slowly, so that arrows do not pump.
fn follow_forces(usual: &mut f32, forces: impl Iterator<Item = f64>) {
    let (sum, count) = forces
        .filter(|force| *force > 0.0)
        .fold((0.0, 0), |(sum, n), force| (sum + force, n + 1));
    if count > 0 {
        let mean = (sum / f64::from(count)) as f32;
        if (0.05 * mean..20.0 * mean).contains(usual) {
            *usual += 0.02 * (mean - *usual);
        } else {
            *usual = mean;
        }
    }
}

fn paint_arrows(canvas: &mut Canvas, eye: &Eye, arrows: &[Arrow], thickness: f32) {
    for mesh in [MeshLibrary::SHAFT, MeshLibrary::TIP] {
        let parts = arrows.iter().filter_map(|arrow| {
            let length = arrow.by.length();
            let pixel = eye.pixel_at(arrow.from);
            let [least, most] = ARROW_PIXELS.map(|pixels| pixels * pixel);
            let thickness = thickness.clamp(least, most);
            if !length.is_finite() || length < 0.2 * thickness {
                return None;
            }
            let way = arrow.by / length;
            let tip = (5.0 * thickness).min(0.5 * length);
            let (middle, size) = if mesh == MeshLibrary::SHAFT {
                let half = 0.5 * (length - tip);
                let width = thickness.min(0.1 * length).max(LEAST_PIXELS * pixel);
                (half, [width, half])
            } else {
                (length - 0.5 * tip, [0.4 * tip, 0.5 * tip])
            };
            let color = palette::pack(arrow.color);
            Some(Instance::unlit(arrow.from + way * middle, way, size, color))
        });
        canvas.add(mesh, Layer::Overlay, parts);
    }
}
