//! The kernels on the device: source, bindings, and compiled pipelines.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use super::program::{Kernel, WORKGROUP};

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
    pub source: Source,
    pub reads: &'static [Buffer],
    pub writes: &'static [Buffer],
}

/// The text of a kernel, with parts that it shares with others, in the order of the file.
#[derive(Clone, Copy)]
pub struct Source {
    own: &'static str,
    parts: &'static [Part],
}

/// A part of several kernels: its text in single and in double precision.
type Part = [&'static str; 2];

/// How kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Build {
    /// Bits of a number.
    pub bits: u32,
    /// Most rows of a diagonal block of T as a whole.
    pub block: u32,
}

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../shaders/solve/", $name, ".wgsl"))
    };
}

macro_rules! source {
    ($name:literal $(with $($part:ident)+)?) => {
        Source {
            own: file!($name),
            parts: &[$($($part),+)?],
        }
    };
}

const PROX_AT: Part = [file!("prox_at"), file!("prox_at_double")];
const FRAME_AT: Part = [file!("frame_at"), file!("frame_at_double")];
const ROW_ARGUMENT: Part = [file!("row_argument"); 2];
const PROJECT_BLOCK: Part = [file!("project_block"); 2];
const GATHER_BODY: Part = [file!("gather_body"); 2];
const SWEEP_UNIT: Part = [file!("sweep_unit"); 2];
const BLOCK_PRODUCT: Part = [file!("block_product"); 2];
const REDUCE: Part = [file!("reduce"); 2];

impl Source {
    /// The whole text in WGSL.
    pub fn text(&self, build: Build) -> String {
        let is_double = build.bits == 64;
        let kind = if is_double {
            file!("double")
        } else {
            file!("single")
        };
        let threads = format!("const THREADS: u32 = {}u;\n\n", build.block);
        let parts = self.parts.iter().map(|part| part[usize::from(is_double)]);
        let all = [kind, &threads, file!("common"), self.own];
        all.into_iter().chain(parts).collect()
    }
}

impl Kernel {
    /// All kernels.
    #[cfg(test)]
    pub const ALL: [Self; 18] = [
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
        Self::DenseGroup,
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
        let (source, reads, writes): (Source, &[Buffer], &[Buffer]) = match self {
            Self::JorProject => (
                source!("jor_project" with PROX_AT FRAME_AT ROW_ARGUMENT PROJECT_BLOCK),
                &[Prox, Frames, Rows, Entries, Bodies],
                &[Lambda],
            ),
            Self::Gather => (
                source!("gather" with FRAME_AT GATHER_BODY),
                &[Frames, Rows, Entries, Touches, Free, Lambda],
                &[Bodies],
            ),
            Self::JorSmall => (
                source!("jor_small" with PROX_AT FRAME_AT ROW_ARGUMENT PROJECT_BLOCK GATHER_BODY),
                &[Prox, Frames, Rows, Entries, Touches, Free],
                &[Bodies, Lambda],
            ),
            Self::SorSweep => (
                source!("sor_sweep" with PROX_AT FRAME_AT ROW_ARGUMENT SWEEP_UNIT),
                &[Prox, Frames, Rows, Entries, Units],
                &[Bodies, Lambda],
            ),
            Self::SorSmall => (
                source!("sor_small" with PROX_AT FRAME_AT ROW_ARGUMENT SWEEP_UNIT),
                &[Prox, Frames, Rows, Entries, Units, Colors],
                &[Bodies, Lambda],
            ),
            Self::Product => (
                source!("product" with BLOCK_PRODUCT),
                &[VALUE, Column, BlockRows, Offset, Lambda],
                &[Argument],
            ),
            Self::Prox => (
                source!("prox" with PROX_AT),
                &[Prox, Rows, Argument],
                &[Lambda],
            ),
            Self::SorSparse => (
                source!("sor_sparse" with PROX_AT BLOCK_PRODUCT),
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
                source!("sor_dense_a" with PROX_AT),
                &[Prox, Rows, Units, VALUE, Offset],
                &[Argument, Lambda],
            ),
            Self::DenseGroup => (
                source!("dense_group" with PROX_AT),
                &[Prox, Rows, Units, Offset],
                &[Argument, Lambda],
            ),
            Self::DenseB => (source!("sor_dense_b"), &[Units, VALUE, Lambda], &[Argument]),
            Self::Note => (source!("keep"), &[Lambda], &[Before]),
            Self::Keep => (source!("keep"), &[Lambda], &[Checkpoint]),
            Self::Return => (source!("keep"), &[Checkpoint], &[Lambda]),
            Self::Criterion => (
                source!("criterion" with PROX_AT REDUCE),
                &[Prox, Rows, Before, Lambda],
                &[Partial],
            ),
            Self::Total => (source!("criterion_sum" with REDUCE), &[Partial], &[Total]),
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
pub struct Pipelines(Mutex<HashMap<(Kernel, Build), Arc<Pipeline>>>);

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
    pub fn get(&self, device: &wgpu::Device, kernel: Kernel, build: Build) -> Arc<Pipeline> {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // Only the sweep of diagonal blocks knows of them.
        let block = if kernel == Kernel::DenseA {
            build.block
        } else {
            WORKGROUP
        };
        let build = Build { block, ..build };
        let compiled = all.entry((kernel, build));
        Arc::clone(compiled.or_insert_with(|| Arc::new(compile(device, kernel, build))))
    }
}

fn compile(device: &wgpu::Device, kernel: Kernel, build: Build) -> Pipeline {
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
        source: wgpu::ShaderSource::Wgsl(source.text(build).into()),
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
