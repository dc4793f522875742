//! The buffers and the compiled kernels of a run.

use std::sync::mpsc;
use std::time::Instant;

use rayon::prelude::*;

use super::kernels::{Dispatch, PARAMS_STRIDE, Params, Plan, Slot, stride};
use super::{Clock, Order, Precision, Problem, Variant};
use crate::solve::gpu::clock::{TIMES, Times};
use crate::solve::gpu::real::Real;

/// Bytes that are uploaded before the device is waited for: what stages an upload is given back then.
const STAGED: usize = 64 << 20;

/// A compiled kernel with what it binds, in even iterations and in odd ones.
struct Bound {
    pipeline: wgpu::ComputePipeline,
    groups: [wgpu::BindGroup; 2],
}

/// The buffers and kernels of a run; they are freed with it.
pub(super) struct Session<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    matrix: wgpu::Buffer,
    offset: wgpu::Buffer,
    friction: wgpu::Buffer,
    /// Two for JOR, twice the same for SOR.
    pub lambda: [wgpu::Buffer; 2],
    sums: wgpu::Buffer,
    /// Where Λ and t start.
    start: [wgpu::Buffer; 2],
    params: wgpu::Buffer,
    times: Option<Times>,
    kernels: Vec<Bound>,
}

impl<'a> Session<'a> {
    pub fn new(
        device: &'a wgpu::Device,
        queue: &'a wgpu::Queue,
        plan: &Plan,
        order: Order,
        precision: Precision,
    ) -> Self {
        let rows = plan.params.first().map_or(0, |params| params.rows);
        let storage = |numbers: u64| {
            let usage = wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC;
            buffer(device, precision.bytes() * numbers, usage)
        };
        // Whoever reads four numbers at once finds zeros behind the last one.
        let vector = || storage(u64::from(rows.next_multiple_of(64)));
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let lambda = vector();
        let other = if plan.swaps { vector() } else { lambda.clone() };
        let mut session = Self {
            device,
            queue,
            matrix: storage(u64::from(rows) * u64::from(stride(order, rows))),
            offset: vector(),
            friction: vector(),
            lambda: [lambda, other],
            sums: vector(),
            start: [vector(), vector()],
            params: buffer(device, PARAMS_STRIDE * plan.params.len() as u64, uniform),
            times: Times::of(device, queue),
            kernels: Vec::new(),
        };
        let kernels = plan.kernels.iter();
        session.kernels = kernels
            .map(|kernel| session.compile(&kernel.source, kernel.slots))
            .collect();
        session
    }

    /// Which clock takes the time of its batches.
    pub fn clock(&self) -> Clock {
        match self.times {
            Some(_) => Clock::Device,
            None => Clock::Host,
        }
    }

