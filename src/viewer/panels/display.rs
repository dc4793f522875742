//! What is drawn over and instead of the bodies.

use bevy_egui::egui;

use super::{Context, theme};

/// Shows the switches.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    let overlays = &mut *context.overlays;
    ui.columns(2, |columns| {
        let [left, right] = columns else { return };
        left.checkbox(&mut overlays.points, "contact points")
            .on_hover_text("key 1");
        left.checkbox(&mut overlays.normals, "normals")
            .on_hover_text("key 2");
        left.checkbox(&mut context.dressing.options.islands, "islands")
            .on_hover_text("key 5");
        right
            .checkbox(&mut overlays.normal_forces, "normal forces")
            .on_hover_text("key 3");
        right
            .checkbox(&mut overlays.friction_forces, "friction forces")
            .on_hover_text("key 4");
        right.checkbox(&mut context.dressing.options.grid, "ground grid");
    });
    ui.horizontal(|ui| {
        ui.label("arrows");
        ui.add(egui::Slider::new(&mut overlays.scale, 0.1..=10.0).logarithmic(true));
    });
    ui.checkbox(&mut context.playback.smooth, "glide between steps")
        .on_hover_text("moves bodies evenly between two steps, one step late");
    if let Some(frame) = &context.playback.frame
        && overlays.any()
        && frame.contact_stride > 1
    {
        let text = format!(
            "too many contacts: one of {} is drawn",
            frame.contact_stride
        );
        ui.label(theme::quiet(text));
    }
}
