//! The solver: which one, its declared parameters, and when it stops.

use bevy_egui::egui;

use super::{Context, theme};
use crate::solve::{self, Parameter, ParameterKind, SolverInfo, ToleranceNorm, Value};
use crate::viewer::physics::Command;

/// Shows the panel. A change acts on the next step.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    let setup = &mut *context.setup;
    let before = setup.solver.clone();
    let info = solve::find(&setup.solver.name);

    egui::ComboBox::from_id_salt("solver")
        .width(ui.available_width() - 8.0)
        .selected_text(&setup.solver.name)
        .show_ui(ui, |ui| {
            for solver in solve::SOLVERS {
                let hint = format!("{}\n\n{}", solver.summary, solver.source);
                let chosen = setup.solver.name == solver.name;
                if ui
                    .selectable_label(chosen, solver.name)
                    .on_hover_text(hint)
                    .clicked()
                    && !chosen
                {
                    let iterations = setup.solver.budget.iterations;
                    setup.solver.switch(solver.name);
                    // The other solvers' iterations come back after a direct one.
                    let own = egui::Id::new("iterations of other solvers");
                    match (info.is_some_and(SolverInfo::is_direct), solver.is_direct()) {
                        (false, true) => {
                            ui.data_mut(|data| data.insert_temp(own, iterations));
                        }
                        (true, false) => {
                            if let Some(own) = ui.data_mut(|data| data.remove_temp::<u32>(own)) {
                                setup.solver.budget.iterations = own;
                            }
                        }
                        _ => {}
                    }
                }
            }
        });
    if let Some(info) = info {
        ui.label(theme::quiet(info.summary))
            .on_hover_text(info.source);
    }
    grid(ui, "solver parameters", |ui| {
        for parameter in info.map_or(&[][..], |i| i.parameters) {
            let mut value = setup
                .solver
                .parameters
                .get(parameter.name)
                .cloned()
                .unwrap_or_else(|| parameter.default_value());
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
            if edit(ui, parameter, &mut value)
                .on_hover_text(&hint)
                .changed()
            {
                setup.solver.parameters.insert(parameter.name.into(), value);
            }
            ui.end_row();
        }
    });

    ui.add_space(4.0);
    ui.label(theme::quiet("Stop when"));
    let budget = &mut setup.solver.budget;
    grid(ui, "budget", |ui| {
        row(ui, "iterations", "most iterations per (sub)step", |ui| {
            ui.add(
                egui::DragValue::new(&mut budget.iterations)
                    .range(1..=100_000)
                    .speed(1.0),
            )
        });
        row(
            ui,
            "tolerance [m/s]",
            "largest ‖ΔΛ‖/R of an iteration, as the residual sees it; 0 switches it off",
            |ui| small(ui, &mut budget.tolerance),
        );
        row(
            ui,
            "T_abs [N s]",
            "absolute tolerance on the change of the impulses (Nützi 2016, 4.49 and 4.50); 0 and 0 switch the test off",
            |ui| small(ui, &mut budget.absolute),
        );
        row(ui, "T_rel", "relative tolerance on the same", |ui| {
            small(ui, &mut budget.relative)
        });
        row(
            ui,
            "norm",
            "by component (4.49) or Euclidean (4.50)",
            |ui| {
                egui::ComboBox::from_id_salt("norm")
                    .selected_text(format!("{:?}", budget.norm).to_lowercase())
                    .show_ui(ui, |ui| {
                        for norm in [ToleranceNorm::Component, ToleranceNorm::Euclidean] {
                            ui.selectable_value(
                                &mut budget.norm,
                                norm,
                                format!("{norm:?}").to_lowercase(),
                            );
                        }
                    })
                    .response
            },
        );
        row(ui, "time [ms]", "wall-clock limit; 0 for none", |ui| {
            let mut ms = budget.time * 1e3;
            let response = ui.add(
                egui::DragValue::new(&mut ms)
                    .range(0.0..=10_000.0)
                    .speed(0.1),
            );
            if response.changed() {
                budget.time = ms / 1e3;
            }
            response
        });
    });
    if setup.solver != before {
        context.physics.send(Command::Solver(setup.solver.clone()));
    }

    grid(ui, "threads", |ui| {
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

/// A grid of names and values.
pub fn grid(ui: &mut egui::Ui, id: &str, rows: impl FnOnce(&mut egui::Ui)) {
    egui::Grid::new(id)
        .num_columns(2)
        .spacing([8.0, 3.0])
        .min_col_width(104.0)
        .show(ui, rows);
}

/// One row of it.
pub fn row(
    ui: &mut egui::Ui,
    name: &str,
    hint: &str,
    value: impl FnOnce(&mut egui::Ui) -> egui::Response,
) {
    ui.label(name).on_hover_text(hint);
    value(ui).on_hover_text(hint);
    ui.end_row();
}

/// A number that may be very small, and zero.
pub fn small(ui: &mut egui::Ui, value: &mut f64) -> egui::Response {
    // Dragging moves by a share of the value, so that 1e-9 can be reached from 1.
    let speed = if *value > 0.0 { *value * 0.02 } else { 1e-7 };
    ui.add(
        egui::DragValue::new(value)
            .range(0.0..=1e8)
            .speed(speed)
            .max_decimals(16)
            .custom_formatter(|v, _| {
                if v == 0.0 {
                    "off".into()
                } else {
                    format!("{v:.1e}")
                }
            })
            .custom_parser(|text| match text.trim() {
                "off" => Some(0.0),
                text => text.parse().ok(),
            }),
    )
}

fn edit(ui: &mut egui::Ui, parameter: &Parameter, value: &mut Value) -> egui::Response {
    match parameter.kind {
        ParameterKind::Number {
            range: [lo, hi], ..
        } => {
            let mut v = match value {
                Value::Number(v) => *v,
                Value::Integer(v) => *v as f64,
                _ => lo,
            };
            // Wide ranges that begin above zero are turned logarithmically.
            let logarithmic = lo > 0.0 && hi / lo > 100.0;
            let mut slider = egui::Slider::new(&mut v, lo..=hi).logarithmic(logarithmic);
            if hi - lo > 1e3 || logarithmic {
                slider = slider.custom_formatter(|v, _| super::number(v));
            }
            let response = ui.add(slider);
            *value = Value::Number(v);
            response
        }
        ParameterKind::Integer {
            range: [lo, hi], ..
        } => {
            let mut v = if let Value::Integer(v) = value {
                *v
            } else {
                lo
            };
            let response = if hi - lo <= 1000 {
                ui.add(egui::Slider::new(&mut v, lo..=hi))
            } else {
                ui.add(egui::DragValue::new(&mut v).range(lo..=hi))
            };
            *value = Value::Integer(v);
            response
        }
        ParameterKind::Flag { .. } => {
            let mut v = matches!(value, Value::Flag(true));
            let response = ui.checkbox(&mut v, "");
            *value = Value::Flag(v);
            response
        }
        ParameterKind::Choice { options, .. } => {
            let mut v = if let Value::Choice(v) = value {
                v.clone()
            } else {
                String::new()
            };
            let before = v.clone();
            let mut response = egui::ComboBox::from_id_salt(parameter.name)
                .selected_text(&v)
                .show_ui(ui, |ui| {
                    for option in options {
                        ui.selectable_value(&mut v, (*option).into(), *option);
                    }
                })
                .response;
            if v != before {
                response.mark_changed();
            }
            *value = Value::Choice(v);
            response
        }
    }
}
