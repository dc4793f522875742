//! The plots at the bottom: residual and iterations over time, convergence of the last step, and what the
//! steps spent their time on.

use bevy_egui::egui::{self, Color32};
use egui_plot::{
    AxisHints, FilledArea, GridInput, GridMark, HoverPosition, Line, Plot, PlotPoints, Points,
};

use super::widgets::number;
use super::{Context, Panel, Place, at, cards, theme};
use crate::measure::Stage;
use crate::viewer::frame::StepSample;
use crate::viewer::history::History;

pub const RESIDUAL: Panel = Panel::plot("residual [m/s]", true, residual);
pub const ITERATIONS: Panel = Panel::plot("iterations", true, iterations);
pub const CONVERGENCE: Panel = Panel::plot("convergence of the last step", false, convergence);
pub const TIMINGS: Panel = Panel::plot("time per step [ms]", true, timings);

/// Below this nothing is told apart on a logarithmic axis.
const FLOOR: f64 = 1e-18;

/// Shows the plots that are chosen side by side.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    // A resizable panel is as large as what it holds.
    ui.set_min_height(ui.available_height());
    let tab = context.open.tab;
    let mut plots = at(tab, context);
    // In one line, however narrow the window is.
    let line = egui::ScrollArea::horizontal().id_salt("plots that there are");
    line.show(ui, |ui| ui.horizontal(|ui| choose(ui, context, &plots)));
    if tab == Place::Comparison {
        cards::show(ui, context);
    }
    plots.retain(|panel| context.open.shows_plot(panel));
    if plots.is_empty() {
        ui.label(theme::quiet("no plot is chosen"));
        return;
    }
    let gap = ui.spacing().item_spacing.x;
    let all: f32 = plots.iter().map(|panel| panel.share).sum();
    let width = ui.available_width() - gap * (plots.len() - 1) as f32;
    let height = (ui.available_height() - 8.0).max(60.0);
    ui.horizontal_top(|ui| {
        for panel in plots {
            let size = egui::vec2(width * panel.share / all, height);
            ui.allocate_ui(size, |ui| {
                // What needs more room than it gets must not take it from its neighbours.
                ui.set_max_width(size.x);
                ui.vertical(|ui| (panel.show)(ui, context))
            });
        }
    });
}

