//! What is drawn of the bodies besides themselves: bounding boxes and centres of mass.

use bevy::prelude::*;

use super::mesh::MeshLibrary;
use super::{Canvas, Drawing, Instance, Layer, flags, palette};
use crate::viewer::camera::Eye;
use crate::viewer::frame::{BodyLook, pose, vec3};
use crate::viewer::playback::Playback;
use crate::world::{BodyKind, Geometry};

/// Radius of a centre of mass (pixels), but no more than this share of its body's radius.
const CENTER_PIXELS: f32 = 6.0;
const CENTER_SHARE: f32 = 0.3;

/// Half width of the cage around what was picked (pixels).
const PICKED_PIXELS: f32 = 6.0;

pub(super) fn paint(
    playback: Res<Playback>,
    drawing: Res<Drawing>,
    eye: Res<Eye>,
    mut canvas: ResMut<Canvas>,
) {
    let Some(frame) = &playback.frame else {
        return;
    };
    if let Some(numbers) = &frame.picked {
        let at = vec3(numbers.point);
        let cage = Instance::point(
            at,
            PICKED_PIXELS * eye.pixel_at(at),
            palette::pack(palette::SPRING),
        );
        canvas.add_wires(MeshLibrary::CUBE, Layer::OverlayWires, [cage]);
    }
    let looks = frame.table.bodies.iter().flatten();
    if drawing.boxes {
        let boxes = looks
            .clone()
            .filter_map(|look| around(look, playback.pose(look.id.index())));
        canvas.add_wires(MeshLibrary::CUBE, Layer::OverlayWires, boxes);
    }
    if drawing.centers {
        let centers = looks
            .filter(|look| look.kind == BodyKind::Dynamic)
            .map(|look| {
                let place = playback.pose(look.id.index());
                let at = Vec3::from(place.translation);
                let own = look.shape.as_ref().map(|s| s.bounding_radius() as f32);
                let most = own.map_or(f32::INFINITY, |own| CENTER_SHARE * own);
                let pixel = eye.pixel_at(at);
                let radius = (CENTER_PIXELS * pixel).min(most).max(pixel);
                Instance {
                    flags: flags::UNLIT | flags::MARK,
                    rotation: place.rotation.to_array(),
                    ..Instance::point(at, radius, 0)
                }
            });
        canvas.add(MeshLibrary::BALL + 2, Layer::Overlay, centers);
    }
}

/// The box around a body's shape; none around what has no end.
fn around(look: &BodyLook, place: Isometry3d) -> Option<Instance> {
    let shape = look.shape.as_ref()?;
    if shape.bounding_radius().is_infinite() || !place.translation.is_finite() {
        return None;
    }
    let place = pose(place).compose(&look.offset);
    let (center, half) = match shape.geometry() {
        Geometry::Ball { radius } => (vec3(place.position), Vec3::splat(*radius as f32)),
        _ => {
            let found = shape.parry().compute_aabb(&place.to_parry());
            let single = |v: parry3d_f64::math::Vector| vec3(v.into());
            (single(found.center()), single(found.half_extents()))
        }
    };
    Some(Instance {
        position: center.to_array(),
        flags: flags::UNLIT,
        rotation: Quat::IDENTITY.to_array(),
        scale: half.to_array(),
        color: palette::pack(palette::BOX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use crate::world::{BodyId, Shape};

    /// A box of half extents (1, 2, 3) turned by 90° about z, and shifted in the body's frame before.
    #[test]
    fn boxes_are_those_of_the_turned_shape() {
        let shape = Shape::new(Geometry::Cuboid {
            half_extents: crate::math::Vec3::new(1.0, 2.0, 3.0),
        });
        let look = BodyLook {
            id: BodyId {
                slot: 0,
                generation: 0,
            },
            shape: shape.ok(),
            offset: Pose::translation(1.0, 0.0, 0.0),
            kind: BodyKind::Dynamic,
            color: None,
            part: 0,
        };
        let turn = Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
        let place = Isometry3d::new(Vec3::new(5.0, 0.0, 0.0), turn);
        let found = around(&look, place).expect("a box");
        assert!(Vec3::from(found.scale).distance(Vec3::new(2.0, 1.0, 3.0)) < 1e-5);
        assert!(Vec3::from(found.position).distance(Vec3::new(5.0, 1.0, 0.0)) < 1e-5);
    }
}
