//! Motions in minimal coordinates, by the classical Runge–Kutta method with steps so short that its error is none.

/// Steps per second (1/s): at 1e-4 s the error of fourth order is at rounding.
const STEPS_PER_SECOND: f64 = 1e4;

/// y after a time (s) of ẏ = f(y).
pub fn solve<const N: usize>(
    mut y: [f64; N],
    seconds: f64,
    f: impl Fn(&[f64; N]) -> [f64; N],
) -> [f64; N] {
    let steps = (seconds * STEPS_PER_SECOND).ceil();
    let h = seconds / steps;
    let ahead = |y: &[f64; N], k: &[f64; N], h: f64| -> [f64; N] {
        std::array::from_fn(|i| y[i] + h * k[i])
    };
    for _ in 0..steps as u64 {
        let a = f(&y);
        let b = f(&ahead(&y, &a, 0.5 * h));
        let c = f(&ahead(&y, &b, 0.5 * h));
        let d = f(&ahead(&y, &c, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
    }
    y
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_oscillator_comes_back() {
        let turn = std::f64::consts::TAU;
        let [x, v] = super::solve([1.0, 0.0], turn, |[x, v]| [*v, -x]);
        assert!((x - 1.0).abs() < 1e-12 && v.abs() < 1e-12, "{x} {v}");
    }
}
