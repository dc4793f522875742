//! The timing tree: what a step spends its time on.

use bevy_egui::egui;

use super::widgets::swatch;
use super::{Context, Panel, theme};
use crate::measure::{Stage, Summary};

pub const PANEL: Panel = Panel::right("Timings", true, show);

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let samples = &context.history.samples;
    if samples.is_empty() {
        ui.label(theme::quiet("no step taken yet"));
        return;
    }
    egui::Grid::new("timings")
        .num_columns(5)
        .spacing([6.0, 2.0])
        .striped(true)
        .show(ui, |ui| {
            for title in ["[ms]", "now", "mean", "95 %", "max"] {
                ui.label(theme::quiet(title));
            }
            ui.end_row();
            for stage in Stage::ALL {
                let times = samples.iter().map(|s| s.report.timings.get(stage));
                let times: Vec<f64> = times.collect();
                let summary = Summary::of(&times);
                let part = Stage::PARTS.iter().position(|p| *p == stage);
                ui.horizontal(|ui| {
                    match part {
                        Some(k) => {
                            ui.add_space(6.0);
                            swatch(ui, theme::of(ui).stages[k]);
                            let label = ui.label(stage.name());
                            if stage == Stage::Wait {
                                label.on_hover_text("until the step's threads run, and until what has asked for it runs again: \
                                                     nothing is computed");
                            }
                        }
                        None if stage == Stage::Measure => {
                            ui.label(theme::quiet("(measure)")).on_hover_text(
                                "residuals, convergence histories and counting: no part of the step",
                            );
                        }
                        None => {
                            ui.strong(stage.name());
                        }
                    };
                });
                for value in [times[times.len() - 1], summary.mean, summary.p95, summary.max] {
                    ui.monospace(milliseconds(value));
                }
                ui.end_row();
            }
        });
    ui.label(theme::quiet(format!(
        "over the last {} steps",
        samples.len()
    )));
    if samples.back().is_some_and(|s| s.report.is_repeated) {
        ui.label("asleep").on_hover_text(
            "everything rests: the last step was the one before, to the last bit, and was not taken again",
        );
    }
}

/// A time in milliseconds, in at most five characters.
fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        t if t < 10.0 => format!("{t:.3}"),
        t if t < 100.0 => format!("{t:.2}"),
        t if t < 1000.0 => format!("{t:.1}"),
        t => format!("{t:.0}"),
    }
}
