//! The device: opened once, with what is bound and dispatched on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rayon::prelude::*;

use super::clock::{SUBMISSIONS, TIMES, Times};
use super::kernels::{Buffer, Build, PARAMS, Pipelines, STRIDE};
use super::layout::{Layout, Product};
use super::program::{ALONE, Batch, Kernel, Program, Step, WORKGROUP};
use super::real::Real;
use super::records::{Frame, Prox};
use super::{Engine, Measured, Trouble, Tuning};

/// Bytes that are uploaded before the device is waited for: what stages an upload is given back then.
const STAGED: u64 = 4 << 20;
/// Dispatches of one submission: the device works on one while the next is encoded, which takes a few µs a dispatch; and a
/// driver gives a device up that works on one for seconds.
const DISPATCHES: usize = 64;
/// Storage buffers of the kernel with the most.
const STORAGE_BUFFERS: u32 = 8;

/// Records that lie side by side; the shaders say the same.
const TILE: usize = 32;
/// What is used where it is there.
const OPTIONAL: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::SHADER_F64);
/// Numbers that say what the last iteration of a batch changed, and those of each workgroup; two times follow them.
const TOTAL: usize = 8;

/// Words about every failure to open a device begin with these.
const NO_ADAPTER: &str = "no graphics adapter";

/// An open device.
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    name: String,
    is_software: bool,
    pub(crate) times: Option<Times>,
    lost: Arc<AtomicBool>,
    pipelines: Pipelines,
}

/// What a future that never waits gives.
fn finish<T>(future: impl Future<Output = T>, poll: impl Fn()) -> T {
    let mut future = pin!(future);
    loop {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        poll();
    }
}

impl Gpu {
    /// The device that all solvers of the program share, opened by the first one that asks, and again after it was lost.
    pub fn shared() -> Result<Arc<Self>, String> {
        static SHARED: Mutex<Option<Result<Arc<Gpu>, String>>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_gone =
            |opened: &Result<Arc<Self>, String>| opened.as_ref().is_ok_and(|gpu| gpu.is_lost());
        if shared.as_ref().is_none_or(is_gone) {
            *shared = Some(Self::open(|_| ()).map(Arc::new));
        }
        shared.clone().unwrap_or_else(|| Err(NO_ADAPTER.into()))
    }

