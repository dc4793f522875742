//! The machines on exact discs, for somebody who sets nothing but the scene: their joints part by no more than twice
//! what they do with pivoting on boxes.

use crate::common::machine::open;
use moreau::problem::FrictionLaw;
use moreau::solve::SolverConfig;

/// Runs a shipped machine by default for some seconds; the largest joint error must stay below twice `pivoting` (mm),
/// which is docs/machines.md's.
fn check(name: &str, values: &[(&str, &str)], seconds: usize, pivoting: f64) {
    let mut scene = open(name);
    scene.set_all(values).expect("values of the scene");
    scene.solver = SolverConfig::default();
    scene.settings.friction_law = FrictionLaw::default();
    let mut s = scene.simulation(0).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.solver_config().name, "auto");
    let (mut apart, mut deep, mut residual, mut missed) = (0.0_f64, 0.0_f64, 0.0_f64, 0);
    for _ in 0..60 * seconds {
        let report = s.step().expect("a step");
        apart = apart.max(report.joint_error);
        deep = deep.max(report.penetration);
        let reached = report.residual.as_ref().expect("it is measured").residual;
        residual = residual.max(reached);
        missed += usize::from(reached > 1e-6);
    }
    println!(
        "{name}: joints {:.2e} mm apart, {:.2e} mm deep, residual up to {residual:.1e} m/s, above 1e-6 in {missed} of {} steps",
        apart * 1e3,
        deep * 1e3,
        60 * seconds
    );
    assert!(apart < 2e-3 * pivoting, "{name}: {apart:e} m");
}

#[test]
fn simple_cranes_hold_together() {
    check("simple_crane", &[], 10, 0.0007);
}

#[test]
fn simple_winches_hold_together() {
    check("simple_winch", &[], 6, 0.03);
}

/// A load of a hundred thousand links; docs/machines.md has no line for it, pivoting was measured: 1.3e-4 mm.
#[test]
fn chains_hold_together() {
    check("chain", &[("bodies.1.mass", "1e5")], 20, 1.3e-4);
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn vehicles_hold_together() {
    check("vehicle_parkour", &[], 20, 0.53);
}

#[test]
fn offshore_cranes_hold_together() {
    check("offshore", &[], 20, 0.24);
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn forklifts_hold_together() {
    check("forklift", &[], 20, 0.56);
}

#[test]
fn forwarders_hold_together() {
    check("forwarder", &[], 20, 0.01);
}

#[test]
#[ignore = "takes half a minute"]
fn mobile_cranes_hold_together() {
    check("crane", &[], 20, 0.42);
}

#[test]
#[ignore = "takes half a minute"]
fn winches_hold_together() {
    check("winch", &[], 20, 0.05);
}
