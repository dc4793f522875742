//! Rigid joints: energy, momentum and order of what they hold together, at 1/60 s.

use super::{Failure, Measure, Row, ode, run, simulation};
use crate::math::{Pose, Vec3};
use crate::scene::library;
use crate::step::Simulation;

const GRAVITY: f64 = 9.81;
const STEPS_PER_SECOND: usize = 60;

pub const ROWS: &[Row] = &[
    Row {
        name: "pendulum-90",
        law: "a pendulum keeps its amplitude",
        setting: "rod of 1 m on a hinge, let go at 90°: amplitude in the last 10 s of ten minutes",
        expected: 90.0,
        tolerance: 0.5,
        unit: "°",
        measure: Measure::Value(|| pendulum_amplitude(90.0)),
    },
    Row {
        name: "pendulum-150",
        law: "a pendulum keeps its amplitude",
        setting: "the same, let go at 150°",
        expected: 150.0,
        tolerance: 1.0,
        unit: "°",
        measure: Measure::Value(|| pendulum_amplitude(150.0)),
    },
    Row {
        name: "pendulum",
        law: "I θ̈ = −m g d sin θ",
        setting: "ball of 0.1 m, 0.5 m from a hinge, let go at 90°: error of θ after 1.25 s",
        expected: 0.0,
        tolerance: 0.5,
        unit: "°",
        measure: Measure::Error(pendulum_error),
    },
    Row {
        name: "double-pendulum",
        law: "Lagrange's equations in two angles",
        setting: "two rods of 1 m and 1 kg, let go level: error of the lower one's centre after 1 s",
        expected: 0.0,
        tolerance: 0.01,
        unit: "m",
        measure: Measure::Error(double_pendulum_error),
    },
    Row {
        name: "double-pendulum-energy",
        law: "energy has no trend",
        setting: "the same for 60 s: slope of energy by 60 s, over the range in which energy varies",
        expected: 0.0,
        tolerance: 0.02,
        unit: "-",
        measure: Measure::Value(double_pendulum_trend),
    },
    Row {
        name: "top",
        law: "Lagrange's top: θ̈ with p_φ and p_ψ constant",
        setting: "disc of 0.3 m, 0.3 m from its tip, 40 rad/s about its axis at 30°, let go: error of the centre after 1 s",
        expected: 0.0,
        tolerance: 0.01,
        unit: "m",
        measure: Measure::Error(top_error),
    },
    Row {
        name: "top-lean",
        law: "a top in steady precession keeps its angle",
        setting: "the same at 30°, begun in steady precession: the angle farthest from it within 10 s",
        expected: TOP_LEAN,
        tolerance: 1.0,
        unit: "°",
        measure: Measure::Value(|| Ok(steady_top()?.lean)),
    },
    Row {
        name: "top-precession",
        law: "I₁ Ω² cos θ − I₃ ω₃ Ω + m g d = 0",
        setting: "the same: how fast it precesses over 10 s, over the slow root Ω",
        expected: 1.0,
        tolerance: 0.01,
        unit: "-",
        measure: Measure::Value(|| Ok(steady_top()?.precession)),
    },
    Row {
        name: "slider-crank",
        law: "½ M(θ) θ̇² is constant",
        setting: "crank of 0.3 m at 10 rad/s, rod of 1 m, slider, no gravity: error of θ after 2 s, over θ",
        expected: 0.0,
        tolerance: 0.01,
        unit: "-",
        measure: Measure::Error(slider_crank_error),
    },
    Row {
        name: "slider-crank-10",
        law: "energy is kept",
        setting: "the same for 20 s: mean energy of the second that is farthest from the first, over the first's, less 1",
        expected: 0.0,
        tolerance: 0.005,
        unit: "-",
        measure: Measure::Value(|| slider_crank_energy(10.0)),
    },
    Row {
        name: "slider-crank-20",
        law: "energy is kept",
        setting: "the same at 20 rad/s",
        expected: 0.0,
        tolerance: 0.005,
        unit: "-",
        measure: Measure::Value(|| slider_crank_energy(20.0)),
    },
    Row {
        name: "cable",
        law: "a taut cable keeps its amplitude",
        setting: "20 links of 3.5 kg, 10 m, with 2 t, let go at 10°: of every 5 s in 20 s the amplitude farthest from it",
        expected: 10.0,
        tolerance: 0.01,
        unit: "°",
        measure: Measure::Value(cable_amplitude),
    },
    Row {
        name: "momentum-linear",
        law: "linear momentum is kept",
        setting: "six unlike bodies on ball joints, hinges and universal joints, free, 600 steps: most change over Σ m |v|",
        expected: 0.0,
        tolerance: 1e-12,
        unit: "-",
        measure: Measure::Value(|| Ok(momentum_changes()?[0])),
    },
    Row {
        name: "momentum-angular",
        law: "angular momentum is kept",
        setting: "the same: most change over Σ (|x × m v| + |I ω|)",
        expected: 0.0,
        tolerance: 1e-12,
        unit: "-",
        measure: Measure::Value(|| Ok(momentum_changes()?[1])),
    },
    Row {
        name: "agreement-pendulum",
        law: "all solvers find the same motion",
        setting: "scene pendulum for 5 s by auto, newton, bpp, reference and admm: farthest poses",
        expected: 0.0,
        tolerance: 1e-5,
        unit: "m",
        measure: Measure::Value(|| agreement("pendulum")),
    },
    Row {
        name: "agreement-slider-crank",
        law: "all solvers find the same motion",
        setting: "scene slider_crank, the same",
        expected: 0.0,
        tolerance: 1e-5,
        unit: "m",
        measure: Measure::Value(|| agreement("slider_crank")),
    },
    Row {
        name: "agreement-four-bar",
        law: "all solvers find the same motion",
        setting: "scene four_bar, the same",
        expected: 0.0,
        tolerance: 1e-5,
        unit: "m",
        measure: Measure::Value(|| agreement("four_bar")),
    },
];

