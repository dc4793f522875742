//! Messages that come and go, in the lower right corner of the picture.

use bevy_egui::egui;

use super::theme;
use crate::viewer::toasts::Toasts;

/// How long a message takes to fade (s).
const FADE: f32 = 0.5;

pub fn show(ctx: &egui::Context, toasts: &mut Toasts, free: egui::Rect) {
    if toasts.list.is_empty() {
        return;
    }
    let mut closed = None;
    egui::Area::new("toasts".into())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::RIGHT_BOTTOM)
        .fixed_pos(free.right_bottom() - egui::vec2(14.0, 14.0))
        .show(ctx, |ui| {
            ui.set_max_width((0.6 * free.width()).clamp(200.0, 460.0));
            for (k, toast) in toasts.list.iter().enumerate() {
                ui.set_opacity((toast.left / FADE).min(1.0));
                let color = if toast.is_error {
                    theme::of(ctx).error
                } else {
                    theme::of(ctx).good
                };
                let shown = theme::of(ctx).message(color).show(ui, |ui| {
                    ui.add(egui::Label::new(&toast.text).wrap());
                });
                let response = shown.response.interact(egui::Sense::click());
                if response.on_hover_text("click to close").clicked() {
                    closed = Some(k);
                }
            }
        });
    if let Some(k) = closed {
        toasts.list.remove(k);
    }
}
