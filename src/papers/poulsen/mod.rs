//! Poulsen 2010: ball grids and ball piles. Every method is run to equal quality and raced on every number
//! of threads; the thesis's tables are made of that one race.

pub mod figures;
mod grid;
mod tables;

use super::measure::method::{
    COLORED_F32, COLORED_F64, GAUSS_SEIDEL, GAUSS_SEIDEL_BLOCK, GAUSS_SEIDEL_T, JACOBI,
    JACOBI_DEGREE, JACOBI_DELASSUS, JACOBI_GLOBAL, JACOBI_T, JOR, Method,
};
use super::measure::race::{self, Timing};
use super::measure::{Bench, Case, fixed};
use super::{Error, Findings, Result};
use crate::problem::delassus::{BlockCounter, Coupling};
use crate::solve::sweeps::HALVINGS;
use figures::{Colors, Demo, Scheme};

/// Iterations of the thesis's Gauss–Seidel.
const ITERATIONS: u32 = 50;
/// Most iterations tried to reach the same γ.
const MOST_ITERATIONS: u32 = 400;

/// Gauss–Seidel by colours in f64; small colours are merged, and the merged one is solved by Jacobi, as in
/// both OpenMP versions and the T versions.
const RELAXED_JACOBI: Method = Method::new(
    "colored-gs f64 relaxed (jacobi): colored-gs precision=f64 coloring=greedy treatment=relaxed unsafe=jacobi",
);
/// The merged colour in naive parts, as in the factorized CSP version.
const RELAXED_NAIVE: Method = Method::new(
    "colored-gs f64 relaxed (naive): colored-gs precision=f64 coloring=greedy treatment=relaxed unsafe=naive",
);
/// Colours of equal size.
const BALANCED: Method = Method::new(
    "colored-gs f64 balanced: colored-gs precision=f64 coloring=balanced treatment=rigid",
);
/// Gauss–Seidel in parts without regard for dependencies.
const NAIVE: [Method; 2] = [
    Method::new("naive-gs, 1 part: naive-gs parts=1"),
    Method::new("naive-gs, 8 parts: naive-gs parts=8"),
];