/// The step that is so many parts of 1/60 s, as a setting.
pub fn step(parts: u32) -> String {
    format!("step: {:?}", 1.0 / f64::from(60 * parts))
}

fn energy(s: &Simulation) -> f64 {
    s.world().bodies.kinetic_energy() + s.world().potential_energy()
}

/// Angle of a body's centre about the origin, from straight down towards x (rad).
fn angle(s: &Simulation, slot: usize) -> f64 {
    let at = s.world().bodies.position[slot];
    at.x.atan2(-at.y)
}

/// The angle nearest to 0 that is the same but for whole turns (rad).
fn least_turn(angle: f64) -> f64 {
    use std::f64::consts::TAU;
    angle - (angle / TAU).round() * TAU
}

/// A body of 1 kg whose centre hangs 0.5 m from the origin, at an angle (degrees).
fn pendulum(shape: &str, degrees: f64, parts: u32) -> Result<Simulation, Failure> {
    soft_pendulum(shape, degrees, parts, 0.0)
}

/// The same on a pin of such a compliance (m/N).
pub fn soft_pendulum(
    shape: &str,
    degrees: f64,
    parts: u32,
    compliance: f64,
) -> Result<Simulation, Failure> {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    simulation(&format!(
        r#"(
            settings: ({}),
            bodies: [(name: "bob", shape: {shape}, mass: 1, position: ({}, {}, 0),
                      rotation: AxisAngle(axis: (0, 0, 1), degrees: {degrees}))],
            joints: [(bodies: ("", "bob"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1), compliance: {compliance:?})],
        )"#,
        step(parts),
        0.5 * sine,
        -0.5 * cosine
    ))
}

