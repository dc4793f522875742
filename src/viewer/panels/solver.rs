//! The solver: which one, its declared parameters, and when it stops.

use bevy_egui::egui;

use super::widgets::{choice, grid, lines, milliseconds, number, row, small};
use super::{Context, Panel, theme};
use crate::session::Input;
use crate::solve::{
    self, Budget, Choices, Parameter, ParameterKind, SolverConfig, ToleranceNorm, Value,
};
use crate::viewer::observe::ResidualRate;
use crate::viewer::physics::Command;

pub const PANEL: Panel = Panel::right("Solver", true, show);

/// A change acts on the next step.
fn show(ui: &mut egui::Ui, context: &mut Context) {
    let setup = &mut *context.setup;
    let before = setup.solver.clone();
    choose(ui, &mut setup.solver);
    if let Some(info) = solve::find(&setup.solver.name) {
        // In as many lines for every solver.
        lines(
            ui,
            info.summary,
            egui::TextStyle::Body,
            theme::of(ui).quiet,
            2,
        )
        .on_hover_ui(|ui| {
            ui.label(hint(info));
        });
    }
    parameters(ui, &mut setup.solver);
    if let Some(last) = context.history.samples.back() {
        if !last.report.solve.choices.is_empty() {
            choices(ui, &last.report.solve.choices);
        }
        for remark in &last.report.solve.remarks {
            ui.label(theme::quiet(remark));
        }
    }
    stop_when(ui, &mut setup.solver.budget);
    if setup.solver != before {
        context.physics.act(Input::Solver(setup.solver.clone()));
    }
    ui.add_space(4.0);
    grid(ui, "threads", |ui| {
        row(
            ui,
            "residual",
            "how often it is evaluated, which takes time of its own; results do not depend on it",
            |ui| {
                let rates = [
                    ResidualRate::EveryStep,
                    ResidualRate::Sometimes,
                    ResidualRate::Never,
                ];
                choice(
                    ui,
                    "residual rate",
                    &mut setup.residual,
                    rates,
                    |rate| match rate {
                        ResidualRate::EveryStep => "every step".into(),
                        ResidualRate::Sometimes => "20 per second".into(),
                        ResidualRate::Never => "off".into(),
                    },
                )
            },
        );
        let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let before = setup.threads;
        row(
            ui,
            "threads",
            "0 takes all there are; results do not depend on it",
            |ui| ui.add(egui::Slider::new(&mut setup.threads, 0..=most)),
        );
        if setup.threads != before {
            context.physics.send(Command::Threads(setup.threads));
        }
    });
}

/// How a solver that chooses has solved the islands of the last step, and why.
fn choices(ui: &mut egui::Ui, choices: &Choices) {
    let words = match choices.is_empty() {
        true => "none".to_owned(),
        false => choices.in_words(),
    };
    let title = format!("islands: {words}");
    egui::CollapsingHeader::new(theme::quiet(title))
        .id_salt("islands by method")
        .show(ui, |ui| {
            for choice in &choices.largest {
                let (method, reason) = (choice.method(), choice.reason.name());
                let text = format!("{} ({reason}): {} rows", method.name(), choice.rows);
                let mut hint = format!(
                    "{}, because {}; {} bodies, {} contacts",
                    method.summary(),
                    choice.because(),
                    choice.bodies,
                    choice.contacts
                );
                if let Some(residual) = choice.residual {
                    hint += &format!(", residual {residual:.1e} m/s");
                }
                ui.label(text).on_hover_text(hint);
            }
            let all: u32 = choices.counts.iter().sum();
            let more = all as usize - choices.largest.len();
            if more > 0 {
                ui.label(theme::quiet(format!("and {more} smaller ones")));
            }
        });
}

fn choose(ui: &mut egui::Ui, config: &mut SolverConfig) {
    egui::ComboBox::from_id_salt("solver")
        .width(ui.available_width() - 8.0)
        .selected_text(&config.name)
        .show_ui(ui, |ui| {
            for solver in solve::SOLVERS {
                let chosen = config.name == solver.name;
                let name = match (solver.traits.obstacle)() {
                    Some(_) => theme::quiet(solver.name),
                    None => solver.name.into(),
                };
                let label = ui.selectable_label(chosen, name);
                if label.on_hover_text(hint(solver)).clicked() && !chosen {
                    switch(ui, config, solver);
                }
            }
        });
}

/// What a solver does, where it comes from, and what stands in its way here.
pub fn hint(solver: &solve::SolverInfo) -> String {
    let hint = format!("{}\n\n{}", solver.summary, solver.source);
    match (solver.traits.obstacle)() {
        Some(obstacle) => format!("{hint}\n\nHere on the CPU: {obstacle}."),
        None => hint,
    }
}

/// Takes another solver. The other solvers' iterations come back after a direct one.
fn switch(ui: &egui::Ui, config: &mut SolverConfig, to: &solve::SolverInfo) {
    let own = egui::Id::new("iterations of other solvers");
    let from = solve::find(&config.name);
    let was_direct = from.is_some_and(solve::SolverInfo::is_direct);
    let iterations = config.budget.iterations;
    config.switch(to.name);
    if to.is_direct() && !was_direct {
        ui.data_mut(|data| data.insert_temp(own, iterations));
    } else if was_direct
        && !to.is_direct()
        && let Some(own) = ui.data_mut(|data| data.remove_temp::<u32>(own))
    {
        config.budget.iterations = own;
    }
}

/// This many parameters are shown at once; a solver's first ones are those that matter most.
const PLAIN: usize = 3;

