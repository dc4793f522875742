//! The render world's side: buffers, pipelines, the shadow pass and the main pass.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::core_pipeline::Core3dSystems;
use bevy::core_pipeline::core_3d::{
    CORE_3D_DEPTH_FORMAT, main_opaque_pass_3d, main_transparent_pass_3d,
};
use bevy::core_pipeline::schedule::Core3d;
use bevy::mesh::VertexBufferLayout;
use bevy::prelude::*;
use bevy::render::render_phase::TrackedRenderPass;
use bevy::render::render_resource::{
    BindGroup, BindGroupEntries, BindGroupLayout, BindGroupLayoutEntries, Buffer, BufferDescriptor,
    BufferInitDescriptor, BufferUsages, ColorTargetState, ColorWrites, CompareFunction,
    DepthBiasState, DepthStencilState, Extent3d, Face, FilterMode, IndexFormat, LoadOp,
    MultisampleState, Operations, PipelineCompilationOptions, PipelineLayout,
    PipelineLayoutDescriptor, PrimitiveState, RawFragmentState, RawRenderPipelineDescriptor,
    RawVertexBufferLayout, RawVertexState, RenderPassDepthStencilAttachment, RenderPassDescriptor,
    RenderPipeline, SamplerBindingType, SamplerDescriptor, ShaderModule, ShaderModuleDescriptor,
    ShaderSource, ShaderStages, StencilState, StoreOp, TextureDescriptor, TextureDimension,
    TextureFormat, TextureSampleType, TextureUsages, TextureView, VertexFormat, VertexStepMode,
    binding_types::{sampler, texture_2d, uniform_buffer_sized},
};
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery};
use bevy::render::view::{ExtractedView, Msaa, ViewDepthTexture, ViewTarget};
use bevy::render::{ExtractSchedule, MainWorld, Render, RenderApp, RenderStartup, RenderSystems};

use super::mesh::MeshData;
use super::{Batch, Canvas, Instance, Layer, View, ViewUniform};

const SHADER: &str = include_str!("../../../shaders/scene.wgsl");
const SHADOW_FORMAT: TextureFormat = TextureFormat::Depth32Float;

/// How much the adapter can bear.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Width of the shadow map in texels; 0 means no shadows.
    pub shadow_map: u32,
    /// Samples per pixel.
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

/// Draws in the render world.
pub(super) struct GpuPlugin;

impl Plugin for GpuPlugin {
    fn build(&self, app: &mut App) {
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            return;
        };
        render_app
            .init_resource::<Picture>()
            .add_systems(RenderStartup, set_up)
            .add_systems(ExtractSchedule, take_canvas)
            .add_systems(Render, prepare.in_set(RenderSystems::PrepareResources))
            .add_systems(
                Core3d,
                draw.after(main_opaque_pass_3d)
                    .before(main_transparent_pass_3d)
                    .in_set(Core3dSystems::MainPass),
            );
    }
}

/// What was taken over from the main world.
#[derive(Resource, Default)]
struct Picture {
    meshes: Vec<Arc<MeshData>>,
    instances: Vec<Instance>,
    batches: Vec<Batch>,
    view: View,
    quality: Option<Quality>,
}

struct GpuMesh {
    /// Keeps the address, by which it is found, from being used again.
    data: Arc<MeshData>,
    vertices: Buffer,
    indices: Buffer,
    count: u32,
}

struct Pipelines {
    bodies: RenderPipeline,
    sky: RenderPipeline,
}

#[derive(Resource)]
struct Gpu {
    shader: ShaderModule,
    layout: BindGroupLayout,
    pipeline_layout: PipelineLayout,
    pipelines: HashMap<(TextureFormat, u32), Pipelines>,
    shadow_pipeline: RenderPipeline,
    uniform: Buffer,
    instances: Buffer,
    meshes: HashMap<usize, GpuMesh>,
    shadow_size: u32,
    shadow_view: TextureView,
    bind_group: BindGroup,
    /// The same uniform, without the shadow map, for drawing the shadow map itself.
    shadow_bind_group: BindGroup,
}