    fn compile(&self, source: &str, slots: &[Slot]) -> Bound {
        let device = self.device;
        let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset,
                min_binding_size: None,
            },
            count: None,
        };
        let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true)];
        for slot in slots {
            let read_only = !slot.is_written();
            let storage = wgpu::BufferBindingType::Storage { read_only };
            entries.push(entry(*slot as u32, storage, false));
        }
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("variant"),
            entries: &entries,
        });
        let groups = [0, 1].map(|parity| self.group(&layout, slots, parity));
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("variant"),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("variant"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("variant"),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Each kernel writes what it reads of a workgroup's memory, unless parts of it are left out.
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        });
        Bound { pipeline, groups }
    }

    fn group(
        &self,
        layout: &wgpu::BindGroupLayout,
        slots: &[Slot],
        parity: usize,
    ) -> wgpu::BindGroup {
        let params = wgpu::BufferBinding {
            buffer: &self.params,
            offset: 0,
            size: wgpu::BufferSize::new(size_of::<Params>() as u64),
        };
        let mut entries = vec![wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(params),
        }];
        for slot in slots {
            let buffer = match slot {
                Slot::Matrix => &self.matrix,
                Slot::Offset => &self.offset,
                Slot::Friction => &self.friction,
                Slot::Old => &self.lambda[parity],
                Slot::New => &self.lambda[1 - parity],
                Slot::Sums => &self.sums,
            };
            entries.push(wgpu::BindGroupEntry {
                binding: *slot as u32,
                resource: buffer.as_entire_binding(),
            });
        }
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("variant"),
            layout,
            entries: &entries,
        })
    }

    /// Waits for all that was submitted.
    pub fn wait(&self) -> Result<(), String> {
        let done = self.device.poll(wgpu::PollType::wait_indefinitely());
        done.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Uploads something and waits for it; says how long that took (s).
    fn upload(&self, buffer: &wgpu::Buffer, at: u64, bytes: &[u8]) -> Result<f64, String> {
        let begin = Instant::now();
        for (k, piece) in bytes.chunks(STAGED).enumerate() {
            let at = at + (k * STAGED) as u64;
            self.queue.write_buffer(buffer, at, piece);
            self.queue.submit([]);
            self.wait()?;
        }
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Uploads T piece by piece, each arranged just before; says how long the device took (s).
    pub fn upload_matrix<R: Real>(&self, problem: &Problem, order: Order) -> Result<f64, String> {
        let rows = problem.rows();
        let stride = stride(order, rows as u32) as usize;
        let lines = (STAGED / (stride * size_of::<R>())).clamp(1, rows);
        let mut piece = vec![R::ZERO; lines * stride];
        let mut seconds = 0.0;
        for first in (0..rows).step_by(lines) {
            let count = lines.min(rows - first);
            let piece = &mut piece[..count * stride];
            match order {
                Order::Rows => arrange_rows(problem, first, stride, piece),
                Order::Columns | Order::ColumnsUnaligned => {
                    arrange_columns(problem, first, stride, piece);
                }
            }
            let at = (first * stride * size_of::<R>()) as u64;
            seconds += self.upload(&self.matrix, at, bytemuck::cast_slice(piece))?;
        }
        Ok(seconds)
    }

    pub fn upload_vectors<R: Real>(
        &self,
        problem: &Problem,
        variant: &Variant,
        params: &[Params],
    ) -> Result<f64, String> {
        let sums = problem.start_sums(variant.method());
        let vectors = [
            (&self.offset, &problem.offset),
            (&self.friction, &problem.friction),
            (&self.start[0], &problem.start),
            (&self.start[1], &sums),
        ];
        let mut seconds = 0.0;
        for (buffer, values) in vectors {
            let numbers: Vec<R> = values.iter().map(|x| R::of(*x)).collect();
            seconds += self.upload(buffer, 0, bytemuck::cast_slice(&numbers))?;
        }
        let mut bytes = vec![0; PARAMS_STRIDE as usize * params.len()];
        let places = bytes.chunks_exact_mut(PARAMS_STRIDE as usize);
        for (place, params) in places.zip(params) {
            place[..size_of::<Params>()].copy_from_slice(bytemuck::bytes_of(params));
        }
        self.upload(&self.params, 0, &bytes)?;
        Ok(seconds)
    }

    /// Runs iterations from the start on; says how long they took (s).
    pub fn batch(&self, plan: &Plan, iterations: usize) -> Result<f64, String> {
        let mut encoder = encoder(self.device);
        for (from, to) in self.start.iter().zip([&self.lambda[0], &self.sums]) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        self.queue.submit([encoder.finish()]);
        self.wait()?;
        let mut encoder = self::encoder(self.device);
        self.iterate(&mut encoder, &plan.dispatches, iterations);
        if let Some(times) = &self.times {
            encoder.resolve_query_set(&times.queries, 0..2, &times.resolved, 0);
        }
        let commands = encoder.finish();
        let begin = Instant::now();
        self.queue.submit([commands]);
        self.wait()?;
        let seconds = begin.elapsed().as_secs_f64();
        let Some(times) = &self.times else {
            return Ok(seconds);
        };
        let read = self.read(&times.resolved, TIMES)?;
        Ok(times.sum(&bytemuck::pod_collect_to_vec::<u8, [u64; 2]>(&read)))
    }

    fn iterate(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        dispatches: &[Dispatch],
        iterations: usize,
    ) {
        let timestamp_writes = self.times.as_ref().map(|times| times.of_pass(0));
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("variant"),
            timestamp_writes,
        });
        for iteration in 0..iterations {
            for dispatch in dispatches {
                let kernel = &self.kernels[dispatch.kernel];
                let params = dispatch.params as u32 * PARAMS_STRIDE as u32;
                pass.set_pipeline(&kernel.pipeline);
                pass.set_bind_group(0, &kernel.groups[iteration % 2], &[params]);
                pass.dispatch_workgroups(dispatch.grid[0], dispatch.grid[1], 1);
            }
        }
    }

    /// The first bytes of a buffer.
    pub fn read(&self, from: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, String> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = buffer(self.device, bytes, usage);
        let mut encoder = encoder(self.device);
        encoder.copy_buffer_to_buffer(from, 0, &staging, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = mpsc::channel();
        staging
            .slice(..)
            .map_async(wgpu::MapMode::Read, move |result| {
                // The receiver is there until the wait is over.
                let _ = sender.send(result);
            });
        self.wait()?;
        // Another thread's wait may be about to say so.
        let mapped = receiver.recv().map_err(|error| error.to_string())?;
        mapped.map_err(|error| error.to_string())?;
        let read = staging.slice(..).get_mapped_range().to_vec();
        staging.unmap();
        Ok(read)
    }
}

fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("variant"),
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn encoder(device: &wgpu::Device) -> wgpu::CommandEncoder {
    device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Rows of T one after the other.
fn arrange_rows<R: Real>(problem: &Problem, first: usize, stride: usize, piece: &mut [R]) {
    let rows = problem.rows();
    let lines = piece.par_chunks_exact_mut(stride).enumerate();
    lines.for_each(|(k, line)| {
        let values = &problem.matrix[(first + k) * rows..(first + k + 1) * rows];
        for (to, from) in line.iter_mut().zip(values) {
            *to = R::of(*from);
        }
    });
}

/// Columns of T one after the other.
fn arrange_columns<R: Real>(problem: &Problem, first: usize, stride: usize, piece: &mut [R]) {
    /// Columns that one task takes: as many as a cache line has numbers, or a few of them.
    const COLUMNS: usize = 16;
    let rows = problem.rows();
    let parts = piece.par_chunks_mut(COLUMNS * stride).enumerate();
    parts.for_each(|(k, part)| {
        let columns = part.len() / stride;
        let begin = first + k * COLUMNS;
        for row in 0..rows {
            let at = row * rows + begin;
            let values = &problem.matrix[at..at + columns];
            for (column, value) in values.iter().enumerate() {
                part[column * stride + row] = R::of(*value);
            }
        }
    });
}
