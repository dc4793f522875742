//! Worlds side by side: how each fares, how far they are apart, and their energies and joint errors over time.

use bevy_egui::egui::{self, Color32};

use super::plots::{Curve, Scale, curves};
use super::theme::{self, Theme};
use super::widgets::number;
use super::{Context, Panel};
use crate::measure::Stage;
use crate::viewer::comparison::Mode;
use crate::viewer::frame::{Frame, RivalSample, RivalView, StepSample};
use crate::viewer::history::History;
use crate::viewer::verdicts::{self, Miss, verdict};

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
    fn of(&self, sample: &StepSample) -> Option<RivalSample> {
        match self.world {
            None => Some(own(sample)),
            Some(world) => sample.rivals.iter().find(|r| r.world == world).copied(),
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
    let rival = |rival: &RivalView| Who {
        name: rival.label.clone(),
        world: Some(rival.world),
        series: Some(rival.series),
        error: rival.error.clone(),
    };
    let rivals = frame.into_iter().flat_map(|frame| &frame.rivals);
    std::iter::once(own).chain(rivals.map(rival)).collect()
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

/// The simulation's own world in the same numbers.
fn own(sample: &StepSample) -> RivalSample {
    let report = &sample.report;
    RivalSample {
        world: 0,
        energy: sample.energy,
        joint_error: report.joint_error,
        penetration: report.penetration,
        residual: report.residual.map(|r| r.residual),
        is_solved: verdicts::is_solved(report),
        time: report.timings.get(Stage::Step),
        distance: 0.0,
    }
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
    let of = |value: fn(&RivalSample) -> f64| last.as_ref().map(value);
    // It is not evaluated in every step, and another solver's is not this one's.
    let same = |s: &&StepSample| who.world.is_some() || s.solver == newest.solver;
    let mut samples = history.samples.iter().rev().take_while(same);
    Numbers {
        time: of(|s| s.time),
        residual: samples.find_map(|s| who.of(s)?.residual),
        is_solved: last.as_ref().map(|s| s.is_solved),
        joint_error: of(|s| s.joint_error),
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
    egui::ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        egui::Grid::new("worlds")
            .striped(true)
            .spacing([10.0, 2.0])
            .show(ui, |ui| {
                for title in [
                    "world",
                    "step [ms]",
                    "solver",
                    "residual [m/s]",
                    "joint error [m]",
                    "penetration [m]",
                    "energy [J]",
                    "distance [m]",
                ] {
                    ui.label(theme::quiet(title));
                }
                ui.end_row();
                for who in worlds_of(context) {
                    let label = ui.colored_label(who.color(theme::of(ui)), &who.name);
                    if let Some(error) = &who.error {
                        label.on_hover_text(error);
                    }
                    let numbers = numbers(&context.history, &who);
                    let time = numbers.time.map(|time| number(1e3 * time));
                    ui.monospace(time.unwrap_or_default());
                    match numbers.is_solved {
                        Some(true) => ui.colored_label(theme::of(ui).good, "converged"),
                        Some(false) => ui.colored_label(theme::of(ui).warning, "not converged"),
                        None => ui.label(""),
                    };
                    for value in [
                        numbers.residual,
                        numbers.joint_error,
                        numbers.penetration,
                        numbers.energy,
                        numbers.distance,
                    ] {
                        ui.monospace(value.map_or(String::new(), number));
                    }
                    if let Some(error) = &who.error {
                        ui.colored_label(theme::of(ui).error, error);
                    }
                    ui.end_row();
                }
            });
    });
}

/// A card for each world: its colour and name, what a step takes, and what has become of it, in words.
pub fn cards(ui: &mut egui::Ui, context: &Context) {
    if !is_on(context) || !context.comparison.is_on() {
        return;
    }
    let theme = theme::of(ui);
    let frame = context.playback.frame.as_ref();
    let marks = frame.map_or(&[][..], |f| &f.marks);
    let step = frame.map_or(0, |f| f.step);
    ui.horizontal_wrapped(|ui| {
        for who in worlds_of(context) {
            let numbers = numbers(&context.history, &who);
            let length = |error| format!("{} m", number(error));
            let now = (step, numbers.joint_error);
            let (text, worst) = verdict(marks, who.world, now, length);
            let color = match worst {
                None => theme.good,
                Some(Miss::Tolerance) => theme.warning,
                Some(Miss::Apart | Miss::Stopped) => theme.error,
            };
            theme.card(who.color(theme)).show(ui, |ui| {
                ui.colored_label(who.color(theme), egui::RichText::new(&who.name).strong());
                if let Some(time) = numbers.time {
                    ui.label(theme::quiet(format!("{} ms", number(1e3 * time))))
                        .on_hover_text("what its last step took");
                }
                let taken = numbers.time.is_some() || worst.is_some();
                match taken {
                    true => ui.colored_label(color, text),
                    false => ui.label(theme::quiet("no step taken yet")),
                };
            });
        }
    });
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
    value: impl Fn(&RivalSample) -> f64,
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
    value: impl Fn(&RivalSample) -> f64,
) {
    let frame = context.playback.frame.as_ref();
    let lines = lines(&context.history, frame, theme::of(ui), has_own, value);
    curves(ui, id, scale, lines);
}
