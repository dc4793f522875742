//! Springs, dampers, servos and limits: at any stiffness of second order, without gain, and right at rest.

use super::{Failure, Measure, Row, ode, rigid, run, simulation};
use crate::step::Simulation;

const GRAVITY: f64 = 9.81;
const STEPS_PER_SECOND: usize = 60;
/// Rate of the oscillators without damping (rad/s).
const OMEGA: f64 = 10.0;

pub const ROWS: &[Row] = &[
    Row {
        name: "spring",
        law: "ẍ = −ω₀² x",
        setting: "1 kg on a compliant joint, 10 rad/s, let go 0.1 m off: error of x after 2 s",
        expected: 0.0,
        tolerance: 0.02,
        unit: "m",
        measure: Measure::Error(|parts| oscillator_error(Held::Spring, 0.0, parts)),
    },
    Row {
        name: "spring-damped",
        law: "ẍ + 2 ζ ω₀ ẋ + ω₀² x = 0",
        setting: "the same with ζ = 0.1",
        expected: 0.0,
        tolerance: 0.02,
        unit: "m",
        measure: Measure::Error(|parts| oscillator_error(Held::Spring, 0.1, parts)),
    },
    Row {
        name: "servo",
        law: "ẍ = −ω₀² x",
        setting: "the same, held by a slider's motor for a position",
        expected: 0.0,
        tolerance: 0.02,
        unit: "m",
        measure: Measure::Error(|parts| oscillator_error(Held::Servo, 0.0, parts)),
    },
    Row {
        name: "servo-damped",
        law: "ẍ + 2 ζ ω₀ ẋ + ω₀² x = 0",
        setting: "the same with ζ = 0.1",
        expected: 0.0,
        tolerance: 0.02,
        unit: "m",
        measure: Measure::Error(|parts| oscillator_error(Held::Servo, 0.1, parts)),
    },
    Row {
        name: "spring-damping",
        law: "amplitudes fall by ζ",
        setting: "the spring with ζ = 0.1 for 3 s: ζ by the logarithm of its maxima",
        expected: 0.1,
        tolerance: 0.002,
        unit: "-",
        measure: Measure::Value(|| damping(Held::Spring)),
    },
    Row {
        name: "servo-damping",
        law: "amplitudes fall by ζ",
        setting: "the servo, the same",
        expected: 0.1,
        tolerance: 0.002,
        unit: "-",
        measure: Measure::Value(|| damping(Held::Servo)),
    },
    Row {
        name: "spring-amplitude",
        law: "energy is kept",
        setting: "the spring with ζ = 0: amplitude in the last 10 s of 600,000 steps over that of the first, less 1",
        expected: 0.0,
        tolerance: 1e-6,
        unit: "-",
        measure: Measure::Value(amplitude_kept),
    },
    Row {
        name: "deflection",
        law: "x = m g/k",
        setting: "1 kg at rest on a damped spring, h²k/m from 1e-2 to 1e8, solved by bpp to rounding: of deflections over it the farthest, less 1",
        expected: 0.0,
        tolerance: 1e-6,
        unit: "-",
        measure: Measure::Value(deflections),
    },
    Row {
        name: "spring-pendulum",
        law: "a pendulum on a stiff pin keeps its amplitude",
        setting: "rod of 1 m, pins of 1e3 to 1e10 N/m, let go at 90°: of every 10 s in a minute the amplitude farthest from it",
        expected: 90.0,
        tolerance: 0.2,
        unit: "°",
        measure: Measure::Value(pendulum_amplitude),
    },
    Row {
        name: "spring-cable",
        law: "a taut cable keeps its amplitude",
        setting: "20 links of 3.5 kg, 10 m, with 2 t, joints of 1e8 to 1e12 N/m, let go at 10°: of every 5 s in 20 s the same",
        expected: 10.0,
        tolerance: 0.01,
        unit: "°",
        measure: Measure::Value(cable_amplitude),
    },
    Row {
        name: "spring-cable-energy",
        law: "no energy comes from nowhere",
        setting: "the same with 1e3 to 1e7 N/m, steps halved where they must: most energy over the first's, by how far gravity's varies",
        expected: 0.0,
        tolerance: 0.005,
        unit: "-",
        measure: Measure::Value(cable_gain),
    },
    Row {
        name: "spring-cable-order",
        law: "Newton's equations of links and springs",
        setting: "the same with 1e5 N/m and 118 N s/m, ζ = 0.1 of a link: error of the load after 1.5 s",
        expected: 0.0,
        tolerance: 0.01,
        unit: "m",
        measure: Measure::Error(cable_error),
    },
    Row {
        name: "spring-crank-10",
        law: "no energy comes from nowhere",
        setting: "slider crank at 10 rad/s, joints of 1e3 to 1e8 N/m: most mean energy of a second of 20 over the first's, less 1",
        expected: 0.0,
        tolerance: 0.005,
        unit: "-",
        measure: Measure::Value(|| crank_gain(10.0)),
    },
    Row {
        name: "spring-crank-20",
        law: "no energy comes from nowhere",
        setting: "the same at 20 rad/s",
        expected: 0.0,
        tolerance: 0.005,
        unit: "-",
        measure: Measure::Value(|| crank_gain(20.0)),
    },
    Row {
        name: "rebound",
        law: "an elastic stop gives back no more than it got",
        setting: "1 kg at 1 m/s against a limit of 1e2 to 1e9 N/m from 60 distances: most speed after it",
        expected: 1.0,
        tolerance: 0.01,
        unit: "m/s",
        measure: Measure::Value(rebound),
    },
    Row {
        name: "servo-bounded",
        law: "a servo holds a torque τ at −τ/k",
        setting: "level rod of 1 m and 1 kg on a servo of 1e3 to 1e8 N m/rad, 20 N m at most: k φ/τ at rest, farthest",
        expected: -1.0,
        tolerance: 1e-3,
        unit: "-",
        measure: Measure::Value(servo_holds),
    },
    Row {
        name: "servo-saturated",
        law: "a servo at its bound does what the bound does",
        setting: "the same with 4 N m of the 4.9 that hold it: angular acceleration at the first step, over (τ_max − τ)/I",
        expected: 1.0,
        tolerance: 1e-3,
        unit: "-",
        measure: Measure::Value(servo_slips),
    },
    Row {
        name: "motor",
        law: "a motor for a speed keeps it",
        setting: "slider crank on a motor of 10 rad/s with joints of 1e6 N/m, solved to 1e-6 m/s: farthest speed within 10 s",
        expected: 10.0,
        tolerance: 2e-5,
        unit: "rad/s",
        measure: Measure::Value(motor_speed),
    },
];