/// A solver's parameters: the first ones, the rest behind "more".
pub fn parameters(ui: &mut egui::Ui, config: &mut SolverConfig) {
    let Some(info) = solve::find(&config.name) else {
        return;
    };
    // What is being changed must not move.
    let (plain, rest): (Vec<_>, Vec<_>) = info
        .parameters
        .iter()
        .enumerate()
        .partition(|(k, _)| *k < PLAIN || info.parameters.len() <= PLAIN + 1);
    grid(ui, "solver parameters", |ui| {
        for (_, parameter) in plain {
            change(ui, parameter, config);
        }
    });
    if rest.is_empty() {
        return;
    }
    let is_changed = |p: &Parameter| {
        let given = config.parameters.get(p.name);
        given.is_some_and(|v| *v != p.default_value())
    };
    let changed = rest.iter().filter(|(_, p)| is_changed(p)).count();
    let title = match changed {
        0 => format!("{} more parameters", rest.len()),
        n => format!("{} more parameters, {n} of them changed", rest.len()),
    };
    egui::CollapsingHeader::new(theme::quiet(title))
        .id_salt("more parameters")
        .show(ui, |ui| {
            grid(ui, "more solver parameters", |ui| {
                for (_, parameter) in rest {
                    change(ui, parameter, config);
                }
            });
        });
}

/// When a solver stops: iterations and tolerance, the rest behind "more".
pub fn stop_when(ui: &mut egui::Ui, budget: &mut Budget) {
    ui.add_space(4.0);
    ui.label(theme::quiet("Stop when"));
    grid(ui, "budget", |ui| {
        row(
            ui,
            "iterations",
            "most iterations of any island per (sub)step",
            |ui| ui.add(egui::DragValue::new(&mut budget.iterations).range(1..=100_000)),
        );
        let hint = "largest ‖ΔΛ‖/R of an iteration, as the residual sees it; 0 switches it off";
        row(ui, "tolerance [m/s]", hint, |ui| {
            small(ui, &mut budget.tolerance)
        });
    });
    egui::CollapsingHeader::new(theme::quiet("more limits"))
        .id_salt("more limits")
        .show(ui, |ui| {
            grid(ui, "more limits", |ui| limits(ui, budget));
        });
}

fn limits(ui: &mut egui::Ui, budget: &mut Budget) {
    for (name, value, hint) in [
        (
            "T_abs [N s]",
            &mut budget.absolute,
            "absolute tolerance on the change of the impulses (Nützi 2011, 4.49 and 4.50); 0 and 0 switch \
             the test off",
        ),
        (
            "T_rel",
            &mut budget.relative,
            "relative tolerance on the same",
        ),
    ] {
        row(ui, name, hint, |ui| small(ui, value));
    }
    row(
        ui,
        "norm",
        "by component (4.49) or Euclidean (4.50)",
        |ui| {
            let norms = [ToleranceNorm::Component, ToleranceNorm::Euclidean];
            choice(ui, "norm", &mut budget.norm, norms, |norm| {
                format!("{norm:?}").to_lowercase()
            })
        },
    );
    row(ui, "time [ms]", "wall-clock limit; 0 for none", |ui| {
        milliseconds(ui, &mut budget.time, 0.0..=10_000.0, 0.1)
    });
}

fn change(ui: &mut egui::Ui, parameter: &Parameter, config: &mut SolverConfig) {
    let given = config.parameters.get(parameter.name).cloned();
    let mut value = given.unwrap_or_else(|| parameter.default_value());
    let name = match parameter.unit {
        "-" | "" => parameter.name.replace('_', " "),
        unit => format!("{} [{unit}]", parameter.name.replace('_', " ")),
    };
    let hint = format!(
        "{}\n\n{}; default {}\nSource: {}",
        parameter.summary,
        parameter.expected(),
        parameter.default_value(),
        parameter.source
    );
    ui.label(name).on_hover_text(&hint);
    let response = edit(ui, parameter, &mut value).on_hover_text(&hint);
    if response.changed() {
        config.parameters.insert(parameter.name.into(), value);
    }
    ui.end_row();
}

fn edit(ui: &mut egui::Ui, parameter: &Parameter, value: &mut Value) -> egui::Response {
    // A whole number is a number too; a value of another kind was refused when the scene was read.
    if let (ParameterKind::Number { .. }, Value::Integer(v)) = (parameter.kind, &*value) {
        *value = Value::Number(*v as f64);
    }
    match (parameter.kind, value) {
        (ParameterKind::Number { range, .. }, Value::Number(v)) => {
            let [lo, hi] = range;
            // Wide ranges that begin above zero are turned logarithmically.
            let logarithmic = lo > 0.0 && hi / lo > 100.0;
            let slider = egui::Slider::new(v, lo..=hi).logarithmic(logarithmic);
            if hi - lo > 1e3 || logarithmic {
                ui.add(slider.custom_formatter(|v, _| number(v)))
            } else {
                ui.add(slider)
            }
        }
        (ParameterKind::Integer { range, .. }, Value::Integer(v)) => {
            let [lo, hi] = range;
            if hi - lo <= 1000 {
                ui.add(egui::Slider::new(v, lo..=hi))
            } else {
                ui.add(egui::DragValue::new(v).range(lo..=hi))
            }
        }
        (ParameterKind::Choice { options, .. }, Value::Choice(v)) => {
            let options = options.iter().map(|option| (*option).to_owned());
            choice(ui, parameter.name, v, options, String::clone)
        }
        (_, Value::Flag(v)) => ui.checkbox(v, ""),
        (_, other) => ui.label(other.to_string()),
    }
}
