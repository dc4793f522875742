//! The numbers of the contact or joint that was picked.

use bevy_egui::egui;

use super::widgets::{floating, number, table};
use super::{Context, theme};
use crate::viewer::inspect::{RowNumbers, Value};

pub fn show(ctx: &egui::Context, context: &mut Context, free: egui::Rect) {
    if context.picked.thing.is_none() {
        return;
    }
    let at = free.right_top() + egui::vec2(-310.0, 12.0);
    let open = floating(ctx, "Contact or joint", at, free, |ui| {
        describe(ui, context)
    });
    if !open {
        context.picked.thing = None;
    }
}

fn describe(ui: &mut egui::Ui, context: &Context) {
    let frame = context.playback.frame.as_ref();
    let numbers = frame.and_then(|f| f.picked.as_ref());
    if let Some(numbers) = numbers {
        ui.strong(&numbers.title);
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            Value::Number(value) => number(*value),
            Value::Vector(v) => format!("{} {} {}", number(v.x), number(v.y), number(v.z)),
        };
        let lines = numbers.lines.iter();
        let lines = lines.map(|(name, value, hint)| (*name, text(value), *hint));
        table(ui, "picked", lines);
        rows(ui, &numbers.rows);
    } else {
        ui.label(theme::quiet("it is open: there is no such contact now"));
    }
}

/// The rows of w = A Λ + b.
fn rows(ui: &mut egui::Ui, rows: &[RowNumbers]) {
    if rows.is_empty() {
        return;
    }
    ui.add_space(4.0);
    let grid = egui::Grid::new("picked rows")
        .striped(true)
        .spacing([8.0, 2.0]);
    egui::ScrollArea::horizontal().show(ui, |ui| {
        grid.show(ui, |ui| {
            for (name, hint) in [
                ("row", "● where the impulse is at its bound"),
                ("Λ [N s]", "impulse"),
                ("start [N s]", "what the solver started from"),
                ("w [m/s]", "J u + C Λ + bias"),
                (
                    "φ [m]",
                    "position error or gap; angles times the joint's length",
                ),
            ] {
                ui.label(theme::quiet(name)).on_hover_text(hint);
            }
            ui.end_row();
            for row in rows {
                let mark = if row.is_bounded { " ●" } else { "" };
                ui.label(format!("{}{mark}", row.name));
                let error = row.error.map_or("–".into(), number);
                let numbers = [row.impulse, row.start, row.velocity].map(number);
                for text in numbers.into_iter().chain([error]) {
                    ui.monospace(text);
                }
                ui.end_row();
            }
        });
    });
}
