//! Drawing: all bodies of one mesh in one instanced draw call, under a sun and a sky.
//!
//! The main world fills a [`Canvas`] with instances every frame; the render world takes it over by
//! swapping buffers and draws it with the pipelines of `gpu`. No body is an entity: 64,000 spheres
//! cost one pass over an array and a handful of draw calls.

mod bodies;
mod contacts;
mod gpu;
mod heat;
mod joints;
mod marks;
mod mesh;
pub mod palette;
mod trails;

use std::ops::Range;

use bevy::asset::AssetEventSystems;
use bevy::prelude::*;
use bevy::render::render_resource::ShaderType;
use bytemuck::{Pod, Zeroable};

pub use contacts::{ArrowScale, point_radius};
pub use gpu::Quality;
use mesh::{MeshId, MeshLibrary};
pub use trails::MOST_TRAILS;

use super::camera::{Bounds, Eye};
use super::playback::{Begun, Playback};
use super::scenes::Opened;

/// What is drawn over the bodies, and how they themselves are.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Drawing {
    /// Contact points.
    pub points: bool,
    /// Contact normals.
    pub normals: bool,
    /// Normal forces of contacts, and the forces of joints where joints are shown.
    pub normal_forces: bool,
    /// Friction forces.
    pub friction_forces: bool,
    /// Joints.
    pub joints: bool,
    /// Contact points by the graph colour that they are swept in, instead of by state.
    pub colors: bool,
    /// Colours by island instead of by body.
    pub islands: bool,
    /// Colours by how a body's island was solved, instead of by body or island.
    pub methods: bool,
    /// Colours by the solver's part of a body, instead of by body or island.
    pub parts: bool,
    /// Contacts and joints that couple the solver's parts.
    pub couplings: bool,
    /// The grid on the ground.
    pub grid: bool,
    /// Boxes around the shapes, along the axes of the world, as the broad phase has them before its margins.
    pub boxes: bool,
    /// Centres of mass of what forces move.
    pub centers: bool,
    /// Where the selected body, or every one of not too many, has been.
    pub trails: bool,
    /// Edges instead of surfaces, but for the ground.
    pub wireframe: bool,
    /// Whether what is drawn over the bodies is seen through them.
    pub xray: bool,
    /// Height of the sea (m).
    pub sea: Option<f32>,
    /// Length of the arrows, as a multiple of the usual one (-).
    pub scale: f32,
}

impl Default for Drawing {
    fn default() -> Self {
        Self::of(&crate::scene::View::default())
    }
}

impl Drawing {
    /// What a scene asks for.
    pub fn of(view: &crate::scene::View) -> Self {
        Self {
            points: view.contacts,
            normals: view.normals,
            normal_forces: view.forces,
            friction_forces: view.forces,
            joints: view.joints,
            colors: false,
            islands: view.islands,
            methods: false,
            parts: false,
            couplings: false,
            grid: view.grid,
            boxes: false,
            centers: false,
            trails: false,
            wireframe: false,
            xray: true,
            sea: view.sea.map(|level| level as f32),
            scale: 1.0,
        }
    }

    /// Whether any of it needs the contacts.
    pub fn any_contacts(&self) -> bool {
        let forces = self.normal_forces || self.friction_forces;
        self.points || self.colors || self.normals || forces || self.couplings
    }
}

/// Least half width on screen of cables, lines and arrows (pixels): what is at least √2 pixels wide crosses
/// a pixel's centre in every row or column and is never dashed, however it lies.
pub const LEAST_PIXELS: f32 = 0.75;

/// One drawn piece, as the shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Instance {
    pub position: [f32; 3],
    pub flags: u32,
    /// Rotation quaternion, x y z w.
    pub rotation: [f32; 4],
    pub scale: [f32; 3],
    /// Colour from [`palette::pack`].
    pub color: u32,
}

impl Instance {
    /// A part of an overlay: not lit, and as long as `half` along its y axis.
    fn unlit(position: Vec3, along: Vec3, [width, half]: [f32; 2], color: u32) -> Self {
        Self {
            position: position.to_array(),
            flags: flags::UNLIT,
            rotation: Quat::from_rotation_arc(Vec3::Y, along).to_array(),
            scale: [width, half, width],
            color,
        }
    }

