//! What `moreau run` keeps of its steps: summaries, in memory that does not grow with their number.

use moreau::measure::energy::Account;
use moreau::measure::{Series, Stage, Summary, report};
use moreau::scene::Scene;
use moreau::session::Recording;
use moreau::solve::{Method, Statistic, Status, device_remark};
use moreau::step::{Contradiction, Simulation, StepReport};
use serde_json::{Value, json};

use super::energy;
use super::limits::{Limit, Watched};
use super::worst::{Diagnosis, Worst};

/// Remarks that are kept: those of a solver may name numbers, and so differ from step to step.
const MOST_REMARKS: usize = 20;

/// Contradictions that are kept.
const MOST_CONTRADICTIONS: usize = 20;

/// Of all steps so far.
#[derive(Default)]
pub struct Record {
    pub steps: u64,
    /// By [`OUTCOMES`].
    outcomes: [u64; 3],
    /// The first solve that failed.
    failure: Option<String>,
    /// Contacts of the first step, and those between dynamic bodies.
    first: [usize; 2],
    contacts: Series,
    islands: Series,
    iterations: Series,
    residual: Series,
    /// Of the steps that have one of their own.
    coulomb: Series,
    penetration: Series,
    joint_error: Series,
    /// By [`Stage::ALL`] (ms).
    timings: [Series; Stage::ALL.len()],
    /// Over the steps that have them, in the order in which they first came.
    statistics: Vec<(Statistic, Series)>,
    /// Islands by method, over the steps whose solver chooses.
    methods: [Series; Method::ALL.len()],
    energy: Option<Account>,
    remarks: Vec<String>,
    /// What gave way, with the largest force, and in how many steps.
    contradictions: Vec<(Contradiction, u64)>,
    limits: Vec<Watched>,
    pub worst: Worst,
    /// How far the last step's velocities are off, where that is known (m/s).
    pub velocity_estimate: Option<f64>,
    /// What can be taken again, if that was asked for.
    pub recording: Option<Recording>,
}

/// What becomes of a step's solves.
const OUTCOMES: [&str; 3] = ["converged", "budget", "failed"];

/// The name of what became of a step's solves.
pub fn outcome(step: &StepReport) -> &'static str {
    OUTCOMES[usize::from(step.solve.status.severity())]
}

impl Record {
    /// Without a step, watching limits.
    pub fn new(limits: &[Limit]) -> Self {
        Self {
            limits: limits.iter().copied().map(Watched::new).collect(),
            ..Self::default()
        }
    }

    /// Adds a step.
    pub fn add(&mut self, step: &StepReport) {
        if self.steps == 0 {
            self.first = [step.contacts, step.dynamic_contacts];
        }
        self.steps += 1;
        self.outcomes[usize::from(step.solve.status.severity())] += 1;
        if let (None, Status::Failed(reason)) = (&self.failure, &step.solve.status) {
            self.failure = Some(format!("step {}: {reason}", step.step));
        }
        self.contacts.add(step.contacts as f64);
        self.islands.add(step.islands as f64);
        self.iterations.add(f64::from(step.solve.iterations));
        let residuals = [step.residual, step.residual_coulomb];
        for (series, residual) in [&mut self.residual, &mut self.coulomb]
            .into_iter()
            .zip(residuals)
        {
            residual.into_iter().for_each(|r| series.add(r.residual));
        }
        self.penetration.add(step.penetration);
        self.joint_error.add(step.joint_error);
        for (series, stage) in self.timings.iter_mut().zip(Stage::ALL) {
            series.add(1e3 * step.timings.get(stage));
        }
        self.add_statistics(&step.solve.statistics);
        if !step.solve.choices.is_empty() {
            for (series, method) in self.methods.iter_mut().zip(Method::ALL) {
                series.add(f64::from(step.solve.choices.count(method)));
            }
        }
        if let Some(balance) = &step.energy {
            self.energy = Some(match self.energy {
                Some(account) => account.followed_by(balance),
                None => balance.into(),
            });
        }
        for remark in &step.solve.remarks {
            if self.remarks.len() < MOST_REMARKS && !self.remarks.contains(remark) {
                self.remarks.push(remark.clone());
            }
        }
        step.contradictions
            .iter()
            .for_each(|c| self.add_contradiction(c));
        self.limits.iter_mut().for_each(|limit| limit.add(step));
    }

    fn add_contradiction(&mut self, found: &Contradiction) {
        let known = self
            .contradictions
            .iter()
            .position(|(known, _)| known.is_same(found));
        match known {
            Some(k) => {
                let (known, steps) = &mut self.contradictions[k];
                *steps += 1;
                if found.force.abs() > known.force.abs() {
                    *known = found.clone();
                }
            }
            None if self.contradictions.len() < MOST_CONTRADICTIONS => {
                self.contradictions.push((found.clone(), 1));
            }
            None => {}
        }
    }

