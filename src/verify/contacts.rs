//! Contacts: rolling, sliding, spinning, tipping, and what is not to be passed or hit.

use super::{Failure, Measure, Row, run, simulation};
use crate::math::Vec3;
use crate::step::Simulation;

pub(super) const GRAVITY: f64 = 9.81;
/// How near thresholds are found, over themselves.
pub(super) const NEAR: f64 = 0.02;

pub const ROWS: &[Row] = &[
    Row {
        name: "slip-to-roll",
        law: "a ball that slides ends up rolling at 5/7 of its speed",
        setting: "ball of 0.1 m, 5 m/s without spin, μ = 0.2, after 2 s",
        expected: 25.0 / 7.0,
        tolerance: 0.005,
        unit: "m/s",
        measure: Measure::Value(slip_to_roll),
    },
    Row {
        name: "rolling-cylinder",
        law: "a solid cylinder rolls down an incline at ⅔ g sin θ",
        setting: "cylinder of 0.2 m on a box of 24 m × 4 m at 30°, μ = 0.6, for 1 s",
        expected: GRAVITY / 3.0,
        tolerance: 0.033,
        unit: "m/s²",
        measure: Measure::Value(rolling_cylinder),
    },
    Row {
        name: "rolling-over-tiles",
        law: "a floor of pieces is a floor: nothing hops",
        setting: "ball of 0.1 m that rolls at 5 m/s over 60 boxes side by side: how high it comes in 2 s",
        expected: 0.0,
        tolerance: 1e-4,
        unit: "m",
        measure: Measure::Value(|| Ok(over_tiles(BALL, [5.0, -50.0])?[1])),
    },
    Row {
        name: "sliding-over-tiles",
        law: "a brick slides v²/2μg",
        setting: "brick of 5 m/s over the same boxes, μ = 0.3: how far it comes in 2 s",
        expected: 25.0 / (2.0 * 0.3 * GRAVITY),
        tolerance: 0.005,
        unit: "m",
        measure: Measure::Value(|| Ok(over_tiles(BRICK, [5.0, 0.0])?[0])),
    },
    Row {
        name: "spinning",
        law: "a disc of friction stops a spin ω₀ after 3Rω₀/4μg",
        setting: "body with I = ½mR², R_c = R = 0.1 m, 20 rad/s, μ = 0.3 on one Coulomb–Contensou contact",
        expected: 3.0 * 0.1 * 20.0 / (4.0 * 0.3 * GRAVITY),
        tolerance: 0.017,
        unit: "s",
        measure: Measure::Value(spinning),
    },
    Row {
        name: "sticking",
        law: "a brick stays on an incline where μ ≥ tan θ",
        setting: "brick at 30°: least μ that holds it, over tan θ",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(|share| is_held(share * 30.0_f64.to_radians().tan()))),
    },
    Row {
        name: "tipping",
        law: "a block tips on an incline steeper than its width over its height",
        setting: "block of 0.2 m × 0.4 m, μ = 2: ½ over the steepest tan θ that it stands at",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(|share| stands(0.5 / share))),
    },
    Row {
        name: "ladder",
        law: "a ladder at a smooth wall stands where μ ≥ ½ tan θ from the vertical",
        setting: "ladder of 4 m at 35°: least μ of the ground that holds it, over the law's",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(ladder_stands)),
    },
    Row {
        name: "a-frame-20",
        law: "two cards that lean on each other stand where μ ≥ ½ tan θ from the vertical",
        setting: "cards of 1 m at 20°: least μ of the ground that holds them, over the law's",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(|share| cards_stand(20.0, share))),
    },
    Row {
        name: "a-frame-35",
        law: "two cards that lean on each other stand where μ ≥ ½ tan θ from the vertical",
        setting: "the same at 35°",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(|share| cards_stand(35.0, share))),
    },
    Row {
        name: "turntable",
        law: "a brick rides on a turntable where μ g ≥ ω² r",
        setting: "1 m from the axis, 1.5 rad/s: least μ that holds it, over the law's",
        expected: 1.0,
        tolerance: NEAR,
        unit: "-",
        measure: Measure::Value(|| threshold(rides)),
    },
    Row {
        name: "struck",
        law: "who is struck does not pass what is behind it",
        setting: "ball 5 mm before a plate of 1 cm, struck at 100 m/s: how far it comes into the plate",
        expected: 0.0,
        tolerance: 0.011,
        unit: "m",
        measure: Measure::Value(|| deepest("(-0.105, 0, 0)", 0.0, Some(100.0))),
    },
    Row {
        name: "first-step",
        law: "what is fast does not skip what lies on its way in its first half step",
        setting: "ball of 0.1 m at 500 m/s, 2 m before the same plate: how far it comes into the plate",
        expected: 0.0,
        tolerance: 1e-3,
        unit: "m",
        measure: Measure::Value(|| deepest("(-2.1, 0, 0)", 500.0, None)),
    },
];