    /// Opens the best adapter, with its limits as `lower` makes them.
    pub fn open(lower: impl FnOnce(&mut wgpu::Limits)) -> Result<Self, String> {
        let wait = std::thread::yield_now;
        // The layers' validation in debug builds; without names of the shaders' language, which older layers do not know.
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.flags.remove(wgpu::InstanceFlags::DEBUG);
        let instance = wgpu::Instance::new(descriptor.with_env());
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter = finish(instance.request_adapter(&options), wait);
        let adapter = adapter.map_err(|error| format!("{NO_ADAPTER}: {error}"))?;
        let mut limits = adapter.limits();
        lower(&mut limits);
        let info = adapter.get_info();
        let name = format!("{} ({:?})", info.name, info.backend);
        let has = [
            (
                "invocations in a workgroup",
                limits.max_compute_invocations_per_workgroup,
                ALONE,
            ),
            (
                "invocations along a workgroup",
                limits.max_compute_workgroup_size_x,
                ALONE,
            ),
            (
                "storage buffers",
                limits.max_storage_buffers_per_shader_stage,
                STORAGE_BUFFERS,
            ),
        ];
        for (what, has, needs) in has {
            if has < needs {
                return Err(format!("{name} has {has} {what}, {needs} are needed"));
            }
        }
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("solvers"),
            required_features: adapter.features() & OPTIONAL,
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = finish(adapter.request_device(&descriptor), wait);
        let (device, queue) = opened.map_err(|error| format!("{name}: {error}"))?;
        let times = Times::of(&device, &queue);
        let lost = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&lost);
        device.set_device_lost_callback(move |_, _| flag.store(true, Ordering::Relaxed));
        // What no scope catches comes from a device that is being lost.
        let flag = Arc::clone(&lost);
        device.on_uncaptured_error(Arc::new(move |_| flag.store(true, Ordering::Relaxed)));
        Ok(Self {
            device,
            queue,
            limits,
            name,
            is_software: info.device_type == wgpu::DeviceType::Cpu,
            times,
            lost,
            pipelines: Pipelines::default(),
        })
    }

    /// Its name and interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a program that stands for a device.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// Whether the device is gone.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Gives the device up, as a driver does that is reset.
    #[cfg(test)]
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// Does something, and says what the device had against it.
    pub(crate) fn checked<T>(
        &self,
        action: impl FnOnce() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.is_lost() {
            return Err(self.gone());
        }
        let filters = [
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let done = action();
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            let error = finish(scope.pop(), || {
                let _ = self.device.poll(wgpu::PollType::Poll);
            });
            first = first.or(error);
        }
        // That it is lost is told in a poll.
        if first.is_some() {
            let _ = self.device.poll(wgpu::PollType::Poll);
        }
        if self.is_lost() {
            return Err(self.gone());
        }
        if first.is_some() {
            // What could not be compiled is tried again.
            self.pipelines.clear();
        }
        match first {
            Some(wgpu::Error::OutOfMemory { .. }) => {
                Err(Trouble(format!("{} is out of memory", self.name)))
            }
            Some(error) => Err(Trouble(format!("{}: {error}", self.name))),
            None => done,
        }
    }

    fn gone(&self) -> Trouble {
        Trouble(format!("{} was lost", self.name))
    }

    /// Waits for all that was submitted.
    pub(crate) fn wait(&self) -> Result<(), Trouble> {
        let done = self.device.poll(wgpu::PollType::wait_indefinitely());
        done.map_err(|error| Trouble(format!("{}: {error}", self.name)))?;
        Ok(())
    }
}

/// A dispatch that is bound: where its parameters lie, and the group of its buffers.
struct Bound {
    params: u32,
    group: wgpu::BindGroup,
    kernel: Kernel,
    grid: [u32; 2],
}

/// What runs programs on a device. Keeps its buffers from solve to solve.
pub struct Device {
    gpu: Arc<Gpu>,
    build: Build,
    buffers: HashMap<Buffer, wgpu::Buffer>,
    params: Option<wgpu::Buffer>,
    staging: Option<wgpu::Buffer>,
    bound: HashMap<Step, Bound>,
    /// The parameters of every dispatch but the tuning.
    steps: Vec<Step>,
    contacts: u32,
    tuning: Option<Tuning>,
    impulses: u64,
    uploaded: u64,
    /// The dispatches of a batch.
    batch: Vec<Step>,
    spent: Spent,
}

/// What a solve has spent on the device so far (s).
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Uploading the problem.
    pub upload: f64,
    /// Iterating, by the device's own clock; none where it has none.
    pub iterating: Option<f64>,
    /// Reading the result back.
    pub read_back: f64,
}

impl Device {
    /// Nothing is created yet.
    ///
    /// # Errors
    /// Numbers of 64 bits, where the device has none.
    pub fn new(gpu: Arc<Gpu>, bits: u32, block: u32) -> Result<Self, String> {
        let has_double = gpu.device.features().contains(wgpu::Features::SHADER_F64);
        if bits == 64 && !has_double {
            return Err(format!("{} has no numbers of 64 bits", gpu.name));
        }
        Ok(Self {
            gpu,
            build: Build { bits, block },
            buffers: HashMap::new(),
            params: None,
            staging: None,
            bound: HashMap::new(),
            steps: Vec::new(),
            contacts: 0,
            tuning: None,
            impulses: 0,
            uploaded: 0,
            batch: Vec::new(),
            spent: Spent::default(),
        })
    }

    /// Bytes of so many numbers.
    fn bytes(&self, numbers: usize) -> u64 {
        u64::from(self.build.bits / 8) * numbers as u64
    }

