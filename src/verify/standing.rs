//! What stands, hangs and holds: arches, a capstan, a chain, and a block on a smooth wedge.

use super::contacts::{GRAVITY, NEAR, go, threshold};
use super::{Failure, Measure, Row, run, simulation};
use crate::math::Vec3;

/// By how much of their least thickness arches are thicker and thinner.
const SHARE: f64 = 0.05;

pub const ROWS: &[Row] = &[
    Row {
        name: "wedge",
        law: "a wedge runs out from under a block at m g sin θ cos θ/(M + m sin² θ)",
        setting: "smooth wedge of 2 kg at 30° under 1 kg, for 0.5 s",
        expected: GRAVITY * 0.433_012_701_892_219_3 / 2.25,
        tolerance: 0.005,
        unit: "m/s²",
        measure: Measure::Value(wedge),
    },
    Row {
        name: "capstan",
        law: "n beads hold ((1 + μ tan δ/2)/(1 − μ tan δ/2))ⁿ times the pull of a rope that turns by nδ",
        setting: "12 beads over half a drum, twice the pull: least μ that holds it, over the law's",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(capstan_holds)),
    },
    Row {
        name: "catenary",
        law: "tan of the links' slopes grows by w/H from link to link",
        setting: "20 beads, 21 links of 0.15 m, ends 2 m apart: largest way from their places in 10 s",
        expected: 0.0,
        tolerance: 1e-4,
        unit: "m",
        measure: Measure::Value(catenary),
    },
    Row {
        name: "arch-25",
        law: "a half circle of stones stands where its thickness holds a line of thrust",
        setting: "25 stones that are 5 % thicker stand for 5 s, 5 % thinner fall: middle of both, over the law's",
        expected: 1.0,
        tolerance: SHARE,
        unit: "-",
        measure: Measure::Value(|| arch(25)),
    },
    Row {
        name: "arch-101",
        law: "a half circle of stones stands where its thickness holds a line of thrust",
        setting: "the same with 101 stones",
        expected: 1.0,
        tolerance: SHARE,
        unit: "-",
        measure: Measure::Value(|| arch(101)),
    },
];

fn wedge() -> Result<f64, Failure> {
    let (sine, cosine) = 30.0_f64.to_radians().sin_cos();
    let (length, height) = (4.0, 4.0 * sine / cosine);
    // The block's middle is over a point of the slope.
    let at = [0.25 * length + 0.1 * sine, 0.75 * height + 0.1 * cosine];
    let mut s = simulation(&format!(
        r#"(materials: {{"default": (friction: 0)}}, bodies: [
            (kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))),
            (shape: ConvexHull(points: [(0, 0, -1), (0, 0, 1), ({length:?}, 0, -1), ({length:?}, 0, 1),
                                        (0, {height:?}, -1), (0, {height:?}, 1)]), mass: 2),
            (shape: Cuboid(half_extents: (0.2, 0.1, 0.2)), mass: 1, position: ({:?}, {:?}, 0),
             rotation: Euler(degrees: (0, 0, -30)))])"#,
        at[0], at[1],
    ))?;
    run(&mut s, 0.5, |_| {})?;
    Ok(-s.world().bodies.velocity[1].linear.x / 0.5)
}

/// A rope over a drum of 0.5 m: beads that do not turn, with 1 kg at one end and 2 kg at the other.
fn capstan_holds(share: f64) -> Result<bool, Failure> {
    const BEADS: u32 = 12;
    let turn = std::f64::consts::PI / f64::from(BEADS);
    let ratio = 2.0_f64.powf(1.0 / f64::from(BEADS));
    let law = (ratio - 1.0) / ((ratio + 1.0) * (0.5 * turn).tan());
    let (radius, mut bodies, mut joints) = (0.55, String::new(), String::new());
    let mut link = |name: &str, other: &str, [from, to]: [[f64; 2]; 2]| {
        joints += &format!(
            r#"(bodies: ("{name}", "{other}"), kind: Distance(), at: ({:?}, {:?}, 0), at_second: ({:?}, {:?}, 0)),"#,
            from[0], from[1], to[0], to[1]
        );
    };
    let place = |k: u32| {
        let (sine, cosine) = ((f64::from(k) + 0.5) * turn).sin_cos();
        [-radius * cosine, radius * sine]
    };
    for k in 0..BEADS {
        let [x, y] = place(k);
        bodies += &format!(
            r#"(name: "{k}", shape: Ball(radius: 0.05), mass: 1e-4, inertia: (diagonal: (1e3, 1e3, 1e3)),
                position: ({x:?}, {y:?}, 0)),"#
        );
        if k + 1 < BEADS {
            link(
                &k.to_string(),
                &(k + 1).to_string(),
                [place(k), place(k + 1)],
            );
        }
    }
    for (name, bead, mass) in [("light", 0, 1.0), ("heavy", BEADS - 1, 2.0)] {
        let [x, y] = place(bead);
        bodies += &format!(
            r#"(name: "{name}", shape: Ball(radius: 0.04), mass: {mass:?}, position: ({x:?}, -1, 0)),"#
        );
        link(&bead.to_string(), name, [[x, y], [x, -1.0]]);
    }
    let mut s = simulation(&format!(
        r#"(materials: {{"default": (friction: {:?}, combine: Multiply), "one": (friction: 1, combine: Multiply)}},
            bodies: [{bodies} (kind: Fixed, material: "one", shape: Cylinder(half_height: 0.3, radius: 0.5),
                               rotation: Euler(degrees: (90, 0, 0)))],
            joints: [{joints}])"#,
        law * share
    ))?;
    go(&mut s, 1.0)?;
    Ok((s.world().bodies.position[BEADS as usize].y + 1.0).abs() < 1e-3)
}

