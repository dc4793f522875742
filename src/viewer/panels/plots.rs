//! The plots at the bottom: residual and iterations over time, convergence of the last step, what the
//! steps spent their time on, and what pivoting solvers did.

use bevy_egui::egui::{self, Color32};
use egui_plot::{FilledArea, GridMark, HoverPosition, Line, Plot, PlotPoints};

use super::{Context, theme};
use crate::measure::Stage;
use crate::solve::bpp::PivotReport;
use crate::viewer::history::History;

/// Which plots are shown.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    residual: bool,
    iterations: bool,
    /// Recording it costs one evaluation of the residual per iteration.
    pub convergence: bool,
    timings: bool,
    pivots: bool,
    tight: bool,
    factor: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            residual: true,
            iterations: true,
            convergence: false,
            timings: true,
            pivots: false,
            tight: false,
            factor: false,
        }
    }
}

/// Below this nothing is told apart on a logarithmic axis.
const FLOOR: f64 = 1e-18;

/// Shows the plots side by side.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    // A resizable panel is as large as what it holds.
    ui.set_min_height(ui.available_height());
    let last = context.history.samples.back();
    let pivoting = last.is_some_and(|s| s.pivoting.is_some());
    let coulomb = last.is_some_and(|s| s.residual_coulomb.is_some());
    let choice = &mut context.open.plot;
    ui.horizontal(|ui| {
        ui.toggle_value(&mut choice.residual, "residual");
        ui.toggle_value(&mut choice.iterations, "iterations");
        ui.toggle_value(&mut choice.convergence, "convergence of the last step")
            .on_hover_text(
                "evaluates the residual after every iteration; not counted in the timings",
            );
        ui.toggle_value(&mut choice.timings, "time per step");
        if pivoting {
            ui.toggle_value(&mut choice.pivots, "pivots");
            ui.toggle_value(&mut choice.tight, "tight rows");
            ui.toggle_value(&mut choice.factor, "factor and solve");
        }
    });
    let mut choice = *choice;
    if !pivoting {
        (choice.pivots, choice.tight, choice.factor) = (false, false, false);
    }
    let shown = [
        choice.residual,
        choice.iterations,
        choice.convergence,
        choice.timings,
        choice.pivots,
        choice.tight,
        choice.factor,
    ];
    let count = shown.iter().filter(|s| **s).count();
    if count == 0 {
        ui.label(theme::quiet("no plot is chosen"));
        return;
    }
    let gap = ui.spacing().item_spacing.x;
    let size = egui::vec2(
        (ui.available_width() + gap) / count as f32 - gap,
        (ui.available_height() - 8.0).max(60.0),
    );
    ui.horizontal_top(|ui| {
        let mut cell =
            |title: &str, lines: &[(&str, Color32)], add: &mut dyn FnMut(&mut egui::Ui)| {
                ui.allocate_ui(size, |ui| {
                    ui.vertical(|ui| {
                        ui.horizontal(|ui| {
                            for (name, color) in lines {
                                ui.label(egui::RichText::new(*name).color(*color));
                            }
                            ui.add(egui::Label::new(theme::quiet(title)).truncate());
                        });
                        add(ui);
                    });
                });
            };
        if choice.residual {
            let both = [
                ("own law", theme::ACCENT),
                ("exact Coulomb", theme::WARNING),
            ];
            let lines = if coulomb { &both[..] } else { &[] };
            cell("residual [m/s] over time [s]", lines, &mut |ui| {
                residual(ui, &context.history)
            });
        }
        if choice.iterations {
            cell("iterations over time [s]", &[], &mut |ui| {
                iterations(ui, &context.history)
            });
        }
        if choice.convergence {
            cell("residual [m/s] against iteration", &[], &mut |ui| {
                convergence(ui, context)
            });
        }
        if choice.timings {
            // The colours are those of the timing tree.
            cell("time per step [ms] over time [s]", &[], &mut |ui| {
                timings(ui, &context.history)
            });
        }
        for (shown, title, lines) in [
            (choice.pivots, "per step", &PIVOTS[..]),
            (choice.tight, "rows at a bound [%]", &TIGHT[..]),
            (choice.factor, "[ms]", &FACTOR[..]),
        ] {
            if shown {
                let names: Vec<_> = lines.iter().map(|l| (l.name, l.color)).collect();
                cell(title, &names, &mut |ui| {
                    pivoting_lines(ui, &context.history, lines)
                });
            }
        }
    });
}

fn plot(id: &str) -> Plot<'_> {
    Plot::new(id)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .show_background(true)
        .y_axis_min_width(30.0)
        .set_margin_fraction(egui::vec2(0.01, 0.06))
}

