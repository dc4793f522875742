//! Couplings of what has many: nets and heaps, cut by strength. The third of the things that he left for later.

use super::couplings::{Cold, Cut, Posed, couplings_to};
use crate::papers::measure::Bench;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::solve::Budget;

/// Scenes, another number of theirs, and the step whose problem is solved.
type Large = (&'static str, &'static [(&'static str, &'static str)], usize);
const SCENES: [Large; 4] = [
    ("rope_net", &[], 120),
    ("rope_net_flat", &[], 60),
    ("logs", &[], 120),
    ("logs", &[("generators.0.count", "500")], 120),
];
const COUPLINGS: [&str; 3] = ["plain", "conjugate", "exact"];
/// Most bodies of a part.
const SIZES: [i64; 3] = [20, 50, 150];
/// What is asked for (m/s), the most couplings, and the most time of a solve, of a quick run and else (s).
const TOLERANCE: f64 = 1e-6;
const MOST: u32 = 10_000;
const LIMITS: [f64; 2] = [20.0, 120.0];

/// The scenes.
pub fn scenes() -> impl Iterator<Item = &'static str> {
    SCENES.into_iter().map(|(scene, ..)| scene)
}

/// How many couplings lead to the tolerance, by how islands are cut.
pub fn large(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let budget = Budget {
        time: bench.either(LIMITS[0], LIMITS[1]),
        ..couplings_to(MOST, TOLERANCE)
    };
    let sizes = bench.either(&SIZES[1..2], &SIZES[..]);
    let mut runs: Vec<Cold> = Vec::new();
    for (scene, set, steps) in SCENES.into_iter().filter(|(scene, ..)| bench.wants(scene)) {
        let posed = Posed::new(scene, set, steps)?;
        for partition in ["strength", "spectral"] {
            for size in sizes {
                for coupling in COUPLINGS {
                    bench.say(format!("{scene}, {partition}, {size} bodies, {coupling}"));
                    let cut = Cut::strength(partition, *size);
                    runs.push(posed.solve(coupling, cut, budget)?);
                }
            }
        }
    }
    findings.table(
        Columns::new(
            "large",
            format!("Couplings of nets and heaps to {TOLERANCE:e} m/s"),
            "",
            &runs,
        )
        .key("scene", |r| r.scene.clone())
        .key("partition", |r| r.cut.partition)
        .key("bodies of a part", |r| r.cut.bodies)
        .key("coupling", |r| r.coupling)
        .columns(Cold::NAMES, Cold::numbers)
        .notes([format!(
            "From Λ = 0; the best of {MOST} couplings or {} s where it was not reached. Distances of velocities from the \
             whole solution by bpp.",
            budget.time
        )]),
    );
    Ok(())
}