/// Which group of plots is shown, and which of them.
fn choose(ui: &mut egui::Ui, context: &mut Context, plots: &[&Panel]) {
    for (tab, name) in [
        (Place::Bottom, "the run"),
        (Place::Comparison, "comparison"),
    ] {
        let name = egui::RichText::new(name).strong();
        ui.selectable_value(&mut context.open.tab, tab, name);
    }
    ui.separator();
    for panel in plots {
        let mut shown = context.open.shows_plot(panel);
        if ui.toggle_value(&mut shown, panel.title).changed() {
            context.open.toggle(panel.title);
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is, with its unit.
    pub name: String,
    pub color: Color32,
    pub points: Vec<[f64; 2]>,
}

/// How the values of curves are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Their range alone.
    Range,
    /// Their range and zero.
    FromZero,
    /// By powers of ten.
    Logarithmic,
    /// Both axes by powers of ten.
    LogLog,
}

/// A number of each step against its time (s); steps that have none are left out.
pub fn over_time(history: &History, value: impl Fn(&StepSample) -> Option<f64>) -> Vec<[f64; 2]> {
    let samples = history.samples.iter();
    let point = |s: &StepSample| Some([s.report.time, value(s)?]);
    samples.filter_map(point).collect()
}

/// Draws curves over each other, with their names above; says so where there is nothing to draw.
pub fn curves(ui: &mut egui::Ui, id: &str, scale: Scale, curves: Vec<Curve>) {
    curves_named(ui, id, scale, curves, |_| true);
}

/// The same, with the names of some of them: the others are named elsewhere in the same colours.
pub fn curves_named(
    ui: &mut egui::Ui,
    id: &str,
    scale: Scale,
    mut curves: Vec<Curve>,
    is_named: impl Fn(&Curve) -> bool,
) {
    for curve in &mut curves {
        // What has no end would leave no scale for the rest.
        let is_number = |[x, y]: &[f64; 2]| x.is_finite() && y.is_finite();
        curve.points.retain(is_number);
    }
    if curves.iter().all(|curve| curve.points.is_empty()) {
        ui.label(theme::quiet("nothing to show yet"));
        return;
    }
    ui.horizontal_wrapped(|ui| {
        for curve in curves.iter().filter(|curve| is_named(curve)) {
            let name = egui::RichText::new(&curve.name).color(curve.color);
            ui.add(egui::Label::new(name).truncate());
        }
    });
    let plot = match scale {
        Scale::Range => plot(id),
        Scale::FromZero => plot(id).include_y(0.0),
        Scale::Logarithmic => logarithmic(id),
        Scale::LogLog => twice_logarithmic(id),
    };
    plot.show(ui, |plot| {
        // Where two are the same, the first one shows on either side of the thinner second one.
        let mut width = 1.6 + 1.4 * curves.len().saturating_sub(1).min(1) as f32;
        for mut curve in curves {
            for [x, y] in &mut curve.points {
                if matches!(scale, Scale::Logarithmic | Scale::LogLog) {
                    *y = y.max(FLOOR).log10();
                }
                if scale == Scale::LogLog {
                    *x = x.max(FLOOR).log10();
                }
            }
            // A line of one point is hardly seen.
            if let [only] = curve.points[..] {
                let point = Points::new(curve.name.as_str(), vec![only]);
                plot.points(point.color(curve.color).radius(2.5));
            }
            let line = Line::new(curve.name, curve.points).color(curve.color);
            plot.line(line.width(width));
            width = 1.4;
        }
    });
}

/// Numbers of the y axis are hidden where they are closer than that (points); shown in full from twice as much.
const LEAST_APART: f32 = 8.0;

fn plot(id: &str) -> Plot<'_> {
    Plot::new(id)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .show_background(true)
        .custom_y_axes(vec![
            AxisHints::new_y()
                .min_thickness(30.0)
                .label_spacing(egui::Rangef::new(LEAST_APART, 2.0 * LEAST_APART)),
        ])
        .y_axis_formatter(|mark: GridMark, _: &_| short(mark))
        .y_grid_spacer(|input| round(input, Y_SPACING))
        .set_margin_fraction(egui::vec2(0.01, 0.06))
}

/// A number of an axis, in as many digits as tell it from its neighbours, at most; powers of ten where it is large.
fn short(mark: GridMark) -> String {
    let is_whole = |digits: &usize| {
        let scaled = mark.step_size * 10f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    };
    let digits = (0..9).find(is_whole).unwrap_or(9);
    match mark.value {
        v if v.abs() >= 1e6 => format!("{v:.1e}"),
        v => format!("{v:.digits$}"),
    }
}

fn logarithmic(id: &str) -> Plot<'_> {
    plot(id)
        .y_axis_formatter(|mark: GridMark, _: &_| exponent(mark))
        .y_grid_spacer(|input| decades(input, Y_SPACING))
        .label_formatter(|hover: &HoverPosition<'_>| {
            let [x, y] = position(hover);
            Some(format!("{x:.4}: {:.2e}", 10f64.powf(y)))
        })
}

fn twice_logarithmic(id: &str) -> Plot<'_> {
    logarithmic(id)
        .custom_x_axes(vec![AxisHints::new_x().label_spacing(egui::Rangef::new(
            3.0 * LEAST_APART,
            5.0 * LEAST_APART,
        ))])
        .x_axis_formatter(|mark: GridMark, _: &_| power(mark.value))
        .x_grid_spacer(|input| decades(input, X_SPACING))
        .label_formatter(|hover: &HoverPosition<'_>| {
            let [x, y] = position(hover).map(|v| 10f64.powf(v));
            let name = match hover {
                HoverPosition::NearDataPoint { plot_name, .. } => format!("{plot_name}\n"),
                HoverPosition::Elsewhere { .. } => String::new(),
            };
            Some(format!("{name}{}: {y:.2e}", number(x)))
        })
}

