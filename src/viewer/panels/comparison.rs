//! The comparison: which solvers take part and with what, the table of how they stand, and their residuals by
//! iteration and by time.

use bevy_egui::egui;

use super::cards::{Card, deal};
use super::plots::{Curve, Scale, curves_named};
use super::theme::{self, Theme};
use super::widgets::{self, choice, grid, milliseconds, number, pinned, row, small, swatch};
use super::{Context, Panel, Place, solver};
use crate::compare::{
    FIELDS, Outcome, Standing, equal_quality, equal_time, quality_sentence, status_word,
    time_sentence,
};
use crate::solve::{self, HistoryPoint, Status};
use crate::viewer::comparison::{Allowed, Comparison, Keepsake, Mode, Ticked};
use crate::viewer::worlds::MOST;

pub const CHOICE: Panel = Panel::right("Comparison", false, choose);
pub const TABLE: Panel = Panel::compared("table", show_table).wide(1.8).when(is_on);
pub const BY_ITERATION: Panel = Panel::compared("residual by iteration", by_iteration).when(is_on);
pub const BY_TIME: Panel = Panel::compared("residual by time", by_time).when(is_on);

/// Fields of the table that are never scrolled out of sight.
const PINNED: [&str; 2] = ["time_ms", "residual"];

fn is_on(context: &Context) -> bool {
    context.comparison.mode == Mode::SameProblem
}

fn choose(ui: &mut egui::Ui, context: &mut Context) {
    let comparison = &mut *context.comparison;
    let was_on = comparison.is_on();
    mode(ui, comparison);
    tick(ui, comparison);
    if comparison.mode == Mode::Worlds && comparison.ticked().count() > MOST {
        ui.colored_label(
            theme::of(ui).warning,
            format!("only the first {MOST} that are ticked have a world"),
        );
    }
    terms(ui, context);
    let is_on = context.comparison.is_on();
    if is_on && !was_on {
        context.open.plots = true;
        context.open.tab = Place::Comparison;
    } else if !is_on && context.open.tab == Place::Comparison {
        context.open.tab = Place::Bottom;
    }
    if let Some(error) = &context.comparison.error {
        ui.colored_label(theme::of(ui).error, error);
    }
}

/// What is compared: solvers on the same problem, or worlds.
fn mode(ui: &mut egui::Ui, comparison: &mut Comparison) {
    ui.horizontal(|ui| {
        let modes = [
            (Mode::SameProblem, "same problem"),
            (Mode::Worlds, "worlds"),
        ];
        for (mode, name) in modes {
            ui.selectable_value(&mut comparison.mode, mode, name);
        }
        if comparison.mode == Mode::Worlds {
            ui.separator();
            let hint = "one picture per world, or all of them over each other";
            ui.checkbox(&mut comparison.split, "split view")
                .on_hover_text(hint);
        }
    });
    let text = match comparison.mode {
        Mode::SameProblem => {
            "Every solver that is ticked solves the problem of each step too, beside the simulation."
        }
        Mode::Worlds => {
            "Every solver that is ticked gets a world that begins with the present state and goes through the \
             same drags, throws and drives; at most three beside the simulation's own."
        }
    };
    // As many lines in both modes: the list stays where it is.
    widgets::lines(ui, text, egui::TextStyle::Body, theme::of(ui).quiet, 4);
}

