//! Parts and couplings against whole solutions.

use super::*;
use crate::problem::residual::velocity_distance;
use crate::scene::library;
use crate::solve::{Budget, SolverConfig, Value};

/// As `hybrid` cuts by default.
const ALONG_CHAINS: Cuts = Cuts {
    depth: 2,
    imports: Imports::Links,
    segment: 10,
    method: Method::Chains,
    bodies: 50,
};

/// The problem of a shipped scene after so many steps, and the reach of its bodies.
fn posed(scene: &str, steps: usize) -> (Problem, Vec<f64>) {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    let reach = simulation.world().bodies.reach();
    (simulation.problem().clone(), reach)
}

/// A solver with some parameters.
fn solver(name: &str, parameters: &[(&str, Value)]) -> Box<dyn Solver> {
    let mut config = SolverConfig {
        name: name.into(),
        ..SolverConfig::default()
    };
    for (name, value) in parameters {
        config.parameters.insert((*name).into(), value.clone());
    }
    config.build().expect("a solver")
}

fn word(word: &str) -> Value {
    Value::Choice(word.into())
}

fn request(iterations: u32, tolerance: f64) -> Request {
    Request {
        budget: Budget {
            iterations,
            tolerance,
            ..Budget::default()
        },
        history: true,
        ..Request::default()
    }
}

/// Velocities after a cold solve, and the report.
fn solved(
    solver: &mut dyn Solver,
    problem: &Problem,
    request: &Request,
) -> (Vec<Twist>, SolveReport) {
    let mut lambda = vec![0.0; problem.row_count()];
    let mut u = Vec::new();
    let report = solver.solve(problem, request, &mut lambda, &mut u);
    (u, report)
}

fn residuals(report: &SolveReport) -> Vec<f64> {
    report.history.iter().map(|p| p.residual).collect()
}

