//! The same input gives the same state, bit for bit: for every number of threads, and through
//! snapshots.

use crate::common::*;
use moreau::math::{Pose, Quat, Vec3};
use moreau::solve::sweeps::colored_gs::PARALLEL;
use moreau::solve::{Budget, ParameterKind, SOLVERS, SolverConfig, Value};
use moreau::step::{Simulation, Snapshot};
use moreau::world::{BodySpec, Geometry, Settings, World};

/// A few hundred bodies of several shapes that fall, collide, roll and come to rest.
fn rain(settings: Settings) -> World {
    let mut w = world(settings, 0.4, 0.2);
    ground(&mut w);
    let shapes = [
        ball(0.3),
        cuboid(0.3, 0.2, 0.25),
        shape(Geometry::Capsule {
            half_height: 0.2,
            radius: 0.15,
        }),
        shape(Geometry::Cylinder {
            half_height: 0.2,
            radius: 0.2,
        }),
        shape(Geometry::Cone {
            half_height: 0.25,
            radius: 0.25,
        }),
    ];
    for k in 0..240 {
        let f = f64::from(k);
        let at = Vec3::new(
            (f * 0.37).sin() * 2.0,
            0.5 + 0.12 * f,
            (f * 0.53).cos() * 2.0,
        );
        add(
            &mut w,
            BodySpec {
                pose: Pose::new(at, Quat::from_scaled_axis(at)),
                shape: shapes[k as usize % shapes.len()].clone(),
                linear_velocity: Vec3::new(-at.x, -1.0, -at.z),
                angular_velocity: at,
                ..BodySpec::default()
            },
        );
    }
    w
}

fn config(name: &str) -> SolverConfig {
    SolverConfig {
        name: name.into(),
        budget: Budget {
            iterations: 15,
            ..Budget::default()
        },
        ..SolverConfig::default()
    }
}

fn run(s: &mut Simulation, steps: usize) -> u64 {
    for _ in 0..steps {
        if let Err(error) = s.step() {
            panic!("{:?}: {error}", s.solver_config());
        }
    }
    s.world().state_hash()
}

/// Every solver, with the default and with every other value of each of its choices.
fn variants() -> Vec<SolverConfig> {
    let mut all = Vec::new();
    for info in SOLVERS {
        all.push(config(info.name));
        for parameter in info.parameters {
            let ParameterKind::Choice { default, options } = parameter.kind else {
                continue;
            };
            for option in options.iter().filter(|o| **o != default) {
                let mut c = config(info.name);
                let value = Value::Choice((*option).into());
                c.parameters.insert(parameter.name.into(), value);
                if ["jacobi", "gpu-jor"].contains(&info.name) && *option == "local" {
                    // It would diverge.
                    c.parameters.insert("alpha".into(), Value::Number(0.3));
                }
                all.push(c);
            }
        }
    }
    all
}

fn compare_threads(configs: impl Iterator<Item = SolverConfig>) {
    for c in configs {
        // The defaults for longer, until hundreds of bodies have met.
        let steps = if c.parameters.is_empty() { 120 } else { 80 };
        let hash = |threads| {
            let mut s = Simulation::new(rain(Settings::default()), c.clone(), threads).unwrap();
            let hash = run(&mut s, steps);
            let contacts = s.report().contacts;
            assert!(contacts > 100, "they have met: {contacts} contacts");
            hash
        };
        let one = hash(1);
        for threads in [2, 3] {
            assert_eq!(hash(threads), one, "{c:?} on {threads} threads");
        }
    }
}

#[test]
fn the_state_does_not_depend_on_the_number_of_threads() {
    compare_threads(SOLVERS.iter().map(|info| config(info.name)));
}

#[test]
#[ignore = "takes minutes"]
fn the_state_does_not_depend_on_the_number_of_threads_whatever_is_chosen() {
    let chosen = variants().into_iter();
    compare_threads(chosen.filter(|c| !c.parameters.is_empty()));
}

