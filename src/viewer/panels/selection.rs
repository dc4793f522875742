//! The numbers of the selected body.

use bevy_egui::egui;

use super::widgets::{grid, number, table};
use super::{Context, Panel, theme};
use crate::math::Vec3;
use crate::viewer::frame::JointNumbers;

pub const PANEL: Panel =
    Panel::right("Selected body", true, show).when(|context| context.hands.selected.is_some());

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let frame = context.playback.frame.as_ref();
    let Some(body) = frame.and_then(|f| f.selected.as_ref()) else {
        ui.label(theme::quiet("it is gone"));
        return;
    };
    ui.strong(&body.label);
    let vector = |v: Vec3| format!("{} {} {}", number(v.x), number(v.y), number(v.z));
    let mut lines = vec![("kind", format!("{:?}", body.kind).to_lowercase(), "")];
    if body.mass.is_finite() {
        lines.push(("mass [kg]", number(body.mass), ""));
    }
    let island = body.island.map_or("none".into(), |i| i.to_string());
    lines.extend([
        (
            "position [m]",
            vector(body.position),
            "of the centre of mass",
        ),
        ("rotation [rad]", vector(body.rotation), "angle times axis"),
        ("velocity [m/s]", vector(body.velocity.linear), ""),
        ("spin [rad/s]", vector(body.velocity.angular), ""),
        ("energy [J]", number(body.kinetic_energy), "kinetic"),
        ("contacts", body.contacts.to_string(), ""),
        ("contact force [N]", vector(body.contact_force), ""),
        ("largest normal [N]", number(body.largest_normal_force), ""),
        ("island", island, ""),
    ]);
    table(ui, "selection", lines);
    joints(ui, &body.joints);
    if ui.small_button("deselect").clicked() {
        context.hands.selected = None;
    }
}

/// The body's joints: coordinates, error and force.
fn joints(ui: &mut egui::Ui, joints: &[JointNumbers]) {
    for (k, joint) in joints.iter().enumerate() {
        ui.add_space(4.0);
        ui.label(egui::RichText::new(&joint.label).color(theme::ACCENT));
        ui.label(theme::quiet(format!("{} to {}", joint.kind, joint.other)));
        let coordinates = joint.coordinates.iter();
        let lines =
            coordinates.map(|(name, value, unit)| (format!("{name} [{unit}]"), number(*value), ""));
        let force = ("force [N]".to_owned(), number(joint.force), "");
        table(ui, ("joint", k), lines.chain([force]));
        grid(ui, ("joint error", k), |ui| {
            ui.label("error [m]")
                .on_hover_text("|φ + αΛ/h| of its worst held coordinate");
            let (text, color) = match joint.error {
                Some(error) => (number(error), theme::joint_error(error)),
                None => ("–".into(), theme::QUIET),
            };
            ui.label(egui::RichText::new(text).monospace().color(color));
            ui.end_row();
        });
    }
}
