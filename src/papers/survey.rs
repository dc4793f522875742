//! What exact solvers reach on problems of every shipped scene, under every law of friction: an experiment of our own,
//! for which no paper gives figures.
//!
//! A problem is a step of a scene as the default solver leads it there, with the warm start of that step; laws that no
//! scene asks for are given to its materials. Counts are of problems, by law and by what they are made of, and what was
//! not reached is listed problem by problem.

use std::collections::BTreeMap;

use super::measure::table::Columns;
use super::measure::{Bench, step};
use super::{Findings, Result};
use crate::compare::{Contest, Contestant, Rounds, Task};
use crate::material::{Anisotropy, Material};
use crate::math::Vec3;
use crate::problem::residual::natural_map;
use crate::problem::{Form, FrictionLaw, Problem};
use crate::scene::{DEFAULT_MATERIAL, Scene, library};
use crate::solve::{Budget, SolverConfig, Status};

/// First step, impacts, settling, rest or motion.
const STEPS: [u64; 4] = [1, 4, 20, 60];
/// Contacts above which a problem is large.
const LARGE: usize = 300;
/// Contacts of the largest problem of a quick run, which is to take a minute, and of a full one.
const MOST: [usize; 2] = [100, 10_000];
/// What `newton` is to reach (m/s).
const NEWTON: f64 = 1e-8;
/// What sweeps must have reached for their velocities to be compared (m/s).
const SWEPT: f64 = 1e-9;
/// How far velocities of two exact solutions may be apart (m/s).
const AGREED: f64 = 1e-6;
/// Contacts swept at most over all sweeps of a problem, so that none takes more than some seconds; and the fewest and
/// most sweeps.
const SWEPT_CONTACTS: usize = 4_000_000;
const SWEEPS: [usize; 2] = [500, 20_000];
/// The contact radius of Contensou's law where no scene gives one (m): a coin's.
const SPIN_RADIUS: f64 = 0.02;
/// Friction of ellipses across over along (-).
const ACROSS: f64 = 0.5;

/// The laws in question.
const LAWS: [FrictionLaw; 4] = [
    FrictionLaw::Disc,
    FrictionLaw::Box,
    FrictionLaw::Ellipse,
    FrictionLaw::Contensou,
];

/// A scene with a law for all its contacts, which its settings or its materials ask for.
fn under(mut scene: Scene, law: FrictionLaw) -> Scene {
    let default = DEFAULT_MATERIAL.to_owned();
    scene.materials.entry(default).or_default();
    let change = |material: &mut Material| {
        // Whatever it has asked for itself.
        material.rolling = 0.0;
        material.anisotropy = (law == FrictionLaw::Ellipse).then(|| Anisotropy {
            direction: Vec3::new(1.0, 0.0, 0.0),
            across: ACROSS * material.friction,
        });
        material.spin_radius = match law {
            FrictionLaw::Contensou => SPIN_RADIUS,
            _ => 0.0,
        };
    };
    scene.materials.values_mut().for_each(change);
    if matches!(law, FrictionLaw::Disc | FrictionLaw::Box) {
        scene.settings.friction_law = law;
    }
    scene
}

/// What a problem is made of; the first that fits.
fn kind(problem: &Problem) -> &'static str {
    let moving = (0..problem.bodies.len()).filter(|b| problem.bodies.is_dynamic(*b));
    let contacts = problem.contacts.len();
    if contacts > LARGE {
        "large"
    } else if problem.contact_rows() > 6 * moving.count() {
        "redundant"
    } else if !problem.rows.is_empty() {
        "with joints"
    } else {
        "contacts"
    }
}

/// What solvers made of a problem.
struct Found {
    law: FrictionLaw,
    kind: &'static str,
    origin: String,
    contacts: usize,
    /// Residual of `newton` (m/s).
    newton: f64,
    /// Residual of `reference` (m/s), and whether it is at its goal.
    reference: (f64, bool),
    /// FCLIB's natural map of what `reference` found, of discs (-).
    natural_map: Option<f64>,
    /// Distance of the velocities that sweeps converged to from those of `reference`, of the farthest that did (m/s);
    /// none where no sweeps converged, or `reference` is not at its goal.
    sweeps: Option<f64>,
    /// Distance of another exact solution (m/s), where `reference` knows one.
    another: Option<f64>,
}

