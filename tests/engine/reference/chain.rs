//! An open chain of rigid links that swings in a plane from a fixed pin.
//!
//! The plane is x–y with y up and the pin at its origin. The coordinates are the absolute angles θ of
//! the links from the downward vertical, counterclockwise, so that link i points along
//! d = (sin θ, −cos θ) and every joint holds exactly. With lengths l, distances c of the centres of
//! mass from the upper joints, the mass μ below a link and s = m c + μ l, Lagrange's equations are
//!
//! Σⱼ aᵢⱼ (cos(θᵢ − θⱼ) θ̈ⱼ + sin(θᵢ − θⱼ) θ̇ⱼ²) + g sᵢ sin θᵢ = 0,
//!
//! aᵢⱼ = lᵢ sⱼ for i above j, and aᵢᵢ = I + m c² + μ l².

use std::mem;

use nalgebra::linalg::Cholesky;
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

/// A rigid link between two joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Mass (kg).
    pub mass: f64,
    /// Moment of inertia about the centre of mass, around the normal of the plane (kg m²).
    pub inertia: f64,
    /// From the upper joint to the lower one (m).
    pub length: f64,
    /// From the upper joint to the centre of mass, along the link (m).
    pub center: f64,
}

impl Link {
    /// A point mass (kg) at the lower end of a massless rod (m).
    pub const fn point(mass: f64, length: f64) -> Self {
        Self {
            mass,
            inertia: 0.0,
            length,
            center: length,
        }
    }

    /// A solid cylinder (kg) with the joints at the centres of its ends (m).
    pub const fn cylinder(mass: f64, length: f64, radius: f64) -> Self {
        Self {
            mass,
            inertia: mass * (length * length + 3.0 * radius * radius) / 12.0,
            length,
            center: 0.5 * length,
        }
    }

    /// A solid cuboid (kg) with the joints at the centres of its upper and lower faces, `width` in
    /// the plane (m).
    pub const fn cuboid(mass: f64, length: f64, width: f64) -> Self {
        Self {
            mass,
            inertia: mass * (length * length + width * width) / 12.0,
            length,
            center: 0.5 * length,
        }
    }
}

/// How the accelerations are found. Both are exact; they differ by rounding alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// The closed form's mass matrix by a dense Cholesky factor: O(n³).
    #[default]
    Cholesky,
    /// Articulated bodies from the free end to the pin (Featherstone 2008, chapter 7): O(n).
    Recursion,
}

/// An open planar chain, integrated by the classical Runge–Kutta method of order 4.
#[derive(Clone, Debug)]
pub struct PlanarChain {
    equations: Equations,
    /// The angles, then their rates.
    state: Vec<f64>,
    stages: Stages,
    work: Work,
}

#[derive(Clone, Debug)]
struct Equations {
    links: Vec<Link>,
    gravity: f64,
    method: Method,
    coefficients: Vec<Coefficients>,
}

/// What the equations of motion need of a link.
#[derive(Clone, Copy, Debug)]
struct Coefficients {
    /// s = m c + μ l (kg m).
    moment: f64,
    /// aᵢᵢ = I + m c² + μ l² (kg m²).
    diagonal: f64,
}

/// Of a Runge–Kutta step; all as long as the state.
#[derive(Clone, Debug)]
struct Stages {
    start: Vec<f64>,
    slope: Vec<f64>,
    sum: Vec<f64>,
}

/// Allocated once, overwritten by every stage.
#[derive(Clone, Debug)]
struct Work {
    /// Sine and cosine of every angle.
    directions: Vec<(f64, f64)>,
    matrix: DMatrix<f64>,
    right: DVector<f64>,
    articulated: Vec<Articulated>,
}

/// A link with all below it, seen from its upper joint: I θ̈ + u·a + τ = 0 for the joint's acceleration a.
#[derive(Clone, Copy, Debug)]
struct Articulated {
    inertia: f64,
    coupling: Vector2<f64>,
    torque: f64,
}

