//! The numbers of the selected body.

use bevy_egui::egui;

use super::{Context, number, theme};
use crate::math::Vec3;

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
    if ui.small_button("deselect").clicked() {
        context.hands.selected = None;
    }
}
