//! Poulsen 2010: ball grids and ball piles. Every method is run to equal quality and raced on every number
//! of threads; the thesis's tables are made of that one race.

pub mod channels;
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
/// With T stored, and with A.
const COLORED_T: Method = Method::new("colored-gs T: colored-gs scheme=t treatment=rigid");
const COLORED_A: Method = Method::new("colored-gs A: colored-gs scheme=delassus treatment=rigid");
/// The same with small colours merged: T then solves the merged one by Jacobi.
const RELAXED_T: Method =
    Method::new("colored-gs T relaxed: colored-gs scheme=t treatment=relaxed damping=none");
/// Gauss–Seidel in parts without regard for dependencies: relaxed by the parts that share a body, which is our default,
/// and as it is.
const NAIVE: [Method; 4] = [
    Method::new("naive-gs, 1 part: naive-gs parts=1"),
    Method::new("naive-gs, 8 parts: naive-gs parts=8"),
    Method::new("naive-gs, 1 part, undamped: naive-gs parts=1 r_factors=local"),
    Method::new("naive-gs, 8 parts, undamped: naive-gs parts=8 r_factors=local"),
];

/// The thesis's solvers with the R-factors that its table 3.3 comes out with to three digits: one R for all contacts, that
/// of two balls, halved once, m/4.
const HIS_R: &str = "r_factors=uniform alpha=0.5";
const HIS_GAUSS_SEIDEL: Method =
    Method::new("gauss-seidel, his R: gauss-seidel scheme=factorized r_factors=uniform alpha=0.5");
const HIS_JACOBI: Method =
    Method::new("jacobi, his R: jacobi scheme=factorized r_factors=uniform alpha=0.5");
/// His colours, which count the ground.
const HIS_RIGID: Method = Method::new(
    "colored-gs rigid, his R and colours: colored-gs precision=f64 treatment=rigid fixed_bodies=as-poulsen \
     r_factors=uniform alpha=0.5",
);
const HIS_RELAXED_NAIVE: Method = Method::new(
    "colored-gs relaxed (naive), his R and colours: colored-gs precision=f64 treatment=relaxed unsafe=naive damping=none \
     fixed_bodies=as-poulsen r_factors=uniform alpha=0.5",
);
const HIS_RELAXED_JACOBI: Method = Method::new(
    "colored-gs relaxed (jacobi), his R and colours: colored-gs precision=f64 treatment=relaxed unsafe=jacobi damping=none \
     fixed_bodies=as-poulsen r_factors=uniform alpha=0.5",
);
const HIS_RELAXED_T: Method = Method::new(
    "colored-gs relaxed T, his R and colours: colored-gs scheme=t treatment=relaxed damping=none fixed_bodies=as-poulsen \
     r_factors=uniform alpha=0.5",
);
/// As over channels, where the merged colour reads the impulses of the last iteration (7.2.3).
const HIS_RELAXED_T_LAST: Method = Method::new(
    "colored-gs relaxed T (last), his R and colours: colored-gs scheme=t treatment=relaxed unsafe=last damping=none \
     fixed_bodies=as-poulsen r_factors=uniform alpha=0.5",
);
const HIS_BALANCED: Method = Method::new(
    "colored-gs balanced, his R and colours: colored-gs precision=f64 coloring=balanced fixed_bodies=as-poulsen \
     r_factors=uniform alpha=0.5",
);
const HIS_BALANCED_T: Method = Method::new(
    "colored-gs balanced T, his R and colours: colored-gs scheme=t coloring=balanced fixed_bodies=as-poulsen \
     r_factors=uniform alpha=0.5",
);
const HIS_GAUSS_SEIDEL_T: Method =
    Method::new("gauss-seidel T, his R: gauss-seidel scheme=t r_factors=uniform alpha=0.5");
const HIS_JACOBI_T: Method =
    Method::new("jacobi T, his R: jacobi scheme=t r_factors=uniform alpha=0.5");
const HIS_NAIVE: [Method; 2] = [
    Method::new("naive-gs, 1 part, his R: naive-gs parts=1 r_factors=uniform alpha=0.5"),
    Method::new("naive-gs, 8 parts, his R: naive-gs parts=8 r_factors=uniform alpha=0.5"),
];

/// Whether a method has the thesis's R-factors.
fn is_his(method: &Method) -> bool {
    HIS_R
        .split(' ')
        .all(|given| method.words().any(|w| w == given))
}

/// What plots show: as many lines as can be told apart.
const DRAWN: [Method; 11] = [
    GAUSS_SEIDEL,
    GAUSS_SEIDEL_T,
    HIS_GAUSS_SEIDEL,
    JACOBI,
    JACOBI_T,
    HIS_JACOBI,
    JACOBI_DEGREE,
    COLORED_F32,
    COLORED_F64,
    COLORED_T,
    NAIVE[3],
];

/// The thesis's grids: steps of 10 ms and balls of 20 kg, with which γ and ‖ΔΛ‖∞ of table 3.3 come out.
const GRID_SETTINGS: [(&str, &str); 2] = [("settings.step", "0.01"), ("generators.0.mass", "20")];

/// Which problems, and on which of them the thesis compares its parallel Gauss–Seidel schemes.
struct Plan {
    demos: &'static [Demo],
    compared: &'static str,
    schemes: &'static [Scheme],
    colors: &'static [Colors],
    /// Whether they are the grids, on which our 50 Gauss–Seidel iterations do not end in rounding errors. Where they do,
    /// the γ to reach is what the thesis reaches; its own methods have their own.
    is_grid: bool,
    /// What is set of every scene.
    settings: &'static [(&'static str, &'static str)],
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
    is_grid: true,
    settings: &GRID_SETTINGS,
    quality: "the γ of 50 Gauss–Seidel iterations with the same R",
    tables: ["3.2", "3.3"],
    figures: "figures 7.5, 7.7 and 7.10",
    notes: [
        Some(
            "With steps of 10 ms and 20 kg a ball; both are what table 3.3 comes out with, for the thesis does not say.",
        ),
        Some(
            "\"His colours\": the fixed ground couples its contacts, so that each needs a colour of its own. Else it does not.",
        ),
    ],
};