/// What holds an oscillator of 1 kg.
#[derive(Clone, Copy)]
enum Held {
    /// The three translations of a compliant joint.
    Spring,
    /// The motor of a slider.
    Servo,
}

/// 1 kg that is 0.1 m off where it is held, without gravity.
fn oscillator(held: Held, zeta: f64, parts: u32) -> Result<Simulation, Failure> {
    let (stiffness, damping) = (OMEGA * OMEGA, 2.0 * zeta * OMEGA);
    let joint = match held {
        Held::Spring => format!(
            "kind: Fixed, compliance: {:?}, damping: {damping:?}",
            1.0 / stiffness
        ),
        Held::Servo => format!(
            "kind: Slider(motor: Position(stiffness: {stiffness:?}, damping: {damping:?})), axis: (1, 0, 0)"
        ),
    };
    simulation(&format!(
        r#"(
            settings: (gravity: (0, 0, 0), {}),
            bodies: [(name: "mass", shape: Ball(radius: 0.1), mass: 1, position: (0.1, 0, 0))],
            joints: [(bodies: ("", "mass"), {joint}, at: (0, 0, 0), at_second: (0.1, 0, 0))],
        )"#,
        rigid::step(parts)
    ))
}

fn oscillator_error(held: Held, zeta: f64, parts: u32) -> Result<f64, Failure> {
    let mut s = oscillator(held, zeta, parts)?;
    run(&mut s, 2.0, |_| {})?;
    let rate = OMEGA * (1.0 - zeta * zeta).sqrt();
    let (sine, cosine) = (2.0 * rate).sin_cos();
    let exact = 0.1 * (-2.0 * zeta * OMEGA).exp() * (cosine + zeta * OMEGA / rate * sine);
    Ok((s.world().bodies.position[0].x - exact).abs())
}