    /// Bytes of a record of contacts.
    fn record(&self, buffer: Buffer) -> Option<usize> {
        let is_double = self.build.bits == 64;
        match buffer {
            Buffer::Prox if is_double => Some(size_of::<Prox<f64>>()),
            Buffer::Prox => Some(size_of::<Prox<f32>>()),
            Buffer::Frames if is_double => Some(size_of::<Frame<f64>>()),
            Buffer::Frames => Some(size_of::<Frame<f32>>()),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.gpu.name
    }

    /// Whether it is gone.
    pub fn is_lost(&self) -> bool {
        self.gpu.is_lost()
    }

    /// Bytes of all buffers, with what uploads are staged in.
    pub fn memory(&self) -> u64 {
        let others = [&self.params, &self.staging];
        let others = others.into_iter().flatten().map(wgpu::Buffer::size);
        let sizes = self.buffers.values().map(wgpu::Buffer::size);
        sizes.chain(others).sum::<u64>() + STAGED
    }

    /// What the solve has spent so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Most contacts in one binding, with those that a unit may reach beyond it.
    pub fn most_contacts(&self) -> usize {
        let record = self.record(Buffer::Frames).unwrap_or(1);
        let most = self.most_bytes() / record as u64;
        most.saturating_sub(u64::from(WORKGROUP)) as usize
    }

    /// Most values of T in one binding.
    pub fn most_values(&self) -> usize {
        (self.most_bytes() / self.bytes(1)) as usize
    }

    fn most_bytes(&self) -> u64 {
        let limits = &self.gpu.limits;
        let most = limits.max_storage_buffer_binding_size;
        // Buffers have whole multiples of 64 bytes.
        most.min(limits.max_buffer_size) & !63
    }

    /// A buffer with room for so many bytes: the one that is there, or a new one with some room to grow.
    fn reserve(&mut self, buffer: Buffer, bytes: u64) -> Result<(), Trouble> {
        // A binding holds one element at least, and the largest record has 128 bytes.
        let bytes = bytes.max(128).next_multiple_of(64);
        let one = self.most_bytes();
        let most = match buffer {
            // Bound piece by piece, where one binding has no room.
            Buffer::Prox | Buffer::Frames if bytes > one => self.gpu.limits.max_buffer_size & !63,
            _ => one,
        };
        self.has_room(buffer, bytes, most)?;
        let size = self.buffers.get(&buffer).map_or(0, wgpu::Buffer::size);
        if (bytes..=most).contains(&size) && size / 4 <= bytes {
            return Ok(());
        }
        self.bound.clear();
        self.buffers.remove(&buffer);
        let room = match buffer {
            Buffer::Value(_) => bytes,
            _ => (bytes + bytes / 8).next_multiple_of(64).min(most),
        };
        let created = self.gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("solver"),
            size: room,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        self.buffers.insert(buffer, created);
        Ok(())
    }

    fn has_room(&self, buffer: Buffer, bytes: u64, most: u64) -> Result<(), Trouble> {
        if bytes <= most {
            return Ok(());
        }
        let name = &self.gpu.name;
        Err(Trouble(format!(
            "{name} binds {most} bytes at most, and {buffer:?} has {bytes}"
        )))
    }

    /// What a dispatch is bound to of a buffer.
    fn binding(&self, step: &Step, buffer: Buffer) -> Result<wgpu::BindingResource<'_>, Trouble> {
        let record = self.record(buffer).unwrap_or(0);
        let (whole, most) = (&self.buffers[&buffer], self.most_bytes());
        if record == 0 || !step.kernel.is_of_piece() {
            self.has_room(buffer, whole.size(), most)?;
            return Ok(whole.as_entire_binding());
        }
        let offset = u64::from(step.span[0]) * record as u64;
        let size = (whole.size() - offset).min(most);
        Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: whole,
            offset,
            size: std::num::NonZeroU64::new(size),
        }))
    }

    /// Uploads a slice, piece by piece, and waits now and then, so that what stages it does not pile up.
    fn upload<T: bytemuck::Pod>(&mut self, buffer: Buffer, data: &[T]) -> Result<(), Trouble> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        self.reserve(buffer, bytes.len() as u64)?;
        for (k, piece) in bytes.chunks(STAGED as usize).enumerate() {
            self.write(buffer, k as u64 * STAGED, piece)?;
        }
        Ok(())
    }

    fn write(&mut self, buffer: Buffer, at: u64, piece: &[u8]) -> Result<(), Trouble> {
        self.uploaded += piece.len() as u64;
        if self.uploaded > STAGED {
            self.gpu.queue.submit([]);
            self.gpu.wait()?;
            self.uploaded = piece.len() as u64;
        }
        let buffer = &self.buffers[&buffer];
        self.gpu.queue.write_buffer(buffer, at, piece);
        Ok(())
    }

    /// Uploads records of whole vectors of four in tiles of 32, each vector by vector (`tile` in the shaders); in double
    /// precision one after the other.
    fn upload_tiles<T: bytemuck::Pod + Sync>(
        &mut self,
        buffer: Buffer,
        records: &[T],
    ) -> Result<(), Trouble> {
        if self.build.bits == 64 {
            return self.upload(buffer, records);
        }
        let vectors = size_of::<T>() / size_of::<[u32; 4]>();
        let size = TILE * size_of::<T>();
        self.reserve(buffer, (records.len().div_ceil(TILE) * size) as u64)?;
        let mut tiles: Vec<[u32; 4]> = Vec::new();
        let staged = STAGED as usize / size * TILE;
        for (k, piece) in records.chunks(staged).enumerate() {
            tiles.clear();
            tiles.resize(piece.len().div_ceil(TILE) * TILE * vectors, [0; 4]);
            let tile_by_tile = tiles.par_chunks_mut(TILE * vectors);
            tile_by_tile
                .zip(piece.par_chunks(TILE))
                .for_each(|(tile, records)| {
                    for (r, record) in records.iter().enumerate() {
                        let vectors = bytemuck::bytes_of(record).chunks_exact(16);
                        for (p, vector) in vectors.enumerate() {
                            tile[p * TILE + r] = bytemuck::pod_read_unaligned(vector);
                        }
                    }
                });
            let at = (k * staged * size_of::<T>()) as u64;
            self.write(buffer, at, bytemuck::cast_slice(&tiles))?;
        }
        Ok(())
    }

    fn upload_all<R: Real>(&mut self, layout: &Layout<R>, product: Product) -> Result<(), Trouble> {
        let impulses = self.bytes(layout.lambda.len());
        self.upload_tiles(Buffer::Prox, &layout.prox)?;
        self.upload(Buffer::Rows, &layout.rows)?;
        self.upload(Buffer::Units, &layout.units)?;
        self.upload(Buffer::Lambda, &layout.lambda)?;
        self.upload(Buffer::Checkpoint, &layout.lambda)?;
        self.reserve(Buffer::Before, impulses)?;
        let groups = layout.blocks().div_ceil(WORKGROUP) as usize;
        self.reserve(Buffer::Partial, self.bytes(TOTAL * groups))?;
        self.reserve(Buffer::Total, self.bytes(TOTAL))?;
        match product {
            Product::MatrixFree => {
                self.upload_tiles(Buffer::Frames, &layout.frames)?;
                self.upload(Buffer::Entries, &layout.entries)?;
                self.upload(Buffer::Bodies, &layout.bodies)?;
                self.upload(Buffer::Free, &layout.free)?;
                let colors = layout.colors.iter();
                let colors: Vec<_> = colors.map(|c| [c.start, c.len() as u32]).collect();
                self.upload(Buffer::Colors, &colors)?;
                self.upload(Buffer::Touches, &layout.touches)
            }
            Product::Sparse => {
                let sparse = &layout.sparse;
                let segments = sparse.segments.iter().map(|(_, values)| values);
                self.upload_values(&sparse.value, segments)?;
                self.upload(Buffer::Column, &sparse.column)?;
                self.upload(Buffer::BlockRows, &sparse.rows)?;
                self.upload(Buffer::Offset, &sparse.offset)?;
                self.reserve(Buffer::Argument, impulses)
            }
            Product::Dense => {
                let dense = &layout.dense;
                let segments = dense.segments.iter().map(|(_, values)| values);
                self.upload_values(&dense.value, segments)?;
                self.upload(Buffer::Column, &dense.column)?;
                self.upload(Buffer::Offset, &dense.offset)?;
                self.reserve(Buffer::Argument, impulses)
            }
        }
    }

    /// The values of T, each segment in a buffer of its own.
    fn upload_values<'a, R: Real>(
        &mut self,
        value: &[R],
        segments: impl Iterator<Item = &'a Range<usize>>,
    ) -> Result<(), Trouble> {
        let mut count = 0;
        for values in segments {
            self.upload(Buffer::Value(count), &value[values.clone()])?;
            count += 1;
        }
        self.buffers
            .retain(|b, _| !matches!(b, Buffer::Value(k) if *k >= count));
        Ok(())
    }

    /// Binds the buffers of every dispatch, and gives each its place among the parameters.
    fn bind(&mut self, program: &Program) -> Result<(), Trouble> {
        let steps: Vec<Step> = program.all().copied().collect();
        if self.steps == steps && !self.bound.is_empty() {
            return Ok(());
        }
        self.bound.clear();
        self.steps = steps;
        let bytes = STRIDE * self.steps.len() as u64;
        let device = &self.gpu.device;
        let params = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("parameters"),
            size: bytes,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut groups: HashMap<(Kernel, u32, u32), wgpu::BindGroup> = HashMap::new();
        let mut bound = HashMap::new();
        for (k, step) in self.steps.iter().enumerate() {
            let piece = if step.kernel.is_of_piece() {
                step.span[0]
            } else {
                0
            };
            let key = (step.kernel, step.segment, piece);
            let group = match groups.entry(key) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(none) => none.insert(self.group(step, &params)?),
            };
            let bindings = Bound {
                params: (k as u64 * STRIDE) as u32,
                group: group.clone(),
                kernel: step.kernel,
                grid: step.grid(),
            };
            bound.insert(*step, bindings);
        }
        self.bound = bound;
        self.params = Some(params);
        self.tuning = None;
        Ok(())
    }

    /// The buffers that a dispatch is bound to.
    fn group(&self, step: &Step, params: &wgpu::Buffer) -> Result<wgpu::BindGroup, Trouble> {
        let device = &self.gpu.device;
        let description = step.kernel.description();
        let mut entries = vec![wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: params,
                offset: 0,
                size: std::num::NonZeroU64::new(PARAMS),
            }),
        }];
        let buffers = description.reads.iter().chain(description.writes);
        for (buffer, binding) in buffers.zip(1..) {
            let buffer = match buffer {
                Buffer::Value(_) => Buffer::Value(step.segment),
                buffer => *buffer,
            };
            let resource = self.binding(step, buffer)?;
            entries.push(wgpu::BindGroupEntry { binding, resource });
        }
        let pipeline = self.gpu.pipelines.get(device, step.kernel, self.build);
        Ok(device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("solver"),
            layout: &pipeline.bindings,
            entries: &entries,
        }))
    }

    /// Writes the parameters of all dispatches, where they have changed.
    fn tune(&mut self, tuning: &Tuning) {
        if self.tuning == Some(*tuning) {
            return;
        }
        let mut words = vec![0u32; self.steps.len() * (STRIDE / 4) as usize];
        for (step, words) in self
            .steps
            .iter()
            .zip(words.chunks_exact_mut((STRIDE / 4) as usize))
        {
            words[..10].copy_from_slice(&[
                step.first,
                step.count,
                self.contacts,
                u32::from(tuning.coupled),
                tuning.scale.to_bits(),
                tuning.relative.to_bits(),
                step.span[0],
                step.span[1],
                step.repeat,
                step.others,
            ]);
        }
        if let Some(params) = &self.params {
            self.gpu
                .queue
                .write_buffer(params, 0, bytemuck::cast_slice(&words));
        }
        self.tuning = Some(*tuning);
    }

    /// Dispatches steps, some dozens in a submission so that none takes too long, and copies `bytes` of a buffer to where they
    /// can be read.
    fn submit(&self, steps: &[Step], read: Option<(Buffer, u64)>, is_timed: bool) {
        let size = Self::submission(steps.len());
        let mut pieces = steps.chunks(size).peekable();
        let times = self.gpu.times.as_ref().filter(|_| is_timed);
        for k in 0.. {
            let piece = pieces.next().unwrap_or_default();
            let is_last = pieces.peek().is_none();
            let device = &self.gpu.device;
            let label = Some("solver");
            let descriptor = wgpu::CommandEncoderDescriptor { label };
            let mut encoder = device.create_command_encoder(&descriptor);
            self.encode(piece, &mut encoder, times.map(|times| times.of_pass(k)));
            if is_last && let (Some((buffer, bytes)), Some(staging)) = (read, &self.staging) {
                encoder.copy_buffer_to_buffer(&self.buffers[&buffer], 0, staging, 0, bytes);
                if let Some(times) = times {
                    let count = k as u64 + 1;
                    let queries = 0..2 * count as u32;
                    encoder.resolve_query_set(&times.queries, queries, &times.resolved, 0);
                    let size = count * TIMES;
                    encoder.copy_buffer_to_buffer(&times.resolved, 0, staging, bytes, size);
                }
            }
            self.gpu.queue.submit([encoder.finish()]);
            if is_last {
                return;
            }
        }
    }

    /// Dispatches of one of the submissions of so many.
    fn submission(dispatches: usize) -> usize {
        DISPATCHES.max(dispatches.div_ceil(SUBMISSIONS))
    }

    fn encode(
        &self,
        steps: &[Step],
        encoder: &mut wgpu::CommandEncoder,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("solver"),
            timestamp_writes,
        });
        let mut last = None;
        for step in steps {
            let bound = &self.bound[step];
            if last != Some(bound.kernel) {
                let pipeline = self
                    .gpu
                    .pipelines
                    .get(&self.gpu.device, bound.kernel, self.build);
                pass.set_pipeline(&pipeline.compute);
                last = Some(bound.kernel);
            }
            pass.set_bind_group(0, &bound.group, &[bound.params]);
            pass.dispatch_workgroups(bound.grid[0], bound.grid[1], 1);
        }
    }

    /// Room to read so many bytes back.
    fn reserve_staging(&mut self, bytes: u64) {
        if self
            .staging
            .as_ref()
            .is_some_and(|staging| staging.size() >= bytes)
        {
            return;
        }
        let staging = self.gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size: bytes.next_multiple_of(64),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.staging = Some(staging);
    }

    /// What the last submission copied, to be read by `reader`.
    fn map<T>(&self, bytes: u64, reader: impl FnOnce(&[u8]) -> T) -> Result<T, Trouble> {
        let staging = self.staging.as_ref().ok_or_else(|| self.gpu.gone())?;
        let (sender, receiver) = mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, 0..bytes, move |mapped| {
            let _ = sender.send(mapped);
        });
        self.gpu.wait()?;
        // Another thread's wait may be about to say so.
        match receiver.recv() {
            Ok(Ok(())) => {}
            _ => return Err(self.gpu.gone()),
        }
        let value = reader(&staging.get_mapped_range(0..bytes));
        staging.unmap();
        Ok(value)
    }

    /// The first bytes of a buffer.
    #[cfg(test)]
    pub fn download(&mut self, buffer: Buffer, bytes: u64) -> Result<Vec<u8>, Trouble> {
        self.reserve_staging(bytes);
        self.submit(&[], Some((buffer, bytes)), false);
        self.map(bytes, <[u8]>::to_vec)
    }

    /// Overwrites the beginning of a buffer.
    #[cfg(test)]
    pub fn overwrite<T: bytemuck::Pod>(
        &mut self,
        buffer: Buffer,
        data: &[T],
    ) -> Result<(), Trouble> {
        self.upload(buffer, data)
    }

    /// One dispatch by itself.
    #[cfg(test)]
    pub fn dispatch(&mut self, step: &Step, tuning: &Tuning) -> Result<(), Trouble> {
        self.tune(tuning);
        self.submit(&[*step], None, false);
        Ok(())
    }
}

