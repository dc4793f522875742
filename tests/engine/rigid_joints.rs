//! Rigid joints, closed at the next midpoint: they keep energy and momentum, at 1/60 s and by default.

use moreau::math::Vec3;
use moreau::scene::Scene;
use moreau::solve::Status;
use moreau::step::Simulation;

const STEPS_PER_SECOND: usize = 60;

fn simulation(text: &str) -> Simulation {
    let scene = Scene::parse(text, "test").unwrap_or_else(|e| panic!("{e}"));
    scene.simulation(1).unwrap_or_else(|e| panic!("{e}"))
}

fn slot_of(s: &Simulation, name: &str) -> usize {
    let names = &s.world().bodies.name;
    names
        .iter()
        .position(|n| n == name)
        .expect("a body of this name")
}

fn energy(s: &Simulation) -> f64 {
    s.world().bodies.kinetic_energy() + s.world().potential_energy()
}

/// Takes steps for some seconds, every one of which must be solved with the joints closed at its midpoint.
fn run(s: &mut Simulation, seconds: usize, mut seen: impl FnMut(&Simulation, usize)) {
    for step in 0..STEPS_PER_SECOND * seconds {
        let report = s.step().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.solve.status, Status::Converged, "step {step}");
        assert_eq!(report.halvings, 0, "step {step}");
        seen(s, step);
    }
}

/// Angle of a body's centre from straight down, about the origin (degrees).
fn angle(s: &Simulation, slot: usize) -> f64 {
    let at = s.world().bodies.position[slot];
    at.x.atan2(-at.y).to_degrees().abs()
}

/// A rod that is let go at 90° or 150° swings as far after ten minutes as at first.
#[test]
fn a_pendulum_keeps_its_amplitude() {
    for (from, most) in [(90.0_f64, 0.5), (150.0, 1.0)] {
        let (sine, cosine) = from.to_radians().sin_cos();
        let mut s = simulation(&format!(
            r#"(
                bodies: [(name: "rod", shape: Cuboid(half_extents: (0.02, 0.5, 0.02)), mass: 1,
                          position: ({}, {}, 0), rotation: AxisAngle(axis: (0, 0, 1), degrees: {from}))],
                joints: [(bodies: ("", "rod"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1))],
            )"#,
            0.5 * sine,
            -0.5 * cosine
        ));
        let mut last = 0.0_f64;
        run(&mut s, 600, |s, step| {
            if step >= 590 * STEPS_PER_SECOND {
                last = last.max(angle(s, 0));
            }
        });
        assert!((last - from).abs() < most, "{last}° of {from}°");
    }
}

/// A cable of twenty links of 3.5 kg with 2 t swings through the same angle for 20 s.
#[test]
fn a_taut_cable_keeps_its_amplitude() {
    let (sine, cosine) = 10.0_f64.to_radians().sin_cos();
    let (x, y) = (10.0 * sine, -10.0 * cosine);
    let mut s = simulation(&format!(
        r#"(
            bodies: [(name: "load", shape: Ball(radius: 0.5), mass: 2000, position: ({x}, {y}, 0))],
            generators: [Chain(links: 20, path: [(0, 0, 0), ({x}, {y}, 0)], from: "world", to: "load", mass: 3.5,
                               radius: 0.02, shape: Cylinder, collide: false)],
        )"#
    ));
    let load = slot_of(&s, "load");
    let mut most = [0.0_f64; 4];
    run(&mut s, 20, |s, step| {
        let part = &mut most[step / (5 * STEPS_PER_SECOND)];
        *part = part.max(angle(s, load));
    });
    for amplitude in most {
        assert!((amplitude - 10.0).abs() < 0.01, "{most:?}°");
    }
}

