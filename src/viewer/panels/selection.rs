//! The numbers of the selected body.

use bevy_egui::egui;

use super::{Context, number, theme};
use crate::math::Vec3;
use crate::viewer::frame::JointNumbers;

/// Shows them.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    let Some(body) = context
        .playback
        .frame
        .as_ref()
        .and_then(|f| f.selected.as_ref())
    else {
        ui.label(theme::quiet("it is gone"));
        return;
    };
    ui.strong(&body.label);
    let vector = |v: Vec3| format!("{} {} {}", number(v.x), number(v.y), number(v.z));
    egui::Grid::new("selection")
        .num_columns(2)
        .spacing([8.0, 2.0])
        .striped(true)
        .show(ui, |ui| {
            let mut line = |name: &str, value: String| {
                ui.label(name);
                ui.monospace(value);
                ui.end_row();
            };
            line("kind", format!("{:?}", body.kind).to_lowercase());
            if body.mass.is_finite() {
                line("mass [kg]", number(body.mass));
            }
            line("position [m]", vector(body.position));
            line("rotation [rad]", vector(body.rotation));
            line("velocity [m/s]", vector(body.velocity.linear));
            line("spin [rad/s]", vector(body.velocity.angular));
            line("energy [J]", number(body.kinetic_energy));
            line("contacts", body.contacts.to_string());
            line("contact force [N]", vector(body.contact_force));
            line("largest normal [N]", number(body.largest_normal_force));
            line(
                "island",
                body.island.map_or("none".into(), |i| i.to_string()),
            );
        });
    joints(ui, &body.joints);
    if ui.small_button("deselect").clicked() {
        context.hands.selected = None;
    }
}

/// The body's joints: coordinates, error and force.
fn joints(ui: &mut egui::Ui, joints: &[JointNumbers]) {
    if joints.is_empty() {
        return;
    }
    ui.add_space(4.0);
    for (k, joint) in joints.iter().enumerate() {
        ui.label(egui::RichText::new(&joint.label).color(theme::ACCENT));
        ui.label(theme::quiet(format!("{} to {}", joint.kind, joint.other)));
        egui::Grid::new(("joint", k))
            .num_columns(2)
            .spacing([8.0, 2.0])
            .striped(true)
            .show(ui, |ui| {
                for (name, value, unit) in &joint.coordinates {
                    ui.label(format!("{name} [{unit}]"));
                    ui.monospace(number(*value));
                    ui.end_row();
                }
                ui.label("error [m]")
                    .on_hover_text("|φ + αΛ/h| of its worst held coordinate");
                match joint.error {
                    Some(error) => {
                        let color = theme::joint_error(error);
                        ui.label(egui::RichText::new(number(error)).monospace().color(color));
                    }
                    None => _ = ui.monospace("–"),
                }
                ui.end_row();
                ui.label("force [N]");
                ui.monospace(number(joint.force));
                ui.end_row();
            });
    }
}