/// A chain between (−1, 0, 0) and (1, 0, 0) that begins in its curve.
fn catenary() -> Result<f64, Failure> {
    const LINKS: u32 = 21;
    const LENGTH: f64 = 0.15;
    // Slope of each link, for the beads' weight over the tension along x.
    let slope = |k: u32, share: f64| (f64::from(k) - 0.5 * f64::from(LINKS - 1)) * share;
    let span = |share: f64| -> f64 {
        let along = (0..LINKS).map(|k| LENGTH / slope(k, share).hypot(1.0));
        along.sum()
    };
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        match span(middle) > 2.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    let (mut bodies, mut joints) = (String::new(), String::new());
    let (mut at, mut name) = ([-1.0, 0.0], String::new());
    for k in 0..LINKS {
        let tangent = slope(k, low);
        let along = LENGTH / tangent.hypot(1.0);
        let next = [at[0] + along, at[1] + along * tangent];
        let mut other = String::new();
        if k + 1 < LINKS {
            other = format!("bead {k}");
            bodies += &format!(
                r#"(name: "{other}", shape: Ball(radius: 0.02), mass: 1, position: ({:?}, {:?}, 0)),"#,
                next[0], next[1]
            );
        }
        joints += &format!(
            r#"(bodies: ("{name}", "{other}"), kind: Distance(), at: ({:?}, {:?}, 0), at_second: ({:?}, {:?}, 0)),"#,
            at[0], at[1], next[0], next[1]
        );
        (at, name) = (next, other);
    }
    let mut s = simulation(&format!("(bodies: [{bodies}], joints: [{joints}])"))?;
    let first: Vec<Vec3> = s.world().bodies.position.clone();
    let mut farthest = 0.0_f64;
    run(&mut s, 10.0, |s| {
        for (now, first) in s.world().bodies.position.iter().zip(&first) {
            farthest = farthest.max((now - first).norm());
        }
    })?;
    Ok(farthest)
}

/// Whether arches of so many stones stand and fall within [`SHARE`] of their least thickness.
fn arch(stones: u32) -> Result<f64, Failure> {
    let least = least_thickness(stones);
    if stands(stones, least * (1.0 - SHARE))? {
        return Err(Failure::Other("the thinner arch stands".into()));
    }
    if !stands(stones, least * (1.0 + SHARE))? {
        return Err(Failure::Other("the thicker arch falls".into()));
    }
    Ok(1.0)
}

fn stands(stones: u32, thickness: f64) -> Result<bool, Failure> {
    let mut s = simulation(&format!(
        r#"(materials: {{"default": (density: 2400, friction: 0.7)}}, bodies: [],
            generators: [Arch(stones: {stones}, span: 4, rise: 2, thickness: {thickness:?})])"#
    ))?;
    let first = s.world().bodies.position.clone();
    go(&mut s, 5.0)?;
    let last = s.world().bodies.position.iter().zip(&first);
    Ok(last.fold(0.0_f64, |most, (now, first)| most.max((now - first).norm())) < 0.01)
}

/// The least thickness (m) of a half circle of 2 m inside that some line of thrust runs within. A thrust H at the height y of
/// the middle, and the weight W of what lies between that and a joint at the angle θ, whose moment about the centre is M,
/// meet the joint at the radius (H y + M)/(H cos θ + W sin θ).
fn least_thickness(stones: u32) -> f64 {
    const INNER: f64 = 2.0;
    let angle = std::f64::consts::PI / f64::from(stones);
    let (sine, cosine) = (0.5 * angle).sin_cos();
    // By how much the range of H y that all joints allow is open, for an H in weights of a stone.
    let open = |outer: f64, thrust: f64| {
        let power = |n: i32| outer.powi(n) - INNER.powi(n);
        let middle = 2.0 * cosine * power(3) / (3.0 * power(2));
        // Half of the keystone, if there is one.
        let (mut theta, mut weight, mut moment) = (0.0, 0.0, 0.0);
        if stones % 2 == 1 {
            theta = 0.5 * angle;
            weight = 0.5;
            moment = sine * power(3) / (6.0 * power(2));
        }
        let mut range = [f64::NEG_INFINITY, f64::INFINITY];
        loop {
            let across = thrust * f64::cos(theta) + weight * f64::sin(theta);
            range[0] = range[0].max(INNER * across - moment);
            range[1] = range[1].min(outer * across - moment);
            if theta > 0.5 * std::f64::consts::PI - 0.25 * angle {
                return range[1] - range[0];
            }
            moment += middle * f64::sin(theta + 0.5 * angle);
            weight += 1.0;
            theta += angle;
        }
    };
    let is_enough = |thickness: f64| {
        // It is a concave function of H.
        let (mut low, mut high) = (0.0, 20.0 * f64::from(stones));
        for _ in 0..200 {
            let [a, b] = [1.0 / 3.0, 2.0 / 3.0].map(|share| low + (high - low) * share);
            match open(INNER + thickness, a) < open(INNER + thickness, b) {
                true => low = a,
                false => high = b,
            }
        }
        open(INNER + thickness, low) >= 0.0
    };
    let (mut low, mut high) = (0.0, INNER);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match is_enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milankovitch's ring of endless many stones needs 0.1075 of its mean radius.
    #[test]
    fn many_stones_need_milankovitchs_thickness() {
        let thickness = least_thickness(1001);
        let share = thickness / (2.0 + 0.5 * thickness);
        assert!((share - 0.1075).abs() < 2e-4, "{share}");
    }
}
