//! The machine's controls: a slider per drive, and who moves it.

use bevy_egui::egui;

use super::widgets::number;
use super::{Context, Panel, theme};
use crate::viewer::machines::{drive_to, key_label};
use crate::world::Drive;

pub const PANEL: Panel = Panel::left("Controls", show).when(|context| {
    let frame = context.playback.frame.as_ref();
    frame.is_some_and(|f| !f.drives.is_empty())
});

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let Some(frame) = &context.playback.frame else {
        return;
    };
    ui.strong(PANEL.title);
    // The list of scenes keeps a part of the panel.
    egui::ScrollArea::vertical()
        .id_salt("controls")
        .max_height(0.6 * ui.available_height())
        .auto_shrink([false, true])
        .show(ui, |ui| {
            for (index, drive) in frame.drives.iter().enumerate() {
                if let Some(value) = ui.push_id(index, |ui| control(ui, drive)).inner {
                    drive_to(&context.physics, index, value);
                }
            }
        });
    ui.add_space(2.0);
    ui.separator();
}

/// One drive; what to do with it, if anything has been asked for.
fn control(ui: &mut egui::Ui, drive: &Drive) -> Option<Option<f64>> {
    let mut asked = None;
    let scripted = !drive.keys.is_empty();
    let rest = if scripted { "script" } else { "at rest" };
    ui.horizontal(|ui| {
        let unit = &drive.unit;
        ui.label(&drive.name);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if drive.live.is_none() {
                ui.label(theme::quiet(rest))
                    .on_hover_text("what moves it; its slider and its keys take it over");
            } else {
                let hint = if scripted {
                    "you have taken it over; press to give it back to its script"
                } else {
                    "you have taken it over; press to let go: it returns to 0"
                };
                let text = egui::RichText::new("hands ⟲").color(theme::of(ui).warning);
                if ui.small_button(text).on_hover_text(hint).clicked() {
                    asked = Some(None);
                }
            }
            ui.monospace(format!("{} {unit}", number(drive.value)))
                .on_hover_text("the value now");
        });
    });
    ui.horizontal(|ui| {
        let [lower, raise] = drive.hands.each_ref().map(|name| key_label(name));
        ui.spacing_mut().item_spacing.x = 4.0;
        key_cap(ui, &lower, "held, it lowers the value");
        let caps = if raise.is_empty() { 0.0 } else { 34.0 };
        ui.spacing_mut().slider_width = (ui.available_width() - 58.0 - caps).max(40.0);
        let mut value = drive.live.unwrap_or(drive.value);
        let [least, most] = drive.range;
        let slider = egui::Slider::new(&mut value, least..=most)
            .clamping(egui::SliderClamping::Edits)
            .custom_formatter(|v, _| number(v));
        let hint = match drive.rate {
            rate if rate > 0.0 => format!("where it should go, at {} per second", number(rate)),
            _ => "where it goes, at once; a key acts as long as it is held".into(),
        };
        if ui.add(slider).on_hover_text(hint).changed() {
            asked = Some(Some(value));
        }
        key_cap(ui, &raise, "held, it raises the value");
    });
    asked
}

fn key_cap(ui: &mut egui::Ui, label: &str, hint: &str) {
    if label.is_empty() {
        return;
    }
    egui::Frame::new()
        .stroke(egui::Stroke::new(1.0, theme::of(ui).quiet))
        .corner_radius(3)
        .inner_margin(egui::Margin::symmetric(4, 0))
        .show(ui, |ui| {
            ui.label(egui::RichText::new(label).monospace().size(10.5))
                .on_hover_text(hint);
        });
}