fn pendulum_amplitude(degrees: f64) -> Result<f64, Failure> {
    let mut s = pendulum("Cuboid(half_extents: (0.02, 0.5, 0.02))", degrees, 1)?;
    let mut last = 0.0_f64;
    run(&mut s, 590.0, |_| {})?;
    run(&mut s, 10.0, |s| last = last.max(angle(s, 0).abs()))?;
    Ok(last.to_degrees())
}

fn pendulum_error(parts: u32) -> Result<f64, Failure> {
    // Not the rod: of a thin one that is let go at 90° the error happens to be of fourth order.
    let mut s = pendulum("Ball(radius: 0.1)", 90.0, parts)?;
    let pivot = s.world().bodies.inertia[0].zz + 0.25;
    run(&mut s, 1.25, |_| {})?;
    let [theta, _] = ode::solve([0.5 * std::f64::consts::PI, 0.0], 1.25, |[a, v]| {
        [*v, -GRAVITY * 0.5 * a.sin() / pivot]
    });
    Ok(least_turn(angle(&s, 0) - theta).abs().to_degrees())
}

/// Two rods of 1 m, level.
fn double_pendulum(parts: u32) -> Result<Simulation, Failure> {
    simulation(&format!(
        r#"(
            settings: ({}),
            bodies: [
                (name: "a", shape: Cuboid(half_extents: (0.5, 0.05, 0.05)), mass: 1, position: (0.5, 0, 0)),
                (name: "b", shape: Cuboid(half_extents: (0.5, 0.05, 0.05)), mass: 1, position: (1.5, 0, 0)),
            ],
            joints: [
                (bodies: ("", "a"), kind: Hinge(), at: (0, 0, 0), axis: (0, 0, 1), collide: false),
                (bodies: ("a", "b"), kind: Hinge(), at: (1, 0, 0), axis: (0, 0, 1), collide: false),
            ],
        )"#,
        step(parts)
    ))
}

fn double_pendulum_error(parts: u32) -> Result<f64, Failure> {
    let mut s = double_pendulum(parts)?;
    let inertia = s.world().bodies.inertia[0].zz;
    run(&mut s, 1.0, |_| {})?;
    // Angles from straight down; both rods have 1 kg, 1 m, and their centre in the middle.
    let quarter = 0.5 * std::f64::consts::PI;
    let [a, b, ..] = ode::solve([quarter, quarter, 0.0, 0.0], 1.0, |[a, b, va, vb]| {
        let (sine, cosine) = (a - b).sin_cos();
        let (m11, m12, m22) = (inertia + 1.25, 0.5 * cosine, inertia + 0.25);
        let first = -0.5 * sine * vb * vb - 1.5 * GRAVITY * a.sin();
        let second = 0.5 * sine * va * va - 0.5 * GRAVITY * b.sin();
        let determinant = m11 * m22 - m12 * m12;
        [
            *va,
            *vb,
            (m22 * first - m12 * second) / determinant,
            (m11 * second - m12 * first) / determinant,
        ]
    });
    let expected = Vec3::new(a.sin() + 0.5 * b.sin(), -a.cos() - 0.5 * b.cos(), 0.0);
    Ok((s.world().bodies.position[1] - expected).norm())
}

fn double_pendulum_trend() -> Result<f64, Failure> {
    let mut s = double_pendulum(1)?;
    let mut energies = Vec::new();
    run(&mut s, 60.0, |s| energies.push(energy(s)))?;
    let count = energies.len() as f64;
    let mean = energies.iter().sum::<f64>() / count;
    let (mut along, mut square) = (0.0, 0.0);
    for (k, energy) in energies.iter().enumerate() {
        let time = k as f64 - 0.5 * (count - 1.0);
        along += time * (energy - mean);
        square += time * time;
    }
    let most = energies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(along / square * count / (most - least))
}

/// How far the top leans (degrees), how fast it turns about its axis (rad/s), and how far its centre is from its tip (m).
const TOP_LEAN: f64 = 30.0;
const TOP_SPIN: f64 = 40.0;
const TOP_ARM: f64 = 0.3;