fn take_canvas(mut main: ResMut<MainWorld>, mut picture: ResMut<Picture>) {
    let view = *main.resource::<View>();
    let quality = *main.resource::<Quality>();
    let mut canvas = main.resource_mut::<Canvas>();
    let picture = &mut *picture;
    std::mem::swap(&mut picture.instances, &mut canvas.instances);
    std::mem::swap(&mut picture.batches, &mut canvas.batches);
    picture.meshes.clear();
    picture.meshes.extend_from_slice(canvas.library.meshes());
    picture.view = view;
    picture.quality = Some(quality);
}

/// What the vertex shaders read: vertices, and behind their two attributes those of instances.
fn layouts() -> [VertexBufferLayout; 2] {
    use VertexFormat::{Float32x3, Float32x4, Uint32, Unorm8x4};
    let layout = |step, formats: &[_]| {
        VertexBufferLayout::from_vertex_formats(step, formats.iter().copied())
    };
    let instance = [Float32x3, Uint32, Float32x4, Float32x3, Unorm8x4];
    [
        layout(VertexStepMode::Vertex, &[Float32x3; 2]),
        layout(VertexStepMode::Instance, &instance).offset_locations_by(2),
    ]
}

fn raw(layouts: &[VertexBufferLayout; 2]) -> [RawVertexBufferLayout<'_>; 2] {
    layouts.each_ref().map(|layout| RawVertexBufferLayout {
        array_stride: layout.array_stride,
        step_mode: layout.step_mode,
        attributes: &layout.attributes,
    })
}

