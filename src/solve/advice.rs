//! Where a solve misses its tolerance, in words: what is wrong, and which settings would have helped, found by trying
//! them on the same step.

use super::{
    Choice, Method, Reason, Request, SolveReport, SolverConfig, Status, Value, auto,
    default_solver, find,
};
use crate::problem::Problem;
use crate::problem::residual::{self, Block, JudgedLaw, ResidualWorkspace};

/// A solver's changes that are below the tolerance may leave this many times as much (-): they are those of one block
/// at a time, and the residual is that of all at once. More than that is reported.
const SLACK: f64 = 10.0;

/// Work that `auto` is tried with (1e6 multiplications): from three times its default in steps of about three, to what
/// takes a second or so.
const WORK: [f64; 3] = [100.0, 300.0, 1000.0];

/// Iterations that are tried, over those of the budget (-).
const MORE: u32 = 10;

/// A setting helps if it leaves at most this share of the residual (-).
const HELPS: f64 = 0.5;

/// Why a solve ended above its tolerance.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// The solver stopped so.
    Stopped(Status),
    /// The solver has chosen so for the island.
    Chosen(Choice),
}

/// A solve that missed its tolerance: where, by how much, and why.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// Who solved, and what for.
    pub config: SolverConfig,
    /// The contact or row that is farthest from its law.
    pub block: Block,
    /// How far (m/s).
    pub error: f64,
    /// The bodies of it.
    pub bodies: Vec<u32>,
    /// Numbers of bodies, contacts and general rows in its island.
    pub extent: [usize; 3],
    /// The lightest and the heaviest body of the island, each with its mass (kg).
    pub masses: [(u32, f64); 2],
    /// Why.
    pub cause: Cause,
    /// Multiplications of exact solutions in this solve.
    spent: f64,
}

/// Bodies as they are called.
pub type Names<'a> = &'a dyn Fn(u32) -> String;

impl Shortfall {
    /// Where `lambda`, the result of a solve under that law, is farthest from solving the problem; none where it is
    /// near enough. `choices` are those of the solver, if it chooses. What `workspace` holds is overwritten.
    ///
    /// # Panics
    /// If `lambda` is not as long as the problem has rows.
    pub fn find(
        problem: &Problem,
        lambda: &[f64],
        law: JudgedLaw,
        config: &SolverConfig,
        report: &SolveReport,
        choices: &[Choice],
        workspace: &mut ResidualWorkspace,
    ) -> Option<Self> {
        let (block, error) = residual::worst_block(problem, lambda, law, workspace)?;
        let tolerance = config.budget.tolerance;
        let slack = match report.status {
            Status::Converged => SLACK,
            _ => 1.0,
        };
        let is_near = error <= slack * tolerance;
        if is_near || tolerance <= 0.0 {
            return None;
        }
        let bodies: &[u32] = match block {
            Block::Contact(c) => &problem.contacts.bodies[c as usize],
            Block::Row(r) => problem.rows.bodies(r as usize),
        };
        let moved = |b: &&u32| problem.bodies.is_dynamic(**b as usize);
        let of_body = &problem.islands.of_body;
        let island = of_body[*bodies.iter().find(moved)? as usize] as usize;
        let islands = &problem.islands;
        let mass = |b: &u32| (*b, 1.0 / problem.bodies.inverse_mass[*b as usize]);
        let masses = || islands.bodies.of(island).iter().map(mass);
        let by_mass = |a: &(u32, f64), b: &(u32, f64)| a.1.total_cmp(&b.1);
        let status = report.status.clone();
        let choice = choices.iter().find(|c| c.island as usize == island);
        Some(Self {
            config: config.clone(),
            block,
            error,
            bodies: bodies.to_vec(),
            extent: [
                islands.bodies.of(island).len(),
                islands.contacts.of(island).len(),
                islands.rows.of(island).len(),
            ],
            masses: [masses().min_by(by_mass)?, masses().max_by(by_mass)?],
            cause: match choice.filter(|_| status.is_usable()) {
                Some(choice) => Cause::Chosen(*choice),
                None => Cause::Stopped(status),
            },
            spent: 1e6 * report.statistic("work").unwrap_or(0.0),
        })
    }

