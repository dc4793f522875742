//! Euclidean projections onto the sets of the friction laws.

use super::{FrictionLaw, Slope};

/// Projection onto [−bound, bound]; zero where the bound is negative, NaN where either is NaN.
#[inline(always)]
pub fn within(x: f64, bound: f64) -> f64 {
    if bound > 0.0 {
        x.clamp(-bound, bound)
    } else if bound <= 0.0 {
        0.0 * x
    } else {
        f64::NAN
    }
}

/// Projection onto the disc of the given radius.
#[inline(always)]
pub fn disc(v: [f64; 2], radius: f64) -> [f64; 2] {
    let square = v[0] * v[0] + v[1] * v[1];
    if square <= radius * radius {
        v
    } else {
        let scale = radius / square.sqrt();
        [v[0] * scale, v[1] * scale]
    }
}

/// Projection onto the ellipse with half axes `a`, by Newton's method on the multiplier.
///
/// The nearest point is x_i = a_i² v_i/(a_i² + t) for the t ≥ 0 with Σ (a_i v_i/(a_i² + t))² = 1;
/// the left side is convex and falling in t, so that Newton from a lower bound of the root never
/// overshoots.
pub fn ellipse(v: [f64; 2], a: [f64; 2]) -> [f64; 2] {
    if a[0] <= 0.0 || a[1] <= 0.0 {
        // A degenerate ellipse is a segment or a point.
        return [within(v[0], a[0]), within(v[1], a[1])];
    }
    if a[0] == a[1] {
        return disc(v, a[0]);
    }
    let (x, y) = (v[0] / a[0], v[1] / a[1]);
    if x * x + y * y <= 1.0 {
        return v;
    }
    let t = multiplier(v, a);
    let s = a.map(|a| a * a);
    [v[0] * s[0] / (s[0] + t), v[1] * s[1] / (s[1] + t)]
}

/// The t > 0 with Σ (a_i v_i/(a_i² + t))² = 1, for a point outside of the ellipsoid.
fn multiplier<const N: usize>(v: [f64; N], a: [f64; N]) -> f64 {
    let p: [f64; N] = std::array::from_fn(|k| a[k] * v[k].abs());
    let s = a.map(|a| a * a);
    // Each term alone must be at most 1 at the root: a lower bound.
    let mut t = (0..N).map(|k| p[k] - s[k]).fold(0.0, f64::max);
    for _ in 0..60 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for k in 0..N {
            let q = p[k] / (s[k] + t);
            sum += q * q;
            slope += q * q / (s[k] + t);
        }
        let f = sum - 1.0;
        if f <= 0.0 {
            break;
        }
        let next = t - f / (-2.0 * slope);
        if next <= t {
            break;
        }
        t = next;
    }
    t
}

/// The derivative of [`disc`], written to the rows and columns from `at` on: the identity inside, r/‖v‖ across v
/// outside.
pub fn disc_slope(v: [f64; 2], radius: f64, at: usize, slope: &mut Slope) {
    let square = v[0] * v[0] + v[1] * v[1];
    let entries = if radius <= 0.0 {
        [0.0; 3]
    } else if square <= radius * radius {
        [1.0, 0.0, 1.0]
    } else {
        let scale = radius / (square.sqrt() * square);
        [
            scale * v[1] * v[1],
            -scale * v[0] * v[1],
            scale * v[0] * v[0],
        ]
    };
    slope[at][at] = entries[0];
    slope[at][at + 1] = entries[1];
    slope[at + 1][at] = entries[1];
    slope[at + 1][at + 1] = entries[2];
}