fn set_up(mut commands: Commands, device: Res<RenderDevice>) {
    let shader = device.create_and_validate_shader_module(ShaderModuleDescriptor {
        label: Some("moreau scene"),
        source: ShaderSource::Wgsl(SHADER.into()),
    });
    let size = std::num::NonZeroU64::new(size_of::<ViewUniform>() as u64);
    let stages = ShaderStages::VERTEX_FRAGMENT;
    let layout = device.create_bind_group_layout(
        "moreau view",
        &BindGroupLayoutEntries::sequential(
            stages,
            (
                uniform_buffer_sized(false, size),
                texture_2d(TextureSampleType::Depth),
                sampler(SamplerBindingType::Comparison),
            ),
        ),
    );
    let shadow_layout = device.create_bind_group_layout(
        "moreau light",
        &BindGroupLayoutEntries::single(stages, uniform_buffer_sized(false, size)),
    );
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label: Some("moreau scene"),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let shadow_pipeline = shadow_pipeline(&device, &shader, &shadow_layout);
    let uniform = device.create_buffer(&BufferDescriptor {
        label: Some("moreau view"),
        size: size_of::<ViewUniform>() as u64,
        usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let shadow_view = shadow_map(&device, 1);
    let bind_group = bind(&device, &layout, &uniform, &shadow_view);
    let shadow_bind_group = device.create_bind_group(
        "moreau light",
        &shadow_layout,
        &BindGroupEntries::single(uniform.as_entire_binding()),
    );
    commands.insert_resource(Gpu {
        instances: instance_buffer(&device, 1024),
        shader,
        layout,
        pipeline_layout,
        pipelines: HashMap::new(),
        shadow_pipeline,
        uniform,
        meshes: HashMap::new(),
        shadow_size: 1,
        shadow_view,
        bind_group,
        shadow_bind_group,
    });
}

fn instance_buffer(device: &RenderDevice, count: usize) -> Buffer {
    device.create_buffer(&BufferDescriptor {
        label: Some("moreau instances"),
        size: (count * size_of::<Instance>()) as u64,
        usage: BufferUsages::VERTEX | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn shadow_map(device: &RenderDevice, size: u32) -> TextureView {
    device
        .create_texture(&TextureDescriptor {
            label: Some("moreau shadow map"),
            size: Extent3d {
                width: size,
                height: size,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: SHADOW_FORMAT,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        })
        .create_view(&Default::default())
}

fn bind(
    device: &RenderDevice,
    layout: &BindGroupLayout,
    uniform: &Buffer,
    shadow_map: &TextureView,
) -> BindGroup {
    let comparison = device.create_sampler(&SamplerDescriptor {
        label: Some("moreau shadow sampler"),
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        compare: Some(CompareFunction::LessEqual),
        ..Default::default()
    });
    device.create_bind_group(
        "moreau view",
        layout,
        &BindGroupEntries::sequential((uniform.as_entire_binding(), shadow_map, &comparison)),
    )
}

fn depth_state(compare: CompareFunction, write: bool, bias: DepthBiasState) -> DepthStencilState {
    DepthStencilState {
        format: CORE_3D_DEPTH_FORMAT,
        depth_write_enabled: Some(write),
        depth_compare: Some(compare),
        stencil: StencilState::default(),
        bias,
    }
}

fn shadow_pipeline(
    device: &RenderDevice,
    shader: &ShaderModule,
    layout: &BindGroupLayout,
) -> RenderPipeline {
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label: Some("moreau shadow"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let layouts = layouts();
    device.create_render_pipeline(&RawRenderPipelineDescriptor {
        label: Some("moreau shadow"),
        layout: Some(&pipeline_layout),
        vertex: RawVertexState {
            module: shader,
            entry_point: Some("shadow_vertex"),
            compilation_options: PipelineCompilationOptions::default(),
            buffers: &raw(&layouts),
        },
        primitive: PrimitiveState {
            cull_mode: Some(Face::Back),
            ..Default::default()
        },
        depth_stencil: Some(depth_state(
            CompareFunction::LessEqual,
            true,
            DepthBiasState {
                constant: 2,
                slope_scale: 2.0,
                clamp: 0.0,
            },
        )),
        multisample: MultisampleState::default(),
        fragment: None,
        multiview_mask: None,
        cache: None,
    })
}

impl Pipelines {
    fn new(device: &RenderDevice, gpu: &Gpu, format: TextureFormat, samples: u32) -> Self {
        let layouts = layouts();
        let make =
            |label, stages: [&str; 2], buffers: &[RawVertexBufferLayout], depth, cull_mode| {
                device.create_render_pipeline(&RawRenderPipelineDescriptor {
                    label: Some(label),
                    layout: Some(&gpu.pipeline_layout),
                    vertex: RawVertexState {
                        module: &gpu.shader,
                        entry_point: Some(stages[0]),
                        compilation_options: PipelineCompilationOptions::default(),
                        buffers,
                    },
                    primitive: PrimitiveState {
                        cull_mode,
                        ..Default::default()
                    },
                    depth_stencil: Some(depth),
                    multisample: MultisampleState {
                        count: samples,
                        ..Default::default()
                    },
                    fragment: Some(RawFragmentState {
                        module: &gpu.shader,
                        entry_point: Some(stages[1]),
                        compilation_options: PipelineCompilationOptions::default(),
                        targets: &[Some(ColorTargetState {
                            format,
                            blend: None,
                            write_mask: ColorWrites::ALL,
                        })],
                    }),
                    multiview_mask: None,
                    cache: None,
                })
            };
        let unbiased = DepthBiasState::default();
        Self {
            // Reversed depth: nearer is greater.
            bodies: make(
                "moreau bodies",
                ["body_vertex", "body_fragment"],
                &raw(&layouts),
                depth_state(CompareFunction::GreaterEqual, true, unbiased),
                Some(Face::Back),
            ),
            sky: make(
                "moreau sky",
                ["sky_vertex", "sky_fragment"],
                &[],
                depth_state(CompareFunction::GreaterEqual, false, unbiased),
                None,
            ),
        }
    }
}

fn prepare(
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    picture: Res<Picture>,
    views: Query<(&ExtractedView, &Msaa)>,
    mut gpu: ResMut<Gpu>,
) {
    let gpu = &mut *gpu;
    queue.write_buffer(&gpu.uniform, 0, bytemuck::bytes_of(&picture.view.uniform));

    let bytes: &[u8] = bytemuck::cast_slice(&picture.instances);
    if bytes.len() as u64 > gpu.instances.size() {
        gpu.instances = instance_buffer(&device, picture.instances.len().next_power_of_two());
    }
    queue.write_buffer(&gpu.instances, 0, bytes);

    let address = |mesh: &Arc<MeshData>| Arc::as_ptr(mesh) as usize;
    if gpu.meshes.len() > 2 * picture.meshes.len() + 64 {
        // Meshes of scenes gone by.
        gpu.meshes
            .retain(|_, mesh| Arc::strong_count(&mesh.data) > 1);
    }
    for mesh in picture.batches.iter().map(|b| &picture.meshes[b.mesh]) {
        gpu.meshes.entry(address(mesh)).or_insert_with(|| {
            let buffer = |contents: &[u8], usage| {
                device.create_buffer_with_data(&BufferInitDescriptor {
                    label: Some("moreau mesh"),
                    contents,
                    usage,
                })
            };
            GpuMesh {
                data: mesh.clone(),
                vertices: buffer(bytemuck::cast_slice(&mesh.vertices), BufferUsages::VERTEX),
                indices: buffer(bytemuck::cast_slice(&mesh.indices), BufferUsages::INDEX),
                count: mesh.indices.len() as u32,
            }
        });
    }

    let size = picture.quality.map_or(0, |q| q.shadow_map).max(1);
    if size != gpu.shadow_size {
        gpu.shadow_size = size;
        gpu.shadow_view = shadow_map(&device, size);
        gpu.bind_group = bind(&device, &gpu.layout, &gpu.uniform, &gpu.shadow_view);
    }
    for (view, msaa) in &views {
        let key = (view.target_format, msaa.samples());
        if !gpu.pipelines.contains_key(&key) {
            let made = Pipelines::new(&device, gpu, key.0, key.1);
            gpu.pipelines.insert(key, made);
        }
    }
}

fn draw(
    view: ViewQuery<(&ExtractedView, &ViewTarget, &ViewDepthTexture, &Msaa)>,
    gpu: Res<Gpu>,
    picture: Res<Picture>,
    mut context: RenderContext,
) {
    let (extracted, target, depth, msaa) = view.into_inner();
    let Some(pipelines) = gpu
        .pipelines
        .get(&(extracted.target_format, msaa.samples()))
    else {
        return;
    };

    if gpu.shadow_size > 1 {
        let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
            label: Some("moreau shadow"),
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &gpu.shadow_view,
                depth_ops: Some(Operations {
                    load: LoadOp::Clear(1.0),
                    store: StoreOp::Store,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_render_pipeline(&gpu.shadow_pipeline);
        pass.set_bind_group(0, &gpu.shadow_bind_group, &[]);
        draw_batches(&mut pass, &gpu, &picture, |layer| layer == Layer::Bodies);
    }

    let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
        label: Some("moreau scene"),
        color_attachments: &[Some(target.get_color_attachment())],
        depth_stencil_attachment: Some(depth.get_attachment(StoreOp::Store)),
        ..Default::default()
    });
    // Panels leave a part of the window to the picture.
    let [width, height] = extracted.viewport.to_array()[2..] else {
        return;
    };
    let full = URect::new(0, 0, width, height);
    let shown = picture.view.viewport.intersect(full);
    if shown.is_empty() {
        return;
    }
    let (corner, size) = (shown.min.as_vec2(), shown.size().as_vec2());
    pass.set_bind_group(0, &gpu.bind_group, &[]);
    // Overlays get the nearer half of the depth range to themselves.
    pass.set_viewport(corner.x, corner.y, size.x, size.y, 0.0, 0.5);
    pass.set_render_pipeline(&pipelines.bodies);
    draw_batches(&mut pass, &gpu, &picture, |layer| layer != Layer::Overlay);
    pass.set_render_pipeline(&pipelines.sky);
    pass.draw(0..3, 0..1);
    pass.set_viewport(corner.x, corner.y, size.x, size.y, 0.5, 1.0);
    pass.set_render_pipeline(&pipelines.bodies);
    draw_batches(&mut pass, &gpu, &picture, |layer| layer == Layer::Overlay);
}

fn draw_batches<'a>(
    pass: &mut TrackedRenderPass<'a>,
    gpu: &'a Gpu,
    picture: &Picture,
    wanted: impl Fn(Layer) -> bool,
) {
    pass.set_vertex_buffer(1, gpu.instances.slice(..));
    for batch in picture.batches.iter().filter(|batch| wanted(batch.layer)) {
        let address = Arc::as_ptr(&picture.meshes[batch.mesh]) as usize;
        if let Some(mesh) = gpu.meshes.get(&address) {
            pass.set_vertex_buffer(0, mesh.vertices.slice(..));
            pass.set_index_buffer(mesh.indices.slice(..), IndexFormat::Uint32);
            pass.draw_indexed(0..mesh.count, 0, batch.instances.clone());
        }
    }
}
