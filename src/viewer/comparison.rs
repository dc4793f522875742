//! The window's side of the comparison: which solvers are ticked, with what, and what they have made of the
//! latest problem.

use std::sync::Arc;

use bevy::prelude::*;

use super::camera::Eye;
use super::keep::{News, free_name, write};
use super::panels::theme;
use super::physics::{Command, Physics};
use super::playback::{Begun, Playback};
use super::scenes::Scenes;
use super::worlds::{MOST, Wanted};
use crate::compare::{Compared, Outcome, Standing, Terms, convergence, csv, histories, outcomes};
use crate::measure::{picture, plot};
use crate::problem::StoredProblem;
use crate::solve::{Budget, SOLVERS, SolverConfig};

/// Longest that a ticked solver works on a problem, unless it is told otherwise (s): one that is not ticked any
/// more works on until then.
const PATIENCE: f64 = 2.0;
/// Iterations where the budget is a residual or a time.
const PLENTY: u32 = 100_000;

/// What is compared, and how it stands.
#[derive(Resource)]
pub struct Comparison {
    pub mode: Mode,
    /// Whether worlds are seen side by side, and not as ghosts over each other.
    pub split: bool,
    pub contestants: Vec<Ticked>,
    pub terms: Terms,
    /// Every so manieth step's problem is given to them.
    pub every: u64,
    pub allowed: Allowed,
    /// The residual that times are compared at (m/s).
    pub quality: f64,
    /// The time that residuals are compared at (s).
    pub time: f64,
    /// Whose errors are drawn in the scene.
    pub heat: Option<String>,
    /// The column that the table is sorted by, and whether the largest comes first.
    pub sort: Option<(usize, bool)>,
    /// How those stand who compete: by name and parameters those that are ticked, for a moment others.
    standings: Vec<Option<Arc<Standing>>>,
    /// The same with their distances.
    outcomes: Vec<Option<Outcome>>,
    /// Why one of them cannot take part.
    pub error: Option<String>,
    entered: Vec<(String, SolverConfig)>,
    progress: Vec<u64>,
}

/// A solver that may take part.
#[derive(Clone, Debug)]
pub struct Ticked {
    pub on: bool,
    /// Whether its parameters are shown.
    pub is_open: bool,
    /// How it is called; the solver's name, and a number where there are several.
    pub label: String,
    /// Its parameters and budget.
    pub config: SolverConfig,
    /// Its colour, which no other one has.
    pub series: usize,
}

impl Ticked {
    /// What it is asked for beside the simulation, where nobody waits for it for ever.
    fn beside(&self) -> SolverConfig {
        let mut config = self.config.clone();
        if config.budget.time <= 0.0 {
            config.budget.time = PATIENCE;
        }
        config
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Solvers on the very problems that the simulation solves.
    SameProblem,
    /// Worlds that begin alike and go on with a solver of their own.
    Worlds,
}

/// What budgets the solvers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The scene's.
    Scene,
    /// Iterations until the same residual estimate.
    EqualQuality,
    /// As much as is done in the same time.
    EqualTime,
    /// Each its own.
    Own,
}

impl Default for Comparison {
    fn default() -> Self {
        let ticked = |(series, name): (usize, &str)| {
            let mut config = SolverConfig::default();
            config.switch(name);
            Ticked {
                on: false,
                is_open: false,
                label: name.to_owned(),
                config,
                series,
            }
        };
        let names = SOLVERS.iter().map(|solver| solver.name);
        Self {
            mode: Mode::SameProblem,
            split: true,
            contestants: names.enumerate().map(ticked).collect(),
            terms: Terms::default(),
            every: 1,
            allowed: Allowed::Scene,
            quality: 1e-6,
            time: 1e-3,
            heat: None,
            sort: None,
            standings: Vec::new(),
            outcomes: Vec::new(),
            error: None,
            entered: Vec::new(),
            progress: Vec::new(),
        }
    }
}

impl Comparison {
    /// Those that take part.
    pub fn ticked(&self) -> impl Iterator<Item = &Ticked> {
        self.contestants.iter().filter(|e| e.on)
    }

