//! One contact's own 3×3 Coulomb problem, solved exactly: it separates, sticks or slides.
//!
//! Find Λ with w = K Λ + b, 0 ≤ Λ_N ⟂ w_N ≥ 0, ‖Λ_T‖ ≤ μ Λ_N, and Λ_T against w_T where it slides.
//! Inverting K and projecting the result on the cone would have another fixed point; here the
//! sliding direction is found together with the normal impulse.

use crate::math::SymMat3;
use crate::problem::law::projection::disc;

/// Newton steps on the sliding angle before all roots are looked for.
const NEWTON: usize = 8;
/// Largest error of a solution (-), with K_NN = 1 and the largest |b| = 1, per unit of impulse.
const PRECISION: f64 = 2e-14;

/// Solves Λ = prox(Λ − ρ(K Λ + b)) for one disc contact.
///
/// `k` is the contact's own block of A (1/kg), rows in the order N, T1, T2, positive definite; `b` is
/// its velocity without its own impulse (m/s); `mu` is the coefficient of friction. With strong
/// coupling of N and T and large `mu` there may be several solutions: then separation is preferred,
/// then sticking, then the sliding direction next to `start` (N s). The result is exact to rounding:
/// ‖Λ − prox(Λ − ρ w)‖/ρ is about 1e-13 of the largest |b| or less. `None` when no solution to that
/// precision was found, as with a singular `k` or a number that is not finite.
pub fn solve_contact(k: &SymMat3, b: [f64; 3], mu: f64, start: [f64; 3]) -> Option<[f64; 3]> {
    let speed = b.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if !(k.xx > 0.0 && speed.is_finite() && mu >= 0.0) {
        return None;
    }
    if b[0] >= 0.0 {
        return Some([0.0; 3]);
    }
    if mu == 0.0 {
        return Some([-b[0] / k.xx, 0.0, 0.0]);
    }
    let local = Local::scaled(k, b.map(|b| b / speed), mu);
    let unit = speed / k.xx;
    local
        .stick()
        .or_else(|| local.slide([start[1], start[2]]))
        .map(|lambda| lambda.map(|x| x * unit))
}

/// The problem in units where K_NN = 1 and the largest |b| = 1.
struct Local {
    /// K with K_NN = 1.
    k: SymMat3,
    b: [f64; 3],
    mu: f64,
    /// Sliding along −d, with w_N = 0: M d + g = −s d for a speed s ≥ 0 (up to a positive factor).
    m: [[f64; 2]; 2],
    g: [f64; 2],
}

impl Local {
    fn scaled(k: &SymMat3, b: [f64; 3], mu: f64) -> Self {
        let scale = 1.0 / k.xx;
        let k = SymMat3 {
            xx: 1.0,
            xy: k.xy * scale,
            xz: k.xz * scale,
            yy: k.yy * scale,
            yz: k.yz * scale,
            zz: k.zz * scale,
        };
        // w_N = 0 gives Λ_N = −b_N/(1 + μ k_NT·d); put into w_T = −s d and multiplied by the
        // denominator: M = μ(b_T k_NTᵀ − b_N K_TT), g = b_T − b_N k_NT.
        let (coupling, tangent) = ([k.xy, k.xz], [[k.yy, k.yz], [k.yz, k.zz]]);
        let mut m = [[0.0; 2]; 2];
        let mut g = [0.0; 2];
        for r in 0..2 {
            g[r] = b[1 + r] - b[0] * coupling[r];
            for c in 0..2 {
                m[r][c] = mu * (b[1 + r] * coupling[c] - b[0] * tangent[r][c]);
            }
        }
        Self { k, b, mu, m, g }
    }

    /// Λ = −K⁻¹ b, if that lies in the cone.
    fn stick(&self) -> Option<[f64; 3]> {
        // K = L D Lᵀ with K_NN = 1.
        let (k, b) = (&self.k, &self.b);
        let d1 = k.yy - k.xy * k.xy;
        let l21 = (k.yz - k.xy * k.xz) / d1;
        let d2 = k.zz - k.xz * k.xz - l21 * l21 * d1;
        if !(d1 > 0.0 && d2 > 0.0) {
            return None;
        }
        let y1 = -b[1] + k.xy * b[0];
        let y2 = -b[2] + k.xz * b[0] - l21 * y1;
        let x2 = y2 / d2;
        let x1 = y1 / d1 - l21 * x2;
        let x0 = -b[0] - k.xy * x1 - k.xz * x2;
        let bound = self.mu * x0;
        (x0 >= 0.0 && x1 * x1 + x2 * x2 <= bound * bound).then_some([x0, x1, x2])
    }

