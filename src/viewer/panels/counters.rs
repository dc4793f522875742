//! Counters: what there is, how deep it overlaps, and what it carries.

use bevy_egui::egui;

use super::{Context, number, theme};
use crate::solve::Status;

/// Shows the counters.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    let Some(frame) = &context.playback.frame else {
        return;
    };
    let c = &frame.counters;
    egui::Grid::new("counters")
        .num_columns(2)
        .spacing([8.0, 2.0])
        .min_col_width(104.0)
        .striped(true)
        .show(ui, |ui| {
            let mut line = |name: &str, value: String, hint: &str| {
                ui.label(name).on_hover_text(hint);
                ui.monospace(value).on_hover_text(hint);
                ui.end_row();
            };
            line(
                "bodies",
                format!("{} ({} moved)", c.bodies, c.dynamic_bodies),
                "all, and those that forces move",
            );
            line(
                "contacts",
                format!("{} ({})", c.contacts, c.dynamic_contacts),
                "all, and those between two bodies that forces move; speculative ones included",
            );
            line(
                "islands",
                c.islands.to_string(),
                "connected components, solved by themselves",
            );
            if c.rows > 0 {
                line(
                    "joint rows",
                    c.rows.to_string(),
                    "bilateral, limit and motor rows",
                );
                line(
                    "joint error",
                    format!("{} m", number(c.joint_error)),
                    "largest |φ + αΛ/h|",
                );
            }
            line(
                "penetration",
                format!("{} m", number(c.penetration)),
                "deepest overlap at the midpoint",
            );
            line(
                "kinetic energy",
                format!("{} J", number(c.kinetic_energy)),
                "",
            );
            line(
                "potential energy",
                format!("{} J", number(c.potential_energy)),
                "zero at the origin",
            );
            line(
                "total energy",
                format!("{} J", number(c.kinetic_energy + c.potential_energy)),
                "",
            );
            line(
                "momentum",
                format!("{} kg m/s", number(c.momentum.linear.norm())),
                "linear, its length",
            );
            line(
                "angular mom.",
                format!("{} kg m²/s", number(c.momentum.angular.norm())),
                "about the origin, its length",
            );
        });
    ui.horizontal(|ui| {
        ui.label("solver");
        match &c.status {
            _ if frame.step == 0 => ui.label(theme::quiet("not run yet")),
            Status::Converged => ui.colored_label(theme::GOOD, "converged"),
            Status::Budget => ui.colored_label(theme::WARNING, "budget used up"),
            Status::Stalled(why) => ui
                .colored_label(theme::WARNING, "stalled")
                .on_hover_text(why),
            Status::Failed(why) => ui.colored_label(theme::ERROR, "failed").on_hover_text(why),
        };
        if c.halvings > 0 {
            ui.label(theme::quiet(format!("R halved {}×", c.halvings)));
        }
    });
    ui.horizontal(|ui| {
        ui.label("residual");
        ui.monospace(format!("{:.2e} m/s", c.residual))
            .on_hover_ui(|ui| {
                for (name, value, unit) in &c.residual_parts {
                    ui.monospace(format!("{name:>20}  {value:9.2e} {unit}"));
                }
            });
    });
}