/// ζ by how the maxima fall, each that of the parabola through the steps around it.
fn damping(held: Held) -> Result<f64, Failure> {
    let mut s = oscillator(held, 0.1, 1)?;
    let mut x = vec![0.1];
    run(&mut s, 3.0, |s| x.push(s.world().bodies.position[0].x))?;
    let top = |w: &[f64]| {
        let (slope, bend) = (0.5 * (w[2] - w[0]), w[2] - 2.0 * w[1] + w[0]);
        (w[1] > w[0] && w[1] >= w[2]).then(|| w[1] - 0.5 * slope * slope / bend)
    };
    let tops: Vec<f64> = x.windows(3).filter_map(top).collect();
    let turns = tops.len() - 1;
    let fall = (tops[0] / tops[turns]).ln() / (turns as f64 * std::f64::consts::TAU);
    Ok(fall / (1.0 + fall * fall).sqrt())
}

fn amplitude_kept() -> Result<f64, Failure> {
    let mut s = oscillator(Held::Spring, 0.0, 1)?;
    let mean = |s: &mut Simulation| -> Result<f64, Failure> {
        let mut sum = 0.0;
        run(s, 10.0, |s| sum += s.world().energy().total())?;
        Ok(sum)
    };
    let first = mean(&mut s)?;
    run(&mut s, 600_000.0 / STEPS_PER_SECOND as f64 - 20.0, |_| {})?;
    Ok((mean(&mut s)? / first).sqrt() - 1.0)
}

/// The value that is farthest from what is expected.
fn farthest(
    expected: f64,
    values: impl IntoIterator<Item = Result<f64, Failure>>,
) -> Result<f64, Failure> {
    let mut found = expected;
    for value in values {
        let value = value?;
        if (value - expected).abs() > (found - expected).abs() {
            found = value;
        }
    }
    Ok(found)
}

fn deflections() -> Result<f64, Failure> {
    let deflection = |decade: i32| {
        let stiffness = 3600.0 * 10.0_f64.powi(decade);
        let mut s = simulation(&format!(
            r#"(
                solver: (name: "bpp", budget: (tolerance: 1e-18)),
                bodies: [(name: "mass", shape: Ball(radius: 0.1), mass: 1)],
                joints: [(bodies: ("", "mass"), kind: Fixed, at: (0, 0, 0),
                          compliance: {:?}, damping: {:?})],
            )"#,
            1.0 / stiffness,
            2.0 * stiffness.sqrt()
        ))?;
        run(&mut s, 20.0, |_| {})?;
        Ok(-s.world().bodies.position[0].y * stiffness / GRAVITY - 1.0)
    };
    farthest(0.0, (-2..=8).map(deflection))
}

fn pendulum_amplitude() -> Result<f64, Failure> {
    let amplitude = |decade: i32| {
        let shape = "Cuboid(half_extents: (0.02, 0.5, 0.02))";
        let mut s = rigid::soft_pendulum(shape, 90.0, 1, 10.0_f64.powi(-decade))?;
        rigid::farthest_amplitude(&mut s, 0, 90.0, 6, 10.0)
    };
    farthest(90.0, (3..=10).map(amplitude))
}

fn cable_amplitude() -> Result<f64, Failure> {
    let amplitude = |decade: i32| {
        let (mut s, load) = rigid::cable(10.0_f64.powi(-decade))?;
        rigid::farthest_amplitude(&mut s, load, 10.0, 4, 5.0)
    };
    farthest(10.0, (8..=12).step_by(2).map(amplitude))
}

fn cable_gain() -> Result<f64, Failure> {
    let gain = |decade: i32| {
        let (mut s, _) = rigid::cable(10.0_f64.powi(-decade))?;
        let first = s.world().energy();
        let (mut most, mut range) = (f64::NEG_INFINITY, [first.gravity; 2]);
        for _ in 0..20 * STEPS_PER_SECOND {
            s.step()?;
            let now = s.world().energy();
            most = most.max(now.total() - first.total());
            range = [range[0].min(now.gravity), range[1].max(now.gravity)];
        }
        Ok((most / (range[1] - range[0])).max(0.0))
    };
    farthest(0.0, (3..=7).map(gain))
}

/// Links, the load with them; how long a link is (m), stiffness and damping of a joint (N/m, N s/m): ζ = 0.1 of a link.
const LINKS: usize = 20;
const LINK: f64 = 0.5;
const STIFF: f64 = 1e5;
const DAMPED: f64 = 118.0;

fn cable_error(parts: u32) -> Result<f64, Failure> {
    let mut s = damped_cable(parts)?;
    let inertia = s.world().bodies.inertia[0].zz;
    run(&mut s, 1.5, |_| {})?;
    let exact = Cable { inertia }.load_after(1.5);
    let at = s.world().bodies.position[LINKS];
    Ok((at.x - exact[0]).hypot(at.y - exact[1]))
}