impl PlanarChain {
    /// The longest step of [`advance`](Self::advance) (s).
    pub const STEP: f64 = 1.0 / 6000.0;

    /// A chain that hangs at rest, from the pin down; `gravity` is positive downwards (m/s²).
    ///
    /// # Panics
    /// Without links, or where a link has no mass or no inertia about its upper joint: its
    /// acceleration would be undetermined.
    pub fn new(links: &[Link], gravity: f64) -> Self {
        assert!(!links.is_empty(), "a chain has at least one link");
        for (k, link) in links.iter().enumerate() {
            assert!(
                link.mass > 0.0
                    && link.inertia >= 0.0
                    && link.inertia + link.mass * link.center * link.center > 0.0,
                "link {k} has no mass or no inertia: {link:?}"
            );
        }
        let n = links.len();
        let mut below = 0.0;
        let mut coefficients: Vec<_> = links
            .iter()
            .rev()
            .map(|link| {
                let Link {
                    mass,
                    inertia,
                    length,
                    center,
                } = *link;
                let c = Coefficients {
                    moment: mass * center + below * length,
                    diagonal: inertia + mass * center * center + below * length * length,
                };
                below += mass;
                c
            })
            .collect();
        coefficients.reverse();
        let idle = Articulated {
            inertia: 0.0,
            coupling: Vector2::zeros(),
            torque: 0.0,
        };
        Self {
            equations: Equations {
                links: links.to_vec(),
                gravity,
                method: Method::default(),
                coefficients,
            },
            state: vec![0.0; 2 * n],
            stages: Stages {
                start: vec![0.0; 2 * n],
                slope: vec![0.0; 2 * n],
                sum: vec![0.0; 2 * n],
            },
            work: Work {
                directions: vec![(0.0, 0.0); n],
                matrix: DMatrix::zeros(n, n),
                right: DVector::zeros(n),
                articulated: vec![idle; n],
            },
        }
    }

    /// The same chain with another way to its accelerations.
    pub fn with_method(mut self, method: Method) -> Self {
        self.equations.method = method;
        self
    }

    /// Puts every link at its angle from the downward vertical (rad), turning at its rate (rad/s);
    /// both are absolute and counterclockwise.
    ///
    /// # Panics
    /// Unless there is one of each per link.
    pub fn set_state(&mut self, angles: &[f64], rates: &[f64]) {
        let (old_angles, old_rates) = self.state.split_at_mut(self.equations.links.len());
        old_angles.copy_from_slice(angles);
        old_rates.copy_from_slice(rates);
    }

    /// The links, from the pin down.
    pub fn links(&self) -> &[Link] {
        &self.equations.links
    }

    /// Downward gravity (m/s²).
    pub fn gravity(&self) -> f64 {
        self.equations.gravity
    }

    /// Angles of the links from the downward vertical (rad).
    pub fn angles(&self) -> &[f64] {
        &self.state[..self.links().len()]
    }

    /// Angular velocities of the links (rad/s).
    pub fn rates(&self) -> &[f64] {
        &self.state[self.links().len()..]
    }

    /// Angular accelerations of the links in this state (rad/s²).
    pub fn accelerations(&self) -> Vec<f64> {
        let mut slope = vec![0.0; self.state.len()];
        self.equations
            .derivative(&self.state, &mut self.work.clone(), &mut slope);
        slope.split_off(self.links().len())
    }

    /// One step of the classical Runge–Kutta method (s).
    pub fn step(&mut self, h: f64) {
        // Weight of the stage, and how far from the start the next one lies; the last has none.
        const STAGES: [(f64, f64); 4] = [
            (1.0 / 6.0, 0.5),
            (1.0 / 3.0, 0.5),
            (1.0 / 3.0, 1.0),
            (1.0 / 6.0, 0.0),
        ];
        let Stages { start, slope, sum } = &mut self.stages;
        start.copy_from_slice(&self.state);
        sum.fill(0.0);
        for (weight, shift) in STAGES {
            self.equations
                .derivative(&self.state, &mut self.work, slope);
            for (k, state) in self.state.iter_mut().enumerate() {
                sum[k] += weight * slope[k];
                *state = start[k] + h * shift * slope[k];
            }
        }
        for (k, state) in self.state.iter_mut().enumerate() {
            *state = start[k] + h * sum[k];
        }
    }

