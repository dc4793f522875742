//! What he left for later: how many couplings lead how near to the whole solution, by how they are made, by the length of
//! segments and by the depth of parts.

use super::SPARSE;
use crate::compare::{Contest, Contestant, Outcome, Rounds, Task};
use crate::papers::measure::Bench;
use crate::papers::measure::table::Columns;
use crate::papers::{Error, Findings, Result};
use crate::scene::library;
use crate::solve::{Budget, SolverConfig, Status, Value};
use crate::step::Simulation;

/// Scenes, and the steps whose problems are solved; the vehicle's cable is taut in the first and lies in a heap in the other.
const SCENES: [(&str, usize); 5] = [
    ("tethered_vehicle", 120),
    ("tethered_vehicle", 900),
    ("simple_crane", 60),
    ("two_cranes_one_load", 150),
    ("train", 250),
];
const COUPLINGS: [&str; 3] = ["plain", "conjugate", "exact"];
/// Numbers of couplings.
const COUNTS: [u32; 6] = [1, 5, 20, 100, 1_000, MOST];
const MOST: u32 = 10_000;
const CUTS: [Cut; 7] = [
    Cut::chains(2, 2),
    Cut::chains(5, 2),
    Cut::chains(10, 0),
    Cut::chains(10, 1),
    Cut::chains(10, 2),
    Cut::chains(10, 4),
    Cut::chains(30, 2),
];
/// What the second table asks for (m/s).
const TOLERANCE: f64 = 1e-9;
const ONCE: Rounds = Rounds {
    count: 1,
    history: false,
    estimate: false,
};

/// How islands are cut.
#[derive(Clone, Copy)]
pub struct Cut {
    /// The method's name.
    pub partition: &'static str,
    /// Most bodies of a segment of a chain, or of a part that is cut by strength.
    pub bodies: i64,
    depth: i64,
}

impl Cut {
    /// At chains of joints.
    const fn chains(bodies: i64, depth: i64) -> Self {
        Self {
            partition: "chains",
            bodies,
            depth,
        }
    }

    /// By strength, with this method.
    pub const fn strength(partition: &'static str, bodies: i64) -> Self {
        Self {
            partition,
            bodies,
            depth: 2,
        }
    }
}

/// One solve from Λ = 0.
pub struct Cold {
    /// The scene and its step.
    pub scene: String,
    /// How couplings are found.
    pub coupling: &'static str,
    /// How many there were.
    couplings: u32,
    /// How it is cut.
    pub cut: Cut,
    /// The residual (m/s).
    residual: f64,
    /// How far velocities are from the whole solution's (m/s).
    distance: f64,
    /// The largest error of a joint's impulse, as a share of the largest joint's impulse.
    force: f64,
    /// Parts.
    parts: f64,
    /// Rows that couple them.
    rows: f64,
    /// Preparation and solution (ms).
    time: f64,
    /// Whether the tolerance was met.
    is_solved: bool,
}

impl Cold {
    /// What [`Cold::numbers`] are, in tables.
    pub const NAMES: [&str; 7] = [
        "parts",
        "coupling rows",
        "couplings",
        "reached",
        "residual [m/s]",
        "distance [m/s]",
        "time [ms]",
    ];

    /// How it is cut, and how near it has come.
    pub fn numbers(&self) -> [f64; 7] {
        [
            self.parts,
            self.rows,
            f64::from(self.couplings),
            f64::from(u8::from(self.is_solved)),
            self.residual,
            self.distance,
            self.time,
        ]
    }
}

/// A machine whose problem is solved from nothing.
pub struct Posed {
    name: String,
    simulation: Simulation,
}

impl Posed {
    /// A shipped scene with other numbers, after so many steps.
    pub fn new(scene: &str, set: &[(&str, &str)], steps: usize) -> Result<Self> {
        let mut given = library::shipped(scene)?;
        for (path, value) in set {
            given.set(path, value)?;
        }
        let mut simulation = given.simulation(1)?;
        for _ in 0..steps {
            let stepped = simulation.step().map(|_| ());
            stepped.map_err(|error| Error::Step(scene.into(), error))?;
        }
        Ok(Self {
            name: match set {
                [] => format!("{scene}, step {steps}"),
                [(_, value), ..] => format!("{scene} {value}, step {steps}"),
            },
            simulation,
        })
    }

