//! The engine's costs: a whole step and each of its stages, and a solver's sweep per contact, on
//! Poulsen's ball grids, with one and two threads.
//!
//! `cargo bench --no-default-features`, or `... -- grid_40` for a part. The stage times come from the
//! step's own stopwatches, so that all stages are measured in the same steps.

#[path = "../tests/engine/common/mod.rs"]
#[allow(dead_code, reason = "the benches use a part of what tests share")]
mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moreau::math::Twist;
use moreau::measure::Stage;
use moreau::solve::{Budget, Request, SolverConfig};
use moreau::step::Simulation;
use moreau::world::Settings;

const GRIDS: [usize; 3] = [8, 24, 40];

/// A grid at rest on its first steps, prediction just above zero as in the thesis; ten iterations per step.
fn grid(n: usize, threads: usize) -> Simulation {
    let settings = Settings {
        prediction: 1e-6,
        ..Settings::default()
    };
    let config = SolverConfig {
        budget: Budget {
            iterations: 10,
            tolerance: 0.0,
            ..Budget::default()
        },
        ..SolverConfig::default()
    };
    let world = common::ball_grid(n, settings);
    let mut simulation = Simulation::new(world, config, threads).expect("a valid solver");
    // The first step builds the tree and allocates.
    simulation.step().expect("a valid step");
    simulation
}

fn stages(c: &mut Criterion) {
    for n in GRIDS {
        for threads in [1, 2] {
            let mut simulation = grid(n, threads);
            let mut group = c.benchmark_group(format!("grid_{n}/threads_{threads}"));
            group
                .sample_size(10)
                .warm_up_time(Duration::from_millis(200))
                .measurement_time(Duration::from_secs(2));
            for stage in Stage::ALL {
                group.bench_function(stage.name(), |b| {
                    b.iter_custom(|steps| {
                        let seconds: f64 = (0..steps)
                            .map(|_| simulation.step().expect("a valid step").timings.get(stage))
                            .sum();
                        Duration::from_secs_f64(seconds)
                    });
                });
            }
            group.finish();
        }
    }
}

/// One sweep over all contacts, without preparation: the time per contact and iteration.
fn sweeps(c: &mut Criterion) {
    for n in GRIDS {
        let simulation = grid(n, 1);
        let problem = simulation.problem();
        let mut group = c.benchmark_group(format!("sweep/grid_{n}"));
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_secs(2))
            .throughput(Throughput::Elements(problem.contacts.len() as u64));
        for name in ["gauss-seidel", "jacobi"] {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .expect("a thread pool");
                let config = SolverConfig {
                    name: name.into(),
                    ..SolverConfig::default()
                };
                let mut solver = config.build().expect("a valid solver");
                let mut u: Vec<Twist> = Vec::new();
                group.bench_function(BenchmarkId::new(name, format!("threads_{threads}")), |b| {
                    b.iter_custom(|iterations| {
                        let request = Request {
                            budget: Budget {
                                iterations: iterations as u32,
                                tolerance: 0.0,
                                ..Budget::default()
                            },
                            history: false,
                            ..Request::default()
                        };
                        let mut lambda = vec![0.0; problem.row_count()];
                        let start = Instant::now();
                        let report =
                            pool.install(|| solver.solve(problem, &request, &mut lambda, &mut u));
                        black_box(start.elapsed());
                        Duration::from_secs_f64(report.solve_time)
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, stages, sweeps);
criterion_main!(benches);