/// All solvers, each with its tick, and what it is asked for where it takes part.
fn tick(ui: &mut egui::Ui, comparison: &mut Comparison) {
    let mut copied = None;
    let mut removed = None;
    let has_room = comparison.contestants.len() < theme::SERIES;
    for k in 0..comparison.contestants.len() {
        let is_duplicate = comparison.is_duplicate(k);
        let allowed = &mut comparison.allowed;
        let contestant = &mut comparison.contestants[k];
        ui.push_id(contestant.label.clone(), |ui| {
            ui.horizontal(|ui| {
                swatch(ui, theme::of(ui).series(contestant.series));
                let info = solve::find(&contestant.config.name);
                // A device is looked for when somebody ticks what needs one, or asks.
                ui.checkbox(&mut contestant.on, &contestant.label)
                    .on_hover_ui(|ui| {
                        if let Some(info) = info {
                            ui.label(solver::hint(info));
                        }
                    });
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let hint = "the same solver once more, for other parameters";
                    let more = ui.add_enabled(has_room, egui::Button::new("➕").small());
                    let more = more.on_disabled_hover_text("there are no more colours");
                    if more.on_hover_text(hint).clicked() {
                        copied = Some(k);
                    }
                    if is_duplicate && ui.small_button("➖").on_hover_text("remove").clicked() {
                        removed = Some(k);
                    }
                    // Who ticks does not move the list under the pointer; who opens this one does.
                    ui.toggle_value(&mut contestant.is_open, "⚙")
                        .on_hover_text("parameters and budget");
                });
            });
            if contestant.is_open {
                let before = contestant.config.budget;
                solver::parameters(ui, &mut contestant.config);
                solver::stop_when(ui, &mut contestant.config.budget);
                if contestant.config.budget != before {
                    *allowed = Allowed::Own;
                }
            }
        });
    }
    let clear = egui::Button::new("clear all").small();
    let clear = ui.add_enabled(comparison.is_on(), clear);
    if clear.on_hover_text("untick all solvers").clicked() {
        comparison.contestants.iter_mut().for_each(|e| e.on = false);
    }
    if let Some(k) = copied {
        comparison.duplicate(k);
    }
    if let Some(k) = removed {
        comparison.contestants.remove(k);
    }
}

/// What all of them are asked for.
fn terms(ui: &mut egui::Ui, context: &mut Context) {
    ui.add_space(4.0);
    let scene = context.scenes.scene.as_ref();
    let solver = scene.map_or_else(Default::default, |scene| scene.solver.clone());
    let comparison = &mut *context.comparison;
    let before = (comparison.allowed, comparison.quality, comparison.time);
    grid(ui, "terms", |ui| {
        let hint = "equal quality: each until its own estimate of the residual is at most this; equal time: each for \
                    so long; the scene's: what the scene asks of its own solver";
        row(ui, "budget", hint, |ui| {
            let all = [
                Allowed::Scene,
                Allowed::EqualQuality,
                Allowed::EqualTime,
                Allowed::Own,
            ];
            choice(
                ui,
                "allowed",
                &mut comparison.allowed,
                all,
                |allowed| match allowed {
                    Allowed::Scene => "the scene's".into(),
                    Allowed::EqualQuality => "equal quality".into(),
                    Allowed::EqualTime => "equal time".into(),
                    Allowed::Own => "its own".into(),
                },
            )
        });
        let hint = "the residual at which times are compared";
        row(ui, "quality [m/s]", hint, |ui| {
            small(ui, &mut comparison.quality)
        });
        let hint = "the time after which residuals are compared";
        row(ui, "time [ms]", hint, |ui| {
            milliseconds(ui, &mut comparison.time, 0.001..=10_000.0, 0.01)
        });
        let hint = "begin at Λ = 0 instead of the impulses that the step began with";
        row(ui, "cold start", hint, |ui| {
            ui.checkbox(&mut comparison.terms.cold, "")
        });
        let hint = "one more solve, and a residual per iteration, for the plots and the sentences";
        row(ui, "convergence", hint, |ui| {
            ui.checkbox(&mut comparison.terms.history, "")
        });
        let hint = "one more solve, which tells how far the velocities are off";
        row(ui, "velocity errors", hint, |ui| {
            ui.checkbox(&mut comparison.terms.estimate, "")
        });
        row(
            ui,
            "every … steps",
            "problems in between are left out",
            |ui| ui.add(egui::DragValue::new(&mut comparison.every).range(1..=10_000)),
        );
        let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        row(ui, "threads", "of each solver", |ui| {
            ui.add(egui::Slider::new(&mut comparison.terms.threads, 1..=most))
        });
    });
    comparison.quality = comparison.quality.max(1e-16);
    if comparison.mode == Mode::Worlds {
        comparison.heat = None;
    }
    if before != (comparison.allowed, comparison.quality, comparison.time) {
        comparison.allow(&solver);
    }
    heat(ui, comparison);
    save(ui, context);
}