/// A chain of five links with a load of a thousand of them, let go far out, is never longer than it is.
#[test]
fn chains_with_heavy_loads_never_stretch() {
    for (links, degrees) in [(5, 63.0_f64), (20, 63.0), (20, 80.0)] {
        let length = 0.3 * f64::from(links);
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let (x, y) = (length * sine, -length * cosine);
        let mut s = simulation(&format!(
            r#"(
                bodies: [(name: "load", shape: Ball(radius: 0.5), mass: 1000, position: ({x}, {y}, 0))],
                generators: [Chain(links: {links}, path: [(0, 0, 0), ({x}, {y}, 0)], from: "world", to: "load",
                                   mass: 1, radius: 0.02, shape: Cylinder, collide: false)],
            )"#
        ));
        let load = slot_of(&s, "load");
        let start = energy(&s);
        run(&mut s, 10, |s, step| {
            let report = s.report();
            let apart = report.joint_error;
            assert!(apart < 1e-6, "{links} links, step {step}: {apart:e} m");
            let far = s.world().bodies.position[load].norm() / length;
            assert!(far < 1.0 + 1e-9, "{links} links, step {step}: {far}");
            let gained = energy(s) - start;
            let scale = 1000.0 * 9.81 * length * (1.0 - cosine);
            assert!(gained.abs() < 2e-3 * scale, "{gained} J of {scale} J");
        });
    }
}

const SLIDER_CRANK: &str = r#"
    (name: "crank", shape: Cuboid(half_extents: (0.15, 0.03, 0.03)), mass: 2, position: (0.15, 0, 0)),
    (name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.8, 0, 0)),
    (name: "slider", shape: Cuboid(half_extents: (0.1, 0.1, 0.1)), mass: 2, position: (1.3, 0, 0)),"#;

/// A slider crank without friction or gravity, whose joints are redundant across its plane, turns on and on.
#[test]
fn a_slider_crank_keeps_its_energy() {
    for omega in [10.0, 20.0] {
        let mut s = simulation(&format!(
            r#"(
                settings: (gravity: (0, 0, 0)),
                bodies: [{SLIDER_CRANK}],
                joints: [
                    (bodies: ("", "crank"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1), collide: false),
                    (bodies: ("crank", "rod"), kind: Hinge(), at: (0.3, 0, 0), axis: (0, 0, 1), collide: false),
                    (bodies: ("rod", "slider"), kind: Spherical(), at: (1.3, 0, 0), collide: false),
                    (bodies: ("", "slider"), kind: Slider(), at: (1.3, 0, 0), axis: (1, 0, 0), collide: false),
                ],
            )"#
        ));
        let spin = |slot: usize, v: f64, w: f64, s: &mut Simulation| {
            let u = &mut s.world_mut().bodies.velocity[slot];
            (u.linear, u.angular) = (Vec3::y() * v, Vec3::z() * w);
        };
        spin(0, 0.15 * omega, omega, &mut s);
        spin(1, 0.15 * omega, -0.3 * omega, &mut s);
        let mut means = vec![0.0; 20];
        run(&mut s, 20, |s, step| {
            means[step / STEPS_PER_SECOND] += energy(s) / STEPS_PER_SECOND as f64;
        });
        for mean in &means {
            assert!(
                (mean / means[0] - 1.0).abs() < 5e-3,
                "{omega} rad/s: {means:?}"
            );
        }
    }
}

/// Three parallel cranks on one rod: one of them is too many, and they turn as two would.
#[test]
fn parallel_cranks_turn() {
    let (mut bodies, mut joints) = (String::new(), String::new());
    for (k, x) in [-1.0, 0.0, 1.0].into_iter().enumerate() {
        bodies += &format!(
            r#"(name: "c{k}", shape: Cuboid(half_extents: (0.15, 0.03, 0.03)), mass: 1, position: ({}, 0, 0),
                velocity: (0, 0.75, 0), angular_velocity: (0, 0, 5)),"#,
            x + 0.15
        );
        joints += &format!(
            r#"(bodies: ("", "c{k}"), kind: Hinge(), at: ({x}, 0, 0), axis: (0, 0, 1), collide: false),
               (bodies: ("c{k}", "rod"), kind: Hinge(), at: ({}, 0, 0), axis: (0, 0, 1), collide: false),"#,
            x + 0.3
        );
    }
    let mut s = simulation(&format!(
        r#"(
            settings: (gravity: (0, 0, 0)),
            bodies: [{bodies} (name: "rod", shape: Cuboid(half_extents: (1, 0.03, 0.03)), mass: 2,
                               position: (0.3, 0, 0), velocity: (0, 1.5, 0))],
            joints: [{joints}],
        )"#
    ));
    let start = energy(&s);
    let mut turned = 0.0;
    run(&mut s, 20, |s, _| {
        turned += s.world().bodies.velocity[0].angular.z / STEPS_PER_SECOND as f64;
        let gained = energy(s) - start;
        assert!(gained.abs() < 1e-2 * start, "{gained} J of {start} J");
    });
    assert!(
        (turned - 100.0).abs() < 1.0,
        "{turned} rad in 20 s at 5 rad/s"
    );
}

