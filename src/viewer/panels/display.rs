//! What is drawn over and instead of the bodies.

use bevy_egui::egui;

use super::{Context, Panel, theme};

pub const PANEL: Panel = Panel::right("Drawing", false, show);

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let drawing = &mut *context.drawing;
    ui.columns(2, |columns| {
        let [left, right] = columns else { return };
        left.checkbox(&mut drawing.points, "contact points")
            .on_hover_text("key 1");
        left.checkbox(&mut drawing.normals, "normals")
            .on_hover_text("key 2");
        left.checkbox(&mut drawing.islands, "islands")
            .on_hover_text("key 5");
        right
            .checkbox(&mut drawing.normal_forces, "normal forces")
            .on_hover_text("key 3");
        right
            .checkbox(&mut drawing.friction_forces, "friction forces")
            .on_hover_text("key 4");
        left.checkbox(&mut drawing.joints, "joints").on_hover_text(
            "key J: anchors, axes and the way to the centres of mass, in the colour of the error; \
             with normal forces on, their forces too",
        );
        right.checkbox(&mut drawing.grid, "ground grid");
    });
    ui.horizontal(|ui| {
        ui.label("arrows");
        ui.add(egui::Slider::new(&mut drawing.scale, 0.1..=10.0).logarithmic(true));
    });
    ui.checkbox(&mut context.playback.smooth, "glide between steps")
        .on_hover_text("moves bodies evenly between two steps, one step late");
    if let Some(frame) = &context.playback.frame
        && drawing.any_contacts()
        && frame.contact_stride > 1
    {
        let text = format!(
            "too many contacts: one of {} is drawn",
            frame.contact_stride
        );
        ui.label(theme::quiet(text));
    }
}
