//! The scenes, as plain lists of bodies that belong to no engine.
//!
//! SI units, y up, gravity 9.81 m/s², h = 1/60 s, friction 0.5, restitution 0.

use std::ops::Range;

use moreau::math::Vec3;

/// Length of a step [s].
pub const STEP: f64 = 1.0 / 60.0;
/// Acceleration of gravity, downwards [m/s²].
pub const GRAVITY: f64 = 9.81;
/// Coulomb friction of every surface [-].
pub const FRICTION: f64 = 0.5;

/// A shape, centred on its body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A ball of this radius [m].
    Ball(f64),
    /// A box with these half extents [m].
    Cuboid(Vec3),
}

/// A body without initial rotation.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Its shape.
    pub shape: Shape,
    /// Its centre [m].
    pub position: Vec3,
    /// Its velocity [m/s].
    pub velocity: Vec3,
    /// Its mass [kg]; `None` for a fixed body.
    pub mass: Option<f64>,
}

impl Body {
    fn fixed(position: Vec3, half_extents: Vec3) -> Self {
        Self {
            shape: Shape::Cuboid(half_extents),
            position,
            velocity: Vec3::zeros(),
            mass: None,
        }
    }

    fn dynamic(shape: Shape, position: Vec3, mass: f64) -> Self {
        Self {
            shape,
            position,
            velocity: Vec3::zeros(),
            mass: Some(mass),
        }
    }
}

/// A part of a run with its own statistics.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What happens in it.
    pub name: &'static str,
    /// Its steps.
    pub steps: Range<usize>,
}

/// A scene and how it is measured.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name on the command line.
    pub name: String,
    /// Its bodies.
    pub bodies: Vec<Body>,
    /// What is measured; the last phase ends the run, steps before the first are warm-up.
    pub phases: Vec<Phase>,
    /// How often the whole run is repeated.
    pub rounds: usize,
    /// Moreau's most iterations; `None` keeps its default. The large scenes get ten, about what
    /// Rapier does in its four substeps of two sweeps each.
    pub iterations: Option<u32>,
    /// Whether the highest bodies' loss of height means something.
    pub stands: bool,
    /// Whether it is a ball grid.
    pub grid: bool,
}

impl Scene {
    /// Steps of a run.
    pub fn steps(&self) -> usize {
        self.phases.last().map_or(0, |p| p.steps.end)
    }

    fn shorten(&mut self) {
        self.rounds = 1;
        for phase in &mut self.phases {
            phase.steps = phase.steps.start / 4..phase.steps.end / 4;
        }
    }
}

