//! The worst step of a run: how its islands were solved, and where it misses its tolerance and what would help, in words.

use moreau::measure::report;
use moreau::problem::Problem;
use moreau::problem::residual::ResidualWorkspace;
use moreau::solve::Choices;
use moreau::solve::advice::{Shortfall, Tried};
use moreau::solve::reference::velocity_estimate;
use moreau::step::Simulation;
use serde_json::{Value, json};

use super::choices;

/// Width of text (characters).
const WIDTH: u16 = 100;

/// The step with the largest residual so far; the last one where none is evaluated.
#[derive(Default)]
pub struct Worst {
    step: u64,
    residual: Option<f64>,
    choices: Choices,
    missed: Option<Missed>,
}

/// Most rows of a problem that is kept: more are a copy of a hundred megabytes in each step that is worse than those
/// before, and no other setting could be tried on them in the time that it may take.
const MOST_ROWS: usize = 500_000;

/// A solve that missed its tolerance.
struct Missed {
    shortfall: Shortfall,
    /// None where the problem is too large.
    again: Option<Again>,
}

/// What is needed to take it again.
struct Again {
    problem: Problem,
    start: Vec<f64>,
    impulses: Vec<f64>,
}

/// What is wrong with it, and what would help.
pub struct Diagnosis {
    shortfall: Shortfall,
    /// None where the problem is too large.
    tried: Option<Tried>,
    wrong: String,
    /// None where it was not tried, None within where nothing says.
    velocity_estimate: Option<Option<f64>>,
}

impl Worst {
    /// Takes the last step if it is the worst.
    pub fn follow(&mut self, simulation: &mut Simulation) {
        let residual = simulation.report().residual.map(|r| r.residual);
        if let (Some(new), Some(old)) = (residual, self.residual)
            && new.total_cmp(&old).is_le()
        {
            return;
        }
        // A problem is large: the old one goes before the new one comes.
        self.missed = None;
        let shortfall = residual.and_then(|_| simulation.shortfall());
        let step = simulation.report();
        *self = Self {
            step: step.step,
            residual,
            choices: step.solve.choices.clone(),
            missed: shortfall.map(|shortfall| Missed {
                shortfall,
                again: (simulation.problem().row_count() <= MOST_ROWS).then(|| Again {
                    problem: simulation.problem().clone(),
                    start: simulation.warm_start().to_vec(),
                    impulses: simulation.impulses().to_vec(),
                }),
            }),
        };
    }

    /// Whether it is that step.
    pub fn is_of(&self, step: u64) -> bool {
        self.step == step
    }

    /// What is wrong with it and what would help, by trying it.
    pub fn diagnose(&self, simulation: &mut Simulation) -> Option<Diagnosis> {
        let missed = self.missed.as_ref()?;
        let names = |body: u32| simulation.world().bodies.label(body as usize);
        let wrong = missed.shortfall.words(&names);
        let shortfall = missed.shortfall.clone();
        let reach = simulation.world().bodies.reach();
        let try_again = |kept: &Again| {
            let tried = shortfall.try_settings(&kept.problem, &kept.start);
            let estimate = velocity_estimate(
                &kept.problem,
                &kept.impulses,
                &reach,
                &mut ResidualWorkspace::default(),
            );
            (tried, estimate)
        };
        let again = missed.again.as_ref();
        let again = again.map(|kept| simulation.on_threads(|_| try_again(kept)));
        let (tried, velocity_estimate) = again.unzip();
        Some(Diagnosis {
            shortfall,
            tried,
            wrong,
            velocity_estimate,
        })
    }

    /// Of a solver that chooses: the islands by method, and the largest ones.
    pub fn islands(&self) -> String {
        if self.choices.is_empty() {
            return String::new();
        }
        let (step, by_method) = (self.step, self.choices.in_words());
        let table = choices::table(&self.choices);
        format!("\nIslands of step {step}, the worst one: {by_method}\n\n{table}")
    }

    /// The same as an object.
    pub fn as_json(&self, diagnosis: Option<&Diagnosis>) -> Value {
        json!({
            "step": self.step,
            "residual": self.residual,
            "islands_by_method": choices::counts(&self.choices),
            "largest_islands": choices::largest(&self.choices),
            "velocity_estimate": diagnosis.and_then(|diagnosis| diagnosis.velocity_estimate.flatten()),
            "advice": diagnosis.map(Diagnosis::as_json),
        })
    }
}

impl Diagnosis {
    /// How far the step's velocities are off, where that is known (m/s).
    pub fn velocity_estimate(&self) -> Option<Option<f64>> {
        self.velocity_estimate
    }

    /// As a paragraph on a step.
    pub fn as_text(&self, worst: &Worst) -> String {
        let off = self
            .velocity_estimate
            .flatten()
            .map_or(String::new(), |off| {
                format!(" Its velocities are about {off:.1e} m/s off.")
            });
        let (step, wrong, help) = (worst.step, &self.wrong, self.help());
        let text = format!("Step {step}, the worst one: {wrong}{off} {help}");
        format!("\n{}", report::paragraph(&text, 0, WIDTH))
    }

    /// What would help, in words.
    fn help(&self) -> String {
        let too_large = || "It is too large to be solved again with other settings.".into();
        self.tried.as_ref().map_or_else(too_large, Tried::words)
    }

    fn as_json(&self) -> Value {
        let s = &self.shortfall;
        let [light, heavy] = s.masses;
        let better = self.tried.as_ref().and_then(|t| t.best.as_ref()).map(|b| {
            json!({
                "change": b.change,
                "solver": b.config.name,
                "parameters": b.config.parameters,
                "iterations": b.config.budget.iterations,
                "residual": b.left,
            })
        });
        json!({
            "wrong": self.wrong,
            "help": self.help(),
            "bodies": s.bodies,
            "error": s.error,
            "tolerance": s.config.budget.tolerance,
            "mass_ratio": heavy.1 / light.1,
            "tried": self.tried.as_ref().map_or(0, |tried| tried.count),
            "better": better,
        })
    }
}
