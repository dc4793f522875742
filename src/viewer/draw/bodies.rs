//! From a frame of the simulation to instances.

use std::sync::Arc;

use bevy::prelude::*;

use super::mesh::{MeshLibrary, Piece, quat, vec3};
use super::{Bounds, Canvas, Instance, Layer, Quality, flags, palette};
use crate::problem::islands::NO_ISLAND;
use crate::viewer::camera::Eye;
use crate::viewer::frame::{BodyLook, BodyTable};
use crate::viewer::hands::Hands;
use crate::viewer::physics::Playback;
use crate::world::{BodyKind, Geometry};

/// A fixed body this many times larger than the typical moving one is ground, and gets the grid.
const GROUND_SIZE: f32 = 6.0;
/// On-screen radius in pixels from which spheres take the next finer mesh.
const BALL_PIXELS: [f32; 3] = [2.5, 7.0, 32.0];

/// The pieces of all bodies, sorted by mesh; made again when bodies come or go.
#[derive(Resource, Default)]
pub struct Dressing {
    table: Arc<BodyTable>,
    /// Spheres first, then by mesh.
    pieces: Vec<Dressed>,
    balls: usize,
    finer: [Vec<Instance>; MeshLibrary::BALL_LEVELS - 1],
    body_size: f32,
    /// What is shown, and how.
    pub options: Options,
}

/// What of the bodies is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Colours by island instead of by body.
    pub islands: bool,
    /// The grid on the ground.
    pub grid: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            islands: false,
            grid: true,
        }
    }
}

struct Dressed {
    slot: u32,
    /// In the frame of the centre of mass.
    piece: Piece,
    /// Centred and unrotated, as spheres mostly are.
    plain: bool,
    color: u32,
    flags: u32,
    moving: bool,
}

impl Dressing {
    fn dress(&mut self, table: &Arc<BodyTable>, library: &mut MeshLibrary) {
        // Addresses of shapes that are gone may be used again.
        library.forget_scene();
        self.table = table.clone();
        self.body_size = typical_size(table);
        self.pieces.clear();
        let mut pieces = Vec::new();
        for (slot, look) in table.bodies.iter().enumerate() {
            let Some(look) = look else { continue };
            let Some(shape) = &look.shape else { continue };
            let ground = self.is_ground(look);
            let moving = look.kind != BodyKind::Fixed;
            let color = look.color.unwrap_or(match look.kind {
                BodyKind::Dynamic => palette::body(slot),
                _ => palette::FIXED,
            });
            pieces.clear();
            library.pieces(shape, &mut pieces);
            let (turn, shift) = (quat(look.offset.rotation), vec3(look.offset.position));
            self.pieces.extend(pieces.iter().map(|piece| {
                let piece = Piece {
                    position: shift + turn * piece.position,
                    rotation: turn * piece.rotation,
                    ..*piece
                };
                Dressed {
                    slot: slot as u32,
                    plain: piece.ball && piece.position == Vec3::ZERO,
                    color: palette::pack(color),
                    flags: if ground {
                        flags::GRID
                    } else if piece.ball && moving {
                        flags::STRIPES
                    } else {
                        0
                    },
                    moving,
                    piece,
                }
            }));
        }
        self.pieces.sort_by_key(|d| (!d.piece.ball, d.piece.mesh));
        self.balls = self.pieces.iter().take_while(|d| d.piece.ball).count();
    }

    fn is_ground(&self, look: &BodyLook) -> bool {
        let Some(shape) = &look.shape else {
            return false;
        };
        let large = shape.bounding_radius() as f32 > GROUND_SIZE * self.body_size;
        look.kind == BodyKind::Fixed
            && match shape.geometry() {
                Geometry::HalfSpace { .. } | Geometry::HeightField { .. } => true,
                Geometry::Cuboid { half_extents: h } => large && h.x.min(h.z) > h.y,
                _ => false,
            }
    }
}