/// A scene's name, whether it is small enough for a quick look, and how it is made.
type Entry = (&'static str, bool, fn(&str) -> Scene);

/// The scenes that were asked for, by the beginning of their names; all if nothing was.
pub fn select(names: &[String], quick: bool) -> Result<Vec<Scene>, String> {
    let makers: [Entry; 9] = [
        ("ball_grid_8", true, |name| ball_grid(name, 8)),
        ("ball_grid_24", true, |name| ball_grid(name, 24)),
        ("ball_grid_40", false, |name| ball_grid(name, 40)),
        ("wall", true, |name| wall(name, 20, 20)),
        ("pyramid", true, |name| pyramid(name, 20)),
        ("box_stack", true, box_stack),
        ("sphere_box_1000", true, |name| sphere_box(name, 1_000)),
        ("sphere_box_3000", false, |name| sphere_box(name, 3_000)),
        ("sphere_box_20000", false, |name| sphere_box(name, 20_000)),
    ];
    let known = || makers.map(|(name, ..)| name).join(", ");
    for name in names {
        if !makers.iter().any(|(m, ..)| m.starts_with(name.as_str())) {
            return Err(format!(
                "there is no scene \"{name}\"; there are: {}",
                known()
            ));
        }
    }
    let wanted = |name: &str, small: bool| {
        if names.is_empty() {
            small || !quick
        } else {
            names.iter().any(|n| name.starts_with(n.as_str()))
        }
    };
    let mut scenes: Vec<Scene> = makers
        .into_iter()
        .filter(|(name, small, _)| wanted(name, *small))
        .map(|(name, _, make)| make(name))
        .collect();
    if quick {
        scenes.iter_mut().for_each(Scene::shorten);
    }
    Ok(scenes)
}

/// A fixed box whose top face is the plane y = 0.
fn ground() -> Body {
    Body::fixed(Vec3::new(0.0, -1.0, 0.0), Vec3::new(500.0, 1.0, 500.0))
}

/// What stands: a second after it was built, and ten.
fn standing(name: &str, bodies: Vec<Body>) -> Scene {
    Scene {
        name: name.into(),
        bodies,
        phases: vec![
            Phase {
                name: "rest",
                steps: 60..300,
            },
            Phase {
                name: "stood",
                steps: 600..900,
            },
        ],
        rounds: 3,
        iterations: Some(20),
        stands: true,
        grid: false,
    }
}

/// Ten cubes of 1 m and 1 kg, one on the other.
fn box_stack(name: &str) -> Scene {
    let cube = Shape::Cuboid(Vec3::repeat(0.5));
    let layers = (0..10).map(|k| Body::dynamic(cube, Vec3::new(0.0, 0.5 + f64::from(k), 0.0), 1.0));
    standing(name, std::iter::once(ground()).chain(layers).collect())
}

/// Poulsen's ball grid: n³ touching balls of radius 0.5 m and 1 kg.
fn ball_grid(name: &str, n: usize) -> Scene {
    let mut bodies = vec![ground()];
    let at = |k: usize| k as f64 - 0.5 * (n - 1) as f64;
    for y in 0..n {
        for z in 0..n {
            for x in 0..n {
                let position = Vec3::new(at(x), 0.5 + y as f64, at(z));
                bodies.push(Body::dynamic(Shape::Ball(0.5), position, 1.0));
            }
        }
    }
    let (steps, rounds) = match n {
        ..=10 => (20..320, 3),
        11..=30 => (20..120, 3),
        _ => (10..60, 1),
    };
    Scene {
        phases: vec![Phase {
            name: "rest",
            steps,
        }],
        rounds,
        iterations: None,
        grid: true,
        ..standing(name, bodies)
    }
}

/// A wall in running bond: bricks of 1 m × 0.5 m × 0.5 m and 1 kg, half bricks at the ends of every
/// other course, all touching.
fn wall(name: &str, courses: usize, bricks: usize) -> Scene {
    let mut bodies = vec![ground()];
    for course in 0..courses {
        let y = 0.25 + 0.5 * course as f64;
        let mut lay = |x: f64, length: f64| {
            let half = Vec3::new(0.5 * length, 0.25, 0.25);
            let position = Vec3::new(x - 0.5 * bricks as f64, y, 0.0);
            bodies.push(Body::dynamic(Shape::Cuboid(half), position, length));
        };
        if course % 2 == 0 {
            (0..bricks).for_each(|k| lay(0.5 + k as f64, 1.0));
        } else {
            lay(0.25, 0.5);
            (1..bricks).for_each(|k| lay(k as f64, 1.0));
            lay(bricks as f64 - 0.25, 0.5);
        }
    }
    standing(name, bodies)
}

/// A plane pyramid of cubes of 1 m and 1 kg, a tenth of a metre apart.
fn pyramid(name: &str, layers: usize) -> Scene {
    let mut bodies = vec![ground()];
    for layer in 0..layers {
        let count = layers - layer;
        for k in 0..count {
            let x = 1.1 * (k as f64 - 0.5 * (count - 1) as f64);
            let position = Vec3::new(x, 0.5 + layer as f64, 0.0);
            bodies.push(Body::dynamic(
                Shape::Cuboid(Vec3::repeat(0.5)),
                position,
                1.0,
            ));
        }
    }
    standing(name, bodies)
}

/// Balls of diameter 1 m and 1 kg that fall from a loose, jittered lattice into a box of fixed walls,
/// about as wide as the lattice is high.
fn sphere_box(name: &str, count: usize) -> Scene {
    const PITCH: f64 = 1.2;
    let width = (count as f64).cbrt().round() as usize;
    let layers = count.div_ceil(width * width);
    let (half, height) = (0.5 * PITCH * width as f64, PITCH * (layers + 2) as f64);
    let mut bodies = vec![ground()];
    for side in [-1.0, 1.0] {
        let place = side * (half + 1.0);
        let middle = 0.5 * height;
        bodies.push(Body::fixed(
            Vec3::new(place, middle, 0.0),
            Vec3::new(1.0, middle, half + 2.0),
        ));
        bodies.push(Body::fixed(
            Vec3::new(0.0, middle, place),
            Vec3::new(half, middle, 1.0),
        ));
    }
    let mut random = SplitMix(1);
    for k in 0..count {
        let cell = [k % width, k / (width * width), k / width % width];
        let mut at = |c: usize| PITCH * (c as f64 + 0.5) + 0.09 * random.next();
        let [x, y, z] = cell.map(&mut at);
        let position = Vec3::new(x - half, y + 1.0, z - half);
        bodies.push(Body::dynamic(Shape::Ball(0.5), position, 1.0));
    }
    let large = count > 5_000;
    Scene {
        name: name.into(),
        bodies,
        phases: vec![
            Phase {
                name: "drop",
                steps: 20..180,
            },
            Phase {
                name: "rest",
                steps: 300..400,
            },
        ],
        rounds: if large { 1 } else { 3 },
        // What two threads do in about Rapier's time, or less.
        iterations: Some(match count {
            0..2_000 => 12,
            2_000..10_000 => 10,
            _ => 25,
        }),
        stands: false,
        grid: false,
    }
}

/// SplitMix64: the same jitter on every machine.
struct SplitMix(u64);

impl SplitMix {
    /// Uniform in [-1, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruler;

    #[test]
    fn no_scene_starts_with_an_overlap() {
        for scene in select(&[], false).unwrap() {
            let states: Vec<_> = scene
                .bodies
                .iter()
                .map(|b| crate::engine::State::at(b.position))
                .collect();
            let deepest = ruler::overlaps(&scene.bodies, &states).deepest;
            assert!(deepest < 1e-9, "{}: {deepest} m", scene.name);
        }
    }

    #[test]
    fn names_are_found_by_their_beginning() {
        let names = |given: &[&str]| -> Vec<String> {
            let given: Vec<String> = given.iter().map(|s| (*s).into()).collect();
            let scenes = select(&given, true).unwrap();
            scenes.into_iter().map(|s| s.name).collect()
        };
        assert_eq!(names(&["wall", "pyr"]), ["wall", "pyramid"]);
        assert!(select(&["no_such".into()], true).is_err());
    }
}
