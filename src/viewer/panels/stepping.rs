//! The parameters of the time step.

use bevy_egui::egui;

use super::widgets::{choice, grid, milliseconds, row, small};
use super::{Context, Panel};
use crate::problem::FrictionLaw;
use crate::session::Input;
use crate::world::{Detection, Settings, Stabilisation};

pub const PANEL: Panel = Panel::right("Time step", false, show);

/// A change acts on the next step.
fn show(ui: &mut egui::Ui, context: &mut Context) {
    let setup = &mut *context.setup;
    let before = setup.settings;
    grid(ui, "stepping", |ui| {
        step(ui, &mut setup.settings);
        stabilisation(ui, &mut setup.settings.stabilisation);
    });
    if setup.settings != before {
        let settings = Box::new(setup.settings);
        context.physics.act(Input::Settings(settings));
    }
}

fn step(ui: &mut egui::Ui, s: &mut Settings) {
    row(ui, "step [ms]", "length of one step", |ui| {
        milliseconds(ui, &mut s.step, 0.01..=1000.0, 0.05)
    });
    row(
        ui,
        "substeps",
        "parts of a step, each with a solve of its own",
        |ui| ui.add(egui::Slider::new(&mut s.substeps, 1..=32).logarithmic(true)),
    );
    row(
        ui,
        "detect once",
        "search for contacts in the first substep alone, and move them along in the others",
        |ui| {
            let mut once = s.detection == Detection::Step;
            let response = ui.checkbox(&mut once, "");
            s.detection = match once {
                true => Detection::Step,
                false => Detection::Substep,
            };
            response
        },
    );
    row(ui, "gravity [m/s²]", "acceleration along y", |ui| {
        let gravity = egui::DragValue::new(&mut s.gravity.y);
        ui.add(gravity.range(-1000.0..=1000.0).speed(0.05))
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
        "of contacts whose materials ask for none of their own",
        |ui| {
            choice(
                ui,
                "friction law",
                &mut s.friction_law,
                FrictionLaw::of_worlds(),
                FrictionLaw::to_string,
            )
        },
    );
    for (name, value, hint) in [
        (
            "prediction [m]",
            &mut s.prediction,
            "gaps up to this one are contacts; above 0 nothing tunnels, 0 is pure Moreau",
        ),
        (
            "rest threshold [m/s]",
            &mut s.restitution_threshold,
            "approach speed below which restitution is ignored; 0 needs none",
        ),
    ] {
        row(ui, name, hint, |ui| small(ui, value));
    }
}

fn stabilisation(ui: &mut egui::Ui, chosen: &mut Stabilisation) {
    let baumgarte = Stabilisation::Baumgarte {
        beta: 0.2,
        slop: 1e-4,
        max_speed: 3.0,
    };
    let options = [
        ("none", Stabilisation::None),
        ("Baumgarte", baumgarte),
        ("projection", Stabilisation::default()),
    ];
    let kind = std::mem::discriminant::<Stabilisation>;
    let same = options.iter().position(|(_, s)| kind(s) == kind(chosen));
    let (before, mut now) = (same.unwrap_or(0), same.unwrap_or(0));
    row(
        ui,
        "stabilisation",
        "what keeps penetration from building up: nothing, a bias velocity, or a separate pass over the \
         positions that adds no energy",
        |ui| {
            let kinds = 0..options.len();
            choice(ui, "stabilisation", &mut now, kinds, |k| {
                options[*k].0.into()
            })
        },
    );
    if now != before {
        let mut new = options[now].1;
        if let (Some([_, (_, old_slop), (_, old_speed)]), Some([_, (_, slop), (_, speed)])) =
            (chosen.numbers_mut(), new.numbers_mut())
        {
            *slop = *old_slop;
            *speed = *old_speed;
        }
        *chosen = new;
    }
    let Some([(name, share), (_, slop), (_, speed)]) = chosen.numbers_mut() else {
        return;
    };
    row(ui, name, "share of the error removed per step", |ui| {
        ui.add(egui::Slider::new(share, 0.01..=1.0))
    });
    row(ui, "slop [m]", "penetration that is left alone", |ui| {
        small(ui, slop)
    });
    row(ui, "max speed [m/s]", "fastest push", |ui| {
        ui.add(egui::DragValue::new(speed).range(0.001..=1e6).speed(0.05))
    });
}