impl Found {
    /// Whether sweeps that converged found other velocities.
    fn differs(&self) -> bool {
        self.sweeps.is_some_and(|d| d > AGREED)
    }

    /// What is to be told of it by itself, if anything is.
    fn complaint(&self) -> Option<String> {
        let mut said = Vec::new();
        if self.newton > NEWTON {
            said.push("newton".to_owned());
        }
        if !self.reference.1 {
            said.push("reference".to_owned());
        }
        if self.differs() {
            said.push(match self.another {
                Some(d) => format!("sweeps elsewhere, another solution {d:.1e} m/s away"),
                None => "sweeps elsewhere".to_owned(),
            });
        }
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// Those of one law and kind.
struct Group<'a> {
    law: FrictionLaw,
    kind: &'static str,
    all: Vec<&'a Found>,
}

impl Group<'_> {
    fn count(&self, of: impl Fn(&Found) -> bool) -> f64 {
        self.all.iter().filter(|f| of(f)).count() as f64
    }

    fn worst(&self, of: impl Fn(&Found) -> Option<f64>) -> Option<f64> {
        self.all.iter().filter_map(|f| of(f)).reduce(f64::max)
    }
}

/// Problems of every shipped scene, solved by `newton`, by `reference` and by sweeps.
///
/// # Errors
/// A scene that cannot be used, or a step that was not taken.
pub fn survey(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let mut all = Vec::new();
    let mut too_large = Vec::new();
    bench.check_only(library::shipped_names())?;
    for id in library::shipped_names().filter(|id| bench.wants(id)) {
        let begun = all.len();
        for law in LAWS {
            if !scene(bench, id, law, &mut all)? {
                all.truncate(begun);
                too_large.push(id);
                break;
            }
        }
    }
    let mut groups: BTreeMap<(usize, &str), Vec<&Found>> = BTreeMap::new();
    for f in &all {
        let law = LAWS.iter().position(|law| *law == f.law).unwrap_or(0);
        groups.entry((law, f.kind)).or_default().push(f);
    }
    let groups: Vec<Group<'_>> = groups
        .into_iter()
        .map(|((law, kind), all)| Group {
            law: LAWS[law],
            kind,
            all,
        })
        .collect();
    let title = format!(
        "{} problems of shipped scenes, steps {:?}",
        all.len(),
        steps(bench).collect::<Vec<_>>(),
    );
    findings.table(
        Columns::new("survey", title, "", &groups)
            .key("law", |g| g.law)
            .key("kind", |g| g.kind)
            .column("problems", |g| g.all.len() as f64)
            .column("most contacts", |g| g.worst(|f| Some(f.contacts as f64)))
            .column("newton at 1e-8", |g| g.count(|f| f.newton <= NEWTON))
            .column("reference at its goal", |g| g.count(|f| f.reference.1))
            .column("reference at 1e-8", |g| g.count(|f| f.reference.0 <= NEWTON))
            .column("largest natural map", |g| g.worst(|f| f.natural_map))
            .column("compared with sweeps", |g| g.count(|f| f.sweeps.is_some()))
            .column("of them elsewhere", |g| g.count(Found::differs))
            .notes([
                "A problem is large with more than 300 contacts, else redundant with more rows of contacts than \
                 velocities, else with joints, if it has any. newton has 500 iterations for 1e-8 m/s; the goal of \
                 reference is 1e-10 m/s, or what rounding leaves. Compared is a reference at its goal with colored-gs and \
                 nncg where they reach 1e-9 m/s; elsewhere are those whose velocities are more than 1e-6 m/s away.",
                &left_out(bench, &too_large),
            ]),
    );
    let told: Vec<(&Found, String)> = all
        .iter()
        .filter_map(|f| Some((f, f.complaint()?)))
        .collect();
    findings.table(
        Columns::new("survey-rest", "What was not reached", "", &told)
            .key("problem", |t| &t.0.origin)
            .key("law", |t| t.0.law)
            .key("kind", |t| t.0.kind)
            .column("newton [m/s]", |t| t.0.newton)
            .column("reference [m/s]", |t| t.0.reference.0)
            .column("sweeps from it [m/s]", |t| t.0.sweeps)
            .remark(|t| t.1.clone()),
    );
    Ok(())
}