    /// Moves on by `time` (s) in equal steps of at most [`STEP`](Self::STEP).
    pub fn advance(&mut self, time: f64) {
        // A multiple of the step may come a rounding above it.
        let steps = (time / Self::STEP * (1.0 - 1e-12)).ceil();
        for _ in 0..steps as usize {
            self.step(time / steps);
        }
    }

    /// Position of joint k (m): 0 is the pin, k the lower end of link k − 1.
    pub fn joint(&self, k: usize) -> [f64; 2] {
        self.point(k, 0.0)
    }

    /// Position of the centre of mass of link k (m).
    pub fn center(&self, k: usize) -> [f64; 2] {
        self.point(k, self.links()[k].center)
    }

    /// Velocity of joint k (m/s).
    pub fn joint_velocity(&self, k: usize) -> [f64; 2] {
        self.point_velocity(k, 0.0)
    }

    /// Velocity of the centre of mass of link k (m/s).
    pub fn center_velocity(&self, k: usize) -> [f64; 2] {
        self.point_velocity(k, self.links()[k].center)
    }

    /// Kinetic energy, and potential energy above the chain at rest (J).
    pub fn energy(&self) -> f64 {
        (0..self.links().len())
            .map(|k| {
                let Link { mass, inertia, .. } = self.links()[k];
                let [x, y] = self.center_velocity(k);
                // 1 − cos θ, without its cancellation.
                let rise = 2.0 * (0.5 * self.angles()[k]).sin().powi(2);
                0.5 * mass * (x * x + y * y)
                    + 0.5 * inertia * self.rates()[k].powi(2)
                    + self.gravity() * self.equations.coefficients[k].moment * rise
            })
            .sum()
    }

    /// The force of link k, and of all that hangs on it, on what holds its upper joint (N).
    /// The force on the pin is that of link 0.
    pub fn joint_force(&self, k: usize) -> [f64; 2] {
        let accelerations = self.accelerations();
        let mut joint = Vector2::zeros();
        let mut force = Vector2::zeros();
        for (i, link) in self.links().iter().enumerate() {
            let (sin, cos) = self.angles()[i].sin_cos();
            // Per metre along the link: θ̈ e − θ̇² d.
            let along = Vector2::new(cos, sin) * accelerations[i]
                - Vector2::new(sin, -cos) * self.rates()[i].powi(2);
            if i >= k {
                let center = joint + along * link.center;
                force -= link.mass * (center + Vector2::new(0.0, self.gravity()));
            }
            joint += along * link.length;
        }
        force.into()
    }

    /// The point at a distance (m) from the upper joint of link k.
    fn point(&self, k: usize, distance: f64) -> [f64; 2] {
        self.reach(k, distance).fold([0.0; 2], |[x, y], (i, l)| {
            let (sin, cos) = self.angles()[i].sin_cos();
            [x + l * sin, y - l * cos]
        })
    }

    fn point_velocity(&self, k: usize, distance: f64) -> [f64; 2] {
        self.reach(k, distance).fold([0.0; 2], |[x, y], (i, l)| {
            let (sin, cos) = self.angles()[i].sin_cos();
            [x + l * cos * self.rates()[i], y + l * sin * self.rates()[i]]
        })
    }

    /// The links on the way from the pin to that point, each with the length that is walked along it.
    fn reach(&self, k: usize, distance: f64) -> impl Iterator<Item = (usize, f64)> {
        let above = self.links()[..k].iter().map(|link| link.length);
        let last = (k < self.links().len()).then_some(distance);
        above.chain(last).enumerate()
    }
}