    fn add_statistics(&mut self, statistics: &[Statistic]) {
        for statistic in statistics {
            let known = self.statistics.iter_mut();
            let known = known.map(|(s, series)| (s.name, series));
            match known.into_iter().find(|(name, _)| *name == statistic.name) {
                Some((_, series)) => series.add(statistic.value),
                None => {
                    let mut series = Series::default();
                    series.add(statistic.value);
                    self.statistics.push((*statistic, series));
                }
            }
        }
    }

    /// What was not as asked.
    pub fn verdict(&self, require_convergence: bool) -> Vec<String> {
        let (steps, [_, budget, failed]) = (self.steps, self.outcomes);
        let mut wrong = Vec::new();
        if let Some(first) = &self.failure {
            wrong.push(format!(
                "{failed} of {steps} solves failed; the first: {first}"
            ));
        } else if require_convergence && budget > 0 {
            wrong.push(format!(
                "{budget} of {steps} steps ran out of budget before they converged"
            ));
        }
        wrong.extend(self.limits.iter().filter_map(Watched::broken));
        wrong
    }

    /// Islands by method; null where no solver chooses.
    fn islands_by_method(&self) -> Value {
        let all = self.methods.iter().zip(Method::ALL).map(|(series, m)| {
            let of = series.summary()?;
            Some((m.name(), json!({"mean": of.mean, "max": of.max})))
        });
        let all: Option<Vec<_>> = all.collect();
        all.map_or(Value::Null, Value::from_iter)
    }

    /// The object of `--report json`; its names stay.
    pub fn as_json(
        &self,
        scene: &Scene,
        simulation: &Simulation,
        diagnosis: Option<&Diagnosis>,
    ) -> Value {
        let world = simulation.world();
        let mean_max = |s: Summary| json!({"mean": s.mean, "max": s.max});
        let of = |series: &Series| mean_max(series.summary().unwrap_or_default());
        let of_some = |series: &Series| series.summary().map(mean_max);
        let mut contacts = of(&self.contacts);
        contacts["first"] = json!(self.first[0]);
        contacts["first_dynamic"] = json!(self.first[1]);
        let timings = Stage::ALL.iter().zip(&self.timings);
        let timings = timings.map(|(stage, series)| {
            let summary = series.summary().unwrap_or_default();
            (stage.name(), json!(summary))
        });
        let statistics = self.statistics.iter().map(|(s, series)| {
            let of = series.summary().unwrap_or_default();
            let value = json!({"unit": s.unit, "mean": of.mean, "max": of.max});
            (s.name, value)
        });
        json!({
            "scene": scene.id(),
            "solver": simulation.solver_config().name,
            "threads": threads(simulation),
            "dt": world.settings.step,
            "substeps": world.settings.substeps,
            "steps": self.steps,
            "time": world.time,
            "bodies": world.bodies.len(),
            "contacts": contacts,
            "islands": of(&self.islands),
            "timings_ms": Value::from_iter(timings),
            "iterations": of(&self.iterations),
            "residual": of_some(&self.residual),
            "residual_coulomb": of_some(&self.coulomb),
            "velocity_estimate": self.velocity_estimate,
            "status": OUTCOMES.into_iter().zip(self.outcomes).collect::<Value>(),
            "statistics": Value::from_iter(statistics),
            "remarks": self.remarks(simulation),
            "contradictions": self.contradictions.iter().map(|(c, steps)| json!({
                "what": c.what,
                "against": c.against,
                "force": c.force,
                "unit": c.unit(),
                "steps": steps,
            })).collect::<Value>(),
            "islands_by_method": self.islands_by_method(),
            "worst_step": self.worst.as_json(diagnosis),
            "penetration": of(&self.penetration),
            "joint_error": of(&self.joint_error),
            "energy": self.energy.as_ref().map(energy::as_json),
            "kinetic_energy": world.bodies.kinetic_energy(),
            "potential_energy": world.potential_energy(),
            "state_hash": hash(simulation),
        })
    }

    /// Tables for people.
    pub fn as_text(
        &self,
        scene: &Scene,
        simulation: &Simulation,
        diagnosis: Option<&Diagnosis>,
    ) -> String {
        let facts = report::columns(&self.facts(scene, simulation));
        let header = ["per step", "mean", "median", "p95", "max"].map(String::from);
        let per_step = report::table(&header, &self.per_step(), 1..5);
        let energy = self.energy.as_ref().map_or(String::new(), energy::as_text);
        let islands = self.worst.islands();
        let diagnosis = diagnosis.map_or(String::new(), |diagnosis| diagnosis.as_text(&self.worst));
        format!("{facts}\n{per_step}{energy}{islands}{diagnosis}")
    }

