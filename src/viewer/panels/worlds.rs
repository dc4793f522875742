//! Worlds side by side: how each fares, how far they are apart, and their energies and joint errors over time.

use bevy_egui::egui::{self, Color32};

use super::cards::{Card, Verdict, deal};
use super::plots::{Curve, Scale, curves_named};
use super::theme::{self, Theme};
use super::widgets::{number, pinned};
use super::{Context, Panel};
use crate::viewer::comparison::Mode;
use crate::viewer::frame::{Frame, ParallelSample, ParallelView, StepSample};
use crate::viewer::history::History;
use crate::viewer::verdicts::{Miss, Now, verdict};

pub const TABLE: Panel = Panel::compared("worlds", table).wide(1.6).when(is_on);
pub const DISTANCE: Panel = Panel::compared("distance [m]", distance).when(is_on);
pub const ENERGY: Panel = Panel::compared("total energy [J]", energy).when(is_on);
pub const JOINT_ERROR: Panel = Panel::compared("joint error [m]", joint_error)
    .when(|context| is_on(context) && context.history.has_joints());

fn is_on(context: &Context) -> bool {
    context.comparison.mode == Mode::Worlds
}

/// A world, and what its numbers are found by.
#[derive(Clone, Debug, PartialEq)]
pub struct Who {
    pub name: String,
    /// Its number; none for the simulation's own.
    world: Option<u64>,
    /// Its solver's colour; none for the simulation's own.
    series: Option<usize>,
    /// Why it takes no more steps.
    error: Option<String>,
}

impl Who {
    pub fn color(&self, theme: &Theme) -> Color32 {
        let series = self.series.map(|series| theme.series(series));
        series.unwrap_or(theme.own_world)
    }

    /// Its numbers of a step, if it took that.
    fn of(&self, sample: &StepSample) -> Option<ParallelSample> {
        match self.world {
            None => Some(sample.own()),
            Some(world) => sample
                .parallel_worlds
                .iter()
                .find(|r| r.world == world)
                .copied(),
        }
    }
}

/// The worlds that there are; first the simulation's own, under the name of what took its last step.
pub fn worlds(history: &History, frame: Option<&Frame>) -> Vec<Who> {
    let last = history.samples.back();
    let solver = last.map_or("", |sample| sample.solver.name.as_str());
    let own = Who {
        name: format!("{solver} (main)").trim_start().to_owned(),
        world: None,
        series: None,
        error: None,
    };
    let parallel = |parallel: &ParallelView| Who {
        name: parallel.label.clone(),
        world: Some(parallel.world),
        series: Some(parallel.series),
        error: parallel.error.clone(),
    };
    let parallel_worlds = frame.into_iter().flat_map(|frame| &frame.parallel_worlds);
    std::iter::once(own)
        .chain(parallel_worlds.map(parallel))
        .collect()
}

fn worlds_of(context: &Context) -> Vec<Who> {
    worlds(&context.history, context.playback.frame.as_ref())
}

/// The names of the worlds, each with its colour; first the simulation's own.
pub fn names(context: &Context, theme: &Theme) -> Vec<(String, Color32)> {
    let named = |who: Who| (who.color(theme), who.name);
    let worlds = worlds_of(context).into_iter().map(named);
    worlds.map(|(color, name)| (name, color)).collect()
}

/// The numbers of a world after its last step, where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// What the step took (s).
    pub time: Option<f64>,
    /// The last residual that was evaluated (m/s).
    pub residual: Option<f64>,
    /// Whether the solver met its tolerance.
    pub is_solved: Option<bool>,
    /// (m)
    pub joint_error: Option<f64>,
    /// Bodies that have fallen.
    pub fallen: Option<usize>,
    /// (m)
    pub penetration: Option<f64>,
    /// (J)
    pub energy: Option<f64>,
    /// From the simulation's own world (m).
    pub distance: Option<f64>,
}

/// What the table says of a world.
pub fn numbers(history: &History, who: &Who) -> Numbers {
    let Some(newest) = history.samples.back() else {
        return Numbers::default();
    };
    let last = who.of(newest);
    let of = |value: fn(&ParallelSample) -> f64| last.as_ref().map(value);
    // It is not evaluated in every step, and another solver's is not this one's.
    let same = |s: &&StepSample| who.world.is_some() || s.solver == newest.solver;
    let mut samples = history.samples.iter().rev().take_while(same);
    Numbers {
        time: of(|s| s.time),
        residual: samples.find_map(|s| who.of(s)?.residual),
        is_solved: last.as_ref().map(|s| s.is_solved),
        joint_error: of(|s| s.joint_error),
        fallen: last.as_ref().map(|s| s.fallen),
        penetration: of(|s| s.penetration),
        energy: of(|s| s.energy.total()),
        distance: of(|s| s.distance),
    }
}