    /// Solves from Λ = 0.
    pub fn solve(&self, coupling: &'static str, cut: Cut, budget: Budget) -> Result<Cold> {
        let mut split = SolverConfig {
            name: "hybrid".into(),
            budget,
            ..SolverConfig::default()
        };
        for (name, value) in [
            ("coupling", Value::Choice(coupling.into())),
            ("partition", Value::Choice(cut.partition.into())),
            ("segment", Value::Integer(cut.bodies)),
            ("bodies", Value::Integer(cut.bodies)),
            ("depth", Value::Integer(cut.depth)),
        ] {
            split.parameters.insert(name.into(), value);
        }
        let whole = SPARSE.config(Budget {
            iterations: 50_000,
            tolerance: 1e-12,
            ..Budget::default()
        });
        let mut contest = Contest::new(vec![
            Contestant::new("split", split)?,
            Contestant::new("whole", whole)?,
        ]);
        let reach = self.simulation.world().bodies.reach();
        let problem = self.simulation.problem();
        let task = Task {
            problem: problem.into(),
            start: None,
            reach: &reach,
        };
        let outcomes = contest.run(&task, ONCE);
        let [split, whole] = [&outcomes[0], &outcomes[1]];
        let report = &split.report;
        Ok(Cold {
            scene: self.name.clone(),
            coupling,
            couplings: report.iterations,
            cut,
            residual: split.residual.map_or(f64::NAN, |r| r.residual),
            distance: split.distance.unwrap_or(f64::NAN),
            force: force_error(problem.contact_rows(), split, whole),
            parts: report.statistic("parts").unwrap_or(f64::NAN),
            rows: report.statistic("coupling rows").unwrap_or(f64::NAN),
            time: 1e3 * (report.prepare_time + report.solve_time),
            is_solved: report.status == Status::Converged,
        })
    }
}

/// Over the rows of joints, which begin at `first`.
fn force_error(first: usize, split: &Outcome, whole: &Outcome) -> f64 {
    let has_joints = split.lambda.len().min(whole.lambda.len()) > first;
    if !has_joints {
        return f64::NAN;
    }
    let (split, whole) = (&split.lambda[first..], &whole.lambda[first..]);
    let largest = whole.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let errors = split.iter().zip(whole).map(|(x, y)| (x - y).abs());
    errors.fold(0.0, f64::max) / largest
}

/// So many couplings at most, and a residual (m/s).
pub fn couplings_to(iterations: u32, tolerance: f64) -> Budget {
    Budget {
        iterations,
        tolerance,
        ..Budget::default()
    }
}

/// The scenes of both tables.
pub fn scenes() -> impl Iterator<Item = &'static str> {
    SCENES.into_iter().map(|(scene, _)| scene)
}

/// Both tables.
pub fn couplings(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let (mut by_count, mut by_cut) = (Vec::new(), Vec::new());
    for (scene, steps) in SCENES.into_iter().filter(|(scene, _)| bench.wants(scene)) {
        bench.say(format!("{scene}, couplings from nothing"));
        let posed = Posed::new(scene, &[], steps)?;
        for coupling in COUPLINGS {
            for count in COUNTS {
                let cold = posed.solve(coupling, Cut::chains(10, 2), couplings_to(count, 0.0))?;
                let is_done = cold.couplings < count;
                by_count.push(cold);
                if is_done {
                    break;
                }
            }
            for cut in CUTS {
                by_cut.push(posed.solve(coupling, cut, couplings_to(MOST, TOLERANCE))?);
            }
        }
    }
    findings.table(
        Columns::new("couplings", "How near couplings lead", "", &by_count)
            .key("scene", |r| r.scene.clone())
            .key("coupling", |r| r.coupling)
            .key("couplings", |r| r.couplings)
            .column("residual [m/s]", |r| r.residual)
            .column("distance [m/s]", |r| r.distance)
            .column("error of joints' impulses [%]", |r| 1e2 * r.force)
            .column("time [ms]", |r| r.time)
            .notes([
                "From Λ = 0, segments of ten bodies, depth 2. Distances of velocities, and the largest error of a joint's \
                 impulse as a share of the largest impulse, from the whole solution by bpp.",
            ]),
    );
    findings.table(
        Columns::new(
            "cuts",
            format!("Couplings to {TOLERANCE:e} m/s"),
            "",
            &by_cut,
        )
        .key("scene", |r| r.scene.clone())
        .key("segment", |r| r.cut.bodies)
        .key("depth", |r| r.cut.depth)
        .key("coupling", |r| r.coupling)
        .columns(Cold::NAMES, Cold::numbers)
        .notes([format!(
            "From Λ = 0; the best of {MOST} couplings where it was not reached."
        )]),
    );
    Ok(())
}
