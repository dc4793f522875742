//! The render world's side: buffers, pipelines, the shadow pass and the main pass.

use bevy::asset::{load_internal_asset, uuid_handle};
use bevy::core_pipeline::Core3dSystems;
use bevy::core_pipeline::core_3d::{
    CORE_3D_DEPTH_FORMAT, main_opaque_pass_3d, main_transparent_pass_3d,
};
use bevy::core_pipeline::schedule::Core3d;
use bevy::mesh::{PrimitiveTopology, VertexBufferLayout};
use bevy::prelude::*;
use bevy::render::mesh::allocator::MeshAllocator;
use bevy::render::render_phase::TrackedRenderPass;
use bevy::render::render_resource::binding_types::{sampler, texture_2d, uniform_buffer};
use bevy::render::render_resource::*;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery};
use bevy::render::texture::TextureCache;
use bevy::render::view::{ExtractedView, Msaa, ViewDepthTexture, ViewTarget};
use bevy::render::{
    ExtractSchedule, GpuResourceAppExt, MainWorld, Render, RenderApp, RenderSystems,
};

use super::{Batch, Canvas, Instance, Layer, View, ViewUniform};

const SHADER: Handle<Shader> = uuid_handle!("9d0c4a8b-5b0e-4a8e-9a43-1f1f0c6f4b7e");

/// How much the adapter can bear.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Width of the shadow map in texels; 0 means no shadows.
    pub shadow_map: u32,
    pub msaa: Msaa,
    /// How finely spheres are divided, 1 for as finely as can be seen.
    pub ball_detail: f32,
}

impl Quality {
    /// For a graphics processor, and for pictures that may take their time.
    pub const FULL: Self = Self {
        shadow_map: 4096,
        msaa: Msaa::Sample4,
        ball_detail: 1.0,
    };
    /// For a window on a software adapter.
    pub const PLAIN: Self = Self {
        shadow_map: 0,
        msaa: Msaa::Off,
        ball_detail: 0.4,
    };
}

pub(super) fn plugin(app: &mut App) {
    load_internal_asset!(
        app,
        SHADER,
        "../../../shaders/scene.wgsl",
        Shader::from_wgsl
    );
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return;
    };
    render_app
        .init_gpu_resource::<Gpu>()
        .init_gpu_resource::<SpecializedRenderPipelines<Layouts>>()
        .add_systems(ExtractSchedule, take_canvas)
        .add_systems(Render, prepare.in_set(RenderSystems::PrepareResources))
        .add_systems(
            Core3d,
            draw.after(main_opaque_pass_3d)
                .before(main_transparent_pass_3d)
                .in_set(Core3dSystems::MainPass),
        );
}

/// What was taken over from the main world, and where it is drawn from.
#[derive(Resource)]
struct Gpu {
    layouts: Layouts,
    sampler: Sampler,
    uniform: UniformBuffer<ViewUniform>,
    instances: RawBufferVec<Instance>,
    batches: Vec<Batch>,
    view: View,
}

/// What shaders are bound to.
struct Layouts {
    view: BindGroupLayoutDescriptor,
    /// The same uniform, without the shadow map, for drawing the shadow map itself.
    light: BindGroupLayoutDescriptor,
}