/// A top of 1 kg on its tip, turning by ω₃ = 40 rad/s about its axis, and as a whole about the vertical (rad/s).
fn top(precession: f64, parts: u32) -> Result<Simulation, Failure> {
    let (sine, cosine) = TOP_LEAN.to_radians().sin_cos();
    let axis = Vec3::new(sine, cosine, 0.0);
    let omega = axis * (TOP_SPIN - precession * cosine) + Vec3::y() * precession;
    let [center, velocity] = [axis * TOP_ARM, omega.cross(&(axis * TOP_ARM))];
    let list = |v: Vec3| format!("({:?}, {:?}, {:?})", v.x, v.y, v.z);
    simulation(&format!(
        r#"(
            settings: ({}),
            bodies: [(name: "top", shape: Cylinder(half_height: 0.05, radius: 0.3), mass: 1, position: {},
                      rotation: AxisAngle(axis: (0, 0, 1), degrees: {}), angular_velocity: {}, velocity: {})],
            joints: [(bodies: ("", "top"), kind: Spherical(), at: (0, 0, 0))],
        )"#,
        step(parts),
        list(center),
        -TOP_LEAN,
        list(omega),
        list(velocity),
    ))
}

/// Moments of inertia about the tip, across the axis and along it (kg m²).
fn top_inertia(s: &Simulation) -> [f64; 2] {
    let inertia = &s.world().bodies.inertia[0];
    [inertia.xx + TOP_ARM * TOP_ARM, inertia.yy]
}

fn top_error(parts: u32) -> Result<f64, Failure> {
    let mut s = top(0.0, parts)?;
    let [across, along] = top_inertia(&s);
    run(&mut s, 1.0, |_| {})?;
    let lean = TOP_LEAN.to_radians();
    let spin = along * TOP_SPIN;
    let vertical = spin * lean.cos();
    let [theta, _, phi] = ode::solve([lean, 0.0, 0.0], 1.0, |[theta, v, _]| {
        let (sine, cosine) = theta.sin_cos();
        let turn = (vertical - spin * cosine) / (across * sine * sine);
        let torque = across * turn * turn * sine * cosine - spin * turn * sine;
        [*v, (torque + GRAVITY * TOP_ARM * sine) / across, turn]
    });
    // Turning about the vertical, y, takes x to −z.
    let expected = Vec3::new(
        theta.sin() * phi.cos(),
        theta.cos(),
        -theta.sin() * phi.sin(),
    );
    Ok((s.world().bodies.position[0] - expected * TOP_ARM).norm())
}

/// How a top in steady precession goes on.
struct Steady {
    /// The angle that is farthest from the one that it began with (degrees).
    lean: f64,
    /// How fast it precesses, over how fast it should.
    precession: f64,
}

fn steady_top() -> Result<Steady, Failure> {
    let [across, along] = top_inertia(&top(0.0, 1)?);
    let cosine = TOP_LEAN.to_radians().cos();
    let (a, b, c) = (across * cosine, along * TOP_SPIN, GRAVITY * TOP_ARM);
    let slow = 2.0 * c / (b + (b * b - 4.0 * a * c).sqrt());
    let mut s = top(slow, 1)?;
    let (mut farthest, mut turned, mut last) = (TOP_LEAN, 0.0, 0.0);
    run(&mut s, 10.0, |s| {
        let at = s.world().bodies.position[0];
        let lean = at.x.hypot(at.z).atan2(at.y).to_degrees();
        if (lean - TOP_LEAN).abs() > (farthest - TOP_LEAN).abs() {
            farthest = lean;
        }
        let now = (-at.z).atan2(at.x);
        turned += least_turn(now - last);
        last = now;
    })?;
    Ok(Steady {
        lean: farthest,
        precession: turned / 10.0 / slow,
    })
}

