//! What a step takes is bounded, over all its rounds, beginnings, substeps and halvings.

use moreau::scene::Scene;
use moreau::solve::{SolverConfig, Value};

/// What a solve may take (1e6 multiplications).
const WORK: f64 = 3.0;
/// A step may take ten times as much, and a tenth more for what a round cannot know before it ends.
const MOST: f64 = 33.0;

/// Steps of a machine keep their grant.
fn check(name: &str, text: &str, steps: usize) {
    let scene = Scene::parse(text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut s = scene
        .simulation(1)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(s.solver_config().name, "auto", "{name}");
    let mut config = SolverConfig {
        name: "auto".into(),
        ..SolverConfig::default()
    };
    (config.parameters).insert("work".into(), Value::Number(WORK));
    s.set_solver(config).expect("a solver");
    let mut worst: f64 = 0.0;
    for step in 0..steps {
        let report = s
            .step()
            .unwrap_or_else(|e| panic!("{name}, step {step}: {e}"));
        let work = report.solve.statistic("work").unwrap_or(0.0);
        worst = worst.max(work);
    }
    println!("{name}: at most {worst:.1} million multiplications");
    assert!(worst <= MOST, "{name}: {worst} million multiplications");
}

#[test]
fn a_belt_keeps_its_grant() {
    check("belt", include_str!("thirteen/belt_with_parcels.ron"), 60);
}

#[test]
fn a_bridge_keeps_its_grant() {
    check("bridge", include_str!("thirteen/bridge_with_car.ron"), 60);
}

#[test]
fn a_tumbler_keeps_its_grant() {
    check("tumbler", include_str!("thirteen/tumbler.ron"), 60);
}