/// What a view is drawn with.
#[derive(Component)]
struct Prepared {
    shadow_map: TextureView,
    view: BindGroup,
    light: BindGroup,
    /// In the order of [`Pass`].
    pipelines: [CachedRenderPipelineId; Pass::ALL.len()],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Pass {
    Shadow,
    Bodies,
    /// Edges.
    Wires,
    Sky,
    Sea,
}

impl Pass {
    const ALL: [Self; 5] = [
        Self::Shadow,
        Self::Bodies,
        Self::Wires,
        Self::Sky,
        Self::Sea,
    ];
}

/// Ghosts, and overlays that are not seen through bodies, are drawn nearer by this factor (-), so that what lies on a
/// surface is seen on it.
const OVERLAY_LEAD: f32 = 1.003;

impl FromWorld for Gpu {
    fn from_world(world: &mut World) -> Self {
        let uniform = || uniform_buffer::<ViewUniform>(false);
        let stages = ShaderStages::VERTEX_FRAGMENT;
        let shadow = texture_2d(TextureSampleType::Depth);
        let view = (uniform(), shadow, sampler(SamplerBindingType::Comparison));
        let view = BindGroupLayoutEntries::sequential(stages, view);
        let light = BindGroupLayoutEntries::single(stages, uniform());
        let comparison = SamplerDescriptor {
            label: Some("moreau shadow sampler"),
            mag_filter: FilterMode::Linear,
            min_filter: FilterMode::Linear,
            compare: Some(CompareFunction::LessEqual),
            ..default()
        };
        Self {
            layouts: Layouts {
                view: BindGroupLayoutDescriptor::new("moreau view", &view),
                light: BindGroupLayoutDescriptor::new("moreau light", &light),
            },
            sampler: world.resource::<RenderDevice>().create_sampler(&comparison),
            uniform: UniformBuffer::default(),
            instances: RawBufferVec::new(BufferUsages::VERTEX),
            batches: Vec::new(),
            view: View::default(),
        }
    }
}

fn take_canvas(mut main: ResMut<MainWorld>, mut gpu: ResMut<Gpu>) {
    gpu.view = *main.resource::<View>();
    let mut canvas = main.resource_mut::<Canvas>();
    std::mem::swap(gpu.instances.values_mut(), &mut canvas.instances);
    std::mem::swap(&mut gpu.batches, &mut canvas.batches);
}

/// What the vertex shaders read: vertices, and behind their two attributes those of instances.
fn vertex_layouts() -> Vec<VertexBufferLayout> {
    use VertexFormat::{Float32x3, Float32x4, Uint32, Unorm8x4};
    let instance = [Float32x3, Uint32, Float32x4, Float32x3, Unorm8x4];
    vec![
        VertexBufferLayout::from_vertex_formats(VertexStepMode::Vertex, [Float32x3; 2]),
        VertexBufferLayout::from_vertex_formats(VertexStepMode::Instance, instance)
            .offset_locations_by(2),
    ]
}

impl SpecializedRenderPipeline for Layouts {
    type Key = (Pass, TextureFormat, u32);