/// A chain of unlike bodies that nothing acts on from outside keeps both momenta to rounding.
#[test]
fn a_free_chain_keeps_its_momentum() {
    let mut bodies = String::new();
    let mut joints = String::new();
    for k in 0..6 {
        let x = 0.5 * f64::from(k);
        let (vy, wz) = (0.7 * f64::from(k % 3) - 0.5, 2.0 * f64::from(k % 2) - 1.0);
        bodies += &format!(
            r#"(name: "b{k}", shape: Cuboid(half_extents: (0.2, 0.05, {})), mass: {}, position: ({x}, 0, 0),
                groups: (memberships: 0, filter: 0), velocity: (0, {vy}, 0.3), angular_velocity: ({wz}, 0.4, {wz})),"#,
            0.05 + 0.02 * f64::from(k),
            1 + k
        );
        if k > 0 {
            let kind = ["Spherical()", "Hinge()", "Universal()"][k as usize % 3];
            joints += &format!(
                r#"(bodies: ("b{}", "b{k}"), kind: {kind}, at: ({}, 0, 0), axis: (0, 0, 1), collide: false),"#,
                k - 1,
                x - 0.25
            );
        }
    }
    let mut s = simulation(&format!(
        "(settings: (gravity: (0, 0, 0)), bodies: [{bodies}], joints: [{joints}])"
    ));
    let momenta = |s: &Simulation| {
        let b = &s.world().bodies;
        let (mut linear, mut angular) = (Vec3::zeros(), Vec3::zeros());
        let (mut size, mut moment) = (0.0, 0.0);
        for k in 0..b.slots() {
            let p = b.velocity[k].linear / b.inverse_mass[k];
            let spin = b.inertia[k]
                .rotated(&b.rotation[k])
                .mul_vec(b.velocity[k].angular);
            linear += p;
            angular += b.position[k].cross(&p) + spin;
            size += p.norm();
            moment += b.position[k].cross(&p).norm() + spin.norm();
        }
        (linear, angular, size, moment)
    };
    let (linear, angular, size, moment) = momenta(&s);
    for step in 0..600 {
        let report = s.step().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.solve.status, Status::Converged, "step {step}");
        let now = momenta(&s);
        let lost = (now.0 - linear).norm() / size;
        assert!(lost < 1e-12, "step {step}: {lost:e} of linear momentum");
        let lost = (now.1 - angular).norm() / moment;
        assert!(lost < 1e-12, "step {step}: {lost:e} of angular momentum");
    }
}

/// A solver without a tolerance closes joints as well as by default, and one that asks for more than digits hold is
/// given what they hold: neither is taken for a step that does not resolve its joints.
#[test]
fn tolerances_that_cannot_be_reached_do_not_shorten_steps() {
    for tolerance in ["0", "1e-15"] {
        let mut s = simulation(&format!(
            r#"(
                solver: (name: "bpp", budget: (iterations: 1000, tolerance: {tolerance})),
                bodies: [(name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.5, 0, 0))],
                joints: [(bodies: ("", "rod"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1))],
            )"#
        ));
        run(&mut s, 5, |_, _| {});
    }
}