impl Equations {
    /// The rates and the accelerations of a state.
    fn derivative(&self, state: &[f64], work: &mut Work, slope: &mut [f64]) {
        let (angles, rates) = state.split_at(self.links.len());
        let (velocities, accelerations) = slope.split_at_mut(self.links.len());
        velocities.copy_from_slice(rates);
        for (direction, angle) in work.directions.iter_mut().zip(angles) {
            *direction = angle.sin_cos();
        }
        match self.method {
            Method::Cholesky => self.dense(rates, work, accelerations),
            Method::Recursion => self.recursive(rates, work, accelerations),
        }
    }

    /// The module's equations, row by row.
    fn dense(&self, rates: &[f64], work: &mut Work, out: &mut [f64]) {
        let Work {
            directions,
            matrix,
            right,
            ..
        } = work;
        for (j, (sin_j, _)) in directions.iter().enumerate() {
            right[j] = -self.gravity * self.coefficients[j].moment * sin_j;
        }
        for j in 0..rates.len() {
            let (sin_j, cos_j) = directions[j];
            matrix[(j, j)] = self.coefficients[j].diagonal;
            for i in j + 1..rates.len() {
                let (sin_i, cos_i) = directions[i];
                let a = self.links[j].length * self.coefficients[i].moment;
                let sin = sin_i * cos_j - cos_i * sin_j;
                // The factorisation reads the lower triangle only.
                matrix[(i, j)] = a * (cos_i * cos_j + sin_i * sin_j);
                right[i] -= a * sin * rates[j] * rates[j];
                right[j] += a * sin * rates[i] * rates[i];
            }
        }
        let storage = mem::replace(matrix, DMatrix::zeros(0, 0));
        let factor = Cholesky::new(storage).expect("links with mass have a regular mass matrix");
        factor.solve_mut(right);
        out.copy_from_slice(right.as_slice());
        *matrix = factor.unpack_dirty();
    }