/// The number whose logarithm a mark stands at.
fn exponent(mark: GridMark) -> String {
    match mark.value.fract() == 0.0 {
        true => format!("1e{:.0}", mark.value),
        false => format!("{:.1e}", 10f64.powf(mark.value)),
    }
}

/// A power of ten as it is read most easily.
fn power(exponent: f64) -> String {
    match exponent {
        e if e.fract() != 0.0 => number(10f64.powf(e)),
        e if (-3.0..=4.0).contains(&e) => format!("{}", 10f64.powf(e)),
        e => format!("1e{e:.0}"),
    }
}

fn position(hover: &HoverPosition<'_>) -> [f64; 2] {
    let (HoverPosition::NearDataPoint { position: at, .. }
    | HoverPosition::Elsewhere { position: at }) = hover;
    [at.x, at.y]
}

/// Least distance of lines that have numbers, in those that the plot could just draw apart (-): numbers closer than
/// that are left out by the plot, and would all be. They are 30 points apart upwards, 48 sideways, lines 8.
const Y_SPACING: f64 = 30.0 / 8.0;
const X_SPACING: f64 = 48.0 / 8.0;
/// Height of a number, in the same.
const NUMBER: f64 = 15.0 / 8.0;

/// The multiples of a power of ten that lines may be apart, and others where none of these leaves two lines that are far
/// enough apart for their numbers.
const MULTIPLES: [f64; 3] = [1.0, 2.0, 5.0];
const MORE_MULTIPLES: [f64; 9] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Lines at round numbers, as far apart as numbers have to be, but at least two of them however small the plot is.
fn round(input: GridInput, spacing: f64) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    let (wanted, most) = (spacing * input.base_step_size, 0.5 * (high - low));
    let is_usable = |size: f64| size.is_finite() && size > 0.0;
    if !(is_usable(wanted) && is_usable(most)) {
        return Vec::new();
    }
    let decade = 10f64.powf(wanted.min(most).log10().floor());
    let fits = |step: &f64| *step <= most * (1.0 + 1e-9);
    let tens = [decade, 10.0 * decade].into_iter();
    let mut usual = tens.flat_map(|ten| MULTIPLES.map(|multiple| multiple * ten));
    let usual = usual.find(|step| *step >= wanted).filter(fits);
    let mut others = MORE_MULTIPLES.into_iter().rev().map(|m| m * decade);
    let step = usual.or_else(|| others.find(fits));
    step.map_or_else(Vec::new, |step| marks(step, input.bounds))
}

fn marks(step: f64, (low, high): (f64, f64)) -> Vec<GridMark> {
    let first = (low / step).ceil() as i64;
    let marks = (first..first + 64).map(|k| GridMark {
        value: k as f64 * step,
        step_size: step,
    });
    marks.take_while(|mark| mark.value <= high).collect()
}

/// A line per power of ten, or per two or three where there is no room for more; where there are fewer than two of them,
/// lines between them.
fn decades(input: GridInput, spacing: f64) -> Vec<GridMark> {
    let step = (spacing * input.base_step_size).ceil().max(1.0);
    let most = (0.5 * (input.bounds.1 - input.bounds.0)).floor();
    let step = step.min(most.max(1.0));
    let whole = marks(step, input.bounds);
    if whole.len() >= 2 && step >= NUMBER * input.base_step_size {
        return whole;
    }
    round(input, spacing)
}

fn residual(ui: &mut egui::Ui, context: &mut Context) {
    let history = &context.history;
    let coulomb = over_time(history, |s| Some(s.report.residual_coulomb?.residual));
    let own = over_time(history, |s| Some(s.report.residual?.residual));
    let law = history.samples.iter().rev().find_map(|s| s.report.law);
    let mut lines = Vec::new();
    let name = match law {
        // Under each of them something else is exact.
        Some(law) if !coulomb.is_empty() => {
            lines.push(Curve {
                name: "under exact Coulomb friction".into(),
                color: theme::of(ui).warning,
                points: coulomb,
            });
            let solver = history.solver();
            format!("under {}, as {solver} solves it", law.words())
        }
        _ => "residual".to_owned(),
    };
    lines.push(Curve {
        name: format!("{name} [m/s]"),
        color: theme::of(ui).accent,
        points: own,
    });
    curves(ui, "residual", Scale::Logarithmic, lines);
}

