//! What the default does on scenes that it was not made for, beside single solvers on the same steps.

use std::time::Instant;

use crate::common::problems::residual_of;
use moreau::scene::Scene;
use moreau::solve::{Request, Solver, SolverConfig, Status};

/// Steps that are looked at.
const STEPS: usize = 200;

/// A box of fixed walls, so wide and deep inside (m).
fn walls(width: f64) -> String {
    let wall = |half: [f64; 3], at: [f64; 3]| {
        let ([a, b, c], [x, y, z]) = (half, at);
        format!(
            "(kind: Fixed, shape: Cuboid(half_extents: ({a}, {b}, {c})), position: ({x}, {y}, {z})),"
        )
    };
    let (half, off) = (0.5 * width, 0.5 * width + 0.5);
    [
        wall([half + 1.0, 0.5, half + 1.0], [0.0, -0.5, 0.0]),
        wall([0.5, 4.0, half + 1.0], [-off, 4.0, 0.0]),
        wall([0.5, 4.0, half + 1.0], [off, 4.0, 0.0]),
        wall([half, 4.0, 0.5], [0.0, 4.0, -off]),
        wall([half, 4.0, 0.5], [0.0, 4.0, off]),
    ]
    .concat()
}

/// A heap of so many shapes that fall into walls.
fn heap(count: usize, shapes: &str) -> String {
    format!(
        "(bodies: [{}], generators: [Scatter(count: {count}, layer: (5, 5), pitch: 0.95, jitter: 0.1, seed: 11, \
         at: (0, 0.8, 0), shapes: [{shapes}])])",
        walls(4.8)
    )
}

const GROUND: &str = "(kind: Fixed, shape: HalfSpace()),";
const BOX: &str = "Cuboid(half_extents: (0.35, 0.25, 0.3)), Cuboid(half_extents: (0.2, 0.4, 0.2)),";
const HULL: &str = "ConvexHull(points: [(0.4, -0.3, 0), (-0.4, -0.3, 0.3), (-0.4, -0.3, -0.3), (0, 0.5, 0), (0.2, 0.1, 0.4)]), \
                    ConvexHull(points: [(0.4, 0, 0), (-0.4, 0, 0), (0, 0.3, 0), (0, -0.3, 0), (0, 0, 0.35), (0, 0, -0.35)]),";
const ROUND: &str = "Ball(radius: 0.3), Capsule(half_height: 0.25, radius: 0.2), Cylinder(half_height: 0.3, radius: 0.25), \
                     Cone(half_height: 0.35, radius: 0.35),";

/// A body at rest, or one that is thrown.
fn block(half: [f64; 3], at: [f64; 3], turned: f64, more: &str) -> String {
    let ([a, b, c], [x, y, z]) = (half, at);
    format!(
        "(shape: Cuboid(half_extents: ({a}, {b}, {c})), position: ({x}, {y}, {z}), \
         rotation: Euler(degrees: (0, {turned}, 0)), {more}),"
    )
}

/// A wall of bricks of unlike lengths, hit by a ball.
fn irregular_wall() -> String {
    let mut bodies = GROUND.to_owned();
    for course in 0..12 {
        let mut x = 0.0;
        for k in 0.. {
            let half = 0.2 + 0.013 * f64::from((7 * k + 11 * course) % 17);
            if x + 2.0 * half > 8.0 {
                break;
            }
            let at = [x + half, 0.15 + 0.3 * f64::from(course), 0.0];
            bodies += &block([half, 0.15, 0.2], at, 0.0, "");
            x += 2.0 * half;
        }
    }
    bodies += "(shape: Ball(radius: 0.4), position: (4, 2, 6), velocity: (0, 1, -8)),";
    format!("(bodies: [{bodies}])")
}

