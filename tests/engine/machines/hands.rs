//! Hands on machines: however somebody pulls, joints stay whole, and what is let go of wins no energy.

use moreau::math::Vec3;
use moreau::measure::energy::{Account, Balance, Flow};
use moreau::scene::library;
use moreau::session::{Drag, Input, Session};
use moreau::solve::Status;

/// A scene half a second after its beginning.
fn begun(name: &str) -> Session {
    let scene = library::shipped(name).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a simulation");
    for _ in 0..30 {
        simulation.step().expect("a step");
    }
    simulation.set_energy(true);
    Session::new(simulation)
}

/// Pulls a body for a second to a place that far from where it is, and lets go for another; the largest joint error and
/// force, and the balances of the second half.
fn pull(session: &mut Session, body: &str, by: Vec3) -> (f64, f64, Vec<Balance>) {
    let bodies = &session.simulation().world().bodies;
    let slot = bodies.name.iter().position(|name| name == body);
    let slot = slot.expect("such a body");
    let drag = Drag {
        body: bodies.id(slot).expect("it is there"),
        anchor: Vec3::zeros(),
        target: bodies.position[slot] + by,
    };
    session.apply(Input::Drag(Some(drag))).expect("a drag");
    let (mut error, mut force) = (0.0_f64, 0.0_f64);
    let mut balances = Vec::new();
    for step in 0..120 {
        if step == 60 {
            session.apply(Input::Drag(None)).expect("let go");
        }
        let report = session.step().expect("a step");
        let status = &report.solve.status;
        assert!(!matches!(status, Status::Failed(_)), "{status:?}");
        error = error.max(report.joint_error);
        if step >= 60 {
            balances.extend(report.energy);
        }
        force = force.max(session.drag_force().norm());
    }
    (error, force, balances)
}

/// Into the truck, away from it, up and down, and as far as a pointer can be.
#[test]
fn the_crane_survives_what_is_done_to_its_pipe() {
    for (body, by) in [
        ("pipe", Vec3::new(-9.0, 0.0, 0.0)),
        ("pipe", Vec3::new(-6.0, 2.0, 1.0)),
        ("pipe", Vec3::new(0.0, -1e6, 0.0)),
        ("pipe", Vec3::new(1e9, 1e9, 0.0)),
        ("hook", Vec3::new(-9.0, 2.0, 0.0)),
        ("boom tip", Vec3::new(0.0, 0.0, 30.0)),
        ("chassis", Vec3::new(0.0, 0.0, -30.0)),
        ("outrigger front left", Vec3::new(0.0, 30.0, 0.0)),
        ("cable 16", Vec3::new(5.0, 5.0, 5.0)),
    ] {
        let mut session = begun("crane");
        let (error, force, _) = pull(&mut session, body, by);
        assert!(error < 5e-3, "{body} by {by:?}: {error} m apart");
        assert!(force <= 20_000.0 * 1.000_001, "{body}: {force} N");
        assert!(force > 0.0);
        let bodies = &session.simulation().world().bodies;
        let chassis = bodies.name.iter().position(|name| name == "chassis");
        let up = bodies.rotation[chassis.expect("it has one")] * Vec3::y();
        let lean = up.angle(&Vec3::y()).to_degrees();
        assert!(lean < 1.0, "{body} by {by:?}: the truck leans by {lean}°");
    }
}

/// What a machine has more after somebody has let go of it, its drives have put in.
#[test]
fn what_is_let_go_of_wins_nothing() {
    for (scene, body, by) in [
        ("crane", "pipe", Vec3::new(-9.0, 2.0, 1.0)),
        ("winch", "chain 10", Vec3::new(-9.0, 0.0, 0.0)),
        ("forklift", "chassis", Vec3::new(5.0, 2.0, 0.0)),
        ("chain", "chain 4", Vec3::new(5.0, 0.0, 3.0)),
    ] {
        let mut session = begun(scene);
        let (.., balances) = pull(&mut session, body, by);
        let account = Account::of(&balances).expect("steps");
        let whole = account.whole;
        let flows = Flow::ALL.map(|flow| format!("{} {:.3}", flow.name(), whole[flow]));
        println!(
            "{scene}: {}; moved {:.3}",
            flows.join(", "),
            account.throughput
        );
        let won = whole.after.total() - whole.before.total() - whole[Flow::Drives];
        assert!(won <= 0.01 * account.throughput, "{scene}: {won} J");
    }
}