const BALL: &str = "Ball(radius: 0.1)";
const BRICK: &str = "Cuboid(half_extents: (0.2, 0.1, 0.15))";

/// A scene of these bodies with friction μ.
fn scene(friction: f64, bodies: &str) -> Result<Simulation, Failure> {
    simulation(&format!(
        r#"(materials: {{"default": (friction: {friction:?}, combine: Multiply), "one": (friction: 1, combine: Multiply)}},
            bodies: [{bodies}])"#
    ))
}

/// Takes steps, solved or not.
pub(super) fn go(s: &mut Simulation, seconds: f64) -> Result<(), Failure> {
    for _ in 0..(seconds / s.world().settings.step).round() as u32 {
        s.step()?;
    }
    Ok(())
}

/// Of shares between 0.9 and 1.1, the least at which something holds.
pub(super) fn threshold(holds: impl Fn(f64) -> Result<bool, Failure>) -> Result<f64, Failure> {
    let (mut low, mut high) = (0.9, 1.1);
    if holds(low)? || !holds(high)? {
        let message = "it holds at 0.9 or not at 1.1 times the law's threshold";
        return Err(Failure::Other(message.into()));
    }
    while high - low > 0.2 * NEAR {
        let middle = 0.5 * (low + high);
        match holds(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(0.5 * (low + high))
}

const GROUND: &str =
    r#"(name: "ground", kind: Fixed, material: "one", shape: HalfSpace(normal: (0, 1, 0))),"#;

fn slip_to_roll() -> Result<f64, Failure> {
    let ball = "(shape: Ball(radius: 0.1), mass: 1, position: (0, 0.1, 0), velocity: (5, 0, 0)),";
    let mut s = scene(0.2, &format!("{GROUND}{ball}"))?;
    run(&mut s, 2.0, |_| {})?;
    Ok(s.world().bodies.velocity[1].linear.x)
}

fn rolling_cylinder() -> Result<f64, Failure> {
    let (sine, cosine) = 30.0_f64.to_radians().sin_cos();
    let mut s = scene(
        0.6,
        &format!(
            r#"(kind: Fixed, material: "one", shape: Cuboid(half_extents: (12, 0.5, 2)), position: ({:?}, {:?}, 0),
                rotation: Euler(degrees: (0, 0, 30))),
               (shape: Cylinder(half_height: 0.3, radius: 0.2), mass: 1, rotation: Euler(degrees: (90, 0, 0)),
                position: ({:?}, {:?}, 0)),"#,
            0.5 * sine,
            -0.5 * cosine,
            -0.2 * sine,
            0.2 * cosine,
        ),
    )?;
    run(&mut s, 1.0, |_| {})?;
    Ok(s.world().bodies.velocity[1].linear.norm())
}

/// How far a body with a velocity along x and a spin about z comes over boxes in 2 s, and how high (m).
fn over_tiles(shape: &str, [speed, spin]: [f64; 2]) -> Result<[f64; 2], Failure> {
    let mut bodies = format!(
        "(shape: {shape}, mass: 1, position: (0.3, 0.1, 0), velocity: ({speed:?}, 0, 0),
          angular_velocity: (0, 0, {spin:?})),"
    );
    for k in 0..60 {
        bodies += &format!(
            r#"(kind: Fixed, material: "one", shape: Cuboid(half_extents: (0.25, 0.5, 2)),
                position: ({:?}, -0.5, 0)),"#,
            0.5 * f64::from(k)
        );
    }
    let mut s = scene(0.3, &bodies)?;
    let mut highest = 0.0_f64;
    run(&mut s, 2.0, |s| {
        highest = highest.max(s.world().bodies.position[0].y - 0.1);
    })?;
    Ok([s.world().bodies.position[0].x - 0.3, highest])
}