/// Whose errors are drawn.
fn heat(ui: &mut egui::Ui, comparison: &mut Comparison) {
    ui.horizontal(|ui| {
        ui.label("errors in the scene")
            .on_hover_text("the residual of every contact, as heat");
        let mut options: Vec<Option<String>> = vec![None];
        options.extend(comparison.ticked().map(|e| Some(e.label.clone())));
        choice(ui, "heat", &mut comparison.heat, options, |of| {
            of.clone().unwrap_or_else(|| "none".into())
        });
    });
}

fn save(ui: &mut egui::Ui, context: &mut Context) {
    let scene = context.scenes.scene.as_ref();
    let scene = scene.map_or_else(String::new, |s| s.id().to_owned());
    ui.horizontal_wrapped(|ui| {
        ui.label(theme::quiet("save"));
        for (what, text, hint) in [
            (Keepsake::Table, "table", "the table as CSV"),
            (
                Keepsake::Histories,
                "convergence",
                "every iteration's residual as CSV",
            ),
            (Keepsake::Plots, "SVG", "both plots as SVG"),
            (Keepsake::Picture, "PNG", "both plots as PNG"),
            (
                Keepsake::Problem,
                "problem",
                "the problem as a file that `moreau solve` reads",
            ),
        ] {
            if ui.small_button(text).on_hover_text(hint).clicked() {
                match context.comparison.save(what, &scene) {
                    Ok(saved) => context.toasts.say(saved),
                    Err(error) => context.toasts.fail(error),
                }
            }
        }
    });
}

/// The columns after the name: the state, and then the fields.
fn header(k: usize) -> (String, &'static str) {
    match k.checked_sub(1) {
        None => ("status".into(), "how it ended"),
        Some(k) if k < FIELDS.len() => {
            let field = &FIELDS[k];
            let name = field.name.trim_end_matches("_ms").replace('_', " ");
            let unit = match field.unit {
                "-" => String::new(),
                unit => format!(" [{unit}]"),
            };
            (format!("{name}{unit}"), field.summary)
        }
        Some(_) => (
            "step".into(),
            "the step whose problem it was; a solver that cannot keep up leaves out steps",
        ),
    }
}

type Line<'a> = (&'a Ticked, Option<(&'a Outcome, &'a Standing)>);

/// What lines are sorted by; those without it come last.
fn key((_, found): &Line<'_>, column: usize) -> f64 {
    let Some((outcome, standing)) = found else {
        return f64::NAN;
    };
    let value = match column.checked_sub(1) {
        None => Some(f64::from(outcome.report.status.severity())),
        Some(k) if k < FIELDS.len() => (FIELDS[k].value)(outcome),
        Some(_) => Some(standing.posed.step as f64),
    };
    value.unwrap_or(f64::NAN)
}

fn sorted(mut lines: Vec<Line<'_>>, sort: Option<(usize, bool)>) -> Vec<Line<'_>> {
    if let Some((column, falling)) = sort {
        lines.sort_by(|a, b| {
            let (a, b) = (key(a, column), key(b, column));
            let order = match falling {
                true => b.total_cmp(&a),
                false => a.total_cmp(&b),
            };
            a.is_nan().cmp(&b.is_nan()).then(order)
        });
    }
    lines
}

fn show_table(ui: &mut egui::Ui, context: &mut Context) {
    let comparison = &mut *context.comparison;
    let mut sort = comparison.sort;
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            if !comparison.is_on() {
                ui.label(theme::quiet("tick solvers in the panel \"Comparison\""));
                return;
            }
            lines_of(ui, comparison, &mut sort);
            ui.add_space(4.0);
            sentences(ui, comparison);
        });
    comparison.sort = sort;
}