fn logarithmic(id: &str) -> Plot<'_> {
    plot(id)
        .y_axis_formatter(|mark: GridMark, _: &_| format!("1e{:.0}", mark.value))
        .y_grid_spacer(|input| {
            let (low, high) = input.bounds;
            let step = ((high - low) / 6.0).ceil().max(1.0);
            let mut value = (low / step).ceil() * step;
            let mut marks = Vec::new();
            while value <= high && marks.len() < 64 {
                marks.push(GridMark {
                    value,
                    step_size: step,
                });
                value += step;
            }
            marks
        })
        .label_formatter(|hover: &HoverPosition<'_>| {
            let (HoverPosition::NearDataPoint { position: at, .. }
            | HoverPosition::Elsewhere { position: at }) = hover;
            Some(format!("{:.4}: {:.2e}", at.x, 10f64.powf(at.y)))
        })
}

fn over_time(history: &History, value: impl Fn(usize) -> f64) -> Vec<[f64; 2]> {
    (0..history.samples.len())
        .map(|k| [history.samples[k].time, value(k)])
        .collect()
}

fn residual(ui: &mut egui::Ui, history: &History) {
    let points = over_time(history, |k| history.samples[k].residual.max(FLOOR).log10());
    let coulomb: Vec<[f64; 2]> = history
        .samples
        .iter()
        .filter_map(|s| Some([s.time, s.residual_coulomb?.max(FLOOR).log10()]))
        .collect();
    logarithmic("residual").show(ui, |plot| {
        // Where both are the same, the other one shows on either side of the thinner line.
        if !coulomb.is_empty() {
            let line = Line::new("exact Coulomb", coulomb);
            plot.line(line.color(theme::WARNING).width(3.0));
        }
        plot.line(
            Line::new("residual", points)
                .color(theme::ACCENT)
                .width(1.4),
        );
    });
}

fn iterations(ui: &mut egui::Ui, history: &History) {
    let points = over_time(history, |k| f64::from(history.samples[k].iterations));
    plot("iterations").include_y(0.0).show(ui, |plot| {
        plot.line(
            Line::new("iterations", points)
                .color(theme::WARNING)
                .width(1.4),
        );
    });
}

/// A number of a pivoting solver that is plotted over time.
struct Quantity {
    name: &'static str,
    color: Color32,
    value: fn(&PivotReport) -> f64,
}

static PIVOTS: [Quantity; 2] = [
    Quantity {
        name: "pivots",
        color: theme::ACCENT,
        value: |p| p.pivots as f64,
    },
    Quantity {
        name: "outer iterations",
        color: theme::WARNING,
        value: |p| p.outer_iterations as f64,
    },
];
static TIGHT: [Quantity; 1] = [Quantity {
    name: "tight",
    color: theme::ERROR,
    value: |p| 100.0 * p.tight as f64 / p.rows.max(1) as f64,
}];
static FACTOR: [Quantity; 2] = [
    Quantity {
        name: "factor",
        color: theme::ACCENT,
        value: |p| 1e3 * p.factor_time,
    },
    Quantity {
        name: "solve",
        color: theme::GOOD,
        value: |p| 1e3 * p.solve_time,
    },
];

fn pivoting_lines(ui: &mut egui::Ui, history: &History, quantities: &[Quantity]) {
    let id = quantities[0].name;
    plot(id).include_y(0.0).show(ui, |plot| {
        for quantity in quantities {
            let points: Vec<[f64; 2]> = history
                .samples
                .iter()
                .filter_map(|s| Some([s.time, (quantity.value)(s.pivoting.as_ref()?)]))
                .collect();
            let line = Line::new(quantity.name, points);
            plot.line(line.color(quantity.color).width(1.4));
        }
    });
}

fn convergence(ui: &mut egui::Ui, context: &Context) {
    let history = context
        .playback
        .frame
        .as_ref()
        .map_or(&[][..], |f| &f.history);
    let points: Vec<[f64; 2]> = history
        .iter()
        .map(|p| [f64::from(p.iteration), p.residual.max(FLOOR).log10()])
        .collect();
    logarithmic("convergence").show(ui, |plot| {
        plot.line(Line::new("residual", points).color(theme::GOOD).width(1.6));
    });
}

fn timings(ui: &mut egui::Ui, history: &History) {
    let times: Vec<f64> = history.samples.iter().map(|s| s.time).collect();
    let mut below = vec![0.0; times.len()];
    let mut layers = Vec::new();
    for (stage, color) in Stage::PARTS.into_iter().zip(theme::STAGES) {
        let above: Vec<f64> = history
            .samples
            .iter()
            .zip(&below)
            .map(|(s, under)| under + 1e3 * s.timings.get(stage))
            .collect();
        layers.push((stage.name(), color, below, above.clone()));
        below = above;
    }
    plot("timings").include_y(0.0).show(ui, |plot| {
        for (name, color, low, high) in &layers {
            if times.len() > 1 {
                plot.add(FilledArea::new(*name, &times, low, high).fill_color(*color));
            }
        }
        // Only lines take part in the bounds that fit themselves.
        let top: PlotPoints = times.iter().zip(&below).map(|(x, y)| [*x, *y]).collect();
        plot.line(
            Line::new("", top)
                .color(egui::Color32::TRANSPARENT)
                .allow_hover(false),
        );
    });
}