    /// The sliding solution next to the direction `start`.
    fn slide(&self, start: [f64; 2]) -> Option<[f64; 3]> {
        // In a sweep the direction has hardly turned since the last time.
        if let Some(direction) = unit(start).or_else(|| unit(self.g.map(|g| -g)))
            && let Some(lambda) = self.newton(direction)
        {
            return Some(lambda);
        }
        let mut best: Option<([f64; 3], f64)> = None;
        for s in self.sliding_speeds() {
            let [a, b] = self.adjugate_times_g(s);
            let determinant = self.determinant(s);
            // d = −(M + s 1)⁻¹ g, of length one at a root.
            let Some(direction) = unit([-a * determinant.signum(), -b * determinant.signum()])
            else {
                continue;
            };
            let Some(lambda) = self.newton(direction).or_else(|| self.along(direction)) else {
                continue;
            };
            let distance = (lambda[1] - start[0]).hypot(lambda[2] - start[1]);
            if best.is_none_or(|(_, nearest)| distance < nearest) {
                best = Some((lambda, distance));
            }
        }
        best.map(|(lambda, _)| lambda)
    }

    /// Newton's method on the angle of d: d × (M d + g) = 0.
    fn newton(&self, mut d: [f64; 2]) -> Option<[f64; 3]> {
        for _ in 0..NEWTON {
            let across = [-d[1], d[0]];
            let (along, turned) = (self.rate(d), self.times(across));
            let value = cross(d, along);
            let slope = cross(across, along) + cross(d, turned);
            let step = -value / slope;
            // A long step has left the neighbourhood of the root.
            if step.is_nan() || step.abs() > 0.5 {
                return None;
            }
            d = unit([d[0] + across[0] * step, d[1] + across[1] * step])?;
            if step.abs() < 1e-9 {
                break;
            }
        }
        self.along(d)
    }

    /// Λ that slides against d with w_N = 0, if it solves the problem.
    fn along(&self, d: [f64; 2]) -> Option<[f64; 3]> {
        let denominator = 1.0 + self.mu * (self.k.xy * d[0] + self.k.xz * d[1]);
        let normal = -self.b[0] / denominator;
        let lambda = [normal, self.mu * normal * d[0], self.mu * normal * d[1]];
        let size = 1.0 + normal * (1.0 + self.mu) * (1.0 + self.k.yy.max(self.k.zz));
        (denominator > 0.0 && self.error(lambda) <= PRECISION * size).then_some(lambda)
    }

    /// Largest ‖Λ − prox(Λ − ρ w)‖/ρ of the normal and the friction rows, ρ = 1/K_ii.
    fn error(&self, lambda: [f64; 3]) -> f64 {
        let (k, b) = (&self.k, &self.b);
        let [n, x, y] = lambda;
        let w = [
            n + k.xy * x + k.xz * y + b[0],
            k.xy * n + k.yy * x + k.yz * y + b[1],
            k.xz * n + k.yz * x + k.zz * y + b[2],
        ];
        let largest = k.yy.max(k.zz);
        let normal = (n - w[0]).max(0.0);
        let moved = [x - w[1] / largest, y - w[2] / largest];
        let [fx, fy] = disc(moved, self.mu * normal);
        (n - normal).abs().max((x - fx).hypot(y - fy) * largest)
    }

    /// M d.
    fn times(&self, d: [f64; 2]) -> [f64; 2] {
        let m = &self.m;
        [
            m[0][0] * d[0] + m[0][1] * d[1],
            m[1][0] * d[0] + m[1][1] * d[1],
        ]
    }

    /// M d + g.
    fn rate(&self, d: [f64; 2]) -> [f64; 2] {
        let [a, b] = self.times(d);
        [a + self.g[0], b + self.g[1]]
    }

    /// det(M + s 1).
    fn determinant(&self, s: f64) -> f64 {
        (self.m[0][0] + s) * (self.m[1][1] + s) - self.m[0][1] * self.m[1][0]
    }

