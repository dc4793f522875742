//! The parts that the solver takes the bodies in: what each has, and what its solution took.

use bevy_egui::egui;

use super::widgets::{number, swatch};
use super::{Context, Panel, selection, theme};
use crate::solve::{PartView, PartsView, find};
use crate::viewer::draw::palette;

pub const PANEL: Panel = Panel::right("Parts", true, show)
    .when(|context| find(&context.setup.solver.name).is_some_and(|s| s.traits.has_parts));

/// Most height of the table, of which more is scrolled to (points).
const HEIGHT: f32 = 220.0;
/// Most parts that are listed: every free body is one of its own.
const MOST: usize = 200;
const COLUMNS: [(&str, &str); 6] = [
    (
        "part",
        "its colour in the picture, where parts are drawn (L)",
    ),
    ("group", "the number that somebody has given it"),
    ("bodies", ""),
    ("rows", "of its contacts and joints"),
    ("solved", "how often"),
    (
        "ms",
        "for all of that; with execution: deterministic parts are solved together, and nobody measures each",
    ),
];

fn show(ui: &mut egui::Ui, context: &mut Context) {
    context.open.asked.parts = true;
    let frame = context.playback.frame.as_ref();
    match frame.and_then(|f| f.parts.as_ref()) {
        Some(parts) => {
            let hands = &context.hands;
            let pointed = hands.last_row.or(hands.pointed_part(parts));
            context.hands.row = table(ui, parts, pointed);
        }
        None => {
            ui.label(theme::quiet("no step is taken yet"));
        }
    }
    selection::groups(ui, context);
}

/// One row for each part, and one for what couples them; the part whose row the mouse points at.
fn table(ui: &mut egui::Ui, parts: &PartsView, pointed: Option<u32>) -> Option<u32> {
    let mut under = None;
    let across = ui.max_rect().x_range();
    let area = egui::ScrollArea::vertical()
        .id_salt("parts")
        .max_height(HEIGHT);
    area.show(ui, |ui| {
        let grid = egui::Grid::new("parts").spacing([9.0, 2.0]);
        // The first row is the titles.
        let grid = grid.with_row_color(move |row, style| {
            let part = row.checked_sub(1)?;
            if pointed == u32::try_from(part).ok() {
                return Some(style.visuals.selection.bg_fill);
            }
            (part % 2 == 1).then_some(style.visuals.faint_bg_color)
        });
        grid.show(ui, |ui| {
            for (title, hint) in COLUMNS {
                let title = ui.label(theme::quiet(title));
                if !hint.is_empty() {
                    title.on_hover_text(hint);
                }
            }
            ui.end_row();
            for (part, number) in parts.parts.iter().take(MOST).zip(0..) {
                let first = ui.horizontal(|ui| {
                    swatch(ui, theme::drawn(palette::island(number)));
                    ui.monospace(number.to_string());
                });
                let row = egui::Rect::from_x_y_ranges(across, first.response.rect.y_range());
                if ui.rect_contains_pointer(row.expand2(egui::vec2(0.0, 1.0))) {
                    under = Some(number);
                }
                cells(ui, part);
            }
            ui.horizontal(|ui| {
                swatch(ui, theme::drawn(palette::COUPLING));
                let couplings = ui.monospace("between");
                let units = parts.coupling_units;
                couplings.on_hover_text(format!(
                    "contacts and joints between parts; those that couple the same ones are solved as one, of which there \
                     are {units} here"
                ));
            });
            cells(ui, &parts.couplings);
        });
        if parts.parts.len() > MOST {
            let more = parts.parts.len() - MOST;
            ui.label(theme::quiet(format!("and {more} parts more")));
        }
    });
    under
}

fn cells(ui: &mut egui::Ui, part: &PartView) {
    let whole = |value: u32| {
        if value == 0 {
            String::new()
        } else {
            value.to_string()
        }
    };
    ui.monospace(part.group.map_or(String::new(), |g| g.to_string()));
    ui.monospace(whole(part.bodies));
    ui.monospace(part.rows.to_string());
    ui.monospace(part.iterations.to_string());
    ui.monospace(part.time.map_or("–".into(), |time| number(1e3 * time)));
    ui.end_row();
}