    /// A straight line so many pixels thick on either side; none without a length.
    fn line(eye: &Eye, [from, to]: [Vec3; 2], pixels: f32, color: u32) -> Option<Self> {
        let (middle, along) = (0.5 * (from + to), to - from);
        let (width, length) = (pixels * eye.pixel_at(middle), along.length());
        let is_line = length.is_finite() && length > 1e-6;
        is_line.then(|| Self::unlit(middle, along / length, [width, 0.5 * length], color))
    }

    /// A ball of an overlay.
    fn point(position: Vec3, radius: f32, color: u32) -> Self {
        Self::unlit(position, Vec3::Y, [radius; 2], color)
    }
}

/// What [`Instance::flags`] may hold; the shader's constants of the same names.
pub mod flags {
    /// A sphere that shows its orientation.
    pub const STRIPES: u32 = 1;
    /// Ground with a grid that fades into the distance.
    pub const GRID: u32 = 2;
    /// Not lit: an arrow or a point of an overlay.
    pub const UNLIT: u32 = 4;
    pub const SELECTED: u32 = 8;
    /// Belongs to what the mouse points at.
    pub const POINTED: u32 = 64;
    /// A centre of mass: a ball with black and white octants.
    pub const MARK: u32 = 16;
    /// Ground, with or without a grid.
    pub const GROUND: u32 = 32;
}

/// A run of instances of one mesh.
struct Batch {
    mesh: AssetId<Mesh>,
    instances: Range<u32>,
    layer: Layer,
    /// The cell of the picture that it is seen in; none for all of them.
    cell: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Lit, and casting shadows.
    Bodies,
    /// Lit, but too large to cast a shadow that anybody misses.
    Ground,
    /// Edges among the bodies.
    Wires,
    /// The same, seen on the surfaces of what is at the same place.
    Ghosts,
    /// Water, which is seen through a little.
    Sea,
    /// In front of everything else, or hidden by what is nearer.
    Overlay,
    /// Edges there.
    OverlayWires,
}

/// Everything that is drawn this frame.
#[derive(Resource, FromWorld)]
struct Canvas {
    library: MeshLibrary,
    /// Batch by batch.
    instances: Vec<Instance>,
    batches: Vec<Batch>,
    /// The cell that is painted into; none for all of them.
    cell: Option<u32>,
}

impl Canvas {
    fn add(&mut self, mesh: MeshId, layer: Layer, instances: impl IntoIterator<Item = Instance>) {
        self.draw(self.library.id(mesh), layer, instances);
    }

    /// The same with the edges of a mesh alone.
    fn add_wires(
        &mut self,
        mesh: MeshId,
        layer: Layer,
        instances: impl IntoIterator<Item = Instance>,
    ) {
        if let Some(wires) = self.library.wires(mesh) {
            self.draw(wires, layer, instances);
        }
    }

    fn draw(
        &mut self,
        mesh: AssetId<Mesh>,
        layer: Layer,
        instances: impl IntoIterator<Item = Instance>,
    ) {
        let first = self.instances.len() as u32;
        self.instances.extend(instances);
        let instances = first..self.instances.len() as u32;
        if !instances.is_empty() {
            self.batches.push(Batch {
                mesh,
                instances,
                layer,
                cell: self.cell,
            });
        }
    }
}

/// What the shader knows about the view; the layout of `View` in `scene.wgsl`.
#[derive(Clone, Copy, Default, ShaderType)]
struct ViewUniform {
    clip_from_world: Mat4,
    light_from_world: Mat4,
    eye: Vec4,
    right: Vec4,
    up: Vec4,
    forward: Vec4,
    sun: Vec4,
    params: Vec4,
    moods: Vec4,
}