/// How far down the cable the centre of a link or of the load is (m).
fn down(k: usize) -> f64 {
    match k {
        LINKS => 10.0,
        k => (k as f64 + 0.5) * LINK,
    }
}

fn damped_cable(parts: u32) -> Result<Simulation, Failure> {
    let (sine, cosine) = 10.0_f64.to_radians().sin_cos();
    let at = |length: f64| format!("({:?}, {:?}, 0)", length * sine, -length * cosine);
    let (mut bodies, mut joints) = (String::new(), String::new());
    for k in 0..LINKS {
        bodies += &format!(
            r#"(name: "{k}", shape: Cuboid(half_extents: (0.02, 0.25, 0.02)), mass: 3.5, position: {},
                rotation: AxisAngle(axis: (0, 0, 1), degrees: 10), groups: (memberships: 0, filter: 0)),"#,
            at(down(k))
        );
    }
    bodies += &format!(
        r#"(name: "{LINKS}", shape: Ball(radius: 0.5), mass: 2000, position: {}),"#,
        at(down(LINKS))
    );
    for k in 0..=LINKS {
        let above = k.checked_sub(1).map_or(String::new(), |k| k.to_string());
        joints += &format!(
            r#"(bodies: ("{above}", "{k}"), kind: Spherical(), at: {}, compliance: {:?}, damping: {DAMPED:?}, collide: false),"#,
            at(k as f64 * LINK),
            1.0 / STIFF
        );
    }
    let step = rigid::step(parts);
    simulation(&format!(
        "(settings: ({step}), bodies: [{bodies}], joints: [{joints}])"
    ))
}

/// The same as a differential equation in x, y and the angle of every link and of the load, and in their rates.
struct Cable {
    /// Of a link (kg m²).
    inertia: f64,
}

impl Cable {
    const BODIES: usize = LINKS + 1;
    const SIZE: usize = 6 * Self::BODIES;

    /// Where the load is after a time (s).
    fn load_after(&self, seconds: f64) -> [f64; 2] {
        let angle = 10.0_f64.to_radians();
        let mut y = [0.0; Self::SIZE];
        for (k, q) in y.chunks_mut(3).take(Self::BODIES).enumerate() {
            q.copy_from_slice(&[down(k) * angle.sin(), -down(k) * angle.cos(), angle]);
        }
        let end = ode::solve(y, seconds, |y| self.rates(y));
        [end[3 * LINKS], end[3 * LINKS + 1]]
    }

    fn rates(&self, y: &[f64; Self::SIZE]) -> [f64; Self::SIZE] {
        let mut force = [[0.0; 3]; Self::BODIES];
        for k in 0..Self::BODIES {
            let lower = Self::end(y, k, if k == LINKS { 0.0 } else { -0.5 * LINK });
            let upper = match k {
                0 => [[0.0; 2]; 3],
                k => Self::end(y, k - 1, 0.5 * LINK),
            };
            let pull: [f64; 2] = std::array::from_fn(|i| {
                -STIFF * (lower[0][i] - upper[0][i]) - DAMPED * (lower[1][i] - upper[1][i])
            });
            // Both forces act at one point.
            let above: [f64; 2] = std::array::from_fn(|i| upper[2][i] + lower[0][i] - upper[0][i]);
            for (body, sign, arm) in [(Some(k), 1.0, lower[2]), (k.checked_sub(1), -1.0, above)] {
                let Some(body) = body else { continue };
                force[body][0] += sign * pull[0];
                force[body][1] += sign * pull[1];
                force[body][2] += sign * (arm[0] * pull[1] - arm[1] * pull[0]);
            }
        }
        std::array::from_fn(|i| match i.checked_sub(3 * Self::BODIES) {
            None => y[i + 3 * Self::BODIES],
            Some(i) => {
                let (k, part) = (i / 3, i % 3);
                let [mass, turn] = if k == LINKS {
                    [2000.0, 1.0]
                } else {
                    [3.5, self.inertia]
                };
                let fall = if part == 1 { GRAVITY } else { 0.0 };
                force[k][part] / if part == 2 { turn } else { mass } - fall
            }
        })
    }

