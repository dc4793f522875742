//! Where a solver errs: the residual of every contact of the problem that it solved last, as heat.

use bevy::prelude::*;

use super::mesh::MeshLibrary;
use super::{Canvas, Instance, Layer, palette};
use crate::viewer::camera::{Bounds, Eye};
use crate::viewer::comparison::Comparison;

/// Most contacts that are drawn; of more, every second, third, … is, and the worst ones.
const MOST: usize = 20_000;
/// Contacts whose error is within this factor of the largest are always drawn (-).
const WORST: f32 = 0.1;
/// Least radius of a contact (pixels).
const PIXELS: f32 = 2.5;

pub(super) fn paint(
    comparison: Option<Res<Comparison>>,
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    mut canvas: ResMut<Canvas>,
) {
    let Some(standing) = comparison.as_ref().and_then(|c| c.heated()) else {
        return;
    };
    let errors = &standing.errors;
    let stride = errors.len().div_ceil(MOST).max(1);
    let worst = WORST * errors.iter().copied().fold(0.0, f32::max);
    let all = standing.posed.points.iter().zip(errors).enumerate();
    let shown = all.filter(|(k, (_, error))| k.is_multiple_of(stride) || **error >= worst);
    let points = shown.map(|(_, (point, error))| {
        let at = Vec3::from_array(*point);
        let radius = (0.09 * bounds.body_size).max(PIXELS * eye.pixel_at(at));
        Instance::point(at, radius, palette::pack(palette::heat(f64::from(*error))))
    });
    canvas.add(MeshLibrary::BALL + 1, Layer::Overlay, points);
}
