//! What ropes and stops catch, and turns that are counted.

use std::fmt::Write;

use super::{Failure, Measure, Row, simulation};
use crate::step::Simulation;

pub const ROWS: &[Row] = &[
    Row {
        name: "rope-vee",
        law: "what catches throws nothing",
        setting: "a knot of 20 kg on ten ropes 5 % longer than their way, links of 0.1 kg: most energy over the first's, by what it falls",
        expected: 0.0,
        tolerance: 1e-5,
        unit: "-",
        measure: Measure::Value(vee),
    },
    Row {
        name: "rope-net",
        law: "what catches throws nothing",
        setting: "a knot of 20 kg at 3 m/s in a net of 8 by 8 ropes, 2 % longer, others of 0.05 kg: the same, by its motion",
        expected: 0.0,
        tolerance: 1e-5,
        unit: "-",
        measure: Measure::Value(net),
    },
    Row {
        name: "stop-struck",
        law: "a stop is not passed",
        setting: "hinge 5° before its stop, struck at 1 to 50 m/s by 5 kg: farthest angle",
        expected: -5.0,
        tolerance: 0.1,
        unit: "°",
        measure: Measure::Value(stop),
    },
    Row {
        name: "screw-turns",
        law: "x = p φ/(2π)",
        setting: "a nut on 20 mm of lead at 0.3 to 3 turns a step: way in 1 s, less its own, by it",
        expected: 0.0,
        tolerance: 1e-9,
        unit: "-",
        measure: Measure::Value(screw),
    },
];

/// The most energy over the first's within so many steps (J).
fn most_gain(s: &mut Simulation, steps: u32) -> Result<f64, Failure> {
    let first = s.world().energy().total();
    let mut most = 0.0_f64;
    for _ in 0..steps {
        s.step()?;
        most = most.max(s.world().energy().total() - first);
    }
    Ok(most)
}

/// A ball of 2 cm.
fn knot(text: &mut String, name: &str, mass: f64, [x, z]: [f64; 2], speed: f64) {
    writeln!(
        text,
        r#"(name: "{name}", shape: Ball(radius: 0.02), mass: {mass}, position: ({x}, 0, {z}), velocity: (0, {speed}, 0)),"#
    )
    .expect("a string");
}

/// A rope between two of them, or what has no name and stands.
fn rope(text: &mut String, names: [&str; 2], [a, b]: [[f64; 2]; 2], longer: f64) {
    let length = (b[0] - a[0]).hypot(b[1] - a[1]) * (1.0 + longer);
    writeln!(
        text,
        r#"(kind: Distance(max: {length}), bodies: ("{}", "{}"), at: ({}, 0, {}), at_second: ({}, 0, {})),"#,
        names[0], names[1], a[0], a[1], b[0], b[1]
    )
    .expect("a string");
}

fn vee() -> Result<f64, Failure> {
    let (mut bodies, mut joints) = (String::new(), String::new());
    let place = |k: usize| [0.2 * k as f64 - 1.0, 0.0];
    let name = |k: usize| match k {
        0 | 10 => String::new(),
        k => format!("k{k}"),
    };
    for k in 1..10 {
        let mass = if k == 5 { 20.0 } else { 0.1 };
        knot(&mut bodies, &name(k), mass, place(k), 0.0);
    }
    for k in 0..10 {
        rope(
            &mut joints,
            [&name(k), &name(k + 1)],
            [place(k), place(k + 1)],
            0.05,
        );
    }
    let mut s = simulation(&format!("(bodies: [{bodies}], joints: [{joints}])"))?;
    // It falls by 0.32 m.
    let falls = 20.0 * 9.81 * (1.05_f64.powi(2) - 1.0).sqrt();
    Ok(most_gain(&mut s, 300)? / falls)
}

fn net() -> Result<f64, Failure> {
    const SIDE: usize = 8;
    let (mut bodies, mut joints) = (String::new(), String::new());
    let is_fixed = |k: usize| k == 0 || k == SIDE;
    let name = |[i, j]: [usize; 2]| match is_fixed(i) || is_fixed(j) {
        true => String::new(),
        false => format!("k{i} {j}"),
    };
    let place = |[i, j]: [usize; 2]| [i, j].map(|k| 0.2 * k as f64);
    let all = (0..=SIDE).flat_map(|i| (0..=SIDE).map(move |j| [i, j]));
    for at in all {
        if name(at).is_empty() {
            continue;
        }
        let (mass, speed) = match at {
            [4, 4] => (20.0, -3.0),
            _ => (0.05, 0.0),
        };
        knot(&mut bodies, &name(at), mass, place(at), speed);
        let [i, j] = at;
        for next in [[i - 1, j], [i, j - 1], [i + 1, j], [i, j + 1]] {
            // Each rope once: what is fixed has none of its own.
            if next > at || name(next).is_empty() {
                let names = [name(at), name(next)];
                rope(
                    &mut joints,
                    [&names[0], &names[1]],
                    [place(at), place(next)],
                    0.02,
                );
            }
        }
    }
    let mut s = simulation(&format!("(bodies: [{bodies}], joints: [{joints}])"))?;
    Ok(most_gain(&mut s, 240)? / 90.0)
}

fn stop() -> Result<f64, Failure> {
    let mut farthest = -5.0_f64;
    for speed in [1, 2, 5, 10, 20, 50] {
        let mut s = simulation(&format!(
            r#"(settings: (gravity: (0, 0, 0)), bodies: [
                (name: "a", shape: Cuboid(half_extents: (0.25, 0.03, 0.03)), mass: 1, position: (-0.25, 0, 0)),
                (name: "b", shape: Cuboid(half_extents: (0.25, 0.03, 0.03)), mass: 1, position: (0.25, 0, 0)),
                (shape: Ball(radius: 0.1), mass: 5, position: (-0.1, -0.5, 0), velocity: (0, {speed}, 0)),
            ], joints: [(kind: Hinge(limits: (-5, 130)), bodies: ("a", "b"), at: (0, 0, 0), axis: (0, 0, 1))])"#
        ))?;
        for _ in 0..120 {
            s.step()?;
            let [angle, ..] = s.world().joints()[0].angles();
            farthest = farthest.min(angle.to_degrees());
        }
    }
    Ok(farthest)
}

fn screw() -> Result<f64, Failure> {
    let mut farthest = 0.0_f64;
    for turns in [0.3, 0.6, 1.2, 2.0, 3.0] {
        let way = 60.0 * turns * 0.02;
        let speed = 60.0 * turns * std::f64::consts::TAU;
        let mut s = simulation(&format!(
            r#"(settings: (gravity: (0, 0, 0)), bodies: [
                (shape: Cylinder(half_height: 0.05, radius: 0.05), mass: 10, name: "nut",
                 velocity: (0, {way}, 0), angular_velocity: (0, {speed}, 0)),
            ], joints: [(bodies: ("", "nut"), kind: Screw(lead: 0.02), at: (0, 0, 0), axis: (0, 1, 0))])"#
        ))?;
        for _ in 0..60 {
            s.step()?;
        }
        farthest = farthest.max((s.world().bodies.position[0].y / way - 1.0).abs());
    }
    Ok(farthest)
}
