//! The overlay that lists all keys.

use bevy_egui::egui;

use super::theme;
use crate::viewer::keys::{BINDINGS, MOUSE};

/// Shows the overlay.
pub fn show(ctx: &egui::Context, open: &mut bool) {
    egui::Window::new("Keys and mouse")
        .open(open)
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::CENTER_CENTER, [0.0, 0.0])
        .show(ctx, |ui| {
            ui.horizontal_top(|ui| {
                let (left, right) = BINDINGS.split_at(2);
                for half in [left, right] {
                    ui.vertical(|ui| {
                        for (topic, bindings) in half {
                            let lines = bindings.iter().map(|b| (b.label, b.text));
                            list(ui, topic, lines);
                        }
                        if half.as_ptr() == right.as_ptr() {
                            list(ui, "Mouse", MOUSE.iter().copied());
                        }
                    });
                    ui.add_space(14.0);
                }
            });
        });
}

fn list<'a>(ui: &mut egui::Ui, topic: &str, lines: impl Iterator<Item = (&'a str, &'a str)>) {
    ui.label(egui::RichText::new(topic).strong().color(theme::ACCENT));
    egui::Grid::new(topic)
        .num_columns(2)
        .spacing([12.0, 2.0])
        .show(ui, |ui| {
            for (key, text) in lines {
                ui.label(egui::RichText::new(key).monospace());
                ui.label(text);
                ui.end_row();
            }
        });
    ui.add_space(6.0);
}
