//! Counters: what there is, how deep it overlaps, and what it carries.

use bevy_egui::egui;

use super::widgets::{lines, number, table};
use super::{Context, Panel, theme, worlds};
use crate::problem::residual::{JudgedLaw, Residual};
use crate::solve::Status;
use crate::step::StepReport;
use crate::viewer::adviser::Diagnosis;

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
    // How it was solved is one thing, what has become of it another.
    ui.horizontal(|ui| {
        ui.label("state");
        if let Some((text, color)) = worlds::own_verdict(context, theme::of(ui)) {
            ui.add(egui::Label::new(egui::RichText::new(text).color(color)).truncate());
        }
    });
    let mut samples = context.history.samples.iter().rev();
    let evaluated = samples.find_map(|s| Some((&s.report, s.report.residual.as_ref()?)));
    residual(ui, evaluated);
    advice(ui, context.physics.advice().as_deref());
}

/// What is wrong with the worst of the last steps, and what would help: in so many lines that nothing moves when it comes.
fn advice(ui: &mut egui::Ui, diagnosis: Option<&Diagnosis>) {
    let text = diagnosis.map_or_else(String::new, |diagnosis| {
        let help = diagnosis
            .help
            .as_deref()
            .unwrap_or("Trying what would help …");
        format!("Step {}: {} {help}", diagnosis.step, diagnosis.wrong)
    });
    let color = theme::of(ui).warning;
    let shown = lines(ui, &text, egui::TextStyle::Small, color, 4);
    if diagnosis.is_some() {
        shown.on_hover_text(format!(
            "{text}\n\nThe worst of the last steps, looked at anew every few seconds."
        ));
    }
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
    if let Some((first, others)) = report.contradictions.split_first() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        lines.push((
            "gives way",
            format!("{first}{more}"),
            "drives without a limit of force that cannot have their way, or loops of joints that cannot be closed",
        ));
    }
    lines.push((
        "penetration",
        format!("{} m", number(report.penetration)),
        "deepest overlap at the midpoint",
    ));
    lines
}

/// The latest residual, in as many lines whatever there is.
fn residual(ui: &mut egui::Ui, evaluated: Option<(&StepReport, &Residual)>) {
    let speed = |value: f64| format!("{value:.2e} m/s");
    let Some((report, found)) = evaluated else {
        let lines = ["residual", "of step"].map(|name| (name, "not evaluated".to_owned(), ""));
        return table(ui, "residual", lines);
    };
    let law = report.law.map_or("", JudgedLaw::words);
    let coulomb = report.residual_coulomb.map(|r| speed(r.residual));
    egui::Grid::new("residual")
        .num_columns(2)
        .spacing([8.0, 2.0])
        .min_col_width(104.0)
        .show(ui, |ui| {
            ui.label("residual");
            ui.monospace(speed(found.residual))
                .on_hover_ui(|ui| parts(ui, found, law));
            ui.end_row();
            if let Some(coulomb) = coulomb {
                ui.label("under Coulomb")
                    .on_hover_text("the same impulses under exact Coulomb friction");
                ui.monospace(coulomb);
                ui.end_row();
            }
            ui.label("of step").on_hover_text(
                "it is not evaluated in every step; how often it is, the solver's panel says",
            );
            ui.monospace(report.step.to_string());
            ui.end_row();
        });
}

/// What a residual is made of.
fn parts(ui: &mut egui::Ui, found: &Residual, law: &str) {
    ui.label(format!("under {law}"));
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
}