/// One island that is large enough for every solver to share it among threads.
fn compare_threads_on_a_grid(configs: impl Iterator<Item = SolverConfig>) {
    let settings = Settings {
        prediction: 1e-6,
        ..Settings::default()
    };
    for mut c in configs {
        if c.name == "block-sor" {
            // Groups whose products are worth sharing.
            c.parameters.insert("size".into(), Value::Integer(500));
        }
        let hash = |threads| {
            // A direct solver shares islands among threads, never one of them; and its dense variants
            // would take minutes for the large grid.
            let size = match c.name.as_str() {
                "bpp" | "newton" | "admm" | "hybrid" => 4,
                // On the graphics processor, or by `colored-gs` in its place.
                "auto" | "colored-gs" | "gpu-sor" => 12,
                _ => 10,
            };
            let mut s = Simulation::new(ball_grid(size, settings), c.clone(), threads).unwrap();
            let hash = run(&mut s, 5);
            // The colours of an island of more than 4,096 edges are shared among threads.
            let shared = s.report().solve.statistic(PARALLEL);
            assert!(shared.is_none_or(|islands| islands == 1.0), "{shared:?}");
            hash
        };
        let one = hash(1);
        for threads in [2, 3] {
            assert_eq!(hash(threads), one, "{c:?} on {threads} threads");
        }
    }
}

#[test]
fn a_grid_does_not_depend_on_the_number_of_threads() {
    compare_threads_on_a_grid(SOLVERS.iter().map(|info| config(info.name)));
}

#[test]
#[ignore = "takes minutes"]
fn a_grid_does_not_depend_on_the_number_of_threads_whatever_is_chosen() {
    let chosen = variants().into_iter();
    compare_threads_on_a_grid(chosen.filter(|c| !c.parameters.is_empty()));
}

/// Snapshot, restore, so many steps equals as many straight on: in the same simulation, in a fresh
/// one, and through bytes.
fn restore_and_go_on(steps: usize) {
    for info in SOLVERS {
        let mut s = Simulation::new(rain(Settings::default()), config(info.name), 2).unwrap();
        run(&mut s, 60);
        let snapshot = s.snapshot();
        let bytes = snapshot.to_bytes();
        let here = s.world().state_hash();
        let on = run(&mut s, steps);
        s.restore(&snapshot);
        assert_eq!(s.world().state_hash(), here);
        assert_eq!(run(&mut s, steps), on, "{}: restored in place", info.name);

        let mut fresh = Simulation::new(World::default(), config(info.name), 1).unwrap();
        fresh.restore(&snapshot);
        assert_eq!(
            run(&mut fresh, steps),
            on,
            "{}: in a fresh simulation",
            info.name
        );

        let snapshot = Snapshot::from_bytes(&bytes).unwrap();
        assert_eq!(snapshot.world().state_hash(), here);
        let mut loaded = Simulation::new(World::default(), config(info.name), 1).unwrap();
        loaded.restore(&snapshot);
        assert_eq!(run(&mut loaded, steps), on, "{}: through bytes", info.name);
    }
}

#[test]
fn restoring_and_going_on_equals_going_on() {
    restore_and_go_on(20);
}

#[test]
#[ignore = "takes minutes"]
fn restoring_and_going_on_for_long_equals_going_on() {
    restore_and_go_on(100);
}

#[test]
fn damaged_snapshots_are_refused() {
    let bytes = rain(Settings::default()).to_bytes();
    let refuse = |bytes: &[u8]| World::from_bytes(bytes).unwrap_err().to_string();
    assert!(refuse(b"hello").contains("not a Moreau snapshot"));
    assert!(refuse(&bytes[..bytes.len() - 5]).contains("damaged"));
    let mut flipped = bytes.clone();
    flipped[200] ^= 1;
    assert!(refuse(&flipped).contains("checksum"));
    let mut newer = bytes;
    newer[8] = 99;
    assert!(refuse(&newer).contains("version 99"));
}

/// A cubic grid of balls is an unstable equilibrium that only symmetry holds: it rests for 10 s
/// because contacts are found, ordered and summed alike in every column.
#[test]
fn the_solved_ball_grid_rests() {
    let settings = Settings {
        prediction: 1e-6,
        ..Settings::default()
    };
    let w = ball_grid(8, settings);
    let start = w.bodies.position.clone();
    let c = SolverConfig {
        budget: Budget {
            iterations: 20_000,
            tolerance: 1e-10,
            ..Budget::default()
        },
        ..SolverConfig::default()
    };
    let mut s = Simulation::new(w, c, 1).unwrap();
    s.step().unwrap();
    assert_eq!((s.world().bodies.len(), s.report().contacts), (513, 1408));
    for _ in 1..600 {
        s.step().unwrap();
        let bodies = &s.world().bodies;
        let drift = bodies
            .position
            .iter()
            .zip(&start)
            .map(|(a, b)| (a - b).norm())
            .fold(0.0, f64::max);
        assert!(
            drift < 1e-3,
            "a ball drifted {drift} m by {} s",
            s.world().time
        );
    }
    let energy = s.world().bodies.kinetic_energy() / 512.0;
    assert!(energy < 1e-6, "{energy:e} J per body");
}