    /// Whether anybody takes part.
    pub fn is_on(&self) -> bool {
        self.contestants.iter().any(|e| e.on)
    }

    /// Another one of the same solver, for other parameters.
    pub fn duplicate(&mut self, of: usize) {
        let mut copy = self.contestants[of].clone();
        let name = copy.config.name.clone();
        let number = (2..).find(|k| {
            let label = format!("{name} {k}");
            self.contestants.iter().all(|e| e.label != label)
        });
        copy.label = format!("{name} {}", number.unwrap_or(2));
        let is_free = |series: &usize| self.contestants.iter().all(|e| e.series != *series);
        copy.series = (0..).find(is_free).unwrap_or_default();
        copy.on = true;
        self.contestants.insert(of + 1, copy);
    }

    /// Whether this one was added to what there is of itself, so that it can be taken away.
    pub fn is_duplicate(&self, k: usize) -> bool {
        self.contestants[k].label != self.contestants[k].config.name
    }

    /// Gives all solvers the budgets that are allowed now; `scene` is the scene's solver. One that iterates has no use
    /// for the iterations of a direct one, and gets the usual ones.
    pub fn allow(&mut self, scene: &SolverConfig) {
        for contestant in &mut self.contestants {
            let mut as_scene = scene.clone();
            as_scene.switch(&contestant.config.name);
            let to = &mut contestant.config.budget;
            match self.allowed {
                Allowed::Own => return,
                Allowed::Scene => *to = as_scene.budget,
                Allowed::EqualQuality => {
                    *to = Budget {
                        iterations: PLENTY,
                        tolerance: self.quality,
                        time: PATIENCE,
                        ..Budget::default()
                    }
                }
                Allowed::EqualTime => {
                    *to = Budget {
                        iterations: PLENTY,
                        tolerance: 0.0,
                        time: self.time,
                        ..Budget::default()
                    }
                }
            }
        }
    }

    /// The outcomes that there are of those that are ticked.
    pub fn shown(&self) -> impl Iterator<Item = (&Ticked, &Outcome, &Standing)> {
        self.ticked().filter_map(|contestant| {
            let (outcome, standing) = self.outcome(contestant)?;
            Some((contestant, outcome, standing))
        })
    }

    /// What has come out of a contestant's present parameters under the present terms.
    pub fn outcome(&self, of: &Ticked) -> Option<(&Outcome, &Standing)> {
        let mut found = self.outcomes.iter().zip(&self.standings);
        found.find_map(|(outcome, standing)| {
            let standing = standing.as_deref()?;
            let is_it = standing.is_of(&of.label, &of.beside(), &self.terms);
            is_it.then_some((outcome.as_ref()?, standing))
        })
    }

    /// The worlds that are wanted beside the simulation's own.
    fn worlds(&self) -> Vec<Wanted> {
        let world = |contestant: &Ticked| Wanted {
            label: contestant.label.clone(),
            config: contestant.config.clone(),
            series: contestant.series,
            color: theme::as_drawn(theme::DARK.series(contestant.series)),
        };
        match self.mode {
            Mode::SameProblem => Vec::new(),
            Mode::Worlds => self.ticked().map(world).take(MOST).collect(),
        }
    }

    /// The standing whose errors are drawn.
    pub fn heated(&self) -> Option<&Standing> {
        let label = self.heat.as_ref()?;
        let (.., standing) = self
            .shown()
            .find(|(contestant, ..)| contestant.label == *label)?;
        Some(standing)
    }