fn spinning() -> Result<f64, Failure> {
    let mut s = simulation(
        r#"(materials: {"default": (friction: 0.3, spin_radius: 0.1)},
            bodies: [(kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))),
                     (shape: Ball(radius: 0.1), mass: 1, inertia: (diagonal: (0.005, 0.005, 0.005)), position: (0, 0.1, 0),
                      angular_velocity: (0, 20, 0))])"#,
    )?;
    let mut stopped = None;
    run(&mut s, 3.0, |s| {
        if stopped.is_none() && s.world().bodies.velocity[1].angular.y.abs() < 1e-3 {
            stopped = Some(s.world().time);
        }
    })?;
    stopped.ok_or_else(|| Failure::Other("it spins on after 3 s".into()))
}

/// A block of half extents on an incline of an angle, after 1 s: how far it has slid (m), and how it has turned (rad).
fn on_incline(angle: f64, half: [f64; 2], friction: f64) -> Result<[f64; 2], Failure> {
    let (sine, cosine) = angle.sin_cos();
    let degrees = angle.to_degrees();
    let mut s = scene(
        friction,
        &format!(
            r#"(kind: Fixed, material: "one", shape: Cuboid(half_extents: (6, 0.5, 2)), position: ({:?}, {:?}, 0),
                rotation: Euler(degrees: (0, 0, {degrees:?}))),
               (shape: Cuboid(half_extents: ({:?}, {:?}, 0.1)), mass: 1, position: ({:?}, {:?}, 0),
                rotation: Euler(degrees: (0, 0, {degrees:?}))),"#,
            0.5 * sine,
            -0.5 * cosine,
            half[0],
            half[1],
            -half[1] * sine,
            half[1] * cosine,
        ),
    )?;
    let before = s.world().bodies.pose(1);
    go(&mut s, 1.0)?;
    let after = s.world().bodies.pose(1);
    let turned = before.rotation.angle_to(&after.rotation);
    Ok([(after.position - before.position).norm(), turned])
}

fn is_held(friction: f64) -> Result<bool, Failure> {
    let [slid, _] = on_incline(30.0_f64.to_radians(), [0.1, 0.05], friction)?;
    Ok(slid < 1e-3)
}

fn stands(slope: f64) -> Result<bool, Failure> {
    let [_, turned] = on_incline(slope.atan(), [0.1, 0.2], 2.0)?;
    Ok(turned < 1e-2)
}