/// Which problems, and on which of them the thesis compares its parallel Gauss–Seidel schemes.
struct Plan {
    demos: &'static [Demo],
    compared: &'static str,
    schemes: &'static [Scheme],
    colors: &'static [Colors],
    /// The γ to reach is what 50 Gauss–Seidel iterations reach in the thesis, not here: where ours end in
    /// rounding errors, comparing is no use.
    quality_of_thesis: bool,
    /// What that is called.
    quality: &'static str,
    /// Numbers of the tables with the problems' sizes and the sequential solvers.
    tables: [&'static str; 2],
    figures: &'static str,
    /// What must be known about the problems and about their colours.
    notes: [Option<&'static str>; 2],
}

const GRIDS: Plan = Plan {
    demos: &figures::BALL_GRIDS,
    compared: "ball_grid_24",
    schemes: &figures::MEDIUM_GRID,
    colors: &figures::MEDIUM_GRID_COLORS,
    quality_of_thesis: false,
    quality: "the γ of 50 Gauss–Seidel iterations",
    tables: ["3.2", "3.3"],
    figures: "figures 7.5, 7.7 and 7.10",
    notes: [
        None,
        Some(
            "There the fixed ground couples its contacts, so that each needs a colour of its own; here it does not.",
        ),
    ],
};

const PILES: Plan = Plan {
    demos: &figures::BALL_PILES,
    compared: "ball_pile_80",
    schemes: &figures::LARGE_PILE,
    colors: &figures::LARGE_PILE_COLORS,
    quality_of_thesis: true,
    quality: "the γ that the thesis reaches with 50 Gauss–Seidel iterations",
    tables: ["3.4", "3.5"],
    figures: "figures 7.6, 7.8 and 7.9",
    notes: [
        Some(
            "Our piles come from other random numbers than the thesis's; bodies include the ground.",
        ),
        None,
    ],
};

/// A method on a problem.
struct Contender {
    method: Method,
    /// To equal quality; `None` where it did not get there, or nobody looked.
    iterations: Option<u32>,
    /// γ and ‖ΔΛ‖∞ after these.
    quality: Option<[f64; 2]>,
    remark: String,
}

/// All that was found on one problem.
struct Outcome {
    demo: &'static Demo,
    bodies: usize,
    contacts: usize,
    /// Non-zero blocks of T: with the ground coupling its contacts, and without.
    blocks: [f64; 2],
    contenders: Vec<Contender>,
    /// As many iterations of each.
    sweeps: Vec<Timing>,
    /// To equal quality.
    runs: Vec<Timing>,
}

impl Outcome {
    /// Time of one iteration (s).
    fn sweep(&self, method: Method, threads: usize) -> Option<f64> {
        race::sweep(&self.sweeps, method, threads)
    }

    /// The run to equal quality.
    fn run(&self, method: Method, threads: usize) -> Option<&Timing> {
        race::of(&self.runs, method, threads)
    }

    fn contender(&self, method: Method) -> Option<&Contender> {
        self.contenders.iter().find(|c| c.method == method)
    }

    /// The number of threads on which a method is fastest, and its time per iteration there (s).
    fn fastest(&self, method: Method) -> Option<(usize, f64)> {
        let own = self.sweeps.iter().filter(|t| t.method == method);
        own.filter(|t| t.failure().is_none())
            .map(|t| (t.threads, t.per_iteration()))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Ball grids: tables 3.2, 3.3, 6.1 to 6.3, figures 6.4, 6.7, 7.5, 7.7, 7.10, and weak scaling.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn grid(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let outcomes = run(bench, findings, &GRIDS)?;
    grid::report(bench, findings, &outcomes)
}

/// Ball piles: tables 3.4, 3.5, 6.1 to 6.3, figures 6.5, 6.8, 7.6, 7.8, 7.9.
///
/// # Errors
/// A scene or a solver that cannot be used.
pub fn pile(bench: &Bench, findings: &mut Findings) -> Result<()> {
    run(bench, findings, &PILES).map(|_| ())
}

/// Measures all problems of a plan and adds the thesis's tables.
fn run(bench: &Bench, findings: &mut Findings, plan: &Plan) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for demo in plan.demos {
        let case = bench.case(demo.scene, &[])?;
        let outcome = measure(bench, plan, demo, &case)?;
        if demo.scene == plan.compared && !bench.quick {
            let plot = tables::convergence(bench, &case, &outcome)?;
            findings.plot(format!("{}-convergence", demo.scene), plot);
        }
        outcomes.push(outcome);
    }
    tables::report(bench, findings, plan, &outcomes);
    Ok(outcomes)
}

/// The methods that chapters 6 and 7 compare, and ours. A quick run takes the most telling ones.
fn methods(bench: &Bench, thorough: bool) -> Vec<Method> {
    let mut all = vec![GAUSS_SEIDEL, JACOBI, JACOBI_T, COLORED_F32, COLORED_F64];
    if thorough {
        all.extend([BALANCED, RELAXED_JACOBI, JACOBI_DEGREE]);
    }
    if !bench.quick {
        all.extend([RELAXED_NAIVE, NAIVE[1], JOR, JACOBI_GLOBAL]);
        all.extend([JACOBI_DELASSUS, GAUSS_SEIDEL_T, GAUSS_SEIDEL_BLOCK]);
    }
    all
}

fn measure(bench: &Bench, plan: &Plan, demo: &'static Demo, case: &Case) -> Result<Outcome> {
    // A quick run looks closely at one problem only.
    let thorough = demo.scene == plan.compared || !bench.quick;
    bench.say(format!("{}: the quality to reach", demo.name));
    let target = match plan.quality_of_thesis {
        false => bench.gamma(case, GAUSS_SEIDEL, ITERATIONS)?,
        true => Some(demo.gauss_seidel[1]),
    };
    let target = target.ok_or(Error::NoReference(demo.name, GAUSS_SEIDEL))?;
    let mut contenders: Vec<Contender> = Vec::new();
    for method in methods(bench, thorough) {
        bench.say(format!("{}: iterations of {}", demo.name, method));
        // The same iterates through another matrix.
        let twin = contenders.iter().find(|c| c.method.iterates_as(&method));
        let (iterations, remark) = if method == GAUSS_SEIDEL && !plan.quality_of_thesis {
            (Some(ITERATIONS), String::new())
        } else if let Some(twin) = twin {
            (twin.iterations, twin.remark.clone())
        } else if thorough || demo.contacts < 1e4 {
            match iterations_to(bench, case, method, target)? {
                Some(n) => (Some(n), String::new()),
                None => (None, format!("not within {MOST_ITERATIONS} iterations")),
            }
        } else {
            let remark = "iterations not looked for in a quick run";
            (None, remark.to_owned())
        };
        let mut contender = Contender {
            method,
            iterations,
            quality: None,
            remark,
        };
        if let Some(n) = iterations {
            let solved = bench.solve(&case.problem, method, fixed(n), false)?;
            let halvings = solved.report.statistic(HALVINGS).unwrap_or(0.0);
            if halvings > 0.0 {
                contender.remark = format!("R halved, times: {halvings}");
            }
            let gamma = bench.residual(&case.problem, &solved.lambda).gamma;
            contender.quality = Some([gamma, solved.report.delta]);
        }
        contenders.push(contender);
    }
    let iterations = bench.either(ITERATIONS / 2, ITERATIONS);
    let sweeps: Vec<_> = contenders.iter().map(|c| (c.method, iterations)).collect();
    let runs = contenders.iter();
    let runs: Vec<_> = runs
        .filter_map(|c| Some((c.method, c.iterations?)))
        .collect();
    let rounds = bench.either((3, 0.5), (7, 8.0));
    Ok(Outcome {
        demo,
        bodies: case.bodies,
        contacts: case.problem.contacts.len(),
        blocks: [Coupling::EveryBody, Coupling::Dynamic]
            .map(|coupling| BlockCounter::default().count(&case.problem, coupling) as f64),
        sweeps: bench.race(&case.problem, &sweeps, &bench.threads, rounds)?,
        runs: bench.race(&case.problem, &runs, &bench.threads, rounds)?,
        contenders,
    })
}

/// The least number of iterations after which γ is no larger than `target`: the thesis's "equal quality".
/// Found by bisection, for γ falls almost always; `None` above [`MOST_ITERATIONS`].
fn iterations_to(bench: &Bench, case: &Case, method: Method, target: f64) -> Result<Option<u32>> {
    let reached = |iterations| -> Result<bool> {
        let gamma = bench.gamma(case, method, iterations)?;
        Ok(gamma.is_some_and(|g| g <= target))
    };
    let (mut low, mut high) = (0, 32);
    while !reached(high)? {
        if high == MOST_ITERATIONS {
            return Ok(None);
        }
        low = high;
        high = (2 * high).min(MOST_ITERATIONS);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_can_be_made() {
        let bench = Bench::new(false, 1).expect("a thread");
        for method in methods(&bench, true).into_iter().chain(NAIVE) {
            let built = method.config(fixed(1)).build();
            assert!(built.is_ok(), "{}: {:?}", method, built.err());
        }
    }
}