    /// What is wrong, in a sentence.
    pub fn words(&self, name: Names<'_>) -> String {
        let what = match self.block {
            Block::Contact(_) => "The contact",
            Block::Row(_) => "A joint's row",
        };
        let mut bodies: Vec<String> = self.bodies.iter().map(|b| name(*b)).collect();
        let last = bodies.pop().unwrap_or_default();
        let bodies = match bodies.is_empty() {
            true => format!("of {last}"),
            false => format!("between {} and {last}", bodies.join(", ")),
        };
        let (error, tolerance) = (self.error, self.config.budget.tolerance);
        format!(
            "{what} {bodies} misses its law by {error:.1e} m/s (tolerance {tolerance:.0e} m/s): {}.",
            self.why(name)
        )
    }

    /// The island, in words.
    fn island(&self, name: Names<'_>) -> String {
        let mut parts = Vec::new();
        for (count, one, many) in [
            (self.extent[0], "body", "bodies"),
            (self.extent[1], "contact", "contacts"),
            (self.extent[2], "joint row", "joint rows"),
        ] {
            match count {
                0 => {}
                1 => parts.push(format!("1 {one}")),
                n => parts.push(format!("{n} {many}")),
            }
        }
        let [(light, least), (heavy, most)] = self.masses;
        let ratio = most / least;
        let masses = if self.extent[0] == 1 {
            String::new()
        } else if ratio < 1.05 {
            ", all equally heavy".to_owned()
        } else {
            let (heavy, light) = (name(heavy), name(light));
            let digits = usize::from(ratio < 10.0);
            format!(", mass ratio {ratio:.digits$} ({heavy} to {light})")
        };
        format!("island of {}{masses}", parts.join(", "))
    }

    fn why(&self, name: Names<'_>) -> String {
        let (solver, iterations) = (&self.config.name, self.config.budget.iterations);
        let island = self.island(name);
        let ending = |status: &Status| match status {
            Status::Budget if self.config.budget.time > 0.0 => {
                "iterations or time are used up".to_owned()
            }
            Status::Budget => format!("all {iterations} iterations are used up"),
            Status::Stalled(why) | Status::Failed(why) => why.clone(),
            Status::Converged => {
                "its impulses change by less than the tolerance, though more is left".into()
            }
        };
        match &self.cause {
            Cause::Chosen(choice) => {
                let because = choice.because();
                match choice.method() {
                    Method::Swept => format!(
                        "{solver} swept its {island}, because {because}; up to {iterations} sweeps do not do"
                    ),
                    Method::Unfinished => {
                        format!("{solver} began to solve its {island}, exactly, but {because}")
                    }
                    Method::Rescued => format!(
                        "{solver} began to solve its {island}, exactly, and {because}; what it found was shortened"
                    ),
                    Method::Exact => {
                        format!(
                            "{solver} solved its {island}, exactly, and what it found was shortened"
                        )
                    }
                    Method::Kept => format!("{solver} left its {island}, because {because}"),
                }
            }
            Cause::Stopped(Status::Failed(why)) => {
                format!("{solver} failed ({why}), and plain sweeps took the step with its {island}")
            }
            Cause::Stopped(status) => {
                format!("{solver} stopped in its {island}: {}", ending(status))
            }
        }
    }

    /// Settings that may help, the cheapest first.
    fn candidates(&self) -> Vec<SolverConfig> {
        let longer = |config: &SolverConfig| {
            let mut longer = config.clone();
            let iterations = &mut longer.budget.iterations;
            *iterations = iterations.saturating_mul(MORE);
            longer.budget.time = 0.0;
            longer
        };
        let own = &self.config;
        match &self.cause {
            Cause::Chosen(choice) => {
                let least = match choice.reason {
                    // Less than that would choose alike.
                    Reason::Estimate | Reason::Count => choice.need,
                    Reason::Many => f64::INFINITY,
                    _ => 0.0,
                };
                let more_work = self.with_work(least);
                let both = more_work.last().map(longer);
                let longer = (choice.reason != Reason::Work).then(|| longer(own));
                longer.into_iter().chain(more_work).chain(both).collect()
            }
            Cause::Stopped(status) if find(&own.name).is_some_and(|s| s.traits.is_exact) => {
                let is_cheap = f64::from(MORE) * self.spent <= 1e6 * WORK[WORK.len() - 1];
                let may = *status == Status::Budget && is_cheap;
                may.then(|| longer(own)).into_iter().collect()
            }
            Cause::Stopped(_) => {
                let mut auto = own.clone();
                auto.switch(default_solver().name);
                let more_work = self.with_work(0.0);
                [auto, longer(own)].into_iter().chain(more_work).collect()
            }
        }
    }

