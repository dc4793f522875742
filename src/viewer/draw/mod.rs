//! Drawing: all bodies of one mesh in one instanced draw call, under a sun and a sky.
//!
//! The main world fills a [`Canvas`] with instances every frame; the render world takes it over by
//! swapping buffers and draws it with the pipelines of `gpu`. No body is an entity: 64,000 spheres
//! cost one pass over an array and a handful of draw calls.

pub mod bodies;
pub mod contacts;
mod gpu;
mod joints;
pub mod mesh;
pub mod palette;

use std::ops::Range;

use bevy::prelude::*;
use bytemuck::{Pod, Zeroable};

pub use gpu::Quality;
pub use mesh::{MeshId, MeshLibrary};

use super::camera::Eye;

/// One drawn piece, as the shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Instance {
    /// World position.
    pub position: [f32; 3],
    /// Bits of [`flags`].
    pub flags: u32,
    /// Rotation quaternion, x y z w.
    pub rotation: [f32; 4],
    /// Scale along the mesh's axes.
    pub scale: [f32; 3],
    /// Colour from [`palette::pack`].
    pub color: u32,
}

/// What [`Instance::flags`] may hold; the shader's constants of the same names.
pub mod flags {
    /// A sphere that shows its orientation.
    pub const STRIPES: u32 = 1;
    /// Ground with a grid that fades into the distance.
    pub const GRID: u32 = 2;
    /// Not lit: an arrow or a point of an overlay.
    pub const UNLIT: u32 = 4;
    /// The selected body.
    pub const SELECTED: u32 = 8;
}

/// A run of instances of one mesh.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The mesh.
    pub mesh: MeshId,
    /// The instances.
    pub instances: Range<u32>,
    /// How they are drawn.
    pub layer: Layer,
}

/// How a batch is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Lit, and casting shadows.
    Bodies,
    /// Lit, but too large to cast a shadow that anybody misses.
    Ground,
    /// In front of everything else.
    Overlay,
}

/// A sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its centre.
    pub center: Vec3,
    /// Its radius \[m\].
    pub radius: f32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            center: Vec3::ZERO,
            radius: 5.0,
        }
    }
}

/// Everything that is drawn this frame.
#[derive(Resource, Default)]
pub struct Canvas {
    /// The meshes.
    pub library: MeshLibrary,
    /// The instances, batch by batch.
    pub instances: Vec<Instance>,
    /// Which instances show which mesh.
    pub batches: Vec<Batch>,
    /// What moves: the shadows are fitted to it, and "frame all" shows it.
    pub bounds: Bounds,
    /// Typical size of a body, for the grid and for arrows \[m\].
    pub body_size: f32,
}

impl Canvas {
    /// Appends a batch of what was pushed since `first`.
    pub fn close_batch(&mut self, mesh: MeshId, first: usize, layer: Layer) {
        let end = self.instances.len();
        if end > first {
            self.batches.push(Batch {
                mesh,
                instances: first as u32..end as u32,
                layer,
            });
        }
    }
}

/// The order in which a frame is painted.
#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Paint {
    /// The bodies; starts a new picture.
    Bodies,
    /// What is drawn over them.
    Overlays,
    /// The view and the light.
    View,
}

/// What the shader knows about the view; the layout of `View` in `scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct ViewUniform {
    clip_from_world: [[f32; 4]; 4],
    light_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    right: [f32; 4],
    up: [f32; 4],
    forward: [f32; 4],
    sun: [f32; 4],
    params: [f32; 4],
}

/// The uniform of this frame and the part of the window that it fills.
#[derive(Resource, Clone, Copy, Debug, Default)]
struct View {
    uniform: ViewUniform,
    viewport: URect,
}

/// Draws a [`Canvas`].
pub struct DrawPlugin;

impl Plugin for DrawPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Canvas>()
            .init_resource::<View>()
            .init_resource::<bodies::Dressing>()
            .init_resource::<contacts::Overlays>()
            .configure_sets(
                PostUpdate,
                (Paint::Bodies, Paint::Overlays, Paint::View).chain(),
            )
            .add_systems(
                PostUpdate,
                (
                    bodies::paint.in_set(Paint::Bodies),
                    (joints::paint, contacts::paint)
                        .chain()
                        .in_set(Paint::Overlays),
                    set_view.in_set(Paint::View),
                ),
            )
            .add_plugins(gpu::GpuPlugin);
    }
}

/// Direction towards the sun.
const SUN: Vec3 = Vec3::new(0.42, 0.80, 0.43);

fn set_view(eye: Res<Eye>, canvas: Res<Canvas>, quality: Res<Quality>, mut view: ResMut<View>) {
    let size = eye.viewport.size().max(UVec2::ONE).as_vec2();
    let aspect = size.x / size.y;
    let rise = (0.5 * eye.fov).tan();
    let forward = eye.rotation * Vec3::NEG_Z;
    let right = eye.rotation * Vec3::X;
    let up = eye.rotation * Vec3::Y;
    let sun = SUN.normalize();

    // The shadow map covers what moves, or as much of it around the camera's focus as stays sharp.
    let reach = (2.5 * eye.focus_distance).max(4.0 * canvas.body_size);
    let lit = if canvas.bounds.radius <= reach {
        canvas.bounds
    } else {
        Bounds {
            center: eye.focus(),
            radius: reach,
        }
    };
    let radius = (1.15 * lit.radius).max(0.5);
    let texel = 2.0 * radius / quality.shadow_map.max(1) as f32;
    let look = Mat4::look_to_rh(Vec3::ZERO, -sun, Vec3::Y);
    // Whole texels only, so that still shadows do not shimmer while the camera moves.
    let c = look.transform_point3(lit.center);
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
    let spacing = 10f32.powf(canvas.body_size.max(1e-3).log10().round());
    let far = (60.0 * eye.focus_distance).max(20.0 * canvas.bounds.radius);
    view.viewport = eye.viewport;
    view.uniform = ViewUniform {
        clip_from_world: (eye.clip_from_view(aspect) * eye.view_from_world()).to_cols_array_2d(),
        light_from_world: light_from_world.to_cols_array_2d(),
        eye: eye.position.extend(far).to_array(),
        right: (right * rise * aspect).extend(0.0).to_array(),
        up: (up * rise).extend(0.0).to_array(),
        forward: forward.extend(0.0).to_array(),
        sun: sun
            .extend(if quality.shadow_map > 1 { 1.0 } else { 0.0 })
            .to_array(),
        params: [spacing, 1.0, texel, 1.0 / quality.shadow_map.max(1) as f32],
    };
}
