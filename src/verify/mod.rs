//! Verification: laws of mechanics whose answer is known apart, in closed form or as the solution of a differential
//! equation in minimal coordinates, against what the engine finds by default. `moreau verify` prints them.

mod catches;
mod compliant;
mod contacts;
mod ode;
mod rigid;
mod standing;

use serde::Serialize;

use crate::scene::{Scene, SceneError};
use crate::solve::Status;
use crate::step::{Simulation, StepError};

/// Order of the rule of stepping in h, which rows must show between their two shortest steps …
const ORDER: f64 = 2.0;
/// … to within this: the next term of the error is still seen there.
const ORDER_TOLERANCE: f64 = 0.2;
/// An order is measured from steps of 1/60 s, and of these parts of it.
const PARTS: [u32; 4] = [1, 2, 4, 8];

/// A law and where it is tried.
pub struct Row {
    /// A name to ask for it by.
    pub name: &'static str,
    /// What must hold.
    pub law: &'static str,
    /// Of what, from where, for how long.
    pub setting: &'static str,
    /// What the law says, in the row's unit.
    pub expected: f64,
    /// How far from it the engine may be.
    pub tolerance: f64,
    /// Unit of both.
    pub unit: &'static str,
    measure: Measure,
}

/// How a row is measured.
#[derive(Clone, Copy)]
enum Measure {
    /// The value itself.
    Value(fn() -> Result<f64, Failure>),
    /// The error with steps of 1/60 s in so many parts; the row's value is that of whole ones.
    Error(fn(u32) -> Result<f64, Failure>),
}

/// What became of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The row's name.
    pub row: &'static str,
    /// What must hold.
    pub law: &'static str,
    /// Of what, from where, for how long.
    pub setting: &'static str,
    /// What the law says.
    pub expected: f64,
    /// What the engine found; none where a step failed.
    pub got: Option<f64>,
    /// How far it may be from what is expected.
    pub tolerance: f64,
    /// Unit of the three.
    pub unit: &'static str,
    /// Orders in h by three halvings from 1/60 s on; empty where none is asked for.
    pub orders: Vec<f64>,
    /// Whether the law holds.
    pub holds: bool,
    /// Why not, where the numbers do not say it.
    pub failure: Option<String>,
}

/// Why there is no number.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Scene(#[from] SceneError),
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("step {step} ended {status:?}")]
    Unsolved { step: u64, status: Status },
    #[error("step {step} was taken in shorter ones")]
    Halved { step: u64 },
    #[error("{0}")]
    Other(String),
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let parts = [
        rigid::ROWS,
        compliant::ROWS,
        catches::ROWS,
        contacts::ROWS,
        standing::ROWS,
    ];
    parts.into_iter().flatten()
}

impl Row {
    /// Tries the law.
    pub fn run(&self) -> Outcome {
        let measured = match self.measure {
            Measure::Value(value) => value().map(|got| (got, Vec::new())),
            Measure::Error(error) => orders(error),
        };
        let (got, orders, failure) = match measured {
            Ok((got, orders)) => (Some(got), orders, None),
            Err(failure) => (None, Vec::new(), Some(failure.to_string())),
        };
        let is_near = got.is_some_and(|got| (got - self.expected).abs() <= self.tolerance);
        let has_order = orders
            .last()
            .is_none_or(|order| (order - ORDER).abs() <= ORDER_TOLERANCE);
        Outcome {
            row: self.name,
            law: self.law,
            setting: self.setting,
            expected: self.expected,
            got,
            tolerance: self.tolerance,
            unit: self.unit,
            orders,
            holds: is_near && has_order,
            failure,
        }
    }
}

/// The error with steps of 1/60 s, and the orders by which it falls with shorter ones.
fn orders(error: fn(u32) -> Result<f64, Failure>) -> Result<(f64, Vec<f64>), Failure> {
    let errors: Vec<f64> = PARTS
        .iter()
        .map(|parts| error(*parts))
        .collect::<Result<_, _>>()?;
    let orders = errors.windows(2).map(|e| (e[0] / e[1]).log2()).collect();
    Ok((errors[0], orders))
}

/// A simulation of a scene as its file says, on one thread.
fn simulation(text: &str) -> Result<Simulation, Failure> {
    let scene = Scene::parse(text, "verify")?;
    Ok(scene.simulation(1)?)
}

/// Takes steps for a time (s), every one of which must be solved, and none in parts; looks at each.
fn run(s: &mut Simulation, seconds: f64, mut look: impl FnMut(&Simulation)) -> Result<(), Failure> {
    let steps = (seconds / s.world().settings.step).round() as u64;
    for step in 1..=steps {
        let report = s.step()?;
        match &report.solve.status {
            Status::Converged if report.halvings == 0 => {}
            Status::Converged => return Err(Failure::Halved { step }),
            status => {
                let status = status.clone();
                return Err(Failure::Unsolved { step, status });
            }
        }
        look(s);
    }
    Ok(())
}