    fn specialize(&self, (pass, format, samples): Self::Key) -> RenderPipelineDescriptor {
        let [is_shadow, is_sky, is_sea] =
            [Pass::Shadow, Pass::Sky, Pass::Sea].map(|special| pass == special);
        let (layout, vertex, fragment) = match pass {
            Pass::Shadow => (&self.light, "shadow_vertex", None),
            Pass::Bodies => (&self.view, "body_vertex", Some("body_fragment")),
            Pass::Wires => (&self.view, "body_vertex", Some("wire_fragment")),
            Pass::Sea => (&self.view, "body_vertex", Some("sea_fragment")),
            Pass::Sky => (&self.view, "sky_vertex", Some("sky_fragment")),
        };
        RenderPipelineDescriptor {
            label: Some(vertex.into()),
            layout: vec![layout.clone()],
            vertex: VertexState {
                shader: SHADER,
                entry_point: Some(vertex.into()),
                buffers: if is_sky { vec![] } else { vertex_layouts() },
                ..default()
            },
            primitive: PrimitiveState {
                topology: match pass {
                    Pass::Wires => PrimitiveTopology::LineList,
                    _ => PrimitiveTopology::TriangleList,
                },
                cull_mode: matches!(pass, Pass::Shadow | Pass::Bodies).then_some(Face::Back),
                ..default()
            },
            depth_stencil: Some(DepthStencilState {
                format: CORE_3D_DEPTH_FORMAT,
                depth_write_enabled: Some(!is_sky && !is_sea),
                // Reversed depth but in the shadow map: nearer is greater.
                depth_compare: Some(match pass {
                    Pass::Shadow => CompareFunction::LessEqual,
                    _ => CompareFunction::GreaterEqual,
                }),
                stencil: StencilState::default(),
                bias: DepthBiasState {
                    constant: if is_shadow { 2 } else { 0 },
                    slope_scale: if is_shadow { 2.0 } else { 0.0 },
                    clamp: 0.0,
                },
            }),
            multisample: MultisampleState {
                count: if is_shadow { 1 } else { samples },
                ..default()
            },
            fragment: fragment.map(|entry_point| FragmentState {
                shader: SHADER,
                entry_point: Some(entry_point.into()),
                targets: vec![Some(ColorTargetState {
                    format,
                    blend: is_sea.then_some(BlendState::ALPHA_BLENDING),
                    write_mask: ColorWrites::ALL,
                })],
                ..default()
            }),
            ..default()
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
fn prepare(
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    cache: Res<PipelineCache>,
    views: Query<(Entity, &ExtractedView, &Msaa)>,
    mut textures: ResMut<TextureCache>,
    mut pipelines: ResMut<SpecializedRenderPipelines<Layouts>>,
    mut gpu: ResMut<Gpu>,
    mut commands: Commands,
) {
    let uniform = gpu.view.uniform;
    gpu.uniform.set(uniform);
    gpu.uniform.write_buffer(&device, &queue);
    // In powers of two: a number of instances that grows does not make a buffer in every frame.
    let capacity = gpu.instances.len().next_power_of_two();
    gpu.instances.reserve(capacity, &device);
    gpu.instances.write_buffer(&device, &queue);
    let Some(uniform) = gpu.uniform.binding() else {
        return;
    };
    let size = gpu.view.shadow_map.max(1);
    let shadow_map = TextureDescriptor {
        label: Some("moreau shadow map"),
        size: Extent3d {
            width: size,
            height: size,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format: CORE_3D_DEPTH_FORMAT,
        usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    };
    for (entity, view, msaa) in &views {
        let shadow_map = textures.get(&device, shadow_map.clone()).default_view;
        let seen = (uniform.clone(), &shadow_map, &gpu.sampler);
        let layout = |layout| cache.get_bind_group_layout(layout);
        commands.entity(entity).insert(Prepared {
            view: device.create_bind_group(
                "moreau view",
                &layout(&gpu.layouts.view),
                &BindGroupEntries::sequential(seen),
            ),
            light: device.create_bind_group(
                "moreau light",
                &layout(&gpu.layouts.light),
                &BindGroupEntries::single(uniform.clone()),
            ),
            pipelines: Pass::ALL.map(|pass| {
                let key = (pass, view.target_format, msaa.samples());
                pipelines.specialize(&cache, &gpu.layouts, key)
            }),
            shadow_map,
        });
    }
}

fn draw(
    view: ViewQuery<(&ExtractedView, &ViewTarget, &ViewDepthTexture, &Prepared)>,
    gpu: Res<Gpu>,
    meshes: Res<MeshAllocator>,
    cache: Res<PipelineCache>,
    mut context: RenderContext,
) {
    let (extracted, target, depth, prepared) = view.into_inner();
    let pipelines = prepared.pipelines.map(|id| cache.get_render_pipeline(id));
    let [
        Some(shadow),
        Some(bodies),
        Some(wires),
        Some(sky),
        Some(sea),
    ] = pipelines
    else {
        return;
    };

    // Panels leave a part of the window to the picture.
    let [width, height] = extracted.viewport.to_array()[2..] else {
        return;
    };
    let full = URect::new(0, 0, width, height);
    let shown = gpu.view.viewport.intersect(full);
    if shown.is_empty() {
        return;
    }
    for cell in 0..gpu.view.cells.1 {
        if gpu.view.shadow_map > 1 {
            let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
                label: Some("moreau shadow"),
                depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                    view: &prepared.shadow_map,
                    depth_ops: Some(Operations {
                        load: LoadOp::Clear(1.0),
                        store: StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                ..default()
            });
            pass.set_render_pipeline(shadow);
            pass.set_bind_group(0, &prepared.light, &[]);
            let bodies = |layer| layer == Layer::Bodies;
            draw_batches(&mut pass, &gpu, &meshes, cell, bodies);
        }
        let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
            label: Some("moreau scene"),
            color_attachments: &[Some(target.get_color_attachment())],
            depth_stencil_attachment: Some(depth.get_attachment(StoreOp::Store)),
            ..default()
        });
        pass.set_bind_group(0, &prepared.view, &[]);
        let area = cell_of(shown, gpu.view.cells.0, cell);
        let scene = [bodies, wires, sky, sea];
        draw_cell(&mut pass, &gpu, &meshes, (cell, area), scene);
    }
}

/// A cell of the picture: row by row from the upper left.
fn cell_of(whole: URect, cells: UVec2, cell: u32) -> Rect {
    let size = whole.size().as_vec2() / cells.as_vec2();
    let at = UVec2::new(cell % cells.x, cell / cells.x).as_vec2();
    let corner = whole.min.as_vec2() + at * size;
    Rect::from_corners(corner, corner + size)
}

fn draw_cell<'a>(
    pass: &mut TrackedRenderPass<'a>,
    gpu: &'a Gpu,
    meshes: &'a MeshAllocator,
    (cell, area): (u32, Rect),
    [bodies, wires, sky, sea]: [&'a RenderPipeline; 4],
) {
    let (corner, size) = (area.min, area.size());
    let range = |pass: &mut TrackedRenderPass, near: f32, far: f32| {
        pass.set_viewport(corner.x, corner.y, size.x, size.y, near, far);
    };
    range(pass, 0.0, 0.5);
    pass.set_render_pipeline(bodies);
    draw_batches(pass, gpu, meshes, cell, |layer| {
        matches!(layer, Layer::Bodies | Layer::Ground)
    });
    pass.set_render_pipeline(wires);
    draw_batches(pass, gpu, meshes, cell, |layer| layer == Layer::Wires);
    range(pass, 0.0, 0.5 * OVERLAY_LEAD);
    draw_batches(pass, gpu, meshes, cell, |layer| layer == Layer::Ghosts);
    range(pass, 0.0, 0.5);
    pass.set_render_pipeline(sky);
    pass.draw(0..3, 0..1);
    pass.set_render_pipeline(sea);
    draw_batches(pass, gpu, meshes, cell, |layer| layer == Layer::Sea);
    // Seen through bodies, overlays get the nearer half of the depth range to themselves. Else they share
    // the bodies' half; depth is the near plane over the distance, so that a factor brings them nearer.
    if gpu.view.xray {
        range(pass, 0.5, 1.0);
    } else {
        range(pass, 0.0, 0.5 * OVERLAY_LEAD);
    }
    pass.set_render_pipeline(bodies);
    draw_batches(pass, gpu, meshes, cell, |layer| layer == Layer::Overlay);
    pass.set_render_pipeline(wires);
    draw_batches(pass, gpu, meshes, cell, |layer| {
        layer == Layer::OverlayWires
    });
}

fn draw_batches<'a>(
    pass: &mut TrackedRenderPass<'a>,
    gpu: &'a Gpu,
    meshes: &'a MeshAllocator,
    cell: u32,
    wanted: impl Fn(Layer) -> bool,
) {
    let Some(instances) = gpu.instances.buffer() else {
        return;
    };
    pass.set_vertex_buffer(1, instances.slice(..));
    let is_here = |batch: &&Batch| batch.cell.is_none_or(|own| own == cell);
    let batches = gpu.batches.iter().filter(is_here);
    for batch in batches.filter(|batch| wanted(batch.layer)) {
        if let Some(vertices) = meshes.mesh_vertex_slice(&batch.mesh)
            && let Some(indices) = meshes.mesh_index_slice(&batch.mesh)
        {
            pass.set_vertex_buffer(0, vertices.buffer.slice(..));
            pass.set_index_buffer(indices.buffer.slice(..), IndexFormat::Uint32);
            let first = vertices.range.start as i32;
            pass.draw_indexed(indices.range, first, batch.instances.clone());
        }
    }
}
