//! Files: recordings, states, and the scene with its edits.

use bevy_egui::egui;

use super::widgets::{choice, grid, number, row};
use super::{Context, Panel, theme};
use crate::viewer::keys::Action;
use crate::viewer::tools::NewShape;

pub const FILES: Panel = Panel::right("Keep", false, files);
pub const BODIES: Panel = Panel::right("Add and remove bodies", false, bodies);

fn files(ui: &mut egui::Ui, context: &mut Context) {
    let hint = "moreau-0001 and so on";
    let name = egui::TextEdit::singleline(&mut context.tools.name).hint_text(hint);
    ui.horizontal(|ui| {
        ui.label("file name");
        ui.add(name.desired_width(f32::INFINITY));
    });
    let is_recording = context
        .playback
        .frame
        .as_ref()
        .is_some_and(|f| f.recording.is_some());
    let record = if is_recording {
        "⏹ end recording"
    } else {
        "⏺ record"
    };
    let buttons = [
        (
            record,
            "F9; saved as a .rec file when it ends",
            Action::Record,
        ),
        (
            "save state",
            "F6; everything as it is now, as a .snap file",
            Action::SaveState,
        ),
        (
            "load state",
            "F7; the state that was saved last",
            Action::LoadState,
        ),
        (
            "save scene",
            "as a .ron file: how the scene begins, with all edits, the solver and the settings; not where \
             the bodies are now",
            Action::SaveScene,
        ),
    ];
    ui.horizontal_wrapped(|ui| {
        for (text, hint, action) in buttons {
            if ui.button(text).on_hover_text(hint).clicked() {
                context.actions.write(action);
            }
        }
        let typed = context.tools.name.trim().to_owned();
        let open = ui.add_enabled(!typed.is_empty(), egui::Button::new("open"));
        let hint = "a recording (.rec) is replayed, a state (.snap) or a scene (.ron) is loaded; files can also \
                    be dropped on the window";
        if open.on_hover_text(hint).clicked() {
            context.scenes.open(&typed);
        }
    });
    if let Some(frame) = &context.playback.frame {
        let kept = &frame.kept;
        let memory = number(kept.memory as f64 / f64::from(1 << 20));
        let text = format!("{} past states in memory, {memory} MiB", kept.states);
        ui.label(theme::quiet(text));
    }
}

fn bodies(ui: &mut egui::Ui, context: &mut Context) {
    let tools = &mut *context.tools;
    grid(ui, "new body", |ui| {
        row(ui, "shape", "of a new body", |ui| {
            choice(ui, "new shape", &mut tools.shape, NewShape::ALL, |shape| {
                format!("{shape:?}").to_lowercase()
            })
        });
        row(
            ui,
            "size [m]",
            "radius, or half of its edge or height",
            |ui| {
                let drag = egui::DragValue::new(&mut tools.size).range(0.0..=1e4);
                let text = |v: f64, _| match v {
                    0.0 => "as others".into(),
                    v => number(v),
                };
                ui.add(drag.speed(0.01).max_decimals(6).custom_formatter(text))
            },
        );
    });
    ui.horizontal(|ui| {
        let hint = "Insert; with the key it comes to where the mouse points";
        if ui.button("add").on_hover_text(hint).clicked() {
            context.actions.write(Action::AddBody);
        }
        let remove = egui::Button::new("remove the selected one");
        let remove = ui.add_enabled(context.hands.selected.is_some(), remove);
        if remove
            .on_hover_text("Delete; its joints go with it")
            .clicked()
        {
            context.actions.write(Action::RemoveBody);
        }
    });
}