    /// What is so far along a body from its centre: its place, its velocity, and its arm.
    fn end(y: &[f64; Self::SIZE], k: usize, along: f64) -> [[f64; 2]; 3] {
        let (q, v) = y.split_at(3 * Self::BODIES);
        let (sine, cosine) = q[3 * k + 2].sin_cos();
        let arm = [along * sine, -along * cosine];
        let spin = v[3 * k + 2];
        [
            [q[3 * k] + arm[0], q[3 * k + 1] + arm[1]],
            [v[3 * k] - spin * arm[1], v[3 * k + 1] + spin * arm[0]],
            arm,
        ]
    }
}

fn crank_gain(omega: f64) -> Result<f64, Failure> {
    let gain = |decade: i32| {
        let compliance = 10.0_f64.powi(-decade);
        let softness = format!(", compliance: {compliance:?}, angular_compliance: {compliance:?}");
        let mut s = rigid::soft_slider_crank(omega, 1, "", &softness)?;
        let (mut first, mut most) = (0.0, 0.0_f64);
        for second in 0..20 {
            let mut mean = 0.0;
            run(&mut s, 1.0, |s| mean += s.world().energy().total())?;
            if second == 0 {
                first = mean;
            }
            most = most.max(mean / first - 1.0);
        }
        Ok(most)
    };
    farthest(0.0, (3..=8).map(gain))
}

fn rebound() -> Result<f64, Failure> {
    let mut most = 0.0_f64;
    for quarter in 8..=36 {
        let stiffness = 10.0_f64.powf(0.25 * f64::from(quarter));
        for k in 0..60 {
            let from = 0.1 + f64::from(k) / 3600.0;
            let mut s = simulation(&format!(
                r#"(
                    settings: (gravity: (0, 0, 0)),
                    bodies: [(name: "mass", shape: Ball(radius: 0.1), mass: 1, position: ({from:?}, 0, 0),
                              velocity: (-1, 0, 0))],
                    joints: [(bodies: ("", "mass"), kind: Slider(limits: (0, 10)), at: (0, 0, 0), axis: (1, 0, 0),
                              at_second: ({from:?}, 0, 0), compliance: {:?})],
                )"#,
                1.0 / stiffness
            ))?;
            run(&mut s, 1.0, |s| {
                most = most.max(s.world().bodies.velocity[0].linear.x)
            })?;
        }
    }
    Ok(most)
}

/// A level rod of 1 m and 1 kg on a servo of such a stiffness (N m/rad) and bound (N m).
fn servo(stiffness: f64, most: f64) -> Result<Simulation, Failure> {
    simulation(&format!(
        r#"(
            bodies: [(name: "rod", shape: Cuboid(half_extents: (0.5, 0.02, 0.02)), mass: 1, position: (0.5, 0, 0))],
            joints: [(bodies: ("", "rod"), at: (0, 0, 0), axis: (0, 0, 1),
                      kind: Hinge(motor: Position(stiffness: {stiffness:?}, damping: {:?}, max_force: {most:?})))],
        )"#,
        1.4 * (stiffness / 3.0).sqrt()
    ))
}

fn servo_holds() -> Result<f64, Failure> {
    let held = |decade: i32| {
        let stiffness = 10.0_f64.powi(decade);
        let mut s = servo(stiffness, 20.0)?;
        run(&mut s, 20.0, |_| {})?;
        let at = s.world().bodies.position[0];
        Ok(at.y.atan2(at.x) * stiffness / (0.5 * GRAVITY))
    };
    farthest(-1.0, (3..=8).map(held))
}

fn servo_slips() -> Result<f64, Failure> {
    let share = |decade: i32| {
        let mut s = servo(10.0_f64.powi(decade), 4.0)?;
        let b = &s.world().bodies;
        let inertia = b.inertia[0].zz + 0.25;
        let expected = (4.0 - 0.5 * GRAVITY) / inertia / STEPS_PER_SECOND as f64;
        // The servo gives way as long as it is not yet at its bound.
        run(&mut s, 1.0 / 60.0, |_| {})?;
        Ok(s.world().bodies.velocity[0].angular.z / expected)
    };
    farthest(1.0, (5..=8).map(share))
}

fn motor_speed() -> Result<f64, Failure> {
    let motor = "motor: Velocity(speed: 10, max_force: 1e6)";
    let softness = ", compliance: 1e-6, angular_compliance: 1e-6";
    let mut s = rigid::soft_slider_crank(10.0, 1, motor, softness)?;
    let mut found = 10.0_f64;
    run(&mut s, 10.0, |s| {
        let speed = s.world().bodies.velocity[0].angular.z;
        if (speed - 10.0).abs() > (found - 10.0).abs() {
            found = speed;
        }
    })?;
    Ok(found)
}