/// The derivative of the projection onto an ellipsoid with half axes `a`. With p_i = s_i v_i/(s_i + t), s = a², and
/// Σ p_i²/s_i = 1 it is diag(s_i/(s_i + t)) − g gᵀ/κ, where g_i = p_i/(s_i + t) and κ = Σ p_i²/(s_i (s_i + t)).
pub fn ellipsoid_slope<const N: usize>(v: [f64; N], a: [f64; N], slope: &mut Slope) {
    for row in &mut slope[..N] {
        row[..N].fill(0.0);
    }
    if a.iter().any(|a| *a <= 0.0) {
        // A degenerate ellipsoid: a segment or a point.
        for k in 0..N {
            slope[k][k] = f64::from(u8::from(v[k].abs() < a[k]));
        }
        return;
    }
    let outside: f64 = (0..N).map(|k| (v[k] / a[k]).powi(2)).sum();
    if outside <= 1.0 {
        for (k, row) in slope[..N].iter_mut().enumerate() {
            row[k] = 1.0;
        }
        return;
    }
    let t = multiplier(v, a);
    let s = a.map(|a| a * a);
    let p: [f64; N] = std::array::from_fn(|k| v[k] * s[k] / (s[k] + t));
    let g: [f64; N] = std::array::from_fn(|k| p[k] / (s[k] + t));
    let curvature: f64 = (0..N).map(|k| p[k] * g[k] / s[k]).sum();
    for i in 0..N {
        for j in 0..N {
            slope[i][j] = -g[i] * g[j] / curvature;
        }
        slope[i][i] += s[i] / (s[i] + t);
    }
}

/// The derivative of the projection onto an interval around zero row by row.
pub fn rows_slope(friction: &[f64], bound: impl Fn(usize) -> f64, slope: &mut Slope) {
    for (k, f) in friction.iter().enumerate() {
        slope[k][..friction.len()].fill(0.0);
        slope[k][k] = f64::from(u8::from(f.abs() < bound(k)));
    }
}

/// The support function of the box of these intervals.
pub fn rows_support(velocity: &[f64], bound: impl Fn(usize) -> f64) -> f64 {
    let rows = velocity.iter().enumerate();
    rows.map(|(row, w)| bound(row) * w.abs()).sum()
}

/// The gradient of [`rows_support`]; zero in every row at rest.
pub fn rows_support_gradient(velocity: &[f64], bound: impl Fn(usize) -> f64, gradient: &mut [f64]) {
    for (row, (g, w)) in gradient.iter_mut().zip(velocity).enumerate() {
        *g = if *w == 0.0 {
            0.0
        } else {
            bound(row).copysign(*w)
        };
    }
}

/// The gradient of v ↦ ‖diag(a) v‖; zero at zero.
pub fn length_gradient(v: &[f64], a: &[f64], gradient: &mut [f64]) {
    let square: f64 = v.iter().zip(a).map(|(v, a)| (v * a) * (v * a)).sum();
    let by = if square > 0.0 {
        1.0 / square.sqrt()
    } else {
        0.0
    };
    for ((g, v), a) in gradient.iter_mut().zip(v).zip(a) {
        *g = a * a * v * by;
    }
}

/// Projection of (n₀, f₀) onto the cone {(n, f): n ≥ 0, f ∈ n 𝒮}, from the projection onto n 𝒮 alone.
///
/// The squared distance ½(n − n₀)² + ½ dist²(f₀, n 𝒮) is convex in n, and with p the nearest point of n 𝒮
/// its slope is n − n₀ − p·(f₀ − p)/n: it is zero between 0 and an n whose set holds f₀.
pub fn cone(impulse: &mut [f64], project: impl Fn(&mut [f64], f64)) {
    let [normal, friction @ ..] = impulse else {
        return;
    };
    let mut inside = [0.0; FrictionLaw::MAX_ROWS];
    let inside = &mut inside[..friction.len()];
    let mut slope = |n: f64| {
        inside.copy_from_slice(friction);
        project(inside, n);
        let pairs = inside.iter().zip(&*friction);
        let pull: f64 = pairs.map(|(p, f)| p * (f - p)).sum();
        n - *normal - pull / n
    };
    // Where the slope is positive already next to zero, the apex is the nearest point.
    let size = friction.iter().fold(normal.abs(), |a, f| a.max(f.abs()));
    if !size.is_finite() {
        impulse.fill(f64::NAN);
        return;
    }
    let low = 1e-12 * size;
    let at_low = if size == 0.0 { 0.0 } else { slope(low) };
    if at_low >= 0.0 {
        impulse.fill(0.0);
        return;
    }
    let (mut high, mut at_high) = (size, slope(size));
    for _ in 0..60 {
        if at_high >= 0.0 {
            break;
        }
        high *= 2.0;
        at_high = slope(high);
    }
    *normal = root((low, at_low), (high, at_high), slope);
    project(friction, *normal);
}