/// The median of the dynamic bodies' radii.
fn typical_size(table: &BodyTable) -> f32 {
    let mut sizes: Vec<f32> = table
        .bodies
        .iter()
        .flatten()
        .filter(|look| look.kind == BodyKind::Dynamic)
        .filter_map(|look| look.shape.as_ref())
        .map(|shape| shape.bounding_radius() as f32)
        .collect();
    if sizes.is_empty() {
        return 0.5;
    }
    let middle = sizes.len() / 2;
    *sizes.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// Fills the canvas with all bodies.
pub fn paint(
    playback: Res<Playback>,
    eye: Res<Eye>,
    hands: Res<Hands>,
    quality: Res<Quality>,
    mut dressing: ResMut<Dressing>,
    mut canvas: ResMut<Canvas>,
) {
    let canvas = &mut *canvas;
    let dressing = &mut *dressing;
    canvas.instances.clear();
    canvas.batches.clear();
    let Some(frame) = &playback.frame else {
        return;
    };
    if !Arc::ptr_eq(&dressing.table, &frame.table) {
        dressing.dress(&frame.table, &mut canvas.library);
    }
    canvas.body_size = dressing.body_size;
    let selected = hands.selected.map_or(u32::MAX, |id| id.slot);
    let islands = dressing
        .options
        .islands
        .then_some(frame.islands.as_slice())
        .filter(|i| !i.is_empty());
    let hidden = if dressing.options.grid {
        0
    } else {
        flags::GRID
    };
    let mut low = Vec3::INFINITY;
    let mut high = Vec3::NEG_INFINITY;

    let mut instance = |dressed: &Dressed| {
        let pose = playback.pose(dressed.slot as usize);
        let mut position = Vec3::from(pose.position);
        let mut rotation = Quat::from_array(pose.rotation);
        if dressed.moving {
            low = low.min(position);
            high = high.max(position);
        }
        if !dressed.plain {
            position += rotation * dressed.piece.position;
            rotation *= dressed.piece.rotation;
        }
        let color = match islands {
            Some(islands) if dressed.moving => {
                palette::pack(match islands.get(dressed.slot as usize) {
                    Some(island) if *island != NO_ISLAND => palette::island(*island),
                    _ => palette::NO_ISLAND,
                })
            }
            _ => dressed.color,
        };
        let chosen = if dressed.slot == selected {
            flags::SELECTED
        } else {
            0
        };
        Instance {
            position: position.to_array(),
            flags: (dressed.flags | chosen) & !hidden,
            rotation: rotation.to_array(),
            scale: dressed.piece.scale.to_array(),
            color,
        }
    };

    // Spheres by level of detail: one level straight into the canvas, the others beside it.
    let pixels = eye.viewport.height().max(1) as f32 / (2.0 * (0.5 * eye.fov).tan());
    let forward = eye.rotation * Vec3::NEG_Z;
    let (balls, others) = dressing.pieces.split_at(dressing.balls);
    let mut first = canvas.instances.len();
    for dressed in balls {
        let made = instance(dressed);
        let depth = (Vec3::from(made.position) - eye.position)
            .dot(forward)
            .max(1e-3);
        let detail = quality.ball_detail * pixels * made.scale[0] / depth;
        match BALL_PIXELS.iter().filter(|limit| detail > **limit).count() {
            0 => canvas.instances.push(made),
            level => dressing.finer[level - 1].push(made),
        }
    }
    canvas.close_batch(MeshLibrary::BALL, first, Layer::Bodies);
    for (level, finer) in dressing.finer.iter_mut().enumerate() {
        first = canvas.instances.len();
        canvas.instances.append(finer);
        canvas.close_batch(MeshLibrary::BALL + level + 1, first, Layer::Bodies);
    }

    let mut rest = others;
    while let Some(head) = rest.first() {
        let mesh = head.piece.mesh;
        let count = rest.partition_point(|d| d.piece.mesh <= mesh);
        first = canvas.instances.len();
        canvas
            .instances
            .extend(rest[..count].iter().map(&mut instance));
        let layer = if mesh == MeshLibrary::SQUARE {
            Layer::Ground
        } else {
            Layer::Bodies
        };
        canvas.close_batch(mesh, first, layer);
        rest = &rest[count..];
    }

    // Bodies that have flown off do not shrink the rest to a dot: at most a few kilometres count.
    if low.is_finite() && high.is_finite() {
        canvas.bounds = Bounds {
            center: (0.5 * (low + high)).clamp_length_max(5e3),
            radius: (0.5 * low.distance(high)).min(5e3) + dressing.body_size,
        };
    }
}
