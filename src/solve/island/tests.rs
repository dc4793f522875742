use super::cone;
use crate::math::random::Random;
use crate::problem::law::{Law, Slope};
use crate::problem::{Friction, FrictionLaw};

/// The derivative of the projection onto a law's cone is what differences of the projection show.
#[test]
fn cones_have_the_slopes_that_differences_show() {
    let mut random = Random::new(5);
    for law in FrictionLaw::all() {
        let friction = Friction {
            law,
            mu: [
                0.6,
                if law == FrictionLaw::Ellipse {
                    0.2
                } else {
                    0.6
                },
            ],
            length: 0.3,
        };
        let n = law.row_count();
        let mut smooth = 0;
        for _ in 0..300 {
            let z: Vec<f64> = (0..n).map(|_| random.signed()).collect();
            let mut slope: Slope = [[0.0; FrictionLaw::MAX_ROWS]; FrictionLaw::MAX_ROWS];
            let mut at = z.clone();
            cone::project(&friction, &mut at, Some(&mut slope));
            for k in 0..n {
                let step = 1e-5;
                let shifted = |by: f64| {
                    let mut z = z.clone();
                    z[k] += by;
                    cone::project(&friction, &mut z, None);
                    z
                };
                let (up, down) = (shifted(step), shifted(-step));
                for i in 0..n {
                    // Where the two sides differ there is a kink in between.
                    let sides = [(up[i] - at[i]) / step, (at[i] - down[i]) / step];
                    if (sides[0] - sides[1]).abs() > 1e-3 {
                        continue;
                    }
                    smooth += 1;
                    let difference = 0.5 * (sides[0] + sides[1]);
                    let error = (slope[i][k] - difference).abs();
                    assert!(
                        error < 2e-3,
                        "{law:?} at {z:?}: {i}, {k}: {} and {difference}",
                        slope[i][k]
                    );
                }
            }
        }
        assert!(smooth > 100 * n * n, "{law:?}: {smooth}");
    }
}

/// The support function is the largest power over the set, and its gradient is where it is reached.
#[test]
fn support_functions_are_largest_powers() {
    let mut random = Random::new(7);
    for law in FrictionLaw::all() {
        let mu = [
            0.6,
            if law == FrictionLaw::Ellipse {
                0.2
            } else {
                0.6
            },
        ];
        let n = law.rows().len();
        for _ in 0..100 {
            let w: Vec<f64> = (0..n).map(|_| random.signed()).collect();
            let most = law.support(&w, mu);
            let mut reached = vec![0.0; n];
            law.support_gradient(&w, mu, &mut reached);
            let power = |f: &[f64]| f.iter().zip(&w).map(|(f, w)| f * w).sum::<f64>();
            assert!((power(&reached) - most).abs() < 1e-12, "{law:?}");
            assert!(
                law.violation(&reached, mu, 1.0) < 1e-9,
                "{law:?}: {reached:?}"
            );
            let mut other: Vec<f64> = (0..n).map(|_| 3.0 * random.signed()).collect();
            law.project(&mut other, mu, 1.0);
            assert!(power(&other) < most + 1e-9, "{law:?}");
        }
    }
}