/// A crank of 0.3 m that turns (rad/s), a rod of 1 m and a slider along x.
fn slider_crank(omega: f64, parts: u32) -> Result<Simulation, Failure> {
    soft_slider_crank(omega, parts, "", "")
}

/// The same with such a motor on its crank, and with joints that give way as `softness` says.
pub fn soft_slider_crank(
    omega: f64,
    parts: u32,
    motor: &str,
    softness: &str,
) -> Result<Simulation, Failure> {
    simulation(&format!(
        r#"(
            settings: (gravity: (0, 0, 0), {}),
            bodies: [
                (name: "crank", shape: Cuboid(half_extents: (0.15, 0.03, 0.03)), mass: 2, position: (0.15, 0, 0),
                 velocity: (0, {half}, 0), angular_velocity: (0, 0, {omega})),
                (name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.8, 0, 0),
                 velocity: (0, {half}, 0), angular_velocity: (0, 0, {})),
                (name: "slider", shape: Cuboid(half_extents: (0.1, 0.1, 0.1)), mass: 2, position: (1.3, 0, 0)),
            ],
            joints: [
                (bodies: ("", "crank"), kind: Hinge({motor}), at: (0, 0, 0), axis: (0, 0, 1), collide: false{softness}),
                (bodies: ("crank", "rod"), kind: Hinge(), at: (0.3, 0, 0), axis: (0, 0, 1), collide: false{softness}),
                (bodies: ("rod", "slider"), kind: Spherical(), at: (1.3, 0, 0), collide: false{softness}),
                (bodies: ("", "slider"), kind: Slider(), at: (1.3, 0, 0), axis: (1, 0, 0), collide: false{softness}),
            ],
        )"#,
        step(parts),
        -0.3 * omega,
        half = 0.15 * omega,
    ))
}

fn slider_crank_error(parts: u32) -> Result<f64, Failure> {
    let mut s = slider_crank(10.0, parts)?;
    let [crank, rod] = [0, 1].map(|slot| s.world().bodies.inertia[slot].zz);
    // M(θ) by what the bodies' centres move per turn of the crank; the rod stands at β, sin β = −0.3 sin θ.
    let mass = |theta: f64| {
        let (sine, cosine) = theta.sin_cos();
        let beta = (-0.3 * sine).asin();
        let turn = -0.3 * cosine / beta.cos();
        let slides = -0.3 * sine - beta.sin() * turn;
        let [x, y] = [-0.3 * sine - 0.5 * beta.sin() * turn, 0.15 * cosine];
        crank + 2.0 * 0.0225 + rod * turn * turn + x * x + y * y + 2.0 * slides * slides
    };
    let start = mass(0.0);
    run(&mut s, 2.0, |_| {})?;
    let [theta] = ode::solve([0.0], 2.0, |[theta]| [10.0 * (start / mass(*theta)).sqrt()]);
    let at = s.world().bodies.position[0];
    Ok(least_turn(at.y.atan2(at.x) - theta).abs() / theta)
}

fn slider_crank_energy(omega: f64) -> Result<f64, Failure> {
    let mut s = slider_crank(omega, 1)?;
    let (mut first, mut farthest) = (0.0, 0.0_f64);
    for second in 0..20 {
        let mut mean = 0.0;
        run(&mut s, 1.0, |s| mean += energy(s) / STEPS_PER_SECOND as f64)?;
        if second == 0 {
            first = mean;
        }
        let gained = mean / first - 1.0;
        if gained.abs() > farthest.abs() {
            farthest = gained;
        }
    }
    Ok(farthest)
}

fn cable_amplitude() -> Result<f64, Failure> {
    let (mut s, load) = cable(0.0)?;
    farthest_amplitude(&mut s, load, 10.0, 4, 5.0)
}

