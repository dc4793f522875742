//! Running a scene: the engines in turn, block by block, and the statistics.

use moreau::measure::Summary;
use moreau::solve::SolverConfig;
use serde::Serialize;

use crate::engine::{Engine, Sample, Times};
use crate::ours::Ours;
use crate::peer::Rapier;
use crate::ruler::{self, Overlaps, Speeds};
use crate::scene::Scene;

/// Steps that one engine takes before the other's turn: few enough that the machine is the same for
/// both, and enough that the first one, which finds the other's data in the cache, is not among the
/// 95 % of a small scene. A large one never fits the cache.
fn block_length(scene: &Scene) -> usize {
    if scene.bodies.len() < 10_000 { 30 } else { 10 }
}

/// An engine that can take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Moreau.
    Ours,
    /// Rapier.
    Rapier,
}

/// An engine as it takes part.
#[derive(Clone, Debug)]
pub enum Party {
    /// Moreau with a solver.
    Ours(SolverConfig),
    /// Rapier.
    Rapier,
}

/// One phase of one scene on some number of threads, of one of Moreau's solvers.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The scene's name.
    pub scene: String,
    /// The phase's name.
    pub phase: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Number of dynamic bodies.
    pub bodies: usize,
    /// Moreau's solver and the most iterations that it may take.
    pub solver: String,
    /// Whether the scene is a ball grid.
    pub grid: bool,
    /// Moreau, if it took part.
    pub ours: Option<Measured>,
    /// Rapier, if it took part.
    pub rapier: Option<Measured>,
}

/// What was measured of one engine in one phase.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Time of a step [s].
    pub step: Summary,
    /// Processor time of a step, all threads together [s]: what the step costs, whatever else the
    /// machine does.
    pub cpu: Summary,
    /// Time of broad and narrow phase together [s].
    pub collision: Summary,
    /// Mean time of each stage [s].
    pub stages: Times,
    /// Time of the solver alone [s].
    pub solve: Summary,
    /// Time of the solver with what leads up to it from the contacts [s].
    pub prepare_solve: Summary,
    /// Mean number of contact points.
    pub contacts: f64,
    /// Mean number of iterations.
    pub iterations: f64,
    /// Overlaps at the end of the phase.
    pub overlaps: Overlaps,
    /// The deepest overlap, mean over the phase, looked at every few steps [m].
    pub deepest_mean: f64,
    /// Speeds at the end of the phase.
    pub speeds: Speeds,
    /// How far the highest bodies have sunk by the end of the phase [m].
    pub sunk: Option<f64>,
}

/// What is collected of one engine in one phase.
#[derive(Default)]
struct Collected {
    samples: Vec<Sample>,
    deepest: Vec<f64>,
    overlaps: Overlaps,
    speeds: Speeds,
    sunk: f64,
}

/// Runs a scene on a number of threads. All engines live in one pool of that many, so that no step
/// pays for handing itself over to another thread, which costs more than the smallest steps.
///
/// # Errors
/// An engine that could not be built or could not step, in its own words.
pub fn scene(scene: &Scene, threads: usize, parties: &[Party]) -> Result<Vec<Outcome>, String> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| e.to_string())?
        .install(|| in_pool(scene, threads, parties))
}

fn in_pool(scene: &Scene, threads: usize, parties: &[Party]) -> Result<Vec<Outcome>, String> {
    let mut collected: Vec<Vec<Collected>> = parties
        .iter()
        .map(|_| scene.phases.iter().map(|_| Collected::default()).collect())
        .collect();
    for round in 0..scene.rounds {
        let mut worlds = parties
            .iter()
            .map(|party| build(party, scene))
            .collect::<Result<Vec<_>, _>>()?;
        let length = block_length(scene);
        for block in 0..scene.steps().div_ceil(length) {
            let steps = block * length..((block + 1) * length).min(scene.steps());
            for turn in 0..parties.len() {
                // Each engine goes first in every other block.
                let k = (turn + block) % parties.len();
                for step in steps.clone() {
                    let sample = worlds[k].step()?;
                    if let Some(phase) = phase_of(scene, step) {
                        collected[k][phase].samples.push(sample);
                    }
                }
                if round == 0
                    && let Some(phase) = phase_of(scene, steps.end - 1)
                {
                    collected[k][phase].look(scene, worlds[k].as_ref());
                }
            }
        }
    }

    let finish = |phases: Vec<Collected>| phases.into_iter().map(|c| c.finish(scene)).collect();
    let measured: Vec<Vec<Measured>> = collected.into_iter().map(finish).collect();
    let rapier = parties.iter().position(|p| matches!(p, Party::Rapier));
    let mut outcomes = Vec::new();
    for (k, phase) in scene.phases.iter().enumerate() {
        let outcome = |solver: String, ours: Option<&Vec<Measured>>| Outcome {
            scene: scene.name.clone(),
            phase: phase.name,
            threads,
            bodies: scene.bodies.iter().filter(|b| b.mass.is_some()).count(),
            solver,
            grid: scene.grid,
            ours: ours.map(|m| m[k].clone()),
            rapier: rapier.map(|r| measured[r][k].clone()),
        };
        let begun = outcomes.len();
        for (party, ours) in parties.iter().zip(&measured) {
            if let Party::Ours(solver) = party {
                let most = solver.budget.iterations;
                outcomes.push(outcome(format!("{}, {most}", solver.name), Some(ours)));
            }
        }
        if outcomes.len() == begun {
            outcomes.push(outcome(String::new(), None));
        }
    }
    Ok(outcomes)
}

fn build(party: &Party, scene: &Scene) -> Result<Box<dyn Engine>, String> {
    Ok(match party {
        Party::Ours(solver) => Box::new(Ours::new(scene, solver)?),
        Party::Rapier => Box::new(Rapier::new(scene)),
    })
}

fn phase_of(scene: &Scene, step: usize) -> Option<usize> {
    scene.phases.iter().position(|p| p.steps.contains(&step))
}

impl Collected {
    fn look(&mut self, scene: &Scene, world: &dyn Engine) {
        let states = world.states();
        self.overlaps = ruler::overlaps(&scene.bodies, &states);
        self.speeds = ruler::speeds(&scene.bodies, &states);
        self.sunk = ruler::sunk(&scene.bodies, &states);
        self.deepest.push(self.overlaps.deepest);
    }

    fn finish(self, scene: &Scene) -> Measured {
        let of = |value: &dyn Fn(&Sample) -> f64| {
            let values: Vec<f64> = self.samples.iter().map(value).collect();
            Summary::of(&values)
        };
        Measured {
            step: of(&|s| s.times.step),
            cpu: of(&|s| s.cpu),
            collision: of(&|s| s.times.collision()),
            solve: of(&|s| s.times.solve),
            prepare_solve: of(&|s| s.times.prepare + s.times.solve),
            stages: Times {
                step: of(&|s| s.times.step).mean,
                broad: of(&|s| s.times.broad).mean,
                narrow: of(&|s| s.times.narrow).mean,
                prepare: of(&|s| s.times.prepare).mean,
                solve: of(&|s| s.times.solve).mean,
                integrate: of(&|s| s.times.integrate).mean,
            },
            contacts: of(&|s| s.contacts as f64).mean,
            iterations: of(&|s| f64::from(s.iterations)).mean,
            overlaps: self.overlaps,
            deepest_mean: Summary::of(&self.deepest).mean,
            speeds: self.speeds,
            sunk: scene.stands.then_some(self.sunk),
        }
    }
}