fn table(ui: &mut egui::Ui, context: &mut Context) {
    if context.history.samples.is_empty() {
        ui.label(theme::quiet("no step taken yet"));
        return;
    }
    let frame = context.playback.frame.as_ref();
    if frame.is_some_and(|f| f.replayed.is_some()) {
        let text =
            "A recording is replayed: until something else is done the other worlds stand still.";
        ui.colored_label(theme::of(ui).warning, text);
    }
    let theme = theme::of(ui);
    let all: Vec<(Who, Numbers)> = worlds_of(context)
        .into_iter()
        .map(|who| {
            let numbers = numbers(&context.history, &who);
            (who, numbers)
        })
        .collect();
    let titles = |ui: &mut egui::Ui, titles: &[&str]| {
        titles
            .iter()
            .for_each(|title| _ = ui.label(theme::quiet(*title)));
        ui.end_row();
    };
    let value = |ui: &mut egui::Ui, value: Option<f64>| {
        ui.monospace(value.map_or(String::new(), number));
    };
    let first = |ui: &mut egui::Ui| {
        titles(ui, &["world", "step [ms]", "residual [m/s]"]);
        for (who, numbers) in &all {
            let label = ui.colored_label(who.color(theme), &who.name);
            if let Some(error) = &who.error {
                label.on_hover_text(error);
            }
            value(ui, numbers.time.map(|time| 1e3 * time));
            value(ui, numbers.residual);
            ui.end_row();
        }
    };
    let rest = |ui: &mut egui::Ui| {
        let names = [
            "solver",
            "joint error [m]",
            "penetration [m]",
            "energy [J]",
            "distance [m]",
        ];
        titles(ui, &names);
        for (who, numbers) in &all {
            match numbers.is_solved {
                Some(true) => ui.colored_label(theme.good, "converged"),
                Some(false) => ui.colored_label(theme.warning, "not converged"),
                None => ui.label(""),
            };
            value(ui, numbers.joint_error);
            value(ui, numbers.penetration);
            value(ui, numbers.energy);
            value(ui, numbers.distance);
            if let Some(error) = &who.error {
                ui.colored_label(theme.error, error);
            }
            ui.end_row();
        }
    };
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| pinned(ui, "worlds", first, rest));
}

/// What has become of a world, in words and their colour; none before its first step.
fn judged(context: &Context, theme: &Theme, who: &Who, numbers: &Numbers) -> Option<Verdict> {
    let frame = context.playback.frame.as_ref()?;
    let now = Now {
        step: frame.step,
        joint_error: numbers.joint_error,
        fallen: numbers.fallen.unwrap_or(0),
        bodies: frame.dynamic_bodies,
    };
    let length = |error| format!("{} m", number(error));
    let (text, worst) = verdict(&frame.marks, who.world, now, length);
    let color = match worst {
        None => theme.good,
        Some(Miss::Tolerance) => theme.warning,
        Some(Miss::Apart | Miss::Fell | Miss::Stopped) => theme.error,
    };
    let is_judged = numbers.time.is_some() || worst.is_some();
    is_judged.then_some((text, color))
}

/// The same of the simulation's own world.
pub fn own_verdict(context: &Context, theme: &Theme) -> Option<Verdict> {
    let own = worlds_of(context).into_iter().next()?;
    judged(context, theme, &own, &numbers(&context.history, &own))
}

/// A card for each world: its colour and name, what a step takes, and what has become of it, in words.
pub fn cards(ui: &mut egui::Ui, context: &Context) {
    let theme = theme::of(ui);
    let card = |who: Who| {
        let numbers = numbers(&context.history, &who);
        Card {
            color: who.color(theme),
            verdict: judged(context, theme, &who, &numbers),
            name: who.name,
            time: numbers.time,
        }
    };
    let cards: Vec<Card> = worlds_of(context).into_iter().map(card).collect();
    deal(ui, &cards);
}

fn distance(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet("largest distance [m]"));
    plot(ui, context, "distance", Scale::Logarithmic, false, |s| {
        s.distance
    });
}

fn energy(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet(ENERGY.title));
    plot(ui, context, "energy", Scale::Range, true, |s| {
        s.energy.total()
    });
}

fn joint_error(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet("largest joint error [m]"));
    plot(ui, context, "error", Scale::Logarithmic, true, |s| {
        s.joint_error
    });
}

/// The curves of a number of all worlds over time. Of the simulation's own world, what other solvers did before its present
/// one is a curve of its own, under their names.
pub fn lines(
    history: &History,
    frame: Option<&Frame>,
    theme: &Theme,
    has_own: bool,
    value: impl Fn(&ParallelSample) -> f64,
) -> Vec<Curve> {
    let newest = history.samples.back().map(|s| s.solver.clone());
    let is_present = |s: &StepSample| newest.as_ref() == Some(&s.solver);
    let since = history.samples.iter().rposition(|s| !is_present(s));
    let since = since.map_or(0, |k| k + 1);
    let points = |who: &Who, samples: std::ops::Range<usize>| {
        let samples = history.samples.range(samples);
        let point = |s: &StepSample| Some([s.report.time, value(&who.of(s)?)]);
        samples.filter_map(point).collect::<Vec<_>>()
    };
    let mut curves = Vec::new();
    let worlds = worlds(history, frame).into_iter();
    for who in worlds.filter(|who| has_own || who.world.is_some()) {
        let begin = if who.world.is_none() { since } else { 0 };
        curves.push(Curve {
            points: points(&who, begin..history.samples.len()),
            color: who.color(theme),
            name: who.name.clone(),
        });
        if begin > 0 {
            let mut before: Vec<&str> = Vec::new();
            for sample in history.samples.range(..begin) {
                if !before.contains(&sample.solver.name.as_str()) {
                    before.push(&sample.solver.name);
                }
            }
            curves.push(Curve {
                points: points(&who, 0..begin),
                color: theme.quiet,
                name: format!("main before: {}", before.join(", ")),
            });
        }
    }
    curves
}

fn plot(
    ui: &mut egui::Ui,
    context: &Context,
    id: &str,
    scale: Scale,
    has_own: bool,
    value: impl Fn(&ParallelSample) -> f64,
) {
    let frame = context.playback.frame.as_ref();
    let lines = lines(&context.history, frame, theme::of(ui), has_own, value);
    // Those that there are have their cards above.
    let theme = theme::of(ui);
    curves_named(ui, id, scale, lines, |curve| curve.color == theme.quiet);
}
