//! Every kernel against its twin. Without an adapter the test is skipped with a message; with `MOREAU_REQUIRE_RENDER=1`,
//! as in CI, it fails.

use super::{Method, Precision, Problem, STEP_A, VARIANTS, run, twin};
use crate::solve::gpu::tests::gpu;

/// The dense variants of the bench do what their twins do, each in its own order: after one iteration and after ten, from
/// zero and from impulses, in sizes that no block divides. In single precision to 1e-4 |x| + 1e-5 N s, in double to 1e-12
/// and 1e-13.
#[test]
fn every_dense_variant_agrees_with_its_twin() {
    if gpu().is_none() {
        return;
    }
    for (contacts, iterations) in [(1, 10), (7, 1), (50, 3), (131, 1), (131, 10)] {
        let mut problem = Problem::random(contacts, 5);
        if iterations < 10 {
            problem.start = twin(&problem, Method::Jor, Precision::Double, 2);
            problem.start.iter_mut().for_each(|x| *x = 0.7 * *x + 0.1);
        }
        for precision in [Precision::Single, Precision::Double] {
            let [relative, absolute] = match precision {
                Precision::Single => [1e-4, 1e-5],
                Precision::Double => [1e-12, 1e-13],
            };
            for variant in VARIANTS.iter().chain(&STEP_A).filter(|v| v.is_whole()) {
                let what = format!("{}, {precision:?}, {contacts} contacts", variant.name);
                let run = match run(&problem, variant, precision, iterations, 0.0) {
                    Err(reason) if reason.contains("no numbers of 64 bits") => continue,
                    run => run.unwrap_or_else(|reason| panic!("{what}: {reason}")),
                };
                let expected = twin(&problem, variant.method(), precision, iterations);
                assert!(
                    contacts == 1 || expected.iter().any(|x| *x != 0.0),
                    "{what}"
                );
                for (x, y) in expected.iter().zip(&run.lambda) {
                    let near = (x - y).abs() <= relative * x.abs() + absolute;
                    assert!(near, "{what}: {x:e} by the twin, {y:e} by the device");
                }
            }
        }
    }
}