    /// `auto` with more work than it has, and at least so much (multiplications).
    fn with_work(&self, least: f64) -> Vec<SolverConfig> {
        let mut auto = self.config.clone();
        auto.switch(default_solver().name);
        let given = match auto.parameters.get("work") {
            Some(Value::Number(work)) => *work,
            Some(Value::Integer(work)) => *work as f64,
            _ => auto::DEFAULT_WORK,
        };
        let is_more = |work: &&f64| **work > given && 1e6 * **work >= least;
        let allowed = |work: &f64| {
            let mut allowed = auto.clone();
            let parameters = &mut allowed.parameters;
            parameters.insert("work".into(), Value::Number(*work));
            allowed
        };
        WORK.iter().filter(is_more).map(allowed).collect()
    }

    /// Tries what may help on the same problem from the same start, until something meets the tolerance.
    pub fn try_settings(&self, problem: &Problem, start: &[f64]) -> Tried {
        let mut tried = Tried {
            count: 0,
            best: None,
            tolerance: self.config.budget.tolerance,
        };
        let mut workspace = ResidualWorkspace::default();
        for config in self.candidates() {
            let Ok(mut solver) = config.build() else {
                continue;
            };
            let request = Request {
                budget: config.budget,
                history: false,
                ..Request::default()
            };
            let (mut lambda, mut u) = (start.to_vec(), Vec::new());
            let report = solver.solve(problem, &request, &mut lambda, &mut u);
            tried.count += 1;
            if !report.status.is_usable() {
                continue;
            }
            let law = solver.judged_law();
            let left = residual::evaluate(problem, &lambda, law, &mut workspace).residual;
            let least = tried.best.as_ref().map_or(HELPS * self.error, |b| b.left);
            if left < least {
                let change = self.change_to(&config);
                tried.best = Some(Better {
                    config,
                    change,
                    left,
                });
            }
            if left <= tried.tolerance {
                break;
            }
        }
        tried
    }

    /// What another configuration sets otherwise, in words.
    fn change_to(&self, other: &SolverConfig) -> String {
        let mut base = self.config.clone();
        base.switch(&other.name);
        let mut parts = Vec::new();
        if other.name != self.config.name {
            parts.push(format!("solver {}", other.name));
        }
        let changed =
            |(name, value): &(&String, &Value)| base.parameters.get(*name) != Some(*value);
        for (name, value) in other.parameters.iter().filter(changed) {
            parts.push(format!("{name} {value}"));
        }
        if other.budget.iterations != base.budget.iterations {
            parts.push(format!("iterations {}", other.budget.iterations));
        }
        if other.budget.time != base.budget.time {
            parts.push("no limit of time".into());
        }
        parts.join(" and ")
    }
}

/// A setting that leaves less.
#[derive(Clone, Debug)]
pub struct Better {
    /// The setting.
    pub config: SolverConfig,
    /// What it sets otherwise, in words.
    pub change: String,
    /// The residual that it leaves (m/s).
    pub left: f64,
}

/// What came of the settings that were tried on a solve that missed its tolerance.
#[derive(Clone, Debug)]
pub struct Tried {
    /// How many were tried.
    pub count: usize,
    /// The best one, if any helps.
    pub best: Option<Better>,
    /// The residual that is asked for (m/s).
    pub tolerance: f64,
}

impl Tried {
    /// What would help, in a sentence.
    pub fn words(&self) -> String {
        match &self.best {
            Some(Better { change, left, .. }) if *left <= self.tolerance => {
                format!("With {change} the same step is solved to {left:.1e} m/s.")
            }
            Some(Better { change, left, .. }) => format!(
                "With {change} the same step is left at {left:.1e} m/s, the least of {} settings that were tried.",
                self.count
            ),
            None if self.count == 0 => "No setting is known that would help.".into(),
            None => format!(
                "None of {} settings that were tried on the same step halves it.",
                self.count
            ),
        }
    }
}
