//! Worlds side by side: how each fares, how far they are apart, and their energies and joint errors over time.

use bevy_egui::egui::{self, Color32};

use super::plots::{Curve, Scale, curves, over_time};
use super::theme::{self, Theme};
use super::widgets::number;
use super::{Context, Panel};
use crate::measure::Stage;
use crate::viewer::comparison::Mode;
use crate::viewer::frame::{RivalSample, RivalView, StepSample};

pub const TABLE: Panel = Panel::compared("worlds", table).wide(1.6).when(is_on);
pub const DISTANCE: Panel = Panel::compared("distance [m]", distance).when(is_on);
pub const ENERGY: Panel = Panel::compared("total energy [J]", energy).when(is_on);
pub const JOINT_ERROR: Panel = Panel::compared("joint error [m]", joint_error).when(is_on);

fn is_on(context: &Context) -> bool {
    context.comparison.mode == Mode::Worlds
}

/// The names of the worlds, each with its colour; first the simulation's own.
pub fn names(context: &Context, theme: &Theme) -> Vec<(String, Color32)> {
    let own = (context.setup.solver.name.clone(), theme.own_world);
    let rivals = context.playback.frame.iter().flat_map(|f| &f.rivals);
    let name = |rival: &RivalView| (rival.label.clone(), theme.series(rival.number));
    std::iter::once(own).chain(rivals.map(name)).collect()
}

/// The simulation's own world in the same numbers.
fn own(sample: &StepSample) -> RivalSample {
    let report = &sample.report;
    RivalSample {
        energy: sample.energy,
        joint_error: report.joint_error,
        penetration: report.penetration,
        residual: report.residual.map(|r| r.residual),
        time: report.timings.get(Stage::Step),
        distance: 0.0,
    }
}

fn of(sample: &StepSample, world: usize) -> Option<RivalSample> {
    match world.checked_sub(1) {
        None => Some(own(sample)),
        Some(k) => sample.rivals.get(k).copied(),
    }
}

fn table(ui: &mut egui::Ui, context: &mut Context) {
    let Some(last) = context.history.samples.back() else {
        ui.label(theme::quiet("no step taken yet"));
        return;
    };
    let frame = context.playback.frame.as_ref();
    if frame.is_some_and(|f| f.replayed.is_some()) {
        let text =
            "A recording is replayed: until something else is done the other worlds stand still.";
        ui.colored_label(theme::of(ui).warning, text);
    }
    let errors = context.playback.frame.iter().flat_map(|f| &f.rivals);
    let errors: Vec<Option<String>> = errors.map(|r| r.error.clone()).collect();
    egui::ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        egui::Grid::new("worlds")
            .striped(true)
            .spacing([10.0, 2.0])
            .show(ui, |ui| {
                for title in [
                    "world",
                    "step [ms]",
                    "residual [m/s]",
                    "joint error [m]",
                    "penetration [m]",
                    "energy [J]",
                    "distance [m]",
                ] {
                    ui.label(theme::quiet(title));
                }
                ui.end_row();
                for (k, (name, color)) in names(context, theme::of(ui)).into_iter().enumerate() {
                    let Some(sample) = of(last, k) else { continue };
                    let label = ui.colored_label(color, name);
                    let error = k.checked_sub(1).and_then(|k| errors.get(k)?.as_deref());
                    if let Some(error) = error {
                        label.on_hover_text(error);
                    }
                    // It is not evaluated in every step.
                    let mut samples = context.history.samples.iter().rev();
                    let residual = samples.find_map(|s| of(s, k)?.residual);
                    for value in [
                        Some(1e3 * sample.time),
                        residual,
                        Some(sample.joint_error),
                        Some(sample.penetration),
                        Some(sample.energy.total()),
                        Some(sample.distance),
                    ] {
                        ui.monospace(value.map_or(String::new(), number));
                    }
                    if let Some(error) = error {
                        ui.colored_label(theme::of(ui).error, error);
                    }
                    ui.end_row();
                }
            });
    });
}

fn distance(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet("largest distance [m]"));
    plot(ui, context, "distance", Scale::Logarithmic, 1, |s| {
        s.distance
    });
}

fn energy(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet(ENERGY.title));
    plot(ui, context, "energy", Scale::Range, 0, |s| s.energy.total());
}

fn joint_error(ui: &mut egui::Ui, context: &mut Context) {
    ui.label(theme::quiet("largest joint error [m]"));
    plot(ui, context, "error", Scale::Logarithmic, 0, |s| {
        s.joint_error
    });
}

fn plot(
    ui: &mut egui::Ui,
    context: &Context,
    id: &str,
    scale: Scale,
    first: usize,
    value: impl Fn(&RivalSample) -> f64,
) {
    let worlds = names(context, theme::of(ui))
        .into_iter()
        .enumerate()
        .skip(first);
    let lines = worlds.map(|(k, (name, color))| Curve {
        name,
        color,
        points: over_time(&context.history, |s| Some(value(&of(s, k)?))),
    });
    curves(ui, id, scale, lines.collect());
}
