//! The parameters of the time step.

use bevy_egui::egui;

use super::solver::{grid, row, small};
use super::{Context, number};
use crate::problem::FrictionLaw;
use crate::viewer::physics::Command;
use crate::world::Stabilisation;

/// Shows the panel. A change acts on the next step.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    let setup = &mut *context.setup;
    let before = setup.settings;
    let s = &mut setup.settings;
    grid(ui, "stepping", |ui| {
        row(ui, "step [ms]", "length of one step", |ui| {
            let mut ms = s.step * 1e3;
            let drag = egui::DragValue::new(&mut ms)
                .range(0.01..=1000.0)
                .speed(0.05)
                .max_decimals(3);
            let response = ui.add(drag);
            if response.changed() {
                s.step = ms / 1e3;
            }
            response
        });
        row(
            ui,
            "substeps",
            "parts of a step, each with its own collision detection and solve",
            |ui| ui.add(egui::Slider::new(&mut s.substeps, 1..=32).logarithmic(true)),
        );
        row(ui, "gravity [m/s²]", "acceleration along y", |ui| {
            ui.add(
                egui::DragValue::new(&mut s.gravity.y)
                    .range(-1000.0..=1000.0)
                    .speed(0.05),
            )
        });
        row(
            ui,
            "warm start",
            "start from the impulses of the last step",
            |ui| ui.checkbox(&mut s.warm_start, ""),
        );
        row(
            ui,
            "friction law",
            "of isotropic contacts: disc (Coulomb), box, or a pyramid of some sides",
            |ui| friction(ui, &mut s.friction_law),
        );
        row(
            ui,
            "prediction [m]",
            "gaps up to this one are contacts; above 0 nothing tunnels, 0 is pure Moreau",
            |ui| small(ui, &mut s.prediction),
        );
        row(
            ui,
            "rest threshold [m/s]",
            "approach speed below which restitution is ignored; 0 needs none",
            |ui| small(ui, &mut s.restitution_threshold),
        );
        let stiffness = &mut s.geometric_stiffness;
        row(
            ui,
            "geometric stiffness",
            "share of h² ΣK, the stiffness of forces that turn with their bodies, that the mass matrix is \
             given: ¼ keeps taut cables stable at every step length and takes no energy, 0 switches it off",
            |ui| {
                ui.add(
                    egui::Slider::new(&mut stiffness.factor, 0.0..=1.0)
                        .custom_formatter(|v, _| if v == 0.0 { "off".into() } else { number(v) })
                        .custom_parser(|text| match text.trim() {
                            "off" => Some(0.0),
                            text => text.parse().ok(),
                        }),
                )
            },
        );
        row(
            ui,
            "… of contacts",
            "whether contact forces count too, or those of joints alone",
            |ui| {
                ui.add_enabled(
                    stiffness.factor > 0.0,
                    egui::Checkbox::without_text(&mut stiffness.contacts),
                )
            },
        );
        row(
            ui,
            "joint iterations",
            "solves per (sub)step: from the second one on, compliant joints are held at where the bodies \
             turn to, and not only at where their velocities point",
            |ui| {
                ui.add(
                    egui::Slider::new(&mut s.joint_iterations, 1..=20)
                        .clamping(egui::SliderClamping::Edits),
                )
            },
        );
        row(
            ui,
            "stabilisation",
            "what keeps penetration from building up: nothing, a bias velocity, or a separate \
             pass over the positions that adds no energy",
            |ui| stabilisation(ui, &mut s.stabilisation),
        );
        let (what, share, slop, speed) = match &mut s.stabilisation {
            Stabilisation::None => return,
            Stabilisation::Baumgarte {
                beta,
                slop,
                max_speed,
            } => ("beta", beta, slop, max_speed),
            Stabilisation::Projection {
                fraction,
                slop,
                max_speed,
            } => ("fraction", fraction, slop, max_speed),
        };
        row(ui, what, "share of the error removed per step", |ui| {
            ui.add(egui::Slider::new(share, 0.01..=1.0))
        });
        row(ui, "slop [m]", "penetration that is left alone", |ui| {
            small(ui, slop)
        });
        row(ui, "max speed [m/s]", "fastest push", |ui| {
            ui.add(egui::DragValue::new(speed).range(0.001..=1e6).speed(0.05))
        });
    });
    if setup.settings != before {
        context.physics.send(Command::Settings(setup.settings));
    }
}

fn friction(ui: &mut egui::Ui, law: &mut FrictionLaw) -> egui::Response {
    egui::ComboBox::from_id_salt("friction law")
        .selected_text(law.to_string())
        .show_ui(ui, |ui| {
            for option in FrictionLaw::of_worlds() {
                ui.selectable_value(law, option, option.to_string());
            }
        })
        .response
}

fn stabilisation(ui: &mut egui::Ui, chosen: &mut Stabilisation) -> egui::Response {
    let (slop, max_speed) = match *chosen {
        Stabilisation::None => (1e-4, 3.0),
        Stabilisation::Baumgarte {
            slop, max_speed, ..
        }
        | Stabilisation::Projection {
            slop, max_speed, ..
        } => (slop, max_speed),
    };
    let name = |s: &Stabilisation| match s {
        Stabilisation::None => "none",
        Stabilisation::Baumgarte { .. } => "Baumgarte",
        Stabilisation::Projection { .. } => "projection",
    };
    egui::ComboBox::from_id_salt("stabilisation")
        .selected_text(name(chosen))
        .show_ui(ui, |ui| {
            for option in [
                Stabilisation::None,
                Stabilisation::Baumgarte {
                    beta: 0.2,
                    slop,
                    max_speed,
                },
                Stabilisation::Projection {
                    fraction: 0.2,
                    slop,
                    max_speed,
                },
            ] {
                let same = name(&option) == name(chosen);
                if ui.selectable_label(same, name(&option)).clicked() && !same {
                    *chosen = option;
                }
            }
        })
        .response
}