fn lines_of(ui: &mut egui::Ui, comparison: &Comparison, sort: &mut Option<(usize, bool)>) {
    // Everybody has a line, so that nothing jumps when an outcome comes.
    let lines = comparison.ticked().map(|e| (e, comparison.outcome(e)));
    let lines = sorted(lines.collect(), comparison.sort);
    let is_used = |k: &usize| {
        let outcomes = || {
            lines
                .iter()
                .filter_map(|(_, found)| Some(found.as_ref()?.0))
        };
        let field = k.checked_sub(1).and_then(|k| FIELDS.get(k));
        field.is_none_or(|f| outcomes().any(|outcome| (f.value)(outcome).is_some()))
    };
    // What is asked first stays in sight.
    let is_pinned = |k: &usize| {
        let field = k.checked_sub(1).and_then(|k| FIELDS.get(k));
        *k == 0 || field.is_some_and(|f| PINNED.contains(&f.name))
    };
    let used = (0..FIELDS.len() + 2).filter(is_used);
    let (first, rest): (Vec<usize>, Vec<usize>) = used.partition(is_pinned);
    let (mut by_first, mut by_rest) = (*sort, *sort);
    pinned(
        ui,
        "compared",
        |ui| {
            ui.label(theme::quiet("solver"));
            first
                .iter()
                .for_each(|column| heading(ui, *column, &mut by_first));
            ui.end_row();
            for (contestant, found) in &lines {
                ui.colored_label(theme::of(ui).series(contestant.series), &contestant.label);
                match found {
                    Some((outcome, standing)) => {
                        for column in &first {
                            cell(ui, *column, outcome, standing);
                        }
                    }
                    None => _ = ui.label(theme::quiet("no step solved yet")),
                }
                ui.end_row();
            }
        },
        |ui| {
            rest.iter()
                .for_each(|column| heading(ui, *column, &mut by_rest));
            ui.end_row();
            for (_, found) in &lines {
                for column in &rest {
                    match found {
                        Some((outcome, standing)) => cell(ui, *column, outcome, standing),
                        None => _ = ui.label(""),
                    }
                }
                ui.end_row();
            }
        },
    );
    *sort = if by_first == *sort { by_rest } else { by_first };
}

/// A card for each solver that is ticked: what became of the last problem, in words.
pub fn cards(ui: &mut egui::Ui, context: &Context) {
    let theme = theme::of(ui);
    let comparison = &*context.comparison;
    let card = |contestant: &Ticked| {
        let found = comparison.outcome(contestant);
        Card {
            color: theme.series(contestant.series),
            name: contestant.label.clone(),
            time: found.map(|(outcome, _)| outcome.time()),
            verdict: found.map(|(outcome, _)| {
                let is_solved = outcome.report.status == Status::Converged;
                let color = status_color(theme, &outcome.report.status);
                let residual = outcome.residual.map_or(f64::NAN, |r| r.residual);
                let residual = format!("{} m/s", number(residual));
                let text = match &outcome.report.status {
                    Status::Failed(why) => format!("failed: {why}"),
                    _ if !is_solved => format!("not solved: {residual} left"),
                    _ if outcome.solves_another_law() => {
                        format!("{residual}, with {}", outcome.law.words())
                    }
                    _ => format!("solved to {residual}"),
                };
                (text, color)
            }),
        }
    };
    let cards: Vec<Card> = comparison.ticked().map(card).collect();
    deal(ui, &cards);
}

fn status_color(theme: &Theme, status: &Status) -> egui::Color32 {
    match status {
        Status::Converged => theme.good,
        Status::Budget | Status::Stalled(_) => theme.warning,
        Status::Failed(_) => theme.error,
    }
}

fn heading(ui: &mut egui::Ui, column: usize, sort: &mut Option<(usize, bool)>) {
    let (mut name, hint) = header(column);
    let now = sort.filter(|(k, _)| *k == column);
    if let Some((_, falling)) = now {
        name += if falling { " ⏷" } else { " ⏶" };
    }
    let label = egui::Label::new(theme::quiet(name)).sense(egui::Sense::click());
    let hint = format!("{hint}\nPress to sort by it.");
    if ui.add(label).on_hover_text(hint).clicked() {
        *sort = match now {
            None => Some((column, false)),
            Some((_, false)) => Some((column, true)),
            Some((_, true)) => None,
        };
    }
}

