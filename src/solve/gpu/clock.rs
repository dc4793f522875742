//! The device's own clock, and what its memory can do.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Trouble;
use super::device::Gpu;
use super::program::folded;

/// Most submissions of a batch whose times are taken.
pub const SUBMISSIONS: usize = 1024;
/// Bytes of the two times of one.
pub const TIMES: u64 = 16;

/// What takes the time on the device's own clock.
pub struct Times {
    pub queries: wgpu::QuerySet,
    /// Where both times are brought.
    pub resolved: wgpu::Buffer,
    /// Length of a tick (s).
    tick: f64,
    /// Who takes times now: there is one set for all threads.
    turn: Mutex<()>,
}

impl Times {
    /// None where the device has no clock.
    pub fn of(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Self> {
        if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let label = Some("times");
        Some(Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label,
                ty: wgpu::QueryType::Timestamp,
                count: 2 * SUBMISSIONS as u32,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label,
                size: SUBMISSIONS as u64 * TIMES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            tick: 1e-9 * f64::from(queue.get_timestamp_period()),
            turn: Mutex::default(),
        })
    }

    /// To be held from the submission of a batch until its times are read.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The times to be taken in the k-th pass.
    pub fn of_pass(&self, k: usize) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * k as u32),
            end_of_pass_write_index: Some(2 * k as u32 + 1),
        }
    }

    /// In the passes whose beginnings and ends these are (s): what they wait for the host in between does not count.
    pub fn sum(&self, times: &[[u64; 2]]) -> f64 {
        let ticks: u64 = times
            .iter()
            .map(|[begin, end]| end.saturating_sub(*begin))
            .sum();
        self.tick * ticks as f64
    }
}

/// Copies of one measurement.
const COPIES: u32 = 10;
/// What one invocation of the copying kernel copies (bytes), and how many there are in a workgroup.
const COPIED: u64 = 16;
const GROUP: u64 = 256;

/// Bytes per second that the device reads and writes where it copies one buffer of so many bytes to another: the best of
/// several measurements, by its command for copying and by a kernel, each from the outside, waiting for ten copies.
pub fn copy_bandwidth(gpu: &Gpu, bytes: u64) -> Result<[f64; 2], Trouble> {
    let most = gpu.limits.max_storage_buffer_binding_size;
    let bytes = bytes.min(most).min(gpu.limits.max_buffer_size) / (COPIED * GROUP) * COPIED * GROUP;
    gpu.checked(|| {
        let buffers = [(); 2].map(|()| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("copy"),
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        let kernel = CopyKernel::new(gpu, &buffers);
        let mut best = [0.0f64; 2];
        for _ in 0..5 {
            for (by_kernel, best) in [false, true].into_iter().zip(&mut best) {
                let start = Instant::now();
                let descriptor = wgpu::CommandEncoderDescriptor::default();
                let mut encoder = gpu.device.create_command_encoder(&descriptor);
                for _ in 0..COPIES {
                    if by_kernel {
                        kernel.encode(&mut encoder, bytes);
                    } else {
                        encoder.copy_buffer_to_buffer(&buffers[0], 0, &buffers[1], 0, bytes);
                    }
                }
                gpu.queue.submit([encoder.finish()]);
                gpu.wait()?;
                let moved = 2.0 * f64::from(COPIES) * bytes as f64;
                *best = best.max(moved / start.elapsed().as_secs_f64());
            }
        }
        Ok(best)
    })
}

/// A kernel that copies.
struct CopyKernel {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl CopyKernel {
    fn new(gpu: &Gpu, buffers: &[wgpu::Buffer; 2]) -> Self {
        let label = Some("copy");
        let source = include_str!("../../../shaders/solve/copy.wgsl");
        let module = gpu
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
        let descriptor = wgpu::ComputePipelineDescriptor {
            label,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        };
        let pipeline = gpu.device.create_compute_pipeline(&descriptor);
        let entries = [0, 1].map(|k| wgpu::BindGroupEntry {
            binding: k as u32,
            resource: buffers[k].as_entire_binding(),
        });
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Self { pipeline, group }
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder, bytes: u64) {
        let [x, y] = folded((bytes / (COPIED * GROUP)) as u32);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(x, y, 1);
    }
}
