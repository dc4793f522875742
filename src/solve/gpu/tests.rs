//! Every kernel against its twin, on the same inputs (Nützi 2011, 3.7.1), and devices that fail. Without an adapter they
//! are skipped with a message; with `MOREAU_REQUIRE_RENDER=1`, as in CI, they fail.

use std::sync::Arc;

use bytemuck::Pod;

use super::device::{Device, Gpu};
use super::host::project_friction;
use super::kernels::{Buffer, Build};
use super::program::{Kernel, Step};
use super::records::Body;
use super::*;
use crate::math::random::Random;
use crate::problem::FrictionLaw;
use crate::scene::library;

/// The device, or nothing where there is none and none is required.
pub(crate) fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::shared() {
        Ok(gpu) => Some(gpu),
        Err(reason) => {
            let required = std::env::var("MOREAU_REQUIRE_RENDER").is_ok_and(|v| v == "1");
            assert!(!required, "MOREAU_REQUIRE_RENDER=1, but {reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// The problem of a shipped scene after so many steps.
fn posed(scene: &str, steps: usize) -> Problem {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    simulation.problem().clone()
}

/// Problems of all kinds: balls, manifolds of four points, joints with compliance and bounds, friction in boxes, discs
/// and ellipses.
fn problems() -> Vec<(&'static str, Problem)> {
    let mut ellipses = posed("wall", 1);
    for friction in ellipses.contacts.friction.values_mut() {
        friction.law = FrictionLaw::Ellipse;
        friction.mu = [0.7, 0.2];
    }
    vec![
        ("ball_grid_8", posed("ball_grid_8", 1)),
        ("box_stack", posed("box_stack", 1)),
        ("crane", posed("crane", 40)),
        ("forklift", posed("forklift", 40)),
        ("wall in ellipses", ellipses),
    ]
}

/// Parameters of a solver as they are.
fn parameters(info: &SolverInfo, scheme: &str) -> Parameters {
    Parameters::defaults(info.parameters).with("scheme", Value::Choice(scheme.into()))
}

/// A problem laid out, with random impulses, velocities and arguments.
struct Case<R: Real> {
    sweeps: Sweeps<R>,
    host: Host<R>,
}

impl<R: Real> Case<R> {
    fn new(problem: &Problem, sweep: Sweep, parameters: &Parameters, room: Room) -> Self {
        let mut sweeps = Sweeps::new(sweep, parameters);
        sweeps.lay_out(problem, &vec![0.0; problem.row_count()], room);
        let mut host = Host::default();
        host.load(&sweeps.layout, sweeps.product, &sweeps.program)
            .expect("it only copies");
        Self { sweeps, host }
    }

    /// Random numbers of both signs; normal impulses are smaller than what friction asks for as often as not.
    fn shake(&mut self, random: &mut Random) {
        let mut number = || R::of(random.signed());
        let host = &mut self.host;
        for x in host.lambda.iter_mut().chain(&mut host.argument) {
            *x = number();
        }
        host.before.iter_mut().for_each(|x| *x = number());
        for body in host.bodies.iter_mut().filter(|body| body.moves()) {
            body.linear = [(); 3].map(|()| number());
            body.angular = [(); 3].map(|()| number());
        }
    }
}

/// Writes the twin's inputs to the device.
fn copy_inputs<R: Real>(device: &mut Device, host: &Host<R>, product: Product) {
    let mut write = || -> Result<(), Trouble> {
        device.overwrite(Buffer::Lambda, &host.lambda)?;
        device.overwrite(Buffer::Before, &host.before)?;
        device.overwrite(Buffer::Checkpoint, &host.checkpoint)?;
        match product {
            Product::MatrixFree => device.overwrite(Buffer::Bodies, &host.bodies),
            _ => device.overwrite(Buffer::Argument, &host.argument),
        }
    };
    write().expect("an upload");
}

fn downloaded<T: Pod>(device: &mut Device, buffer: Buffer, count: usize) -> Vec<T> {
    let bytes = device.download(buffer, (count * size_of::<T>()) as u64);
    bytemuck::pod_collect_to_vec(&bytes.expect("a download"))
}

/// |x − y| ≤ T_rel |x| + T_abs (Nützi 2011, 3.9) for all, with the mean and the largest distance in units in the last place
/// of x.
fn assert_close<R: Real>(what: &str, x: &[R], y: &[R], relative: f64, absolute: f64) -> [f64; 2] {
    assert_eq!(x.len(), y.len(), "{what}");
    let (mut sum, mut most) = (0.0, 0.0f64);
    for (k, (x, y)) in x.iter().zip(y).enumerate() {
        let (x, y) = (x.wide(), y.wide());
        let off = (x - y).abs();
        let near = off <= relative * x.abs() + absolute;
        assert!(near, "{what} {k}: {x:e} by the twin, {y:e} by the device");
        let unit = R::EPSILON * x.abs().log2().floor().exp2();
        let distance = if off > 0.0 { off / unit } else { 0.0 };
        sum += distance;
        most = most.max(distance);
    }
    [sum / x.len().max(1) as f64, most]
}

fn velocities<R: Real>(bodies: &[Body<R>]) -> Vec<R> {
    bodies
        .iter()
        .flat_map(|body| body.linear.into_iter().chain(body.angular))
        .collect()
}

/// Runs every dispatch of one iteration, and of the criterion, on both, each from the same inputs.
fn compare<R: Real>(name: &str, case: &mut Case<R>, device: &mut Device, random: &mut Random) {
    let Case { sweeps, .. } = case;
    let (product, coupled) = (sweeps.product, sweeps.sweep == Sweep::Sor);
    let mut steps: Vec<Step> = sweeps.program.begin.clone();
    steps.extend(&sweeps.program.iteration);
    steps.extend(sweeps.program.small.iter().take(3));
    steps.extend(&sweeps.program.end);
    device
        .load(&sweeps.layout, product, &sweeps.program)
        .expect("a device with room");
    for scale in [1.0, 0.5] {
        let tuning = Tuning {
            scale,
            relative: 0.25,
            coupled,
        };
        for step in &steps {
            case.shake(random);
            copy_inputs(device, &case.host, product);
            if step.kernel == Kernel::Total {
                // It sums what the criterion has left.
                let criteria = case.sweeps.program.end.iter();
                for step in criteria.filter(|step| step.kernel == Kernel::Criterion) {
                    device.dispatch(step, &tuning).expect("a dispatch");
                    case.host.dispatch(&case.sweeps.layout, step, &tuning);
                }
            }
            let before = case.host.lambda.clone();
            case.host.dispatch(&case.sweeps.layout, step, &tuning);
            device.dispatch(step, &tuning).expect("a dispatch");
            let what = format!("{name}, {:?} of {}", step.kernel, step.first);
            compare_outputs(&what, case, step, device, &before);
        }
    }
}

/// What the tolerances of single precision are multiplied by.
fn precision<R: Real>() -> f64 {
    R::EPSILON / f64::from(f32::EPSILON)
}

/// A row of a product by the twin and by the device, whose terms have this size.
fn assert_product<R: Real>(what: &str, row: usize, [own, theirs]: [R; 2], magnitude: f64) {
    let off = (theirs - own).abs().wide();
    assert!(
        off <= 1e-6 * precision::<R>() * magnitude,
        "{what} {row}: {off:e} of {magnitude:e}"
    );
}

fn compare_outputs<R: Real>(
    what: &str,
    case: &Case<R>,
    step: &Step,
    device: &mut Device,
    before: &[R],
) {
    let precision = precision::<R>();
    let (host, layout) = (&case.host, &case.sweeps.layout);
    let n = host.lambda.len();
    match step.kernel {
        Kernel::Product => {
            let new: Vec<R> = downloaded(device, Buffer::Argument, n);
            for b in step.first..step.first + step.count {
                let magnitude = host.magnitude(layout, b as usize, step.segment as usize);
                let [from, to] = [b, b + 1].map(|b| layout.sparse.rows[b as usize].row as usize);
                for (k, magnitude) in (from..to).zip(magnitude) {
                    assert_product(what, k, [host.argument[k], new[k]], magnitude.wide());
                }
            }
        }
        Kernel::DenseProduct => {
            let new: Vec<R> = downloaded(device, Buffer::Argument, n);
            for row in step.span[0]..step.span[0] + step.span[1] {
                let terms =
                    (0..n).map(|x| layout.dense.value[layout.dense.at(row, x)] * host.lambda[x]);
                let magnitude: f64 = terms.map(|x| x.abs().wide()).sum();
                let row = row as usize;
                assert_product(what, row, [host.argument[row], new[row]], magnitude);
            }
        }
        Kernel::Prox => {
            // 4 ULP.
            let new: Vec<R> = downloaded(device, Buffer::Lambda, n);
            let relative = 4.0 * R::EPSILON;
            // Λ + ω(Λ_local − Λ) may cancel; what it is made of is at most 2 in size.
            let is_relaxed = case.sweeps.packing.r_factors == RFactors::Degree;
            let absolute = if is_relaxed { 2.0 * relative } else { 0.0 };
            let [mean, most] = assert_close(what, &host.lambda, &new, relative, absolute);
            println!("{what}: {mean:.3} ULP in the mean, {most:.0} at most");
        }
        Kernel::Total => {
            let [total]: [[R; 8]; 1] = downloaded(device, Buffer::Total, 1)
                .try_into()
                .expect("one record");
            let m = &host.measured;
            let expected = [
                m.delta, m.speed, m.level, m.beyond, m.sums[0], m.sums[1], m.sums[2],
            ];
            // Sums are formed in another order.
            assert_close(
                what,
                &expected,
                &total[..7],
                1e-5 * precision,
                1e-6 * precision,
            );
        }
        Kernel::Criterion => {}
        _ => {
            let scale = |x: &[R]| x.iter().fold(0.0, |a: f64, x| a.max(x.abs().wide()));
            let new: Vec<R> = downloaded(device, Buffer::Lambda, n);
            let size = scale(&host.lambda).max(scale(before));
            assert_close(what, &host.lambda, &new, 0.0, 1e-5 * precision * size);
            if case.sweeps.product == Product::Dense {
                let sums = downloaded(device, Buffer::Argument, n);
                let size = scale(&host.argument);
                assert_close(what, &host.argument, &sums, 0.0, 1e-5 * precision * size);
            }
            if case.sweeps.product == Product::MatrixFree {
                let bodies = downloaded(device, Buffer::Bodies, host.bodies.len());
                let [own, theirs] = [velocities(&host.bodies), velocities(&bodies)];
                assert_close(what, &own, &theirs, 0.0, 1e-5 * precision * scale(&own));
            }
        }
    }
}

/// Every kernel of a problem with the numbers of one precision, by every scheme.
fn compare_all<R: Real>(random: &mut Random) {
    let Some(gpu) = gpu() else {
        return;
    };
    let own = [(&JOR, 1, 64), (&SOR, 1, 64)];
    let small = [(&SOR, 1, 32), (&SOR, 1, 192), (&SOR, 7, 64)];
    for (name, problem) in problems() {
        // Other blocks and groups, where there are rows of all kinds, and where there are only contacts.
        let more = ["ball_grid_8", "crane"].contains(&name);
        let settings = own.iter().chain(small.iter().filter(|_| more));
        for (info, group, block) in settings {
            let mut device = match Device::new(Arc::clone(&gpu), R::BITS, *block) {
                Ok(device) => device,
                Err(reason) => {
                    assert!(reason.ends_with("has no numbers of 64 bits"), "{reason}");
                    eprintln!("skipped: {reason}");
                    return;
                }
            };
            for scheme in ["matrix-free", "sparse", "dense"] {
                if scheme == "dense" && R::BITS == 64 && !more {
                    // T of thousands of rows takes a software adapter minutes.
                    continue;
                }
                let mut parameters = parameters(info, scheme);
                let mut sweep = Sweep::Jor;
                if info.name == SOR.name {
                    let integer = |x: u32| Value::Integer(x.into());
                    parameters = parameters
                        .with("group", integer(*group))
                        .with("block", integer(*block));
                    sweep = sweep_of(&parameters);
                }
                // T and contacts in one piece, and in many.
                let values = if scheme == "sparse" { 500 } else { 250_000 };
                let contacts = 64;
                let most = Room {
                    values: device.most_values(),
                    contacts: device.most_contacts(),
                };
                for room in [most, Room { values, contacts }] {
                    let mut case = Case::<R>::new(&problem, sweep, &parameters, room);
                    let name = format!("{name}, {} of {group} in {block}, {scheme}", info.name);
                    compare(&name, &mut case, &mut device, random);
                }
            }
        }
    }
}

#[test]
fn every_kernel_agrees_with_its_twin_in_single_precision() {
    compare_all::<f32>(&mut Random::new(38));
}

/// A device without such numbers is left out; the software adapter of CI has them.
#[test]
fn every_kernel_agrees_with_its_twin_in_double_precision() {
    compare_all::<f64>(&mut Random::new(39));
}

/// The projections alone, without what a relaxation does to them: the discs, boxes and ellipses of the twin are right.
#[test]
fn projections_of_the_twin_are_those_of_the_laws() {
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let mut number = |by: f64| by * random.signed();
        let v = [number(2.0), number(2.0)];
        let mu = [number(1.0).abs() + 1e-3, number(1.0).abs() + 1e-3];
        let normal = number(1.0).abs();
        let narrow = |x: [f64; 2]| x.map(|x| x as f32);
        for (number, law) in [FrictionLaw::Disc, FrictionLaw::Box, FrictionLaw::Ellipse]
            .into_iter()
            .enumerate()
        {
            let mut exact = v;
            use crate::problem::law::Law;
            law.project(&mut exact, mu, normal);
            let ours = project_friction(number as u32, narrow(v), narrow(mu), normal as f32);
            for (a, b) in exact.iter().zip(ours) {
                assert!(
                    (a - f64::from(b)).abs() < 1e-6,
                    "{law:?} {v:?} {mu:?} {normal}"
                );
            }
        }
    }
}

#[test]
fn every_shader_is_valid() {
    use naga::valid::Capabilities;
    let builds = [
        (32, 64, Capabilities::empty()),
        (64, 192, Capabilities::FLOAT64),
    ];
    for (kernel, (bits, block, capabilities)) in Kernel::ALL
        .into_iter()
        .flat_map(|kernel| builds.map(|build| (kernel, build)))
    {
        let description = kernel.description();
        let source = description.source.text(Build { bits, block });
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|e| panic!("{kernel:?}: {}", e.emit_to_string(&source)));
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap_or_else(|e| panic!("{kernel:?}: {e:?}"));
        let storage = description.reads.len() + description.writes.len();
        let bound = module
            .global_variables
            .iter()
            .filter(|(_, v)| v.binding.is_some());
        assert_eq!(bound.count(), storage + 1, "{kernel:?}");
        assert!(storage <= 8, "{kernel:?}: a device may have no more");
    }
}

/// A solve by a device with the given limits, after `before` did something to it.
fn solve_on(gpu: Result<Gpu, String>, before: impl FnOnce(&Gpu)) -> (Vec<f64>, SolveReport) {
    solve_by(&SOR, Sweep::Sor, "sparse", gpu, before)
}

fn solve_by(
    info: &'static SolverInfo,
    sweep: Sweep,
    scheme: &str,
    gpu: Result<Gpu, String>,
    before: impl FnOnce(&Gpu),
) -> (Vec<f64>, SolveReport) {
    let problem = posed("ball_grid_8", 1);
    let mut sweeps = Sweeps::<f32>::new(sweep, &parameters(info, scheme));
    match gpu {
        Ok(gpu) => {
            let gpu = Arc::new(gpu);
            before(&gpu);
            sweeps.opened = Some(Ok(gpu));
        }
        Err(reason) => sweeps.opened = Some(Err(reason)),
    }
    let mut solver = Iterated {
        info,
        iteration: sweeps,
    };
    let request = Request {
        budget: Budget {
            iterations: 50,
            ..Budget::default()
        },
        history: false,
        ..Request::default()
    };
    let mut lambda = vec![0.0; problem.row_count()];
    let report = solver.solve(&problem, &request, &mut lambda, &mut Vec::new());
    (lambda, report)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
}

#[test]
fn devices_that_fail_leave_the_step_to_the_twin_and_say_so() {
    if gpu().is_none() {
        return;
    }
    let (whole, report) = solve_on(Gpu::open(|_| ()), |_| ());
    assert!(
        report.remarks[0].starts_with("solved on "),
        "{:?}",
        report.remarks
    );
    assert!(!report.remarks[0].contains("CPU:"), "{:?}", report.remarks);
    let largest = whole.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    type Failing = (&'static str, Result<Gpu, String>, fn(&Gpu));
    let cases: [Failing; 3] = [
        ("was lost", Gpu::open(|_| ()), Gpu::destroy),
        (
            "invocations in a workgroup, 256 are needed",
            Gpu::open(|limits| limits.max_compute_invocations_per_workgroup = 32),
            |_| (),
        ),
        (
            "bytes at most",
            Gpu::open(|limits| limits.max_storage_buffer_binding_size = 1 << 12),
            |_| (),
        ),
    ];
    for (words, gpu, before) in cases {
        let (lambda, report) = solve_on(gpu, before);
        let [remark] = &report.remarks[..] else {
            panic!("{words}: {:?}", report.remarks)
        };
        assert!(remark.starts_with("solved on the CPU: "), "{remark}");
        assert!(remark.contains(words), "{remark}");
        assert!(distance(&lambda, &whole) <= 1e-4 * largest, "{words}");
    }
}

/// A device that fails on the way leaves the whole solve to the twin: its iterations from the start, and its result.
#[test]
fn what_fails_on_the_way_is_done_again_by_the_twin() {
    if gpu().is_none() {
        return;
    }
    let problem = posed("disc_pyramid", 1);
    let budget = Budget {
        iterations: 60,
        tolerance: 0.0,
        ..Budget::default()
    };
    let start = vec![0.0; problem.row_count()];
    // The device is lost after so many batches, or never; the twin alone does the last one.
    let solve = |sweep, info: &SolverInfo, lost_after: Option<u32>| {
        let mut sweeps = Sweeps::<f32>::new(sweep, &parameters(info, "matrix-free"));
        let gpu = Gpu::open(|_| ()).map(Arc::new);
        sweeps.opened = Some(match lost_after {
            Some(_) => gpu.clone(),
            None => Err("nothing is asked of it".into()),
        });
        sweeps.prepare(&problem, &start, &mut Vec::new());
        let (mut count, mut batches) = (0, 0);
        while count < budget.iterations {
            if lost_after == Some(batches) {
                gpu.as_ref().expect("a device").destroy();
            }
            count += sweeps.iterate_some(&problem, &budget, budget.iterations - count, false);
            batches += 1;
        }
        if lost_after == Some(u32::MAX) {
            gpu.as_ref().expect("a device").destroy();
        }
        sweeps.return_to_checkpoints();
        assert!(sweeps.reason.is_some());
        (sweeps.lambda, sweeps.monitors[0].iterations)
    };
    for (info, sweep) in [(&JOR, Sweep::Jor), (&SOR, Sweep::Sor)] {
        let (expected, iterations) = solve(sweep, info, None);
        for lost_after in [0, 1, 3, u32::MAX] {
            let (lambda, count) = solve(sweep, info, Some(lost_after));
            assert_eq!(lambda, expected, "{} lost after {lost_after}", info.name);
            assert_eq!(count, iterations, "{} lost after {lost_after}", info.name);
        }
    }
}

/// T of this problem has 430 kB: where a binding holds less it is split, and nothing else changes.
#[test]
fn a_matrix_beyond_the_limit_of_bindings_is_split() {
    if gpu().is_none() {
        return;
    }
    let (whole, _) = solve_on(Gpu::open(|_| ()), |_| ());
    let small = Gpu::open(|limits| limits.max_storage_buffer_binding_size = 1 << 17);
    let (split, report) = solve_on(small, |_| ());
    assert!(!report.remarks[0].contains("CPU:"), "{:?}", report.remarks);
    assert!(
        distance(&whole, &split) == 0.0,
        "{:e}",
        distance(&whole, &split)
    );
}

/// The contacts of this problem have 90 kB: where a binding holds less they are bound piece by piece. Only the sums of what
/// acts on a body are formed in another order.
#[test]
fn contacts_beyond_the_limit_of_bindings_are_bound_in_pieces() {
    if gpu().is_none() {
        return;
    }
    for (info, sweep) in [(&JOR, Sweep::Jor), (&SOR, Sweep::Sor)] {
        let (whole, _) = solve_by(info, sweep, "matrix-free", Gpu::open(|_| ()), |_| ());
        let small = Gpu::open(|limits| limits.max_storage_buffer_binding_size = 1 << 16);
        let (cut, report) = solve_by(info, sweep, "matrix-free", small, |_| ());
        assert!(!report.remarks[0].contains("CPU:"), "{:?}", report.remarks);
        let largest = whole.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let off = distance(&whole, &cut);
        assert!(
            off <= 1e-5 * largest,
            "{}: {off:e} of {largest:e}",
            info.name
        );
    }
}

/// Where the better of both is asked for, the number of contacts decides, and a device that is none is never taken.
#[test]
fn the_better_device_follows_from_the_number_of_contacts() {
    for (sweep, contacts, on_cpu) in [
        (Sweep::Jor, 575, true),
        (Sweep::Jor, 576, false),
        (Sweep::Jor, 188_800, false),
        (Sweep::Sor, 11_775, true),
        (Sweep::Sor, 11_776, false),
        (Sweep::Sor, 40_320, false),
        (Sweep::Sor, 188_800, true),
    ] {
        let why = better_on_cpu(sweep, contacts, true);
        assert_eq!(why.is_some(), on_cpu, "{sweep:?}, {contacts}: {why:?}");
        assert!(better_on_cpu(sweep, contacts, false).is_some());
    }
}