/// A ladder of 4 m, 2 cm thick, at 35° from the vertical, with its lower edge on the ground and its upper one at the wall.
fn ladder_stands(share: f64) -> Result<bool, Failure> {
    let angle = 35.0_f64.to_radians();
    let (sine, cosine) = angle.sin_cos();
    let (half, thick) = (2.0, 0.01);
    // It leans to the right: its lowest corner is the right one of its foot, the one at the wall the right one of its top.
    let foot = [thick * cosine - half * sine, -thick * sine - half * cosine];
    let top = [thick * cosine + half * sine, -thick * sine + half * cosine];
    // About the foot: the wall's force by its height, and the weight by how far the middle is beside it.
    let law = -foot[0] / (top[1] - foot[1]);
    let mut s = simulation(&format!(
        r#"(materials: {{"default": (friction: {:?}, combine: Multiply), "one": (friction: 1, combine: Multiply),
                         "smooth": (friction: 0, combine: Multiply)}},
            bodies: [{GROUND}
                (kind: Fixed, material: "smooth", shape: HalfSpace(normal: (-1, 0, 0)), position: ({:?}, 0, 0)),
                (shape: Cuboid(half_extents: ({thick}, {half}, 0.2)), mass: 10, position: (0, {:?}, 0),
                 rotation: Euler(degrees: (0, 0, -35)))])"#,
        law * share,
        top[0],
        -foot[1],
    ))?;
    let before = s.world().bodies.position[2];
    go(&mut s, 1.0)?;
    Ok((s.world().bodies.position[2] - before).norm() < 1e-3)
}

/// Two cards of 1 m × 1 cm with parallel edges that touch at the apex.
fn cards_stand(degrees: f64, share: f64) -> Result<bool, Failure> {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let (half, thick) = (0.5, 0.005);
    let apex = thick * cosine + half * sine;
    let height = half * cosine + thick * sine;
    // The inner corner of the foot carries the card, the one of the top leans.
    let beside = half * sine - thick * cosine;
    let law = beside / (2.0 * half * cosine);
    let card = |side: f64| {
        format!(
            "(shape: Cuboid(half_extents: ({thick}, {half}, 0.3)), mass: 1, position: ({:?}, {height:?}, 0),
              rotation: Euler(degrees: (0, 0, {:?}))),",
            side * apex,
            side * degrees
        )
    };
    let mut s = scene(law * share, &format!("{GROUND}{}{}", card(-1.0), card(1.0)))?;
    let before = s.world().bodies.position[1];
    go(&mut s, 1.0)?;
    Ok((s.world().bodies.position[1] - before).norm() < 1e-3)
}

fn rides(share: f64) -> Result<bool, Failure> {
    let friction = share * 1.5 * 1.5 / GRAVITY;
    let mut s = scene(
        friction,
        r#"(kind: Kinematic, material: "one", shape: Cylinder(half_height: 0.1, radius: 2), position: (0, -0.1, 0),
            angular_velocity: (0, 1.5, 0)),
           (shape: Cuboid(half_extents: (0.05, 0.02, 0.05)), mass: 1, position: (1, 0.02, 0), velocity: (0, 0, -1.5),
            angular_velocity: (0, 1.5, 0)),"#,
    )?;
    go(&mut s, 4.0)?;
    let at = s.world().bodies.position[1];
    Ok(at.x.hypot(at.z) < 1.02)
}

/// How far a ball of 0.1 m comes into a plate of 1 cm whose front is x = 0, in a second (m), where another ball strikes it.
fn deepest(position: &str, speed: f64, strikes: Option<f64>) -> Result<f64, Failure> {
    let striker = strikes.map(|speed| {
        format!("(shape: Ball(radius: 0.1), mass: 1, position: (-0.4, 0, 0), velocity: ({speed:?}, 0, 0)),")
    });
    let mut s = simulation(&format!(
        "(settings: (gravity: (0, 0, 0)), bodies: [
            (kind: Fixed, shape: Cuboid(half_extents: (0.005, 2, 2)), position: (0.005, 0, 0)),
            (shape: Ball(radius: 0.1), mass: 1, position: {position}, velocity: ({speed:?}, 0, 0)),
            {}])",
        striker.unwrap_or_default()
    ))?;
    let mut deepest = 0.0_f64;
    for _ in 0..60 {
        s.step()?;
        let at: Vec3 = s.world().bodies.position[1];
        deepest = deepest.max(at.x + 0.1);
    }
    Ok(deepest)
}
