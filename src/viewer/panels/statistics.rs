//! What the solver says about itself, by name: its numbers and distributions, and plots of the numbers.

use bevy_egui::egui;

use super::plots::{Curve, Scale, curves, over_time};
use super::widgets::{columns, quantity};
use super::{Context, Panel, theme, toggle};

pub const TABLE: Panel = Panel::right("Solver's numbers", false, show_table).when(|context| {
    let last = context.history.samples.back();
    last.is_some_and(|s| !s.report.solve.statistics.is_empty())
});

pub const PLOT: Panel = Panel::plot("solver's numbers", false, show_plot).when(TABLE.applies);

fn show_table(ui: &mut egui::Ui, context: &mut Context) {
    let Some(last) = context.history.samples.back() else {
        return;
    };
    let solve = &last.report.solve;
    let open = &mut *context.open;
    let chosen = &mut open.statistics;
    let mut wanted = false;
    egui::Grid::new("statistics")
        .num_columns(2)
        .spacing([8.0, 2.0])
        .striped(true)
        .show(ui, |ui| {
            for statistic in &solve.statistics {
                let mut shown = chosen.contains(statistic.name);
                let label = ui.toggle_value(&mut shown, statistic.name);
                let hint = format!("{}\nPress to plot it over time.", statistic.summary);
                if label.on_hover_text(hint.trim()).changed() {
                    toggle(chosen, statistic.name);
                    wanted |= shown;
                }
                let value = egui::RichText::new(quantity(statistic.value, statistic.unit));
                let value = value.monospace();
                ui.label(if statistic.value == 0.0 {
                    value.weak()
                } else {
                    value
                });
                ui.end_row();
            }
        });
    if wanted && !open.shows_plot(&PLOT) {
        open.toggle(PLOT.title);
    }
    for distribution in &solve.distributions {
        let counts = &distribution.counts;
        let most = counts.iter().max().unwrap_or(&0);
        let text = format!("{}: {}, at most {most}", distribution.name, counts.len());
        ui.label(theme::quiet(text));
        columns(ui, counts);
    }
}

fn show_plot(ui: &mut egui::Ui, context: &mut Context) {
    let history = &context.history;
    let last = history.samples.back();
    let statistics = last.map_or(&[][..], |s| &s.report.solve.statistics);
    let chosen = statistics
        .iter()
        .filter(|s| context.open.statistics.contains(s.name));
    let lines = chosen.zip((0..).map(|k| theme::of(ui).series(k)));
    let lines: Vec<Curve> = lines
        .map(|(statistic, color)| {
            let (scale, unit) = match statistic.unit {
                "s" => (1e3, " [ms]".into()),
                "-" | "" => (1.0, String::new()),
                unit => (1.0, format!(" [{unit}]")),
            };
            Curve {
                name: format!("{}{unit}", statistic.name),
                color,
                points: over_time(history, |s| {
                    Some(scale * s.report.solve.statistic(statistic.name)?)
                }),
            }
        })
        .collect();
    if lines.is_empty() {
        ui.label(theme::quiet(
            "choose numbers in the panel \"Solver's numbers\"",
        ));
    }
    curves(ui, "statistics", Scale::Range, lines);
}