    /// Saves a comparison under the first name that is free.
    pub fn save(&self, what: Keepsake, scene: &str) -> News {
        let Some((_, _, standing)) = self.shown().next() else {
            return Err("there is nothing to save yet: tick a solver and take a step".into());
        };
        let posed = &standing.posed;
        let found: Vec<Outcome> = self.shown().map(|(_, o, _)| o.clone()).collect();
        let steps = self.shown().map(|(_, o, s)| Compared {
            scene,
            step: Some(s.posed.step),
            outcomes: std::slice::from_ref(o),
        });
        let bytes = match what {
            Keepsake::Table => csv(steps).map_err(|e| e.to_string())?.into_bytes(),
            Keepsake::Histories => histories(steps).map_err(|e| e.to_string())?.into_bytes(),
            Keepsake::Plots | Keepsake::Picture => {
                let title = format!("{scene}, step {}", posed.step);
                let svg = plot::column(&convergence(&found, &title));
                match what {
                    Keepsake::Picture => picture::png(&svg)?,
                    _ => svg.into_bytes(),
                }
            }
            Keepsake::Problem => StoredProblem {
                origin: format!("{scene}, step {}", posed.step),
                ..posed.stated.clone()
            }
            .to_bytes(),
        };
        let path = free_name(what.ending()).ok_or("there is no free name left")?;
        write(what.name(), &path, &bytes)
    }
}

/// What can be kept of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keepsake {
    Table,
    Histories,
    Plots,
    /// The plots as PNG.
    Picture,
    Problem,
}

impl Keepsake {
    fn name(self) -> &'static str {
        match self {
            Self::Table => "the table",
            Self::Histories => "the convergence",
            Self::Plots | Self::Picture => "the plots",
            Self::Problem => "the problem",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Table => "comparison.csv",
            Self::Histories => "convergence.csv",
            Self::Plots => "comparison.svg",
            Self::Picture => "comparison.png",
            Self::Problem => "problem.moreau",
        }
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Comparison>()
        .add_systems(PreUpdate, (renew, follow).chain())
        .add_systems(Update, divide)
        .add_systems(PostUpdate, enter);
}

/// Another scene has other budgets.
fn renew(mut begun: MessageReader<Begun>, scenes: Res<Scenes>, mut comparison: ResMut<Comparison>) {
    // The same scene again, by a slider, has the same budget or a new one.
    if begun.read().any(|b| b.loaded)
        && comparison.allowed == Allowed::Scene
        && let Some(scene) = &scenes.scene
    {
        comparison.allow(&scene.solver);
    }
}

/// Tells the solvers what is asked of them.
fn enter(
    mut comparison: ResMut<Comparison>,
    physics: Res<Physics>,
    mut asked: Local<Option<(Terms, u64)>>,
    mut worlds: Local<Vec<Wanted>>,
) {
    let contestant = |e: &Ticked| (e.label.clone(), e.beside());
    let wanted: Vec<(String, SolverConfig)> = match comparison.mode {
        Mode::SameProblem => comparison.ticked().map(contestant).collect(),
        Mode::Worlds => Vec::new(),
    };
    let terms = (comparison.terms, comparison.every);
    if wanted != comparison.entered || *asked != Some(terms) {
        *asked = Some(terms);
        physics.arena().set_terms(terms.0);
        comparison.error = physics.arena().enter(&wanted).err().map(|e| e.to_string());
        comparison.entered = wanted;
        physics.send(Command::Compare { every: terms.1 });
    }
    let wanted = comparison.worlds();
    if *worlds != wanted {
        physics.send(Command::Worlds(wanted.clone()));
        *worlds = wanted;
    }
}

/// Divides the picture into as many cells as there are worlds to be seen side by side.
fn divide(comparison: Res<Comparison>, playback: Res<Playback>, mut eye: ResMut<Eye>) {
    let parallel_worlds = playback
        .frame
        .as_ref()
        .map_or(0, |f| f.parallel_worlds.len());
    let worlds = if comparison.split {
        1 + parallel_worlds as u32
    } else {
        1
    };
    if eye.worlds != worlds {
        eye.worlds = worlds;
    }
}

/// Takes over what has been solved since the last frame.
fn follow(mut comparison: ResMut<Comparison>, physics: Res<Physics>) {
    let progress = physics.arena().progress();
    if progress == comparison.progress {
        return;
    }
    comparison.progress = progress;
    comparison.standings = physics.arena().standings();
    comparison.outcomes = outcomes(&comparison.standings);
}