/// Where a growing function is zero, to the last bit but a few, by false position with the weight of an end halved that
/// stays (Dowell & Jarratt 1971). It is negative at the first point, and not at the second.
fn root(mut low: (f64, f64), mut high: (f64, f64), mut value: impl FnMut(f64) -> f64) -> f64 {
    const CLOSE: f64 = 4.0 * f64::EPSILON;
    let mut last = 0_i32;
    for _ in 0..100 {
        let width = high.0 - low.0;
        // Numbers beyond all bounds have no root.
        if high.1 <= 0.0 || width.is_nan() || width <= CLOSE * high.0 {
            break;
        }
        let guess = high.0 - width * (high.1 / (high.1 - low.1));
        let margin = 0.5 * CLOSE * high.0;
        let x = guess.clamp(low.0 + margin, high.0 - margin);
        let now = (x, value(x));
        if now.1 >= 0.0 {
            high = now;
            if last > 0 {
                low.1 *= 0.5;
            }
            last = 1;
        } else {
            low = now;
            if last < 0 {
                high.1 *= 0.5;
            }
            last = -1;
        }
    }
    high.0
}

/// How far a friction impulse is from what `project` makes of it (N s).
pub fn distance(friction: &[f64], project: impl FnOnce(&mut [f64])) -> f64 {
    let mut inside = [0.0; FrictionLaw::MAX_ROWS];
    let inside = &mut inside[..friction.len()];
    inside.copy_from_slice(friction);
    project(inside);
    let squares = friction.iter().zip(inside.iter());
    squares.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance to the nearest point of an ellipse by brute force over its boundary.
    fn nearest(v: [f64; 2], a: [f64; 2]) -> f64 {
        (0..200_000)
            .map(|k| {
                let t = std::f64::consts::TAU * f64::from(k) / 200_000.0;
                (v[0] - a[0] * t.cos()).hypot(v[1] - a[1] * t.sin())
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// What overflows on the way ends, whatever with.
    #[test]
    fn a_cone_of_impulses_beyond_all_bounds_ends() {
        for size in [1e-310, 1e160, 1e300, f64::MAX] {
            for normal in [-size, 0.0, 1e-318, size] {
                let mut impulse = [normal, size, -size];
                cone(&mut impulse, |f, n| {
                    f.copy_from_slice(&disc([f[0], f[1]], 0.5 * n))
                });
            }
        }
        let slope = |x: f64| if x.is_infinite() { f64::NAN } else { -1.0 };
        let _ = root((f64::NEG_INFINITY, -1.0), (f64::NAN, f64::NAN), slope);
        let _ = root((0.0, -1.0), (f64::NAN, f64::NAN), |x| x);
    }

    #[test]
    fn ellipse_projection_is_the_nearest_point() {
        for (v, a) in [
            ([3.0, 1.0], [1.0, 0.5]),
            ([-0.1, 2.0], [1.0, 0.01]),
            ([1e-3, -5.0], [0.2, 3.0]),
            ([4.0, 0.0], [2.0, 1.0]),
            ([0.0, -4.0], [2.0, 1.0]),
        ] {
            let p = ellipse(v, a);
            let on = (p[0] / a[0]).powi(2) + (p[1] / a[1]).powi(2);
            assert!(
                (on - 1.0).abs() < 1e-10,
                "{v:?} {a:?}: not on the ellipse, {on}"
            );
            let distance = (v[0] - p[0]).hypot(v[1] - p[1]);
            assert!(distance <= nearest(v, a) + 1e-8, "{v:?} {a:?} -> {p:?}");
        }
        assert_eq!(ellipse([0.1, 0.1], [1.0, 0.5]), [0.1, 0.1]);
    }
}
