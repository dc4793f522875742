//! The ruler: overlaps and speeds from the poses alone, in `f64`, by code of neither engine.

use moreau::math::{Mat3, Vec3};
use serde::Serialize;

use crate::engine::State;
use crate::scene::{Body, Shape};

/// How deep bodies lie in each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overlaps {
    /// The deepest overlap of all [m].
    pub deepest: f64,
    /// The mean over the dynamic bodies of each one's deepest overlap [m].
    pub mean: f64,
}

/// How fast bodies are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speeds {
    /// Mean over the dynamic bodies [m/s].
    pub mean: f64,
    /// Fastest dynamic body [m/s].
    pub max: f64,
}

/// A body in the world.
struct Placed {
    shape: Shape,
    position: Vec3,
    rotation: Mat3,
    /// Half extents of its bounds along the world's axes [m].
    bounds: Vec3,
    dynamic: bool,
}

impl Placed {
    fn new(body: &Body, state: &State) -> Self {
        let rotation = state.rotation.to_rotation_matrix().into_inner();
        Self {
            shape: body.shape,
            position: state.position,
            rotation,
            bounds: match body.shape {
                Shape::Ball(radius) => Vec3::repeat(radius),
                Shape::Cuboid(half) => rotation.abs() * half,
            },
            dynamic: body.mass.is_some(),
        }
    }

    fn low(&self) -> f64 {
        self.position.x - self.bounds.x
    }

    fn high(&self) -> f64 {
        self.position.x + self.bounds.x
    }

    fn near(&self, other: &Self) -> bool {
        let apart = (self.position - other.position).abs() - self.bounds - other.bounds;
        apart.max() < 0.0
    }
}

/// The overlaps of all pairs with a dynamic body.
pub fn overlaps(bodies: &[Body], states: &[State]) -> Overlaps {
    let placed: Vec<Placed> = bodies
        .iter()
        .zip(states)
        .map(|(b, s)| Placed::new(b, s))
        .collect();
    let mut deepest = vec![0.0_f64; placed.len()];
    let mut note = |a: usize, b: usize| {
        let (p, q) = (&placed[a], &placed[b]);
        if p.near(q) {
            let depth = depth(p, q);
            deepest[a] = deepest[a].max(depth);
            deepest[b] = deepest[b].max(depth);
        }
    };

    // The few, large fixed bodies against all; the dynamic ones by a sweep along x.
    let (mut sorted, fixed): (Vec<usize>, Vec<usize>) =
        (0..placed.len()).partition(|k| placed[*k].dynamic);
    sorted.sort_by(|a, b| placed[*a].low().total_cmp(&placed[*b].low()));
    for (rank, &a) in sorted.iter().enumerate() {
        fixed.iter().for_each(|&b| note(a, b));
        sorted[rank + 1..]
            .iter()
            .take_while(|b| placed[**b].low() < placed[a].high())
            .for_each(|&b| note(a, b));
    }

    let of_dynamic = sorted.iter().map(|k| deepest[*k]);
    Overlaps {
        deepest: of_dynamic.clone().fold(0.0, f64::max),
        mean: of_dynamic.sum::<f64>() / sorted.len().max(1) as f64,
    }
}

/// How far one of the two must move for them to part [m]; zero or less when they do not overlap.
fn depth(a: &Placed, b: &Placed) -> f64 {
    match (a.shape, b.shape) {
        (Shape::Ball(r), Shape::Ball(s)) => r + s - (a.position - b.position).norm(),
        (Shape::Ball(r), Shape::Cuboid(half)) => ball_in_box(a, r, b, half),
        (Shape::Cuboid(half), Shape::Ball(r)) => ball_in_box(b, r, a, half),
        (Shape::Cuboid(h), Shape::Cuboid(k)) => boxes(a, h, b, k),
    }
}