const PILES: Plan = Plan {
    demos: &figures::BALL_PILES,
    compared: "ball_pile_80",
    schemes: &figures::LARGE_PILE,
    colors: &figures::LARGE_PILE_COLORS,
    is_grid: false,
    settings: &[],
    quality: "the γ that the thesis reaches, and with his R to that of 50 Gauss–Seidel iterations",
    tables: ["3.4", "3.5"],
    figures: "figures 7.6, 7.8 and 7.9",
    notes: [
        Some(
            "Our piles come from other random numbers than the thesis's; bodies include the ground.",
        ),
        None,
    ],
};

impl Plan {
    /// The problem on which schemes are compared: the thesis's, or the largest that is asked for in its place.
    fn compared(&self, bench: &Bench) -> &'static str {
        let mut wanted = self.demos.iter().filter(|demo| bench.wants(demo.scene));
        match bench.wants(self.compared) {
            true => self.compared,
            false => wanted.next_back().map_or(self.compared, |demo| demo.scene),
        }
    }
}

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

    /// The contenders that plots show.
    fn drawn(&self) -> impl Iterator<Item = &Contender> {
        let contenders = self.contenders.iter();
        contenders.filter(|c| DRAWN.contains(&c.method))
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
    grid::report(bench, findings, &outcomes)?;
    channels::report(bench, findings)
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
    bench.check_only(plan.demos.iter().map(|demo| demo.scene))?;
    let mut outcomes = Vec::new();
    for demo in plan.demos.iter().filter(|demo| bench.wants(demo.scene)) {
        let case = bench.case(demo.scene, plan.settings)?;
        let outcome = measure(bench, plan, demo, &case)?;
        if demo.scene == plan.compared(bench) && !bench.quick {
            let plot = tables::convergence(bench, &case, &outcome)?;
            findings.plot(format!("{}-convergence", demo.scene), plot);
        }
        outcomes.push(outcome);
    }
    tables::report(bench, findings, plan, &outcomes);
    Ok(outcomes)
}

/// The methods that chapters 6 and 7 compare, and ours. A quick run takes the most telling ones.
fn methods(bench: &Bench, plan: &Plan, thorough: bool) -> Vec<Method> {
    let mut all = vec![GAUSS_SEIDEL, JACOBI, JACOBI_T, COLORED_F32, COLORED_F64];
    all.extend([HIS_GAUSS_SEIDEL, HIS_JACOBI]);
    if thorough {
        all.extend([BALANCED, JACOBI_DEGREE, GAUSS_SEIDEL_T, COLORED_T]);
        all.extend([
            HIS_RIGID,
            HIS_RELAXED_NAIVE,
            HIS_RELAXED_T,
            HIS_RELAXED_T_LAST,
            HIS_BALANCED,
        ]);
        match plan.is_grid {
            true => all.push(HIS_RELAXED_JACOBI),
            false => all.extend([HIS_GAUSS_SEIDEL_T, HIS_BALANCED_T, HIS_JACOBI_T]),
        }
    }
    if !bench.quick {
        all.extend([COLORED_A, RELAXED_T, RELAXED_NAIVE, RELAXED_JACOBI]);
        all.extend([NAIVE[1], NAIVE[3], JOR, JACOBI_GLOBAL]);
        all.extend([JACOBI_DELASSUS, GAUSS_SEIDEL_BLOCK]);
    }
    all
}

fn measure(bench: &Bench, plan: &Plan, demo: &'static Demo, case: &Case) -> Result<Outcome> {
    // A quick run looks closely at one problem only.
    let thorough = demo.scene == plan.compared(bench) || !bench.quick;
    bench.say(format!("{}: the quality to reach", demo.name));
    let target = |reference: Method| -> Result<f64> {
        let gamma = bench.gamma(case, reference, ITERATIONS)?;
        gamma.ok_or(Error::NoReference(demo.name, reference))
    };
    let own = match plan.is_grid {
        true => target(GAUSS_SEIDEL)?,
        false => demo.gauss_seidel[1],
    };
    let targets = [own, target(HIS_GAUSS_SEIDEL)?];
    let mut contenders: Vec<Contender> = Vec::new();
    for method in methods(bench, plan, thorough) {
        let target = targets[usize::from(is_his(&method))];
        let is_reference = method == HIS_GAUSS_SEIDEL || plan.is_grid && method == GAUSS_SEIDEL;
        bench.say(format!("{}: iterations of {}", demo.name, method));
        // The same iterates through another matrix.
        let twin = contenders.iter().find(|c| c.method.iterates_as(&method));
        let (iterations, remark) = if is_reference {
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
        let of_plans = [&GRIDS, &PILES].map(|plan| methods(&bench, plan, true));
        let all = of_plans.into_iter().flatten().chain(NAIVE);
        for method in all.chain(HIS_NAIVE) {
            let built = method.config(fixed(1)).build();
            assert!(built.is_ok(), "{}: {:?}", method, built.err());
        }
    }

    #[test]
    fn his_r_is_in_the_methods_that_say_so() {
        for method in methods(&Bench::new(false, 1).expect("a thread"), &GRIDS, true) {
            assert_eq!(
                is_his(&method),
                method.to_string().contains("his R"),
                "{method}"
            );
        }
    }
}
