//! From a frame of the simulation to instances.

use std::sync::Arc;

use bevy::math::Vec3A;
use bevy::prelude::*;

use super::mesh::{MeshLibrary, PLANE_EXTENT, Piece};
use super::{Canvas, Drawing, Instance, LEAST_PIXELS, Layer, Quality, flags, palette};
use crate::problem::islands::NO_ISLAND;
use crate::solve::{Method, PartsView};
use crate::viewer::bounds::{Bounds, Surveyor};
use crate::viewer::camera::Eye;
use crate::viewer::frame::{BodyTable, isometry};
use crate::viewer::hands::Hands;
use crate::viewer::playback::Playback;
use crate::world::{BodyKind, Geometry, Shape};

/// A fixed body this many times larger than the typical moving one is ground, and gets the grid.
const GROUND_SIZE: f32 = 6.0;
/// On-screen radius in pixels from which spheres take the next finer mesh.
const BALL_PIXELS: [f32; 3] = [2.5, 7.0, 32.0];

/// The pieces of all bodies, sorted by mesh; made again when bodies come or go.
#[derive(Default)]
pub(super) struct Dressing {
    table: Arc<BodyTable>,
    /// Spheres first, then by mesh.
    pieces: Vec<Dressed>,
    balls: usize,
    finer: [Vec<Instance>; MeshLibrary::BALL_LEVELS - 1],
    body_size: f32,
    /// What moves: slots and radii (m).
    moving: Vec<(u32, f32)>,
    surveyor: Surveyor,
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

impl Dressed {
    fn is_ground(&self) -> bool {
        self.flags & flags::GROUND != 0
    }
}

impl Dressing {
    fn dress(
        &mut self,
        table: &Arc<BodyTable>,
        library: &mut MeshLibrary,
        meshes: &mut Assets<Mesh>,
    ) {
        // Addresses of shapes that are gone may be used again.
        library.forget_scene();
        self.table = table.clone();
        self.body_size = typical_size(table);
        self.pieces.clear();
        self.moving.clear();
        for (slot, look) in table.bodies.iter().enumerate() {
            let Some(look) = look else { continue };
            let Some(shape) = &look.shape else { continue };
            let ground = look.kind == BodyKind::Fixed && self.is_ground(shape);
            let moving = look.kind != BodyKind::Fixed;
            if moving {
                let radius = shape.bounding_radius() as f32;
                self.moving.push((slot as u32, radius));
            }
            let color = look.color.unwrap_or(match look.kind {
                BodyKind::Dynamic => palette::body(slot),
                _ => palette::FIXED,
            });
            let offset = isometry(&look.offset);
            let pieces = library.pieces(shape, meshes).into_iter();
            self.pieces.extend(pieces.map(|mut piece| {
                piece.place = offset * piece.place;
                Dressed {
                    slot: slot as u32,
                    plain: piece.ball && piece.place.translation == Vec3A::ZERO,
                    color: palette::pack(color),
                    flags: if ground {
                        flags::GRID | flags::GROUND
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

    fn is_ground(&self, shape: &Shape) -> bool {
        let large = shape.bounding_radius() as f32 > GROUND_SIZE * self.body_size;
        match shape.geometry() {
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

struct Look<'a> {
    playback: &'a Playback,
    /// The world that is looked at: the simulation's own, or a parallel world's, in a colour of its own.
    world: usize,
    tint: Option<[f32; 3]>,
    eye: &'a Eye,
    islands: Option<&'a [u32]>,
    methods: Option<&'a [Option<Method>]>,
    /// The solver's parts, and the one that the mouse points at.
    parts: Option<&'a PartsView>,
    pointed: Option<u32>,
    hands: &'a Hands,
    /// Flags that are not shown.
    hidden: u32,
}

impl Look<'_> {
    fn instance(&self, dressed: &Dressed) -> Instance {
        let mut pose = self.playback.pose_in(self.world, dressed.slot as usize);
        if !dressed.plain {
            pose = pose * dressed.piece.place;
        }
        let island = |islands: &[u32]| match islands.get(dressed.slot as usize) {
            Some(island) if *island != NO_ISLAND => palette::island(*island),
            _ => palette::NO_ISLAND,
        };
        let method = |methods: &[Option<Method>]| match methods.get(dressed.slot as usize) {
            Some(Some(method)) => palette::method(*method),
            _ => palette::NO_ISLAND,
        };
        let part = self.parts.and_then(|parts| parts.part(dressed.slot));
        let color = match (self.methods, self.islands, self.tint) {
            (_, _, Some(tint)) => palette::pack(tint),
            (Some(methods), ..) if dressed.moving => palette::pack(method(methods)),
            (_, Some(islands), _) if dressed.moving => palette::pack(island(islands)),
            _ => dressed.color,
        };
        let mut scale = dressed.piece.scale;
        if let Some(radius) = dressed.piece.rod {
            let least = LEAST_PIXELS * self.eye.pixel_at(pose.translation.into());
            let wider = (least / radius).max(1.0);
            scale *= Vec3::new(wider, 1.0, wider);
        }
        let is_chosen = self.hands.all().any(|id| id.slot == dressed.slot);
        let is_pointed = part.is_some() && part == self.pointed;
        let chosen =
            u32::from(is_chosen) * flags::SELECTED + u32::from(is_pointed) * flags::POINTED;
        Instance {
            position: pose.translation.to_array(),
            flags: (dressed.flags | chosen) & !self.hidden,
            rotation: pose.rotation.to_array(),
            scale: scale.to_array(),
            color,
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
pub(super) fn paint(
    playback: Res<Playback>,
    eye: Res<Eye>,
    hands: Res<Hands>,
    quality: Res<Quality>,
    drawing: Res<Drawing>,
    mut dressing: Local<Dressing>,
    mut canvas: ResMut<Canvas>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut bounds: ResMut<Bounds>,
) {
    let (canvas, dressing) = (&mut *canvas, &mut *dressing);
    canvas.instances.clear();
    canvas.batches.clear();
    let Some(frame) = &playback.frame else {
        return;
    };
    if !Arc::ptr_eq(&dressing.table, &frame.table) {
        dressing.dress(&frame.table, &mut canvas.library, &mut meshes);
    }
    let parts = frame.parts.as_ref();
    let islands = match parts {
        Some(parts) if drawing.parts => Some(parts.of_body.as_slice()),
        _ => Some(frame.islands.as_slice()).filter(|_| drawing.islands),
    };
    let pointed = parts.and_then(|parts| hands.pointed_part(parts));
    let methods = Some(frame.methods.as_slice());
    let worlds = 1 + frame.parallel_worlds.len();
    let is_split = worlds > 1 && eye.worlds > 1;
    // The simulation's own world comes last, and so wins where ghosts are at the same place.
    for world in (0..worlds).rev() {
        let parallel = world.checked_sub(1).map(|k| &frame.parallel_worlds[k]);
        let look = Look {
            playback: &playback,
            world,
            // Over each other worlds are told apart by colours, side by side by their places.
            tint: parallel
                .filter(|_| !is_split)
                .map(|parallel| parallel.color),
            eye: &eye,
            islands: islands.filter(|islands| !islands.is_empty()),
            methods: methods.filter(|methods| drawing.methods && !methods.is_empty()),
            parts,
            pointed,
            hands: &hands,
            hidden: u32::from(!drawing.grid) * flags::GRID,
        };
        canvas.cell = is_split.then_some(world as u32);
        dressing.paint(&look, &drawing, quality.ball_detail, canvas, &mut meshes);
    }
    // What is drawn besides the bodies is of the first world.
    canvas.cell = is_split.then_some(0);
    if let Some(level) = drawing.sea {
        let sea = Instance {
            position: [0.0, level, 0.0],
            flags: 0,
            rotation: Quat::IDENTITY.to_array(),
            scale: [PLANE_EXTENT, 1.0, PLANE_EXTENT],
            color: 0,
        };
        let cell = canvas.cell.take();
        canvas.add(MeshLibrary::SQUARE, Layer::Sea, [sea]);
        canvas.cell = cell;
    }
    let moving = dressing.moving.iter().filter_map(|(slot, radius)| {
        let pose = frame.poses.get(*slot as usize)?;
        Some((pose.translation.into(), *radius))
    });
    *bounds = dressing.surveyor.survey(moving, dressing.body_size);
}

impl Dressing {
    /// The bodies of a world. Ghosts, which share a cell with others, are the edges of moving bodies alone: surfaces at
    /// nearly the same place would hide each other in stripes.
    fn paint(
        &mut self,
        look: &Look,
        drawing: &Drawing,
        detail: f32,
        canvas: &mut Canvas,
        meshes: &mut Assets<Mesh>,
    ) {
        let is_ghost = look.world > 0 && canvas.cell.is_none();
        let has_wires = drawing.wireframe || is_ghost;
        if has_wires {
            canvas.library.make_wires(meshes);
        } else {
            self.paint_balls(look, detail, canvas);
        }
        let others = if has_wires {
            &self.pieces[..]
        } else {
            &self.pieces[self.balls..]
        };
        for pieces in others.chunk_by(|a, b| a.piece.mesh == b.piece.mesh) {
            let mesh = pieces[0].piece.mesh;
            let layer = if mesh == MeshLibrary::SQUARE {
                Layer::Ground
            } else {
                Layer::Bodies
            };
            let is_shown = |d: &&Dressed| d.moving || !is_ghost;
            let is_solid = |d: &&Dressed| !has_wires || d.is_ground();
            let pieces = || pieces.iter().filter(is_shown);
            let solid = pieces().filter(is_solid);
            canvas.add(mesh, layer, solid.map(|d| look.instance(d)));
            let wires = pieces().filter(|d| !is_solid(d));
            let layer = if is_ghost {
                Layer::Ghosts
            } else {
                Layer::Wires
            };
            canvas.add_wires(mesh, layer, wires.map(|d| look.instance(d)));
        }
    }

    /// Spheres by level of detail: one level straight into the canvas, the others beside it.
    fn paint_balls(&mut self, look: &Look, detail: f32, canvas: &mut Canvas) {
        let eye = look.eye;
        let pixels = eye.cell_size().y / (2.0 * eye.rise());
        let forward = eye.rotation * Vec3::NEG_Z;
        let finer = &mut self.finer;
        let coarse = self.pieces[..self.balls].iter().filter_map(|dressed| {
            let made = look.instance(dressed);
            let depth = (Vec3::from(made.position) - eye.position).dot(forward);
            let radius = detail * pixels * made.scale[0] / depth.max(1e-3);
            match BALL_PIXELS.iter().filter(|limit| radius > **limit).count() {
                0 => Some(made),
                level => {
                    finer[level - 1].push(made);
                    None
                }
            }
        });
        canvas.add(MeshLibrary::BALL, Layer::Bodies, coarse);
        for (level, finer) in self.finer.iter_mut().enumerate() {
            let mesh = MeshLibrary::BALL + level + 1;
            canvas.add(mesh, Layer::Bodies, finer.drain(..));
        }
    }
}