/// The uniform of this frame, the part of the window that it fills, and the width of the shadow map.
#[derive(Resource, Clone, Copy, Default)]
struct View {
    uniform: ViewUniform,
    viewport: URect,
    shadow_map: u32,
    xray: bool,
    /// Columns and rows of cells that the viewport is divided into, and how many of them there are.
    cells: (UVec2, u32),
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Canvas>()
        .init_resource::<Bounds>()
        .init_resource::<View>()
        .init_resource::<Drawing>()
        .init_resource::<ArrowScale>()
        .add_message::<Begun>()
        .add_message::<Opened>()
        .add_systems(PreUpdate, begin)
        .add_systems(
            PostUpdate,
            (
                bodies::paint.before(AssetEventSystems),
                joints::paint,
                contacts::paint,
                heat::paint,
                marks::paint,
                trails::paint,
                set_view,
            )
                .chain(),
        )
        .add_plugins(gpu::plugin);
}

/// Draws what a scene that was opened asks for, in the size that arrows have.
fn begin(mut opened: MessageReader<Opened>, mut drawing: ResMut<Drawing>) {
    if let Some(Opened(view)) = opened.read().last() {
        *drawing = Drawing {
            scale: drawing.scale,
            ..Drawing::of(view)
        };
    }
}

/// The waves of the sea are what they were after so long (s); the shader's frequencies are multiples of
/// 2π over it.
const WAVES_AGAIN: f64 = 1000.0;

/// Direction towards the sun.
const SUN: Vec3 = Vec3::new(0.42, 0.80, 0.43);

fn set_view(
    eye: Res<Eye>,
    bounds: Res<Bounds>,
    quality: Res<Quality>,
    drawing: Res<Drawing>,
    playback: Res<Playback>,
    mut view: ResMut<View>,
) {
    let time = playback.frame.as_ref().map_or(0.0, |frame| frame.time);
    let rough = f32::from(quality.shadow_map > 1);
    let size = eye.cell_size();
    let aspect = size.x / size.y;
    let rise = eye.rise();
    let forward = eye.rotation * Vec3::NEG_Z;
    let right = eye.rotation * Vec3::X;
    let up = eye.rotation * Vec3::Y;
    let sun = SUN.normalize();

    // The shadow map covers what moves, or as much of it around the camera's focus as stays sharp.
    let reach = (2.5 * eye.focus_distance).max(4.0 * bounds.body_size);
    let (center, radius) = if bounds.radius <= reach {
        (bounds.center, bounds.radius)
    } else {
        (eye.focus(), reach)
    };
    let radius = (1.15 * radius).max(0.5);
    let texel = 2.0 * radius / quality.shadow_map.max(1) as f32;
    let look = Mat4::look_to_rh(Vec3::ZERO, -sun, Vec3::Y);
    // Whole texels only, so that still shadows do not shimmer while the camera moves.
    let c = look.transform_point3(center);
    let snapped = Vec3::new(
        (c.x / texel).round() * texel,
        (c.y / texel).round() * texel,
        c.z,
    );
    // What casts a shadow may stand well outside of what receives it.
    let depth = 4.0 * radius;
    let light_from_world = Mat4::orthographic_rh(-radius, radius, -radius, radius, -depth, depth)
        * Mat4::from_translation(-snapped)
        * look;

    // A decade of the grid per decade of body size.
    let spacing = 10f32.powf(bounds.body_size.max(1e-3).log10().round());
    let far = (60.0 * eye.focus_distance).max(20.0 * bounds.radius);
    view.viewport = eye.viewport;
    view.cells = (eye.cells(), eye.worlds.max(1));
    view.shadow_map = quality.shadow_map;
    view.xray = drawing.xray;
    view.uniform = ViewUniform {
        clip_from_world: eye.clip_from_view(aspect) * eye.view_from_world(),
        light_from_world,
        eye: eye.position.extend(far),
        right: (right * rise * aspect).extend(0.0),
        up: (up * rise).extend(0.0),
        forward: forward.extend(0.0),
        sun: sun.extend(if quality.shadow_map > 1 { 1.0 } else { 0.0 }),
        // Waves go with the simulation's time, so that a picture shows a state and nothing else. In single
        // precision they would stutter after some hours.
        moods: Vec4::new((time % WAVES_AGAIN) as f32, rough, 0.0, 0.0),
        params: Vec4::new(spacing, 1.0, texel, 1.0 / quality.shadow_map.max(1) as f32),
    };
}