#[test]
fn exact_couplings_lead_to_the_whole_solution() {
    let cut = [("segment", Value::Integer(2)), ("depth", Value::Integer(0))];
    let mut missed = Vec::new();
    for (scene, steps, parameters, rounds) in [
        ("simple_crane", 60, &cut[..], 5),
        ("simple_crane", 60, &[], 5),
        ("chain", 60, &cut[..], 5),
        ("chain", 60, &[], 5),
        ("crane", 60, &[], 5),
        ("offshore", 60, &[], 5),
        ("bridge", 60, &cut[..], 5),
        ("two_cranes_one_load", 150, &[], 5),
        ("train", 250, &[], 5),
        ("winch", 200, &[], 20),
    ] {
        let (problem, reach) = posed(scene, steps);
        for primary in ["bpp", "newton"] {
            let given = [("primary", word(primary))];
            let given: Vec<_> = parameters.iter().cloned().chain(given).collect();
            let mut hybrid = solver("hybrid", &given);
            let (u, report) = solved(&mut *hybrid, &problem, &request(rounds, 1e-9));
            let (whole, _) = solved(
                &mut *solver(primary, &[]),
                &problem,
                &request(50_000, 1e-12),
            );
            let distance = velocity_distance(&problem, &u, &whole, &reach);
            if report.status != Status::Converged || distance > 1e-6 {
                missed.push(format!(
                    "{scene} {steps} {given:?}: {:?}, {distance:e} m/s, {:?}",
                    report.status,
                    residuals(&report)
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Parts of a heap are far dearer than what couples them: they are solved well only where the couplings are.
#[test]
fn a_heap_is_coupled_exactly_within_the_bound_of_work() {
    let (problem, _) = posed("logs", 120);
    let mut hybrid = solver("hybrid", &[("partition", word("strength"))]);
    let (_, report) = solved(hybrid.as_mut(), &problem, &request(40, 1e-6));
    assert_eq!(report.status, Status::Converged);
    let work = report.statistic("work").expect("counted");
    assert!(work < 1000.0, "{work} million multiplications");
}

#[test]
fn plain_couplings_lead_nearer_and_conjugate_directions_faster() {
    let (problem, _) = posed("simple_crane", 60);
    let residual = |coupling: &str, rounds: u32| {
        let mut hybrid = solver("hybrid", &[("coupling", word(coupling))]);
        let (_, report) = solved(&mut *hybrid, &problem, &request(rounds, 0.0));
        *residuals(&report).last().expect("a history")
    };
    let plain = [5, 50, 500].map(|rounds| residual("plain", rounds));
    assert!(plain.is_sorted_by(|a, b| a > b), "{plain:?}");
    let conjugate = residual("conjugate", 500);
    assert!(conjugate < 0.01 * plain[2], "{conjugate:e} {plain:?}");
}

#[test]
fn what_is_solved_again_is_as_what_is_solved_anew() {
    let (mut problem, reach) = posed("crane", 60);
    for coupling in ["exact", "plain"] {
        let mut again = solver("hybrid", &[("coupling", word(coupling))]);
        solved(&mut *again, &problem, &request(50, 1e-9));
        for (bias, k) in problem.rows.bias.iter_mut().zip(0..) {
            *bias += 0.01 * f64::from(k % 7);
        }
        let mut lambda = vec![0.0; problem.row_count()];
        let mut u = Vec::new();
        again.solve_again(&problem, &request(50, 1e-9), &mut lambda, &mut u);
        let mut anew = solver("hybrid", &[("coupling", word(coupling))]);
        let (fresh, _) = solved(&mut *anew, &problem, &request(50, 1e-9));
        let distance = velocity_distance(&problem, &u, &fresh, &reach);
        assert!(distance < 1e-8, "{coupling}: {distance:e}");
    }
}

#[test]
fn a_vehicle_with_a_cable_is_cut_as_the_paper_has_it() {
    for (links, parts) in [(60, 7), (80, 9), (140, 15)] {
        let mut scene = library::shipped("tethered_vehicle").expect("a shipped scene");
        (scene.set("generators.0.links", &links.to_string())).expect("a number of links");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        let problem = simulation.problem();
        let mut partition = Partition::default();
        let cuts = ALONG_CHAINS;
        partition.find(problem, cuts);
        assert_eq!(partition.len(), parts, "{links} links");
        let bodies = &simulation.world().bodies;
        let of = |name: &str| {
            let slot = (0..bodies.slots()).find(|slot| bodies.name[*slot] == name);
            partition.of_body[slot.expect("a body")]
        };
        // Its wheels and two links.
        for name in ["rear left", "front right", "cable 0", "cable 1"] {
            assert_eq!(of(name), of("chassis"), "{name}");
        }
        assert_ne!(of("cable 2"), of("chassis"));
        assert_eq!(of("ground"), partition::NO_PART);
        for part in 1..partition.len() as u32 {
            let links = partition.of_body.iter().filter(|p| **p == part).count();
            assert!((9..=10).contains(&links), "{links} links in part {part}");
        }
    }
}

/// How many parts a shipped scene has after so many steps, and the part of each body by its name.
fn named_parts(scene: &str, steps: usize, cuts: Cuts) -> (usize, impl Fn(&str) -> u32) {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..steps {
        simulation.step().expect("a step");
    }
    let mut partition = Partition::default();
    partition.find(simulation.problem(), cuts);
    let names = simulation.world().bodies.name.clone();
    (partition.len(), move |name| {
        let slot = names.iter().position(|n| n == name);
        partition.of_body[slot.expect("a body")]
    })
}

#[test]
fn parts_that_a_scene_names_stay_whole() {
    let (parts, of) = named_parts("train", 30, ALONG_CHAINS);
    assert_eq!(parts, 10);
    assert_eq!(of("wagon 3"), of("wagon 3 inner"));
    assert_eq!(of("wagon 3"), of("dolly 3 outer"));
    assert_ne!(of("wagon 3"), of("wagon 4"));
    let (parts, of) = named_parts("two_cranes_one_load", 1, ALONG_CHAINS);
    assert_eq!(parts, 7);
    // The first two links of a cable go with the jib that they hang on.
    assert_eq!(of("jib left"), of("cable left 1"));
    assert_ne!(of("jib left"), of("cable left 5"));
    assert_ne!(of("jib left"), of("jib right"));
}

/// Bodies with any number of joints are taken in down to the depth, as in the paper, and lead to the same solution.
#[test]
fn a_part_takes_in_machines_of_higher_groups_where_all_are_asked_for() {
    let all = Cuts {
        imports: Imports::All,
        depth: 1,
        ..ALONG_CHAINS
    };
    let (_, links) = named_parts("train", 30, ALONG_CHAINS);
    let (_, of) = named_parts("train", 30, all);
    assert_ne!(links("wagon 1"), links("dolly 2"));
    assert_eq!(of("wagon 1"), of("dolly 2"));
    assert_ne!(of("wagon 1"), of("wagon 2"));
    let (problem, reach) = posed("train", 250);
    let given = [("imports", word("all"))];
    let (u, report) = solved(
        &mut *solver("hybrid", &given),
        &problem,
        &request(1000, 1e-9),
    );
    assert_eq!(report.status, Status::Converged, "{:?}", residuals(&report));
    let (whole, _) = solved(&mut *solver("bpp", &[]), &problem, &request(50_000, 1e-12));
    let distance = velocity_distance(&problem, &u, &whole, &reach);
    assert!(distance < 1e-6, "{distance:e} m/s");
}

/// A heap has no chains: what somebody has put into two groups stays in these, and nothing else comes in.
#[test]
fn groups_in_a_heap_are_as_somebody_has_named_them() {
    let scene = library::shipped("logs").expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    let group = |slot: usize| match slot {
        10..16 => 1,
        16..24 => 2,
        _ => 0,
    };
    for slot in 10..24 {
        simulation.world_mut().bodies.part[slot] = group(slot);
    }
    for _ in 0..60 {
        simulation.step().expect("a step");
    }
    let mut partition = Partition::default();
    let cuts = ALONG_CHAINS;
    partition.find(simulation.problem(), cuts);
    let view = partition.view(1);
    for (slot, part) in view.of_body.iter().enumerate() {
        if let Some(part) = view.parts.get(*part as usize) {
            let named = Some(group(slot)).filter(|group| *group > 0);
            assert_eq!(part.group, named, "body {slot}");
        }
    }
}

/// Sweeps are for chains alone, whatever groups somebody has named.
#[test]
fn machines_are_no_chains_where_a_link_has_a_group() {
    let scene = library::shipped("tethered_vehicle").expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    let bodies = &mut simulation.world_mut().bodies;
    let link = bodies.name.iter().position(|name| name == "cable 30");
    bodies.part[link.expect("a link")] = 1;
    simulation.step().expect("a step");
    let mut partition = Partition::default();
    let cuts = ALONG_CHAINS;
    partition.find(simulation.problem(), cuts);
    let names = &simulation.world().bodies.name;
    for (body, part) in partition.of_body.iter().enumerate() {
        if *part != partition::NO_PART {
            let has_vehicle = partition
                .of_body
                .iter()
                .zip(names)
                .any(|(other, name)| other == part && !name.starts_with("cable"));
            let is_chain = partition.is_chain(*part as usize);
            let is_first = partition.group[*part as usize] == 1;
            assert_eq!(is_chain, !has_vehicle && !is_first, "{}", names[body]);
        }
    }
}

#[test]
fn the_vehicle_tows_its_cable_in_parts() {
    let scene = library::shipped("tethered_vehicle").expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    let config = SolverConfig {
        name: "hybrid".into(),
        ..SolverConfig::default()
    };
    simulation.set_solver(config).expect("a solver");
    for step in 0..120 {
        let report = simulation.step().expect("a step");
        assert!(report.solve.status.is_usable(), "step {step}");
        assert!(report.joint_error < 5e-3, "step {step}: {report:?}");
        assert_eq!(report.solve.statistic("parts"), Some(7.0), "step {step}");
    }
    let bodies = &simulation.world().bodies;
    let speeds = bodies.velocity.iter().map(|v| v.linear.norm());
    let fastest = speeds.fold(0.0, f64::max);
    assert!((1.0..3.0).contains(&fastest), "{fastest} m/s");
}

/// A solver that solves asynchronously.
fn asynchronous(parameters: &[(&str, Value)]) -> Hybrid {
    let given = [("execution", word(ASYNC))];
    let mut all = Parameters::defaults(INFO.parameters);
    for (name, value) in parameters.iter().chain(&given) {
        let declared = INFO.parameters.iter().find(|p| p.name == *name);
        all = all.with(declared.expect("a parameter").name, value.clone());
    }
    Hybrid::new(&all)
}

impl Hybrid {
    fn asynchronous(&mut self) -> &mut Asynchronous {
        match &mut self.execution {
            Execution::Async(own) => own,
            Execution::Turns(_) => panic!("not asynchronous"),
        }
    }
}

/// On threads of its own.
fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool").install(work)
}

#[test]
fn what_is_solved_asynchronously_is_the_same_problem() {
    let (problem, reach) = posed("train", 250);
    let (whole, _) = solved(&mut *solver("bpp", &[]), &problem, &request(50_000, 1e-12));
    for threads in [1, 2, 4] {
        let mut hybrid = asynchronous(&[]);
        let (u, report) = on_threads(threads, || {
            solved(&mut hybrid, &problem, &request(10_000, 1e-8))
        });
        assert_eq!(report.status, Status::Converged, "{threads} threads");
        let distance = velocity_distance(&problem, &u, &whole, &reach);
        assert!(distance < 1e-5, "{threads} threads: {distance:e} m/s");
        // A history ends at the result.
        let history = residuals(&report);
        assert!(history.len() > 2 && history[0] > 1e-8, "{history:?}");
        assert!(history.last().is_some_and(|r| *r <= 1e-8), "{history:?}");
    }
}

#[test]
fn the_order_of_units_replayed_leads_to_the_same_impulses_bit_for_bit() {
    let short = [("segment", Value::Integer(2)), ("depth", Value::Integer(0))];
    for (scene, steps, parameters) in [
        ("simple_crane", 60, &short[..]),
        ("train", 250, &[]),
        ("tethered_vehicle", 120, &[]),
        ("bridge", 60, &short[..]),
    ] {
        let (problem, _) = posed(scene, steps);
        for threads in [1, 2, 4] {
            let mut hybrid = asynchronous(parameters);
            let mut lambda = vec![0.0; problem.row_count()];
            let mut u = Vec::new();
            let once = Request {
                history: false,
                ..request(20, 1e-9)
            };
            let report = on_threads(threads, || {
                hybrid.solve(&problem, &once, &mut lambda, &mut u)
            });
            assert!(report.status.is_usable(), "{scene}: {report:?}");
            let order = std::mem::take(&mut hybrid.asynchronous().order);
            assert!(order.len() > 20, "{scene}: {} units solved", order.len());

            // What it has left of impulses, before they are shortened.
            let mut left = vec![0.0; problem.row_count()];
            let units = &mut hybrid.asynchronous().units;
            units.store(&problem, &mut left);
            let mut again = asynchronous(parameters);
            again.partition.find(&problem, again.cuts);
            let mut replayed = vec![0.0; problem.row_count()];
            let partition = again.partition.clone();
            let units = &mut again.asynchronous().units;
            units.take(&problem, &partition);
            units
                .replay(&problem, &mut replayed, &order)
                .expect("a replay");
            let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&left), bits(&replayed), "{scene}, {threads} threads");

            // The shared data are those that the impulses make.
            problem.velocities(&left, &mut u);
            let shared = &hybrid.asynchronous().units.shared;
            for (body, (a, b)) in u.iter().zip(shared).enumerate() {
                // Whole islands share nothing.
                let island = problem.islands.of_body[body] as usize;
                if partition.is_cut.get(island) != Some(&true) {
                    continue;
                }
                let free = problem.bodies.free_velocity[body];
                let size =
                    a.linear.norm() + free.linear.norm() + a.angular.norm() + free.angular.norm();
                let off = (a.linear - b.linear).norm() + (a.angular - b.angular).norm();
                assert!(
                    off <= 1e-12 * size.max(1e-3),
                    "{scene}, body {body}: {off:e} of {size:e}"
                );
            }
        }
    }
}

#[test]
fn a_worker_that_panics_fails_the_solve_and_nothing_of_it_is_used() {
    let scene = library::shipped("train").expect("a shipped scene");
    for unit in [1, 3, 12] {
        let budget = request(20, 1e-6).budget;
        let stepped = |panics: Option<usize>, steps: usize| {
            let mut simulation = scene.simulation(2).expect("a simulation");
            let mut hybrid = asynchronous(&[]);
            hybrid.asynchronous().units.panics = panics;
            simulation.plug_in(Box::new(hybrid), budget);
            for _ in 0..steps {
                simulation
                    .step()
                    .expect("a step, by the fallback where it must");
            }
            simulation
        };
        let failed = stepped(Some(unit), 5);
        let Status::Failed(why) = &failed.report().solve.status else {
            panic!("{:?}", failed.report().solve.status);
        };
        assert_eq!(why, "a worker panicked: as it was asked to");
        // Whichever unit it was, the steps are the fallback's alone.
        let other = stepped(Some(2), 5);
        assert_eq!(failed.world().state_hash(), other.world().state_hash());
        assert!(stepped(None, 3).report().solve.status.is_usable());
    }

    // The same solver goes on after it.
    let (problem, _) = posed("train", 30);
    let mut hybrid = asynchronous(&[]);
    hybrid.asynchronous().units.panics = Some(0);
    let (_, report) = solved(&mut hybrid, &problem, &request(20, 1e-6));
    assert!(!report.status.is_usable());
    hybrid.asynchronous().units.panics = None;
    let (_, report) = solved(&mut hybrid, &problem, &request(10_000, 1e-6));
    assert_eq!(report.status, Status::Converged);
}

/// Solves so often on two threads, and fails when one solve takes longer than a minute.
fn solve_under_a_watchdog(solves: usize) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        on_threads(2, || {
            let cut = [("segment", Value::Integer(2)), ("depth", Value::Integer(0))];
            let (problem, _) = posed("simple_crane", 60);
            let mut hybrid = asynchronous(&cut);
            let mut lambda = vec![0.0; problem.row_count()];
            let mut u = Vec::new();
            let once = Request {
                history: false,
                ..request(5, 1e-6)
            };
            for solve in 0..solves {
                if solve % 10 == 0 {
                    lambda.fill(0.0);
                }
                let report = hybrid.solve(&problem, &once, &mut lambda, &mut u);
                assert!(report.status.is_usable(), "solve {solve}: {report:?}");
                sender.send(solve).expect("somebody who listens");
            }
        });
    });
    let minute = std::time::Duration::from_secs(60);
    for solve in 0..solves {
        let next = receiver.recv_timeout(minute);
        assert_eq!(next, Ok(solve), "a solve that does not end");
    }
    worker.join().expect("the solves");
}

#[test]
fn many_solves_end() {
    solve_under_a_watchdog(2_000);
}

#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_solves_end() {
    solve_under_a_watchdog(100_000);
}