/// The steps whose problems are taken.
fn steps(bench: &Bench) -> impl Iterator<Item = u64> {
    STEPS.into_iter().take(bench.either(3, STEPS.len()))
}

fn left_out(bench: &Bench, scenes: &[&str]) -> String {
    let most = bench.either(MOST[0], MOST[1]);
    match scenes {
        [] => "No scene is left out.".to_owned(),
        _ => format!(
            "Left out are scenes with problems of more than {most} contacts: {}.",
            scenes.join(", ")
        ),
    }
}

/// The problems of one scene under one law; `false` if one is too large, and those before it are there.
fn scene(bench: &Bench, id: &str, law: FrictionLaw, all: &mut Vec<Found>) -> Result<bool> {
    let most = bench.either(MOST[0], MOST[1]);
    let mut scene = under(library::shipped(id)?, law);
    scene.solver = SolverConfig::default();
    let mut simulation = scene.simulation(bench.most_threads())?;
    let mut done = 0;
    for until in steps(bench) {
        for _ in done..until {
            step(&mut simulation, id)?;
            if simulation.problem().contacts.len() > most {
                return Ok(false);
            }
        }
        done = until;
        let problem = simulation.problem();
        if problem.row_count() == 0 {
            continue;
        }
        bench.say(format!("{id}, {law}, step {until}"));
        let reach = simulation.world().bodies.reach();
        let task = Task {
            problem: problem.into(),
            start: Some(simulation.warm_start()),
            reach: &reach,
        };
        all.push(solve(problem, &task, format!("{id}, step {until}"), law)?);
    }
    Ok(true)
}

/// What each solver makes of it.
fn solve(problem: &Problem, task: &Task<'_>, origin: String, law: FrictionLaw) -> Result<Found> {
    let sweeps =
        (SWEPT_CONTACTS / problem.contacts.len().max(1)).clamp(SWEEPS[0], SWEEPS[1]) as u32;
    let contestants = [
        ("reference", 4000, 1e-10),
        ("newton", 500, NEWTON),
        ("colored-gs", sweeps, 0.1 * SWEPT),
        ("nncg", sweeps, 0.1 * SWEPT),
    ];
    let contestants = contestants.map(|(name, iterations, tolerance)| {
        let mut config = SolverConfig::default();
        config.switch(name);
        config.budget = Budget {
            iterations,
            tolerance,
            ..Budget::default()
        };
        Contestant::new(name, config)
    });
    let contestants = contestants
        .into_iter()
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let rounds = Rounds {
        count: 1,
        history: false,
        estimate: false,
    };
    let outcomes = Contest::new(contestants).run(task, rounds);
    let [reference, newton, swept @ ..] = outcomes.as_slice() else {
        unreachable!("an outcome for each");
    };
    let swept = swept.iter().filter(|o| o.error <= SWEPT);
    Ok(Found {
        law,
        kind: kind(problem),
        origin,
        contacts: problem.contacts.len(),
        newton: newton.error,
        reference: (
            reference.error,
            reference.report.status == Status::Converged,
        ),
        natural_map: (law == FrictionLaw::Disc
            && !problem.contacts.is_empty()
            && !reference.lambda.is_empty())
        .then(|| map(problem, &reference.lambda)),
        sweeps: swept.filter_map(|o| o.velocity_error).reduce(f64::max),
        another: reference.report.statistic("distance of another solution"),
    })
}

/// The natural map from the impulses alone.
fn map(problem: &Problem, lambda: &[f64]) -> f64 {
    let [mut w, mut offset] = [vec![0.0; lambda.len()], vec![0.0; lambda.len()]];
    problem.product(lambda, &mut w);
    problem.product(&vec![0.0; lambda.len()], &mut offset);
    natural_map(problem, lambda, &w, &offset)
}
