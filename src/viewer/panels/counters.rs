//! Counters: what there is, how deep it overlaps, and what it carries.

use bevy_egui::egui;

use super::{Context, number, theme};
use crate::solve::Status;
use crate::solve::bpp::PivotReport;

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
            if c.joint_rows > 0 {
                line(
                    "joint rows",
                    c.joint_rows.to_string(),
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
            if let Some(p) = &c.pivoting {
                pivoting(p, &mut line);
            }
        });
    if let Some(p) = &c.pivoting {
        warnings(ui, p);
    }
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
        if let Some(coulomb) = c.residual_coulomb {
            ui.label(theme::quiet("own law"))
                .on_hover_text("under the friction law that the solver solves exactly");
            ui.separator();
            ui.monospace(format!("{coulomb:.2e} m/s"));
            ui.label(theme::quiet("Coulomb"))
                .on_hover_text("the same impulses under exact Coulomb friction");
        }
    });
}

/// What a pivoting solver did in the last step.
fn pivoting(p: &PivotReport, line: &mut impl FnMut(&str, String, &str)) {
    line(
        "rows",
        format!("{} (largest {})", p.rows, p.largest_island),
        "rows of all islands, and of the largest one",
    );
    line(
        "free, tight",
        format!("{}, {}", p.free, p.tight),
        "rows at the end: inside of their bounds, and at one of them",
    );
    line(
        "pivots",
        format!("{} (most {})", p.pivots, p.most_pivots),
        "index sets that were solved for: of all islands, and of the busiest one",
    );
    line(
        "outer iterations",
        format!("{} (most {})", p.outer_iterations, p.most_outer_iterations),
        "problems with fixed friction bounds: of all islands, and of the busiest one",
    );
    line(
        "downdates",
        format!("{} ({} factored)", p.downdates, p.refactorizations),
        "rows removed from a factor by a rank-one modification, and factorisations, whole or in part",
    );
    line(
        "condition",
        format!("≥ {}", number(p.condition)),
        "of the free rows' matrix, scaled to a unit diagonal: a lower bound, (max L_ii/min L_ii)²",
    );
}

/// What of it the user should know.
fn warnings(ui: &mut egui::Ui, p: &PivotReport) {
    if p.ill_conditioned {
        ui.colored_label(theme::WARNING, "⚠ ill-conditioned").on_hover_text(
            "the condition estimate is above the solver's condition_bound: a little compliance of the \
             joints or contacts helps",
        );
    }
    if p.raised > 0.0 {
        let text = format!("⚠ pivots raised by {}", number(p.raised));
        ui.colored_label(theme::WARNING, text).on_hover_text(
            "broken pivots of the factor were raised, by at most this share of their diagonal: rows \
             depend on each other",
        );
    }
}