/// Rings of blocks, each a little narrower than the one below.
fn dome() -> String {
    let mut bodies = GROUND.to_owned();
    for ring in 0..10 {
        let count = 24;
        let radius = 3.0 - 0.012 * f64::from(ring * ring);
        for k in 0..count {
            let angle = 360.0 / f64::from(count) * (f64::from(k) + 0.5 * f64::from(ring % 2));
            let (s, c) = angle.to_radians().sin_cos();
            let at = [radius * c, 0.15 + 0.3 * f64::from(ring), radius * s];
            bodies += &block([0.25, 0.15, 0.36], at, -angle, "");
        }
    }
    bodies += "(shape: Ball(radius: 0.5), density: 3000, position: (0.5, 6, 0)),";
    format!("(bodies: [{bodies}])")
}

/// What falls through a funnel of four planes.
fn funnel() -> String {
    let slope = |x: f64, z: f64| {
        format!(
            "(kind: Fixed, shape: Cuboid(half_extents: (3, 0.2, 3)), position: ({}, 3, {}), \
             rotation: Euler(degrees: ({}, 0, {}))),",
            2.6 * x,
            2.6 * z,
            -45.0 * z,
            45.0 * x
        )
    };
    let planes = [
        slope(1.0, 0.0),
        slope(-1.0, 0.0),
        slope(0.0, 1.0),
        slope(0.0, -1.0),
    ]
    .concat();
    format!(
        "(bodies: [{GROUND}{planes}], generators: [Scatter(count: 120, layer: (4, 4), pitch: 0.8, jitter: 0.1, seed: 5, \
         at: (0, 5.5, 0), shapes: [Ball(radius: 0.25), Cuboid(half_extents: (0.25, 0.2, 0.2))])])"
    )
}

/// A tower of three planks a layer, of which one is pulled out.
fn planks() -> String {
    let mut bodies = GROUND.to_owned();
    for layer in 0..18 {
        for k in -1..=1 {
            let off = 0.26 * f64::from(k);
            let y = 0.075 + 0.15 * f64::from(layer);
            let (half, at) = match layer % 2 {
                0 => ([0.39, 0.075, 0.125], [0.0, y, off]),
                _ => ([0.125, 0.075, 0.39], [off, y, 0.0]),
            };
            let pulled = match (layer, k) {
                (6, 1) => "kind: Kinematic, velocity: (0.6, 0, 0)",
                _ => "",
            };
            bodies += &block(half, at, 0.0, pulled);
        }
    }
    format!("(bodies: [{bodies}])")
}

fn dominoes() -> String {
    let mut bodies = GROUND.to_owned();
    for k in 0..60 {
        let thrown = if k == 0 { "velocity: (1.5, 0, 0)" } else { "" };
        bodies += &block(
            [0.05, 0.4, 0.2],
            [0.35 * f64::from(k), 0.4, 0.0],
            0.0,
            thrown,
        );
    }
    format!("(bodies: [{bodies}])")
}

/// A chain of links without joints' compliance that falls round a post.
fn chain_round_a_post() -> String {
    format!(
        "(bodies: [{GROUND} (kind: Fixed, shape: Cylinder(half_height: 1, radius: 0.3), position: (0, 3, 0), rotation: \
         Euler(degrees: (90, 0, 0)))], generators: [Chain(links: 40, path: [(-4, 3.4, 0), (4, 3.4, 0)], mass: 0.5, radius: \
         0.05)])"
    )
}

fn car_over_boxes() -> String {
    format!(
        "(materials: {{\"default\": (friction: 0.9)}}, bodies: [{GROUND} (name: \"chassis\", mass: 1200, position: (0, 0.8, 0), \
         velocity: (8, 0, 0), shape: Cuboid(half_extents: (1.8, 0.25, 0.6)), groups: (memberships: 2, filter: 1))], generators: \
         [Vehicle(name: \"car\", chassis: \"chassis\"), Scatter(count: 60, layer: (12, 5), pitch: 0.6, jitter: 0.1, seed: 3, at: \
         (7, 0.2, 0), shapes: [Cuboid(half_extents: (0.15, 0.1, 0.12))])])"
    )
}

