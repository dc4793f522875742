//! Euclidean projections onto the sets of the friction laws.

use super::FrictionLaw;

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
    let p = [a[0] * v[0].abs(), a[1] * v[1].abs()];
    let s = [a[0] * a[0], a[1] * a[1]];
    let value = |t: f64| {
        let (q0, q1) = (p[0] / (s[0] + t), p[1] / (s[1] + t));
        (q0, q1, q0 * q0 + q1 * q1 - 1.0)
    };
    // Each term alone must be at most 1 at the root: a lower bound.
    let mut t = (p[0] - s[0]).max(p[1] - s[1]).max(0.0);
    for _ in 0..60 {
        let (q0, q1, f) = value(t);
        if f <= 0.0 {
            break;
        }
        let slope = -2.0 * (q0 * q0 / (s[0] + t) + q1 * q1 / (s[1] + t));
        let next = t - f / slope;
        if next <= t {
            break;
        }
        t = next;
    }
    [v[0] * s[0] / (s[0] + t), v[1] * s[1] / (s[1] + t)]
}

/// Projection of (n₀, f₀) onto the cone {(n, f): n ≥ 0, f ∈ n 𝒮}, from the projection onto n 𝒮 alone.
///
/// The squared distance ½(n − n₀)² + ½ dist²(f₀, n 𝒮) is convex in n, and with p the nearest point of n 𝒮
/// its slope is n − n₀ − p·(f₀ − p)/n: bisected between 0 and an n whose set holds f₀.
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
    let mut low = 1e-12 * size;
    if size == 0.0 || slope(low) >= 0.0 {
        impulse.fill(0.0);
        return;
    }
    let mut high = size;
    for _ in 0..60 {
        if slope(high) >= 0.0 {
            break;
        }
        high *= 2.0;
    }
    // Bisection, to the last bit but a few.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if slope(middle) >= 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    *normal = high;
    project(friction, high);
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