    /// adj(M + s 1) g.
    fn adjugate_times_g(&self, s: f64) -> [f64; 2] {
        let (m, g) = (&self.m, &self.g);
        [
            (m[1][1] + s) * g[0] - m[0][1] * g[1],
            (m[0][0] + s) * g[1] - m[1][0] * g[0],
        ]
    }

    /// Every s ≥ 0 with ‖(M + s 1)⁻¹ g‖ = 1: roots of the quartic det(M + s 1)² − ‖adj(M + s 1) g‖²,
    /// and its stationary points, in case two roots are one.
    fn sliding_speeds(&self) -> impl Iterator<Item = f64> + use<> {
        let (m, g) = (&self.m, &self.g);
        let trace = m[0][0] + m[1][1];
        let determinant = self.determinant(0.0);
        let a = self.adjugate_times_g(0.0);
        let squared = g[0] * g[0] + g[1] * g[1];
        let quartic = [
            determinant * determinant - a[0] * a[0] - a[1] * a[1],
            2.0 * (trace * determinant - a[0] * g[0] - a[1] * g[1]),
            trace * trace + 2.0 * determinant - squared,
            2.0 * trace,
            1.0,
        ];
        // Cauchy's bound.
        let end = 1.0 + quartic[..4].iter().fold(0.0, |a: f64, c| a.max(c.abs()));
        // The roots of each derivative separate those of the one before: from the third one, which is
        // linear, to the quartic itself.
        let mut polynomial = [[0.0; 5]; 5];
        polynomial[4] = quartic;
        for degree in (1..4).rev() {
            for c in 0..=degree {
                polynomial[degree][c] = polynomial[degree + 1][c + 1] * (c + 1) as f64;
            }
        }
        let mut roots = [0.0; 8];
        let mut count = 0;
        let mut stationary = ([0.0; 4], 0);
        for degree in 1..=4 {
            let p = &polynomial[degree][..=degree];
            let mut found = ([0.0; 4], 0);
            let mut left = 0.0;
            for right in stationary.0[..stationary.1].iter().copied().chain([end]) {
                if let Some(root) = bracketed_root(p, left, right) {
                    found.0[found.1] = root;
                    found.1 += 1;
                }
                left = right;
            }
            if degree >= 3 {
                roots[count..count + found.1].copy_from_slice(&found.0[..found.1]);
                count += found.1;
            }
            stationary = found;
        }
        roots.into_iter().take(count)
    }
}

/// The root of a polynomial that is monotonic from `lo` to `hi`, by Newton's method inside a bracket
/// that is halved whenever Newton would leave it; `None` when the signs do not differ.
fn bracketed_root(p: &[f64], mut lo: f64, mut hi: f64) -> Option<f64> {
    let value = |x: f64| p.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let slope = |x: f64| {
        let terms = p.iter().enumerate().skip(1).rev();
        terms.fold(0.0, |sum, (k, c)| sum * x + c * k as f64)
    };
    let rising = value(hi) > 0.0;
    if rising == (value(lo) > 0.0) {
        return None;
    }
    let mut x = 0.5 * (lo + hi);
    for _ in 0..100 {
        let v = value(x);
        if (v > 0.0) == rising {
            hi = x;
        } else {
            lo = x;
        }
        let newton = x - v / slope(x);
        let next = if newton > lo && newton < hi {
            newton
        } else {
            0.5 * (lo + hi)
        };
        if (next - x).abs() <= 1e-16 * x.abs() {
            return Some(next);
        }
        x = next;
    }
    Some(x)
}

fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

