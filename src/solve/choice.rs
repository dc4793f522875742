//! How each island was solved by a solver that chooses, and why.

use rayon::prelude::*;

use crate::problem::residual::{self, Block, JudgedLaw, ResidualWorkspace};
use crate::problem::{Islands, Problem};

/// How an island was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Its impulses solved it already, and are left as they were.
    Kept,
    /// Exactly, to the tolerance.
    Exact,
    /// An exact solution was begun, ended above the tolerance, and sweeps led below it.
    Rescued,
    /// An exact solution was begun, and it and the sweeps after it ended above the tolerance.
    Unfinished,
    /// By sweeps.
    Swept,
}

impl Method {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Kept,
        Self::Exact,
        Self::Rescued,
        Self::Unfinished,
        Self::Swept,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exact => "exact",
            Self::Rescued => "rescued",
            Self::Unfinished => "unfinished",
            Self::Swept => "swept",
        }
    }

    /// The same in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Kept => "the last impulses still solve it",
            Self::Exact => "solved exactly",
            Self::Rescued => "exact solution ended early, sweeps led to the tolerance",
            Self::Unfinished => "exact solution ended early",
            Self::Swept => "swept",
        }
    }
}

/// Why an island was solved as it was, or why that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    #[default]
    /// Kept: the start's residual is a small share of the tolerance, a tenth at most.
    Solved,
    /// Exact: the work budget allowed it.
    Fits,
    /// Rescued: sweeps led to the tolerance where the exact solution had ended above it.
    Sweeps,
    /// Unfinished: the work budget was spent.
    Work,
    /// Unfinished: the budget's iterations were made.
    Iterations,
    /// Unfinished: the budget's time was over.
    Time,
    /// Unfinished: no method got nearer.
    NoNearer,
    /// Swept: the factorisations that an island needs at least are estimated at more than the work budget.
    Estimate,
    /// Swept: the factorisations that an island needs at least, as counted, did not fit into the work budget beside
    /// those of cheaper islands.
    Count,
    /// Swept: one of very many islands, and small.
    Many,
    /// Swept: exact solutions of it have ended early in the last steps.
    Rests,
}

impl Reason {
    /// How the island was solved.
    pub fn method(self) -> Method {
        match self {
            Self::Solved => Method::Kept,
            Self::Fits => Method::Exact,
            Self::Sweeps => Method::Rescued,
            Self::Work | Self::Iterations | Self::Time | Self::NoNearer => Method::Unfinished,
            Self::Estimate | Self::Count | Self::Many | Self::Rests => Method::Swept,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved already",
            Self::Fits => "fits into the work",
            Self::Sweeps => "sweeps after an exact solution that ended early",
            Self::Work => "work spent",
            Self::Iterations => "iterations used up",
            Self::Time => "time used up",
            Self::NoNearer => "no method gets nearer",
            Self::Estimate => "estimate beyond the work",
            Self::Count => "count beyond the work",
            Self::Many => "one of many small ones",
            Self::Rests => "not solvable of late",
        }
    }
}

/// How an island was solved, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The problem's number of it.
    pub island: u32,
    /// Why, from which the method follows.
    pub reason: Reason,
    /// Its bodies.
    pub bodies: u32,
    /// Its contacts.
    pub contacts: u32,
    /// Its rows, those of its contacts included.
    pub rows: u32,
    /// What an exact solution takes at least, as it was counted, or else estimated; 0 where nobody asked
    /// (multiplications).
    pub need: f64,
    /// What an exact solution and sweeps after it may take together (multiplications).
    pub work_budget: f64,
    /// What both have taken (multiplications).
    pub spent: f64,
    /// Its residual in the end; none of a swept island that nobody has measured (m/s).
    pub residual: Option<f64>,
}

impl Choice {
    /// An island of a problem, of which nothing but its size and the reason is known.
    pub(super) fn of(problem: &Problem, island: usize, reason: Reason) -> Self {
        let Islands {
            bodies,
            contacts,
            rows,
            ..
        } = &problem.islands;
        let contacts = contacts.of(island);
        let of_contacts = contacts.iter().map(|c| problem.contacts.rows(*c as usize));
        let of_contacts: usize = of_contacts.map(|rows| rows.len()).sum();
        Self {
            island: island as u32,
            reason,
            bodies: bodies.of(island).len() as u32,
            contacts: contacts.len() as u32,
            rows: (of_contacts + rows.of(island).len()) as u32,
            need: 0.0,
            work_budget: 0.0,
            spent: 0.0,
            residual: None,
        }
    }

