//! Runs a variant on the device, and takes the time.

use std::time::Instant;

use super::kernels::{Plan, stride};
use super::session::Session;
use super::twin::median;
use super::{Precision, Problem, Variant};
use crate::solve::gpu::Trouble;
use crate::solve::gpu::device::Gpu;
use crate::solve::gpu::real::Real;

/// Batches of iterations that are timed, after one that warms up.
const BATCHES: usize = 5;

/// Which clock took the time of the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// That of the device, around a whole batch.
    Device,
    /// That of the host, from the submission of a batch until the wait for it has ended.
    Host,
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct Run {
    /// The median time of an iteration (s).
    pub seconds: f64,
    /// Which clock took it.
    pub clock: Clock,
    /// The time to create the buffers and to compile the kernels (s).
    pub create: f64,
    /// The time to upload T (s), without that to arrange it on the host.
    pub upload_matrix: f64,
    /// The time to upload d, μ and where Λ and t start (s).
    pub upload_vectors: f64,
    /// The time to read Λ back (s).
    pub download: f64,
    /// Bytes of T that an iteration reads, without padding.
    pub matrix_bytes: u64,
    /// Operations of an iteration: 2 N² - N for the product (table 3.6) and N for the addition of d. The projections are
    /// not counted.
    pub flops: u64,
    /// The impulses after a batch.
    pub lambda: Vec<f64>,
}

/// Runs batches of iterations of a variant on the device that the solvers use, each from the start; the first ones for so
/// many seconds, since a device that has rested begins slowly.
///
/// # Errors
/// What the device cannot do.
pub fn run(
    problem: &Problem,
    variant: &Variant,
    precision: Precision,
    iterations: usize,
    warm_up: f64,
) -> Result<Run, String> {
    let gpu = Gpu::shared()?;
    if problem.contacts() == 0 || iterations == 0 {
        return Err("there is nothing to iterate".into());
    }
    if !problem.is_whole() {
        return Err("T, d, μ and the start are not of one size".into());
    }
    if variant.is_empty() {
        return Err(format!("{}: groups of no contacts", variant.name));
    }
    has_room(&gpu.device, problem, variant, precision)?;
    match precision {
        Precision::Single => run_in::<f32>(&gpu, problem, variant, precision, iterations, warm_up),
        Precision::Double => run_in::<f64>(&gpu, problem, variant, precision, iterations, warm_up),
    }
}

/// Whether the device has the number type, and can bind T.
fn has_room(
    device: &wgpu::Device,
    problem: &Problem,
    variant: &Variant,
    precision: Precision,
) -> Result<(), String> {
    let (name, contacts) = (variant.name, problem.contacts());
    if precision == Precision::Double && !device.features().contains(wgpu::Features::SHADER_F64) {
        return Err(format!("{name}: the device has no numbers of 64 bits"));
    }
    let limits = device.limits();
    let most = limits
        .max_storage_buffer_binding_size
        .min(limits.max_buffer_size);
    let bytes = u32::try_from(problem.rows()).ok().and_then(|rows| {
        let padded = u64::from(rows.checked_next_multiple_of(64)?);
        let values = padded.checked_mul(padded)?;
        // Shaders count the numbers of T with 32 bits.
        u32::try_from(values).ok()?;
        let values = u64::from(rows) * u64::from(stride(variant.order(), rows));
        Some(precision.bytes() * values)
    });
    match bytes {
        Some(bytes) if bytes <= most => Ok(()),
        Some(bytes) => Err(format!(
            "{name}: T of {contacts} contacts has {bytes} bytes, and the device binds {most} at most"
        )),
        None => Err(format!(
            "{name}: T of {contacts} contacts has more numbers than a shader can count"
        )),
    }
}

fn run_in<R: Real>(
    gpu: &Gpu,
    problem: &Problem,
    variant: &Variant,
    precision: Precision,
    iterations: usize,
    warm_up: f64,
) -> Result<Run, String> {
    let rows = problem.rows() as u32;
    let plan = Plan::new(variant, precision, rows);
    let begin = Instant::now();
    let session = checked(gpu, || {
        let session = Session::new(&gpu.device, &gpu.queue, &plan, variant.order(), precision);
        session.wait().map(|()| session)
    })?;
    let create = begin.elapsed().as_secs_f64();
    checked(gpu, || {
        let upload_matrix = session.upload_matrix::<R>(problem, variant.order())?;
        let upload_vectors = session.upload_vectors::<R>(problem, variant, &plan.params)?;
        let begin = Instant::now();
        session.batch(&plan, iterations)?;
        while begin.elapsed().as_secs_f64() < warm_up {
            session.batch(&plan, iterations)?;
        }
        let mut times = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            times.push(session.batch(&plan, iterations)? / iterations as f64);
        }
        let begin = Instant::now();
        let last = if plan.swaps { iterations % 2 } else { 0 };
        let bytes = session.read(&session.lambda[last], u64::from(rows) * precision.bytes())?;
        let download = begin.elapsed().as_secs_f64();
        let numbers: Vec<R> = bytemuck::pod_collect_to_vec(&bytes);
        let values = variant.matrix_values(u64::from(rows));
        Ok(Run {
            seconds: median(&mut times),
            clock: session.clock(),
            create,
            upload_matrix,
            upload_vectors,
            download,
            matrix_bytes: precision.bytes() * values,
            flops: 2 * values,
            lambda: numbers.into_iter().map(Real::wide).collect(),
        })
    })
}

/// Does something, and says what the device had against it.
fn checked<T>(gpu: &Gpu, action: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    gpu.checked(|| action().map_err(Trouble))
        .map_err(|trouble| trouble.0)
}