fn unit(v: [f64; 2]) -> Option<[f64; 2]> {
    let length = v[0].hypot(v[1]);
    (length > 0.0 && length.is_finite()).then(|| [v[0] / length, v[1] / length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// ‖Λ − prox(Λ − ρ w)‖/ρ over the largest |b|, from scratch.
    fn residual(k: &SymMat3, b: [f64; 3], mu: f64, lambda: [f64; 3]) -> f64 {
        let product = k.mul_vec(lambda.into());
        let w = [0, 1, 2].map(|r| product[r] + b[r]);
        let largest = k.yy.max(k.zz);
        let normal = (lambda[0] - w[0] / k.xx).max(0.0);
        let f = disc(
            [lambda[1] - w[1] / largest, lambda[2] - w[2] / largest],
            mu * normal,
        );
        let error = ((lambda[0] - normal) * k.xx)
            .abs()
            .max((lambda[1] - f[0]).hypot(lambda[2] - f[1]) * largest);
        error / b.iter().fold(0.0, |a: f64, b| a.max(b.abs()))
    }

    fn vector(random: &mut Random) -> [f64; 3] {
        [(); 3].map(|()| random.signed())
    }

    /// G Gᵀ + ε 1: the smaller ε, the stronger N and T are coupled.
    fn definite(random: &mut Random, epsilon: f64, scale: f64) -> SymMat3 {
        let g = [(); 3].map(|()| vector(random));
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let e = |r: usize, c: usize| scale * (dot(g[r], g[c]) + if r == c { epsilon } else { 0.0 });
        SymMat3 {
            xx: e(0, 0),
            xy: e(0, 1),
            xz: e(0, 2),
            yy: e(1, 1),
            yz: e(1, 2),
            zz: e(2, 2),
        }
    }

    #[test]
    fn random_blocks_are_solved_to_the_last_digits() {
        let mut random = Random::new(7);
        let (mut worst, mut kinds) = (0.0f64, [0; 3]);
        for case in 0..60_000 {
            let epsilon = [1.0, 0.1, 1e-2, 1e-3][case % 4];
            let scale = 10f64.powf(6.0 * random.signed());
            let k = definite(&mut random, epsilon, scale);
            let mut b = vector(&mut random);
            if case % 7 == 0 {
                b[1] = 0.0;
                b[2] = 0.0;
            }
            let b = b.map(|b| b * [1.0, 1e-9, 1e6][case % 3]);
            let mu = [0.1, 0.5, 1.0, 5.0, 50.0, 0.0][case / 4 % 6];
            let start = vector(&mut random).map(|x| x / scale);
            let lambda = solve_contact(&k, b, mu, start)
                .unwrap_or_else(|| panic!("case {case}: {k:?} {b:?} {mu} {start:?}"));
            let kind = if lambda[0] == 0.0 {
                0
            } else if lambda[1].hypot(lambda[2]) < mu * lambda[0] * (1.0 - 1e-9) {
                1
            } else {
                2
            };
            kinds[kind] += 1;
            let size = 1.0 + lambda[0] * k.xx / b.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            let error = residual(&k, b, mu, lambda) / size;
            assert!(error < 1e-11, "case {case}: {error:e}");
            worst = worst.max(error);
        }
        assert!(worst < 1e-12, "{worst:e}");
        assert!(kinds.iter().all(|n| *n > 3_000), "{kinds:?}");
    }

    #[test]
    fn known_cases() {
        let k = SymMat3::diagonal(1.0, 1.0, 1.0);
        let start = [0.0; 3];
        let separate = solve_contact(&k, [0.1, -3.0, 2.0], 0.5, start);
        assert_eq!(separate, Some([0.0; 3]));
        let stick = solve_contact(&k, [-1.0, 0.3, -0.4], 0.5, start).unwrap();
        assert_eq!(stick, [1.0, -0.3, 0.4]);
        // Without coupling it slides straight against the velocity.
        let slide = solve_contact(&k, [-1.0, 3.0, -4.0], 0.5, start).unwrap();
        for (a, b) in slide.iter().zip([1.0, -0.3, 0.4]) {
            assert!((a - b).abs() < 1e-15, "{slide:?}");
        }
        let smooth = solve_contact(&k, [-2.0, 3.0, -4.0], 0.0, start);
        assert_eq!(smooth, Some([2.0, 0.0, 0.0]));
    }

    #[test]
    fn what_cannot_be_solved_is_none() {
        let k = SymMat3::diagonal(1.0, 1.0, 1.0);
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(solve_contact(&k, [bad, 0.0, 0.0], 0.5, [0.0; 3]), None);
            assert_eq!(solve_contact(&k, [-1.0, bad, 0.0], 0.5, [0.0; 3]), None);
        }
        assert_eq!(
            solve_contact(&SymMat3::ZERO, [-1.0, 0.0, 0.0], 0.5, [0.0; 3]),
            None
        );
    }
}
