//! Steps of shipped scenes, solved exactly without one of the methods.

use super::problems::residual_of;
use moreau::problem::Problem;
use moreau::scene::library;
use moreau::solve::{ParameterKind, Request, SolveReport, SolverConfig, Value, find};

/// The methods that may be left out.
pub fn methods() -> Vec<&'static str> {
    let newton = find("newton").expect("a solver of the list");
    let parameter = newton.parameters.iter().find(|p| p.name == "without");
    match parameter.expect("a parameter").kind {
        ParameterKind::Choice { options, .. } => options.to_vec(),
        _ => panic!("a choice"),
    }
}

/// A step's problem, and the impulses that it starts from.
pub struct Step {
    pub problem: Problem,
    pub start: Vec<f64>,
}

impl Step {
    /// Solves it without a method. Returns the residual, too.
    pub fn solve(&self, solver: &str, without: &str) -> (SolveReport, f64) {
        let mut config = SolverConfig::default();
        config.switch(solver);
        let without = Value::Choice(without.to_owned());
        config.parameters.insert("without".to_owned(), without);
        let request = Request {
            budget: config.budget,
            history: false,
            ..Request::default()
        };
        let mut lambda = self.start.clone();
        let mut solver = config.build().expect("a solver of the list");
        let report = solver.solve(&self.problem, &request, &mut lambda, &mut Vec::new());
        let residual = residual_of(&self.problem, &lambda);
        (report, residual)
    }
}

/// The problems of some steps of a scene.
pub fn steps(scene: &str, wanted: &[u64]) -> Vec<Step> {
    let scene = library::shipped(scene).expect("a shipped scene");
    let mut simulation = scene.simulation(1).expect("a good scene");
    let mut steps = Vec::new();
    for step in 1..=wanted.last().copied().unwrap_or(0) {
        simulation.step().expect("a good step");
        if wanted.contains(&step) && simulation.problem().row_count() > 0 {
            steps.push(Step {
                problem: simulation.problem().clone(),
                start: simulation.warm_start().to_vec(),
            });
        }
    }
    steps
}