    /// How it was solved.
    pub fn method(&self) -> Method {
        self.reason.method()
    }

    /// The reason with its numbers, as what follows "because".
    pub fn because(&self) -> String {
        let [need, budget, spent] = [self.need, self.work_budget, self.spent].map(millions);
        match self.reason {
            Reason::Solved => "its impulses solve it already".into(),
            Reason::Fits => {
                format!("{spent} multiplications were enough, of {budget} that it may take")
            }
            Reason::Sweeps => format!(
                "sweeps led to the tolerance where the exact solution had ended above it, with {spent} multiplications of \
                 {budget} that it may take"
            ),
            Reason::Work => {
                format!("{spent} of the {budget} multiplications that it may take are spent")
            }
            Reason::Iterations => "all iterations are used up".into(),
            Reason::Time => "the time is over".into(),
            Reason::NoNearer => "no method gets nearer".into(),
            Reason::Estimate => {
                format!(
                    "an exact solution is estimated at {need} multiplications at least, and it may take {budget}"
                )
            }
            Reason::Count => {
                format!(
                    "an exact solution is counted at {need} multiplications at least, and all may take {budget}"
                )
            }
            Reason::Many => "it is one of very many, and small".into(),
            Reason::Rests => "exact solutions of it have ended early in the last steps".into(),
        }
    }
}

/// Multiplications, in three digits.
fn millions(work: f64) -> String {
    let millions = 1e-6 * work;
    let digits = match millions {
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        _ => 2,
    };
    format!("{millions:.digits$} million")
}

/// The choices of a solve in short: islands by method, and the largest of them one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// Islands that were solved by each of [`Method::ALL`]; all 0 where the solver does not choose.
    pub counts: [u32; 5],
    /// The islands with the most rows, at most [`Choices::LISTED`] of them, the largest first.
    pub largest: Vec<Choice>,
}

impl Choices {
    /// Most islands that are listed one by one.
    pub const LISTED: usize = 5;

    /// Sums up the choices for all islands.
    pub fn of(all: &[Choice]) -> Self {
        let mut out = Self::default();
        for choice in all {
            out.counts[choice.method() as usize] += 1;
            let is_larger = |other: &Choice| other.rows >= choice.rows;
            let place = out.largest.partition_point(is_larger);
            if place < Self::LISTED {
                out.largest.truncate(Self::LISTED - 1);
                out.largest.insert(place, *choice);
            }
        }
        out
    }

    /// Whether the solver does not choose, or had nothing to choose for.
    pub fn is_empty(&self) -> bool {
        self.counts == [0; 5]
    }

    /// Islands that were solved so.
    pub fn count(&self, method: Method) -> u32 {
        self.counts[method as usize]
    }

    /// Islands by method, as a list in words; methods without an island are left out.
    pub fn in_words(&self) -> String {
        let by_method = Method::ALL.map(|method| (method, self.count(method)));
        let by_method = by_method.iter().filter(|(_, count)| *count > 0);
        let by_method = by_method.map(|(method, count)| format!("{count} {}", method.name()));
        by_method.collect::<Vec<_>>().join(", ")
    }

    /// Takes the residuals of listed islands that were not solved exactly from the evaluation that has just been made.
    pub fn measure(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        law: JudgedLaw,
        workspace: &ResidualWorkspace,
    ) {
        const UNIT: usize = 1024;
        // A number that is none must not hide.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let of = |block| residual::of_block(problem, lambda, block, law, workspace);
        for choice in &mut self.largest {
            if matches!(choice.method(), Method::Kept | Method::Exact) {
                continue;
            }
            let (islands, island) = (&problem.islands, choice.island as usize);
            let contacts = islands.contacts.of(island).par_iter().with_min_len(UNIT);
            let contacts = contacts.map(|c| of(Block::Contact(*c)));
            let rows = islands.rows.of(island).par_iter().with_min_len(UNIT);
            let rows = rows.map(|r| of(Block::Row(*r)));
            choice.residual = Some(contacts.chain(rows).reduce(|| 0.0, larger));
        }
    }
}