/// A cable of 10 m at 10°, its joints of such a compliance (m/N), and the slot of its load.
pub fn cable(compliance: f64) -> Result<(Simulation, usize), Failure> {
    let (sine, cosine) = 10.0_f64.to_radians().sin_cos();
    let (x, y) = (10.0 * sine, -10.0 * cosine);
    let s = simulation(&format!(
        r#"(
            bodies: [(name: "load", shape: Ball(radius: 0.5), mass: 2000, position: ({x}, {y}, 0))],
            generators: [Chain(links: 20, path: [(0, 0, 0), ({x}, {y}, 0)], from: "world", to: "load", mass: 3.5,
                               radius: 0.02, shape: Cylinder, collide: false, compliance: {compliance:?})],
        )"#
    ))?;
    let names = &s.world().bodies.name;
    let load = names.iter().position(|name| name == "load");
    let load = load.ok_or_else(|| Failure::Other("there is no load".into()))?;
    Ok((s, load))
}

/// Of so many times so many seconds, the amplitude of a body's angle that is farthest from what it should be (degrees).
pub fn farthest_amplitude(
    s: &mut Simulation,
    slot: usize,
    expected: f64,
    times: u32,
    seconds: f64,
) -> Result<f64, Failure> {
    let mut farthest = expected;
    for _ in 0..times {
        let mut amplitude = 0.0_f64;
        run(s, seconds, |s| {
            amplitude = amplitude.max(angle(s, slot).abs())
        })?;
        if (amplitude.to_degrees() - expected).abs() > (farthest - expected).abs() {
            farthest = amplitude.to_degrees();
        }
    }
    Ok(farthest)
}

/// Most change of linear and of angular momentum of a free chain, over the sum of its parts.
fn momentum_changes() -> Result<[f64; 2], Failure> {
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
    ))?;
    let (momenta, sizes) = momentum(&s);
    let mut most = [0.0_f64; 2];
    run(&mut s, 10.0, |s| {
        let (now, _) = momentum(s);
        for k in 0..2 {
            most[k] = most[k].max((now[k] - momenta[k]).norm() / sizes[k]);
        }
    })?;
    Ok(most)
}

/// Linear and angular momentum about the origin, and the sums of their parts' sizes.
fn momentum(s: &Simulation) -> ([Vec3; 2], [f64; 2]) {
    let b = &s.world().bodies;
    let (mut momenta, mut sizes) = ([Vec3::zeros(); 2], [0.0; 2]);
    for slot in 0..b.slots() {
        let u = &b.velocity[slot];
        let p = u.linear / b.inverse_mass[slot];
        let spin = b.inertia[slot]
            .rotated(&b.rotation[slot])
            .mul_vec(u.angular);
        let orbit = b.position[slot].cross(&p);
        momenta[0] += p;
        momenta[1] += orbit + spin;
        sizes[0] += p.norm();
        sizes[1] += orbit.norm() + spin.norm();
    }
    (momenta, sizes)
}

/// The largest distance after 5 s between a body's poses by unlike solvers and by `auto`: of its centre, and of what is
/// 1 m from it (m).
fn agreement(name: &str) -> Result<f64, Failure> {
    let mut poses: Vec<Vec<Pose>> = Vec::new();
    for solver in ["auto", "newton", "bpp", "reference", "admm"] {
        let mut scene = library::shipped(name)?;
        scene.solver.switch(solver);
        let mut s = scene.simulation(1)?;
        let taken = run(&mut s, 5.0, |_| {});
        taken.map_err(|failure| Failure::Other(format!("{solver}: {failure}")))?;
        let bodies = &s.world().bodies;
        poses.push((0..bodies.slots()).map(|slot| bodies.pose(slot)).collect());
    }
    let mut farthest = 0.0_f64;
    for others in &poses[1..] {
        for (pose, other) in poses[0].iter().zip(others) {
            let turn = (pose.rotation.inverse() * other.rotation).scaled_axis();
            let apart = (pose.position - other.position).norm() + turn.norm();
            farthest = farthest.max(apart);
        }
    }
    Ok(farthest)
}
