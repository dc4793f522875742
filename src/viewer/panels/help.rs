//! The overlay that lists all keys.

use bevy_egui::egui;

use super::theme;
use crate::viewer::keys::{BINDINGS, Binding, FLYING, MOUSE, label};
use crate::viewer::machines::{is_taken, key, key_label};
use crate::world::Drive;

/// Shows the overlay. Keys that the scene's drives name are listed with the machine; what they do
/// otherwise is listed with Shift.
pub fn show(ctx: &egui::Context, open: &mut bool, drives: &[Drive]) {
    egui::Window::new("Keys and mouse")
        .open(open)
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::CENTER_CENTER, [0.0, 0.0])
        .show(ctx, |ui| {
            ui.horizontal_top(|ui| {
                let (left, right) = BINDINGS.split_at(3);
                for half in [left, right] {
                    ui.vertical(|ui| {
                        for (topic, bindings) in half {
                            list(ui, topic, |ui| {
                                for binding in *bindings {
                                    line(ui, |ui| keys(ui, binding, drives), binding.text);
                                }
                            });
                        }
                        if half.as_ptr() == right.as_ptr() {
                            list(ui, "Mouse", |ui| {
                                for (button, text) in MOUSE {
                                    line(ui, |ui| _ = ui.monospace(*button), text);
                                }
                            });
                        }
                    });
                    ui.add_space(14.0);
                }
                if drives
                    .iter()
                    .flat_map(|d| &d.hands)
                    .any(|k| key(k).is_some())
                {
                    ui.vertical(|ui| machine(ui, drives));
                }
            });
        });
}

/// The drives' keys, and what becomes of the viewer's own.
fn machine(ui: &mut egui::Ui, drives: &[Drive]) {
    list(ui, "Machine", |ui| {
        for drive in drives {
            let labels = drive.hands.each_ref().map(|name| key_label(name));
            let both = labels.join(" ");
            if !both.trim().is_empty() {
                line(ui, |ui| _ = ui.monospace(both.trim()), &drive.name);
            }
        }
    });
    ui.set_max_width(190.0);
    let taken = |code| is_taken(drives, code);
    let mut bindings = BINDINGS.iter().flat_map(|(_, bindings)| *bindings);
    if bindings.any(|b| b.keys.iter().any(|k| taken(*k))) {
        ui.label(theme::quiet(
            "Its keys do what else they are for with Shift.",
        ));
    }
    if FLYING.into_iter().any(taken) {
        ui.label(theme::quiet(
            "While flying, W A S D Q E fly and leave the machine alone.",
        ));
    }
}

fn keys(ui: &mut egui::Ui, binding: &Binding, drives: &[Drive]) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for (k, code) in binding.keys.iter().enumerate() {
            if k > 0 {
                ui.monospace(" or ");
            }
            if is_taken(drives, *code) {
                let shift = egui::RichText::new("Shift ").monospace();
                ui.label(shift.color(theme::of(ui).warning));
            }
            ui.monospace(label(*code));
        }
    });
}

fn list(ui: &mut egui::Ui, topic: &str, lines: impl FnOnce(&mut egui::Ui)) {
    ui.label(
        egui::RichText::new(topic)
            .strong()
            .color(theme::of(ui).accent),
    );
    egui::Grid::new(topic)
        .num_columns(2)
        .spacing([12.0, 2.0])
        .show(ui, lines);
    ui.add_space(6.0);
}

fn line(ui: &mut egui::Ui, key: impl FnOnce(&mut egui::Ui), text: &str) {
    key(ui);
    ui.label(text);
    ui.end_row();
}