fn cell(ui: &mut egui::Ui, column: usize, outcome: &Outcome, standing: &Standing) {
    match column.checked_sub(1) {
        None => {
            let status = &outcome.report.status;
            let color = status_color(theme::of(ui), status);
            let label = ui.colored_label(color, status_word(status));
            if let Status::Stalled(why) | Status::Failed(why) = status {
                label.on_hover_text(why);
            }
        }
        Some(k) if k < FIELDS.len() => {
            let value = (FIELDS[k].value)(outcome);
            ui.monospace(value.map_or(String::new(), |v| match FIELDS[k].name {
                "iterations" => format!("{v:.0}"),
                _ => number(v),
            }));
        }
        Some(_) => {
            let posed = &standing.posed;
            let copied = 1e3 * posed.copy_time.as_secs_f64();
            ui.monospace(posed.step.to_string())
                .on_hover_text(format!("copying its problem took {copied:.2} ms"));
        }
    }
}

/// Equal quality and equal time, the ratios spelled out.
fn sentences(ui: &mut egui::Ui, comparison: &Comparison) {
    let steps: Vec<u64> = comparison.shown().map(|(.., s)| s.posed.step).collect();
    let outcomes: Vec<Outcome> = comparison.shown().map(|(_, o, _)| o.clone()).collect();
    if outcomes.iter().all(|o| o.report.history.is_empty()) {
        return;
    }
    let (quality, time) = (comparison.quality, comparison.time);
    let ranking = equal_quality(&outcomes, quality);
    ui.label(quality_sentence(&ranking, quality));
    ui.label(time_sentence(&equal_time(&outcomes, time), time));
    for outcome in outcomes.iter().filter(|o| o.solves_another_law()) {
        ui.label(theme::quiet(format!(
            "{} solves another law than the contacts': under theirs its residual is {:.1e} m/s.",
            outcome.label, outcome.error
        )));
    }
    if steps.iter().any(|step| *step != steps[0]) {
        ui.label(theme::quiet(
            "These are of unlike steps; pause to have all of them on the same one.",
        ));
    }
}

fn by_iteration(ui: &mut egui::Ui, context: &mut Context) {
    let lines = lines(&context.comparison, theme::of(ui), |p, _| {
        f64::from(p.iteration)
    });
    let title = ["residual [m/s] by iteration", ""];
    converging(ui, context, "by iteration", title, lines);
}

fn by_time(ui: &mut egui::Ui, context: &mut Context) {
    let lines = lines(&context.comparison, theme::of(ui), |p, prepare| {
        1e3 * (prepare + p.time)
    });
    let title = ["residual [m/s] by time [ms]", "preparation included"];
    converging(ui, context, "by time", title, lines);
}

fn converging(
    ui: &mut egui::Ui,
    context: &Context,
    id: &str,
    [title, hint]: [&str; 2],
    lines: Vec<Curve>,
) {
    let label = ui.label(theme::quiet(title));
    if !hint.is_empty() {
        label.on_hover_text(hint);
    }
    if lines.iter().all(|line| line.points.is_empty()) {
        ui.label(theme::quiet("no convergence has been recorded yet"));
    }
    // Their cards name them, but for the law.
    let is_label = |curve: &Curve| context.comparison.ticked().any(|e| e.label == curve.name);
    curves_named(ui, id, Scale::LogLog, lines, |curve| !is_label(curve));
}

fn lines(
    comparison: &Comparison,
    theme: &Theme,
    x: impl Fn(&HistoryPoint, f64) -> f64,
) -> Vec<Curve> {
    let line = |(contestant, outcome, _): (&Ticked, &Outcome, &Standing)| {
        let prepare = outcome.report.prepare_time;
        let points = outcome.report.history.iter();
        Curve {
            name: outcome.name_with_law(),
            color: theme.series(contestant.series),
            points: points.map(|p| [x(p, prepare), p.residual]).collect(),
        }
    };
    comparison.shown().map(line).collect()
}