impl<R: Real> Engine<R> for Device {
    fn load(
        &mut self,
        layout: &Layout<R>,
        product: Product,
        program: &Program,
    ) -> Result<(), Trouble> {
        let gpu = Arc::clone(&self.gpu);
        let start = Instant::now();
        gpu.checked(|| {
            self.uploaded = 0;
            self.upload_all(layout, product)?;
            self.impulses = layout.lambda.len() as u64;
            let contacts = layout.prox.len() as u32;
            if contacts != self.contacts {
                self.contacts = contacts;
                self.tuning = None;
            }
            let times = SUBMISSIONS as u64 * TIMES;
            let numbers = self
                .bytes(self.impulses as usize)
                .max(self.bytes(TOTAL) + times);
            self.reserve_staging(numbers);
            self.bind(program)?;
            gpu.queue.submit([]);
            gpu.wait()?;
            self.spent = Spent {
                upload: start.elapsed().as_secs_f64(),
                ..Spent::default()
            };
            Ok(())
        })
    }

    fn run(
        &mut self,
        _: &Layout<R>,
        program: &Program,
        batch: Batch,
        tuning: &Tuning,
    ) -> Result<Measured<R>, Trouble> {
        let gpu = Arc::clone(&self.gpu);
        gpu.checked(|| {
            self.tune(tuning);
            let mut steps = std::mem::take(&mut self.batch);
            steps.clear();
            program.in_batch(batch, |step| steps.push(*step));
            let _turn = gpu.times.as_ref().map(Times::turn);
            let bytes = self.bytes(TOTAL);
            self.submit(&steps, Some((Buffer::Total, bytes)), true);
            let passes = steps.len().div_ceil(Self::submission(steps.len())) as u64;
            self.batch = steps;
            let (words, seconds) = self.map(bytes + passes * TIMES, |mapped| {
                let (total, times) = mapped.split_at(bytes as usize);
                let mut words = [R::ZERO; TOTAL];
                bytemuck::bytes_of_mut(&mut words).copy_from_slice(total);
                let times: Vec<[u64; 2]> = bytemuck::pod_collect_to_vec(times);
                (words, gpu.times.as_ref().map(|clock| clock.sum(&times)))
            })?;
            if let Some(seconds) = seconds {
                *self.spent.iterating.get_or_insert(0.0) += seconds;
            }
            let [delta, speed, level, beyond, sum, steps, olds, _] = words;
            Ok(Measured {
                delta,
                speed,
                level,
                beyond,
                sums: [sum, steps, olds],
            })
        })
    }

    fn keep(&mut self, _: &Layout<R>, program: &Program) -> Result<(), Trouble> {
        let gpu = Arc::clone(&self.gpu);
        gpu.checked(|| {
            self.submit(&program.keep, None, false);
            Ok(())
        })
    }

    fn go_back(&mut self, _: &Layout<R>, program: &Program) -> Result<(), Trouble> {
        let gpu = Arc::clone(&self.gpu);
        gpu.checked(|| {
            self.submit(&program.back, None, false);
            Ok(())
        })
    }

    fn read(&mut self, lambda: &mut Vec<R>) -> Result<(), Trouble> {
        let gpu = Arc::clone(&self.gpu);
        let start = Instant::now();
        gpu.checked(|| {
            let bytes = self.bytes(self.impulses as usize);
            self.submit(&[], Some((Buffer::Lambda, bytes)), false);
            self.map(bytes, |bytes| {
                lambda.clear();
                lambda.resize(bytes.len() / size_of::<R>(), R::ZERO);
                bytemuck::cast_slice_mut(lambda).copy_from_slice(bytes);
            })?;
            self.spent.read_back += start.elapsed().as_secs_f64();
            Ok(())
        })
    }
}
