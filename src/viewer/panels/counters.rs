//! Counters: what there is, how deep it overlaps, and what it carries.

use bevy_egui::egui;

use super::widgets::{number, table};
use super::{Context, Panel, theme};
use crate::problem::residual::Residual;
use crate::solve::Status;
use crate::step::StepReport;
use crate::viewer::adviser::Told;

pub const PANEL: Panel =
    Panel::right("Counters", true, show).when(|context| context.playback.frame.is_some());

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let Some(frame) = &context.playback.frame else {
        return;
    };
    let last = context.history.samples.back().map(|sample| &sample.report);
    let mut lines = vec![(
        "bodies",
        format!("{} ({} moved)", frame.bodies, frame.dynamic_bodies),
        "all, and those that forces move",
    )];
    lines.extend(last.into_iter().flat_map(of_step));
    let with = |value: f64, unit: &str| format!("{} {unit}", number(value));
    let (energy, momentum) = (&frame.energy, &frame.momentum);
    lines.extend([
        ("kinetic energy", with(energy.kinetic, "J"), ""),
        (
            "potential energy",
            with(energy.gravity, "J"),
            "zero at the origin",
        ),
        (
            "springs",
            with(energy.springs + energy.contacts, "J"),
            "of compliant joints and contacts, and of motors that aim at a position",
        ),
        ("total energy", with(energy.total(), "J"), ""),
        (
            "momentum",
            with(momentum.linear.norm(), "kg m/s"),
            "linear, its length",
        ),
        (
            "angular mom.",
            with(momentum.angular.norm(), "kg m²/s"),
            "about the origin, its length",
        ),
    ]);
    table(ui, "counters", lines);
    let Some(last) = last else {
        ui.label(theme::quiet("no step taken yet"));
        return;
    };
    ui.horizontal(|ui| {
        ui.label("solver");
        match &last.solve.status {
            Status::Converged => ui.colored_label(theme::of(ui).good, "converged"),
            Status::Budget => ui.colored_label(theme::of(ui).warning, "budget used up"),
            Status::Stalled(why) => ui
                .colored_label(theme::of(ui).warning, "stalled")
                .on_hover_text(why),
            Status::Failed(why) => ui
                .colored_label(theme::of(ui).error, "failed")
                .on_hover_text(why),
        };
    });
    if let Some(told) = context.physics.advice() {
        advice(ui, &told);
    }
    let mut samples = context.history.samples.iter().rev();
    let evaluated = samples.find_map(|s| Some((&s.report, s.report.residual.as_ref()?)));
    ui.horizontal_wrapped(|ui| match evaluated {
        Some((report, found)) => residual(ui, report, found, last.step),
        None => {
            ui.label("residual");
            ui.label(theme::quiet("not evaluated"));
        }
    });
}

/// What is wrong with the worst of the last steps, and what would help.
fn advice(ui: &mut egui::Ui, told: &Told) {
    let help = told.help.as_deref().unwrap_or("Trying what would help …");
    let text = format!("Step {}: {} {help}", told.step, told.wrong);
    let color = theme::of(ui).warning;
    let text = egui::RichText::new(text).small().color(color);
    ui.add(egui::Label::new(text).wrap())
        .on_hover_text("the worst of the last steps, told anew every few seconds");
}

/// What the last step found.
fn of_step(report: &StepReport) -> Vec<(&'static str, String, &'static str)> {
    let mut lines = vec![
        (
            "contacts",
            format!("{} ({})", report.contacts, report.dynamic_contacts),
            "all, and those between two bodies that forces move; speculative ones included",
        ),
        (
            "islands",
            report.islands.to_string(),
            "connected components, solved by themselves",
        ),
    ];
    if report.rows > 0 {
        let error = format!("{} m", number(report.joint_error));
        lines.extend([
            (
                "joint rows",
                report.rows.to_string(),
                "bilateral, limit and motor rows",
            ),
            (
                "joint error",
                error,
                "largest distance from where the last step aimed",
            ),
        ]);
    }
    lines.push((
        "penetration",
        format!("{} m", number(report.penetration)),
        "deepest overlap at the midpoint",
    ));
    lines
}

/// The latest residual; `now` is the step that is shown.
fn residual(ui: &mut egui::Ui, report: &StepReport, found: &Residual, now: u64) {
    ui.label("residual");
    ui.monospace(format!("{:.2e} m/s", found.residual))
        .on_hover_ui(|ui| {
            for (name, value, unit) in [
                ("root mean square", found.residual_rms, "m/s"),
                ("penetration velocity", found.penetration_velocity, "m/s"),
                ("complementarity", found.complementarity, "J"),
                ("cone", found.cone, "N s"),
                ("sliding direction", found.sliding_direction, "-"),
                ("bilateral", found.bilateral, "m/s"),
            ] {
                ui.monospace(format!("{name:>20}  {value:9.2e} {unit}"));
            }
        });
    if let Some(coulomb) = &report.residual_coulomb {
        ui.label(theme::quiet("own law"))
            .on_hover_text("under the friction law that the solver solves exactly");
        ui.separator();
        ui.monospace(format!("{:.2e} m/s", coulomb.residual));
        ui.label(theme::quiet("Coulomb"))
            .on_hover_text("the same impulses under exact Coulomb friction");
    }
    if now > report.step {
        ui.label(theme::quiet(format!("of step {}", report.step)))
            .on_hover_text(
                "not evaluated in the steps since; how often it is, the solver's panel says",
            );
    }
}