    /// Link by link: the force at an upper joint is K a + b for the joint's acceleration a, gravity
    /// counted as an acceleration of the pin.
    fn recursive(&self, rates: &[f64], work: &mut Work, out: &mut [f64]) {
        let Work {
            directions,
            articulated,
            ..
        } = work;
        let mut stiffness = Matrix2::<f64>::zeros();
        let mut bias = Vector2::<f64>::zeros();
        for k in (0..rates.len()).rev() {
            let (sin, cos) = directions[k];
            let along = Vector2::new(sin, -cos);
            let across = Vector2::new(cos, sin);
            let Link {
                mass,
                inertia,
                length,
                center,
            } = self.links[k];
            let centripetal = -rates[k] * rates[k] * along;
            let below = stiffness * across;
            let pull = stiffness * (centripetal * length) + bias;
            let part = Articulated {
                inertia: inertia + mass * center * center + length * length * across.dot(&below),
                coupling: across * (mass * center) + below * length,
                torque: length * across.dot(&pull),
            };
            articulated[k] = part;
            // The link turns freely about its joint, which takes its share from what the joint feels.
            let Articulated {
                inertia,
                coupling,
                torque,
            } = part;
            stiffness += Matrix2::identity() * mass - coupling * coupling.transpose() / inertia;
            bias = centripetal * (mass * center) + pull - coupling * (torque / inertia);
        }
        let mut joint = Vector2::new(0.0, self.gravity);
        for (k, part) in articulated.iter().enumerate() {
            let (sin, cos) = directions[k];
            out[k] = -(part.coupling.dot(&joint) + part.torque) / part.inertia;
            joint += self.links[k].length
                * (Vector2::new(cos, sin) * out[k]
                    - Vector2::new(sin, -cos) * (rates[k] * rates[k]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, SQRT_2, TAU};

    use super::*;

    const G: f64 = 9.81;

    /// Arithmetic–geometric mean.
    fn agm(mut a: f64, mut b: f64) -> f64 {
        while (a - b).abs() > 1e-15 * a {
            (a, b) = (0.5 * (a + b), (a * b).sqrt());
        }
        a
    }

    /// Released at rest: the time of this many half swings of link 0, from its second zero crossing on.
    fn half_swings(chain: &mut PlanarChain, count: usize, h: f64) -> f64 {
        let mut crossings = Vec::new();
        let mut time = 0.0;
        while crossings.len() < count + 2 {
            let before = chain.angles()[0];
            chain.step(h);
            time += h;
            let after = chain.angles()[0];
            if before * after < 0.0 {
                // Newton's step; what it leaves is of third order in the time since the crossing.
                crossings.push(time - after / chain.rates()[0]);
            }
        }
        crossings[count + 1] - crossings[1]
    }

    fn three_links() -> PlanarChain {
        let links = [
            Link::cylinder(1.0, 0.5, 0.02),
            Link::point(0.3, 0.4),
            Link {
                mass: 2.0,
                inertia: 0.1,
                length: 0.6,
                center: 0.2,
            },
        ];
        let mut chain = PlanarChain::new(&links, G);
        chain.set_state(&[0.4, 1.2, -0.7], &[1.0, -2.0, 3.0]);
        chain
    }

    /// T = 2π √(J/(m g c)) / agm(1, cos(θ₀/2)), exact for every amplitude θ₀; with θ₀ = 1e-3 it is the
    /// small-angle period to 6e-8. RK4 with 1,000 steps per swing and more leaves 1e-11.
    #[test]
    fn compound_pendulum_has_its_period() {
        let link = Link {
            mass: 3.0,
            inertia: 0.2,
            length: 1.0,
            center: 0.4,
        };
        let hinge = link.inertia + link.mass * link.center.powi(2);
        let small = TAU * (hinge / (link.mass * G * link.center)).sqrt();
        for amplitude in [1e-3, 1.0, 3.0] {
            let mut chain = PlanarChain::new(&[link], G);
            chain.set_state(&[amplitude], &[0.0]);
            let period = half_swings(&mut chain, 10, PlanarChain::STEP) / 5.0;
            let exact = small / agm(1.0, (0.5 * amplitude).cos());
            assert!(
                (period / exact - 1.0).abs() < 1e-9,
                "amplitude {amplitude}: {period} s, not {exact} s"
            );
        }
    }

    /// Two equal point masses: ω² = (2 ∓ √2) g/l in the modes θ₂ = ±√2 θ₁. An amplitude of 1e-4
    /// shifts ω by some 1e-9 of it.
    #[test]
    fn double_pendulum_has_its_normal_modes() {
        let length = 0.7;
        for (sign, method) in [(1.0, Method::Cholesky), (-1.0, Method::Recursion)] {
            let mut chain = PlanarChain::new(&[Link::point(1.5, length); 2], G).with_method(method);
            chain.set_state(&[1e-4, sign * SQRT_2 * 1e-4], &[0.0; 2]);
            let frequency = TAU * 5.0 / half_swings(&mut chain, 10, PlanarChain::STEP);
            let exact = ((2.0 - sign * SQRT_2) * G / length).sqrt();
            assert!(
                (frequency / exact - 1.0).abs() < 1e-7,
                "{frequency} rad/s, not {exact} rad/s"
            );
        }
    }

    /// At rest every joint carries what hangs below it; a point mass let go at the horizontal pulls
    /// with 3 m g at the bottom, whatever the length.
    #[test]
    fn joints_carry_what_hangs_on_them() {
        let mut chain = three_links();
        chain.set_state(&[0.0; 3], &[0.0; 3]);
        for (k, mass) in [3.3, 2.3, 2.0].into_iter().enumerate() {
            let [x, y] = chain.joint_force(k);
            assert!(x.abs() < 1e-12 && (y + mass * G).abs() < 1e-12, "{x}, {y}");
        }

        let (mass, length) = (2.0, 1.3);
        let mut pendulum = PlanarChain::new(&[Link::point(mass, length)], G);
        pendulum.set_state(&[0.0], &[(2.0 * G / length).sqrt()]);
        let [x, y] = pendulum.joint_force(0);
        assert!(x.abs() < 1e-12 && (y + 3.0 * mass * G).abs() < 1e-12);
        pendulum.set_state(&[FRAC_PI_2], &[0.0]);
        let [x, y] = pendulum.joint_force(0);
        assert!(x.abs() < 1e-12 && y.abs() < 1e-12, "{x}, {y}");
    }

    /// The total momentum changes by gravity and by the pin alone; central differences leave the
    /// square of the step.
    #[test]
    fn the_pin_changes_the_momentum() {
        let h = 1e-4;
        let momentum = |chain: &PlanarChain| {
            let mut sum = [0.0; 2];
            for (k, link) in chain.links().iter().enumerate() {
                let velocity = chain.center_velocity(k);
                sum[0] += link.mass * velocity[0];
                sum[1] += link.mass * velocity[1];
            }
            sum
        };
        let mut chain = three_links();
        let before = momentum(&chain);
        chain.step(h);
        let force = chain.joint_force(0);
        chain.step(h);
        let after = momentum(&chain);
        let weight = [0.0, 3.3 * G];
        for k in 0..2 {
            let change = (after[k] - before[k]) / (2.0 * h);
            let expected = -force[k] - weight[k];

            assert!((change - expected).abs() < 1e-5, "{change}, {expected}");
        }
    }

    /// Two derivations of the same equations.
    #[test]
    fn both_methods_agree() {
        let chain = three_links();
        let dense = chain.accelerations();
        let recursive = chain.with_method(Method::Recursion).accelerations();
        for (a, b) in dense.iter().zip(&recursive) {
            assert!((a - b).abs() < 1e-11, "{dense:?}, {recursive:?}");
        }
    }

    /// The error falls by 16 when the step is halved.
    #[test]
    fn runge_kutta_has_order_four() {
        let end = |steps: usize| {
            let mut chain = three_links();
            for _ in 0..steps {
                chain.step(1.0 / steps as f64);
            }
            let [x, y] = chain.joint(3);
            Vector2::new(x, y)
        };
        let reference = end(32_000);
        let error = |steps| (end(steps) - reference).norm();
        let order = (error(2000) / error(4000)).log2();
        assert!((order - 4.0).abs() < 0.1, "order {order}");
    }

    /// Velocities are the derivatives of positions, to the square of the step.
    #[test]
    fn velocities_are_derivatives() {
        let h = 1e-5;
        let mut chain = three_links();
        let before = (chain.joint(3), chain.center(2));
        chain.step(h);
        let velocity = (chain.joint_velocity(3), chain.center_velocity(2));
        chain.step(h);
        let after = (chain.joint(3), chain.center(2));
        for k in 0..2 {
            let joint = (after.0[k] - before.0[k]) / (2.0 * h);
            let center = (after.1[k] - before.1[k]) / (2.0 * h);
            assert!((joint - velocity.0[k]).abs() < 1e-6);
            assert!((center - velocity.1[k]).abs() < 1e-6);
        }
    }

    #[test]
    fn advance_covers_the_time_in_whole_steps() {
        let mut once = three_links();
        let mut often = once.clone();
        once.advance(100.0 * PlanarChain::STEP);
        for _ in 0..100 {
            often.step(PlanarChain::STEP);
        }
        for (a, b) in once.angles().iter().zip(often.angles()) {
            assert!((a - b).abs() < 1e-13);
        }
    }

    #[test]
    #[should_panic(expected = "link 1 has no mass")]
    fn links_have_mass() {
        PlanarChain::new(&[Link::point(1.0, 1.0), Link::point(0.0, 1.0)], G);
    }
}
