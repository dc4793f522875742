//! The kernels on the device: source, bindings, and compiled pipelines.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use super::program::Kernel;

/// A buffer of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    Prox,
    Frames,
    Rows,
    Entries,
    Bodies,
    Free,
    Touches,
    Units,
    Colors,
    Lambda,
    Before,
    Checkpoint,
    Argument,
    /// The values of a segment of T; which one, a dispatch says.
    Value(u32),
    Column,
    BlockRows,
    Offset,
    Partial,
    Total,
}

/// Any segment of T.
const VALUE: Buffer = Buffer::Value(0);

/// What a kernel is compiled from, and what it is bound to: from binding 1 on the buffers that it reads, then those that
/// it writes. Binding 0 are the parameters.
pub struct Description {
    pub source: &'static str,
    pub reads: &'static [Buffer],
    pub writes: &'static [Buffer],
}

/// The source of a kernel behind what all share, and parts that it shares with others.
macro_rules! source {
    ($name:literal) => {
        concat!(
            include_str!("../../../shaders/solve/common.wgsl"),
            include_str!(concat!("../../../shaders/solve/", $name, ".wgsl")),
        )
    };
    ($name:literal with $($part:literal)+) => {
        concat!(
            source!($name),
            $(include_str!(concat!("../../../shaders/solve/", $part, ".wgsl")),)+
        )
    };
}

impl Kernel {
    /// All kernels.
    #[cfg(test)]
    pub const ALL: [Self; 17] = [
        Self::JorProject,
        Self::Gather,
        Self::JorSmall,
        Self::SorSweep,
        Self::SorSmall,
        Self::Product,
        Self::Prox,
        Self::SorSparse,
        Self::DenseProduct,
        Self::DenseStart,
        Self::DenseA,
        Self::DenseB,
        Self::Note,
        Self::Keep,
        Self::Return,
        Self::Criterion,
        Self::Total,
    ];

    /// Whether a piece of the contacts is bound to it.
    pub fn is_of_piece(self) -> bool {
        use Kernel::*;
        matches!(
            self,
            JorProject | Gather | JorSmall | SorSweep | SorSmall | Prox | Criterion
        )
    }

    /// What it is.
    pub fn description(self) -> Description {
        use Buffer::*;
        let (source, reads, writes): (&str, &[Buffer], &[Buffer]) = match self {
            Self::JorProject => (
                source!("jor_project" with "prox_at" "frame_at" "row_argument" "project_block"),
                &[Prox, Frames, Rows, Entries, Bodies],
                &[Lambda],
            ),
            Self::Gather => (
                source!("gather" with "frame_at" "gather_body"),
                &[Frames, Rows, Entries, Touches, Free, Lambda],
                &[Bodies],
            ),
            Self::JorSmall => (
                source!("jor_small" with "prox_at" "frame_at" "row_argument" "project_block" "gather_body"),
                &[Prox, Frames, Rows, Entries, Touches, Free],
                &[Bodies, Lambda],
            ),
            Self::SorSweep => (
                source!("sor_sweep" with "prox_at" "frame_at" "row_argument" "sweep_unit"),
                &[Prox, Frames, Rows, Entries, Units],
                &[Bodies, Lambda],
            ),
            Self::SorSmall => (
                source!("sor_small" with "prox_at" "frame_at" "row_argument" "sweep_unit"),
                &[Prox, Frames, Rows, Entries, Units, Colors],
                &[Bodies, Lambda],
            ),
            Self::Product => (
                source!("product" with "block_product"),
                &[VALUE, Column, BlockRows, Offset, Lambda],
                &[Argument],
            ),
            Self::Prox => (
                source!("prox" with "prox_at"),
                &[Prox, Rows, Argument],
                &[Lambda],
            ),
            Self::SorSparse => (
                source!("sor_sparse" with "prox_at" "block_product"),
                &[Prox, Rows, Units, VALUE, Column, BlockRows, Offset],
                &[Lambda],
            ),
            Self::DenseProduct => (
                source!("dense_product"),
                &[VALUE, Offset, Lambda],
                &[Argument],
            ),
            Self::DenseStart => (
                source!("dense_start"),
                &[VALUE, Column, Lambda],
                &[Argument],
            ),
            Self::DenseA => (
                source!("sor_dense_a" with "prox_at"),
                &[Prox, Rows, Units, VALUE, Offset],
                &[Argument, Lambda],
            ),
            Self::DenseB => (source!("sor_dense_b"), &[Units, VALUE, Lambda], &[Argument]),
            Self::Note => (source!("keep"), &[Lambda], &[Before]),
            Self::Keep => (source!("keep"), &[Lambda], &[Checkpoint]),
            Self::Return => (source!("keep"), &[Checkpoint], &[Lambda]),
            Self::Criterion => (
                source!("criterion" with "prox_at" "reduce"),
                &[Prox, Rows, Before, Lambda],
                &[Partial],
            ),
            Self::Total => (source!("criterion_sum" with "reduce"), &[Partial], &[Total]),
        };
        Description {
            source,
            reads,
            writes,
        }
    }
}

/// A compiled kernel.
pub struct Pipeline {
    pub compute: wgpu::ComputePipeline,
    pub bindings: wgpu::BindGroupLayout,
}

/// The compiled kernels of a device, each compiled when it is first used.
#[derive(Default)]
pub struct Pipelines(Mutex<HashMap<Kernel, Arc<Pipeline>>>);

/// Bytes of a dispatch's parameters, and how far those of the next one are.
pub const PARAMS: u64 = 40;
pub const STRIDE: u64 = 256;

impl Pipelines {
    /// Forgets all.
    pub fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clear();
    }

    /// A compiled kernel.
    pub fn get(&self, device: &wgpu::Device, kernel: Kernel) -> Arc<Pipeline> {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let compiled = all.entry(kernel);
        Arc::clone(compiled.or_insert_with(|| Arc::new(compile(device, kernel))))
    }
}

fn compile(device: &wgpu::Device, kernel: Kernel) -> Pipeline {
    let Description {
        source,
        reads,
        writes,
    } = kernel.description();
    let name = format!("{kernel:?}");
    let entry = |binding, ty, has_dynamic_offset, size| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset,
            min_binding_size: NonZeroU64::new(size),
        },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true, PARAMS)];
    for k in 0..reads.len() + writes.len() {
        let read_only = k < reads.len();
        let storage = wgpu::BufferBindingType::Storage { read_only };
        entries.push(entry(1 + k as u32, storage, false, 0));
    }
    let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(&name),
        entries: &entries,
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&name),
        bind_group_layouts: &[Some(&bindings)],
        immediate_size: 0,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let compute = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&name),
        layout: Some(&layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    Pipeline { compute, bindings }
}