fn iterations(ui: &mut egui::Ui, context: &mut Context) {
    let count = |s: &StepSample| Some(f64::from(s.report.solve.iterations));
    let line = Curve {
        name: "iterations, most of any island".into(),
        color: theme::of(ui).warning,
        points: over_time(&context.history, count),
    };
    curves(ui, "iterations", Scale::FromZero, vec![line]);
}

/// Recording it costs one evaluation of the residual per iteration, so that it is asked for.
fn convergence(ui: &mut egui::Ui, context: &mut Context) {
    context.open.asked.history = true;
    let last = context.history.samples.back();
    let points = last.into_iter().flat_map(|s| &s.report.solve.history);
    let line = Curve {
        name: "residual [m/s] against iteration".into(),
        color: theme::of(ui).good,
        points: points
            .map(|p| [f64::from(p.iteration), p.residual])
            .collect(),
    };
    curves(ui, "convergence", Scale::Logarithmic, vec![line]);
}

/// The stages on top of each other, in the colours of the timing tree.
fn timings(ui: &mut egui::Ui, context: &mut Context) {
    let samples = &context.history.samples;
    ui.label(theme::quiet(TIMINGS.title));
    let times: Vec<f64> = samples.iter().map(|s| s.report.time).collect();
    let of = |stage| samples.iter().map(move |s| s.report.timings.get(stage));
    let stages = Stage::PARTS.into_iter().zip(theme::of(ui).stages);
    let layers = stages.map(|(stage, color)| Layer {
        name: stage.name(),
        color,
        values: of(stage).map(|time| 1e3 * time).collect(),
    });
    stacked(ui, "timings", &times, &layers.collect::<Vec<Layer>>());
}

/// A part of a whole over time.
pub struct Layer {
    pub name: &'static str,
    pub color: Color32,
    pub values: Vec<f64>,
}

/// Draws layers on top of each other, the first one at the bottom, a value each per time (s).
pub fn stacked(ui: &mut egui::Ui, id: &str, times: &[f64], layers: &[Layer]) {
    let mut below = vec![0.0; times.len()];
    plot(id).include_y(0.0).show(ui, |plot| {
        for layer in layers {
            let both = layer.values.iter().zip(&below);
            let above: Vec<f64> = both.map(|(value, y)| value + y).collect();
            if times.len() > 1 {
                let area = FilledArea::new(layer.name, times, &below, &above);
                plot.add(area.fill_color(layer.color));
            }
            below = above;
        }
        // Only lines take part in the bounds that fit themselves.
        let top: PlotPoints = times.iter().zip(&below).map(|(x, y)| [*x, *y]).collect();
        let line = Line::new("", top).color(Color32::TRANSPARENT);
        plot.line(line.allow_hover(false));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_two_numbers_at_least() {
        for height in [50.0, 60.0, 77.0, 120.0, 400.0] {
            for low in [0.0, -3.3, 1e-9, 812.0, 2.1e21_f64] {
                for k in 0..60 {
                    let range = 10f64.powf(f64::from(k) / 7.3 - 4.0) * f64::max(1.0, low.abs());
                    let input = || GridInput {
                        bounds: (low, low + range),
                        base_step_size: 8.0 * range / height,
                    };
                    for marks in [round(input(), Y_SPACING), decades(input(), Y_SPACING)] {
                        assert!(marks.len() >= 2, "{low} + {range} on {height}: {marks:?}");
                        let apart = marks[0].step_size * height / (8.0 * range);
                        assert!(apart >= NUMBER, "{low} + {range} on {height}: {apart}");
                        let texts: Vec<String> = marks.iter().map(|m| short(*m)).collect();
                        let is_told = texts.windows(2).all(|pair| pair[0] != pair[1]);
                        assert!(is_told || low > 1e6, "{texts:?}");
                    }
                }
            }
        }
    }
}