fn ball_in_box(ball: &Placed, radius: f64, cuboid: &Placed, half: Vec3) -> f64 {
    let center = cuboid.rotation.tr_mul(&(ball.position - cuboid.position));
    let outside = (center.abs() - half).sup(&Vec3::zeros()).norm();
    if outside > 0.0 {
        radius - outside
    } else {
        radius + (half - center.abs()).min()
    }
}

/// The separating axis theorem: the least overlap along the faces' normals and the edges' products.
fn boxes(a: &Placed, half: Vec3, b: &Placed, other: Vec3) -> f64 {
    let between = b.position - a.position;
    let radius = |p: &Placed, half: Vec3, axis: &Vec3| half.dot(&p.rotation.tr_mul(axis).abs());
    let along =
        |axis: &Vec3| radius(a, half, axis) + radius(b, other, axis) - between.dot(axis).abs();
    let column = |p: &Placed, k: usize| -> Vec3 { p.rotation.column(k).into() };
    let faces = (0..3).flat_map(|k| [column(a, k), column(b, k)]);
    // Of two parallel edges there is no product, and the faces say it all.
    let edges = (0..9).filter_map(|k| {
        column(a, k / 3)
            .cross(&column(b, k % 3))
            .try_normalize(1e-6)
    });
    faces
        .chain(edges)
        .map(|axis| along(&axis))
        .fold(f64::INFINITY, f64::min)
}

/// The speeds of the dynamic bodies.
pub fn speeds(bodies: &[Body], states: &[State]) -> Speeds {
    let speeds = bodies
        .iter()
        .zip(states)
        .filter(|(b, _)| b.mass.is_some())
        .map(|(_, s)| s.velocity.norm());
    let count = speeds.clone().count().max(1);
    Speeds {
        mean: speeds.clone().sum::<f64>() / count as f64,
        max: speeds.fold(0.0, f64::max),
    }
}

/// How far the bodies that started highest have sunk, on average [m].
pub fn sunk(bodies: &[Body], states: &[State]) -> f64 {
    let height = |b: &Body| b.position.y;
    let dynamic = || bodies.iter().zip(states).filter(|(b, _)| b.mass.is_some());
    let top = dynamic().map(|(b, _)| height(b)).fold(0.0, f64::max);
    let losses = dynamic()
        .filter(|(b, _)| height(b) > top - 1e-9)
        .map(|(b, s)| height(b) - s.position.y);
    losses.clone().sum::<f64>() / losses.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use moreau::math::Quat;

    fn measure(pair: [(Shape, Vec3, Quat); 2]) -> f64 {
        let bodies = pair.map(|(shape, position, _)| Body {
            shape,
            position,
            velocity: Vec3::zeros(),
            mass: Some(1.0),
        });
        let states = pair.map(|(_, position, rotation)| State {
            rotation,
            ..State::at(position)
        });
        overlaps(&bodies, &states).deepest
    }

    #[test]
    fn known_overlaps() {
        let still = Quat::identity();
        let turned = Quat::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_4);
        let at = Vec3::new;
        let cube = Shape::Cuboid(Vec3::repeat(0.5));
        let ball = Shape::Ball(0.5);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        let pairs = |a, b| [(a, at(0.0, 0.0, 0.0), still), b];

        close(
            measure(pairs(ball, (ball, at(0.6, 0.0, 0.6), still))),
            1.0 - 0.72_f64.sqrt(),
        );
        close(measure(pairs(cube, (ball, at(0.2, 0.9, 0.0), turned))), 0.1);
        close(measure(pairs(cube, (ball, at(0.0, 0.4, 0.0), still))), 0.6);
        close(
            measure(pairs(cube, (cube, at(0.9, 0.95, 0.3), still))),
            0.05,
        );
        // A cube on its edge reaches half a diagonal down.
        let high = 0.5 + 0.5 * 2.0_f64.sqrt() - 0.01;
        close(
            measure(pairs(cube, (cube, at(0.0, high, 0.0), turned))),
            0.01,
        );
        close(measure(pairs(cube, (cube, at(0.0, 1.3, 0.0), turned))), 0.0);
    }
}