fn scenes() -> [(&'static str, String); 12] {
    [
        ("heap of 200 boxes", heap(200, BOX)),
        ("heap of 150 hulls", heap(150, HULL)),
        (
            "heap of 200 mixed shapes",
            heap(200, &[BOX, HULL, ROUND].concat()),
        ),
        (
            "heap of 300 balls",
            heap(300, "Ball(radius: 0.3), Ball(radius: 0.2)"),
        ),
        ("wall of unlike bricks that is hit", irregular_wall()),
        ("dome that is hit", dome()),
        ("funnel", funnel()),
        ("tower of planks, one pulled", planks()),
        ("dominoes", dominoes()),
        ("chain round a post", chain_round_a_post()),
        ("car over boxes", car_over_boxes()),
        (
            "heap of 60 logs",
            format!(
                "(bodies: [{GROUND}], generators: [Logs(count: 60, radius: 0.15, length: 3, width: 3)])"
            ),
        ),
    ]
}

/// What a solver has done on some steps.
#[derive(Default)]
struct Sum {
    /// Of all steps, and of those that the default has not solved (s).
    time: [f64; 2],
    solved: usize,
    residual: f64,
}

impl Sum {
    fn add(&mut self, time: f64, is_solved: bool, residual: f64, by_default: bool) {
        self.time[0] += time;
        self.solved += usize::from(is_solved);
        if !by_default {
            self.time[1] += time;
            self.residual += residual;
        }
    }
}

/// The table of docs/choosing.md: milliseconds and residuals of `auto`, and of single solvers from the same starts; and on
/// how many of the steps that it has not solved, of which every tenth is asked, something says how far velocities are off.
pub fn measure() {
    println!(
        "| scene | rows | solved by `auto`, `nncg`, `colored-gs` | ms, all steps | ms where `auto` fails | residual there | velocity estimates |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, text) in scenes() {
        let scene = Scene::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut simulation = scene.simulation(1).expect("a good scene");
        let config = |name: &str| {
            let mut config = SolverConfig::default();
            config.switch(name);
            config
        };
        let others = ["nncg", "colored-gs"].map(config);
        let mut solvers: Vec<Box<dyn Solver>> = others
            .iter()
            .map(|c| c.build().expect("a solver"))
            .collect();
        let mut sums: Vec<Sum> = (0..3).map(|_| Sum::default()).collect();
        let (mut rows, mut told, mut asked) = (0, 0, 0);
        for step in 0..STEPS {
            let report = simulation.step().expect("a good step").solve.clone();
            if report.status != Status::Converged && step % 10 == 0 {
                asked += 1;
                told += usize::from(simulation.velocity_estimate().is_some());
            }
            let problem = simulation.problem();
            rows = rows.max(problem.row_count());
            let by_default = report.status == Status::Converged;
            let residual = residual_of(problem, simulation.impulses());
            let time = report.prepare_time + report.solve_time;
            sums[0].add(time, by_default, residual, by_default);
            for ((solver, config), sum) in solvers.iter_mut().zip(&others).zip(&mut sums[1..]) {
                let request = Request {
                    budget: config.budget,
                    history: false,
                    ..Request::default()
                };
                let (mut lambda, mut u) = (simulation.warm_start().to_vec(), Vec::new());
                let begin = Instant::now();
                let report = solver.solve(problem, &request, &mut lambda, &mut u);
                let time = begin.elapsed().as_secs_f64();
                let residual = residual_of(problem, &lambda);
                let is_solved =
                    report.status == Status::Converged && residual <= 1.1 * config.budget.tolerance;
                sum.add(time, is_solved, residual, by_default);
            }
        }
        let failed = (STEPS - sums[0].solved).max(1) as f64;
        let list = |of: &dyn Fn(&Sum) -> String| sums.iter().map(of).collect::<Vec<_>>().join(", ");
        println!(
            "| {name} | {rows} | {} | {} | {} | {} | {told} of {asked} |",
            list(&|s| s.solved.to_string()),
            list(&|s| format!("{:.2}", 1e3 * s.time[0] / STEPS as f64)),
            list(&|s| format!("{:.2}", 1e3 * s.time[1] / failed)),
            list(&|s| format!("{:.1e}", s.residual / failed)),
        );
    }
}