    fn facts(&self, scene: &Scene, simulation: &Simulation) -> Vec<Vec<String>> {
        let world = simulation.world();
        let [contacts, dynamic] = self.first;
        let (steps, settings) = (self.steps, &world.settings);
        let (step, substeps, time) = (settings.step, settings.substeps, world.time);
        let [converged, budget, failed] = self.outcomes;
        let (kinetic, potential) = (world.bodies.kinetic_energy(), world.potential_energy());
        let (solver, threads) = (&simulation.solver_config().name, threads(simulation));
        let off = match self.velocity_estimate {
            Some(off) => format!("{off:.1e} m/s off in the last step, estimated"),
            None => "nothing says how far they are off".into(),
        };
        let facts = [
            ("scene", format!("{} ({})", scene.id(), scene.name)),
            ("solver", format!("{solver}, threads: {threads}")),
            (
                "steps",
                format!("{steps} of {step:.6} s, substeps: {substeps}, to {time:.4} s"),
            ),
            ("bodies", world.bodies.len().to_string()),
            (
                "solves",
                format!("{converged} converged, {budget} out of budget, {failed} failed"),
            ),
            (
                "contacts",
                format!("{contacts} on the first step, {dynamic} of them between dynamic bodies"),
            ),
            (
                "energy",
                format!("{kinetic:.6e} J kinetic, {potential:.6e} J potential"),
            ),
            ("velocities", off),
            (
                "state hash",
                hash(simulation).unwrap_or_else(|| "none: the result depends on timing".into()),
            ),
        ];
        let remarks = self
            .remarks(simulation)
            .into_iter()
            .map(|remark| ("remark", remark));
        let fights = self.contradictions.iter().map(|(c, steps)| {
            let steps = format!("{c} at most, in {steps} of {} steps", self.steps);
            ("gives way", steps)
        });
        let facts = facts.into_iter().chain(fights).chain(remarks);
        facts
            .map(|(name, value)| vec![name.to_owned(), value])
            .collect()
    }

    /// What the solver remarked in any step, each once, and what a recording should be known to depend on.
    fn remarks(&self, simulation: &Simulation) -> Vec<String> {
        let mut all = self.remarks.clone();
        if self.recording.is_some() {
            all.extend(device_remark(&simulation.solver_config().name));
        }
        all
    }

    fn per_step(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut row = |name: &str, series: &Series, show: fn(f64) -> String| {
            let s = series.summary().unwrap_or_default();
            let cells = [s.mean, s.median, s.p95, s.max].map(show);
            rows.push([name.to_owned()].into_iter().chain(cells).collect());
        };
        let count = |v: f64| format!("{v:.1}");
        let small = |v: f64| match v {
            0.0 => "0".to_owned(),
            v => format!("{v:.3e}"),
        };
        row("contacts", &self.contacts, count);
        row("islands", &self.islands, count);
        row("iterations, most of any island", &self.iterations, count);
        for (name, series) in [
            ("residual [m/s]", &self.residual),
            ("residual, exact Coulomb [m/s]", &self.coulomb),
        ] {
            if !series.is_empty() {
                row(name, series, small);
            }
        }
        row("penetration [m]", &self.penetration, small);
        if self.joint_error.summary().is_some_and(|s| s.max > 0.0) {
            row("joint error [m]", &self.joint_error, small);
        }
        for (statistic, series) in &self.statistics {
            let name = match statistic.unit {
                "-" => statistic.name.to_owned(),
                unit => format!("{} [{unit}]", statistic.name),
            };
            let round = |v: f64| match v.fract() {
                0.0 => format!("{v}"),
                _ => format!("{v:.4e}"),
            };
            row(&name, series, round);
        }
        for (stage, series) in Stage::ALL.iter().zip(&self.timings) {
            let name = format!("{} [ms]", stage.name());
            row(&name, series, |v| format!("{v:.4}"));
        }
        rows
    }
}

/// Threads that the simulation runs on.
fn threads(simulation: &Simulation) -> usize {
    match simulation.threads() {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        n => n,
    }
}

/// The hash of the state; none where it depends on timing.
fn hash(simulation: &Simulation) -> Option<String> {
    let has_one = simulation.solver_config().timing().is_none();
    has_one.then(|| format!("{:016x}", simulation.world().state_hash()))
}
