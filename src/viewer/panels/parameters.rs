//! The open scene: what it is about, and its sliders.

use bevy_egui::egui;

use super::widgets::number;
use super::{Context, Panel, theme};

pub const PANEL: Panel = Panel::left("Scene", show).when(|context| context.scenes.scene.is_some());

/// A slider that is let go builds the scene again.
fn show(ui: &mut egui::Ui, context: &mut Context) {
    let scenes = &mut *context.scenes;
    let Some(scene) = &scenes.scene else {
        return;
    };
    let name = if scene.name.is_empty() {
        scene.id()
    } else {
        &scene.name
    };
    ui.label(egui::RichText::new(name).heading())
        .on_hover_text(&scene.about);
    ui.label(theme::quiet(scene.summary()))
        .on_hover_text(&scene.about);
    let mut changed = None;
    for parameter in &scene.parameters {
        let Some(value) = scenes.values.get_mut(&parameter.path) else {
            continue;
        };
        ui.label(&parameter.label).on_hover_text(&parameter.path);
        ui.spacing_mut().slider_width = (ui.available_width() - 60.0).max(60.0);
        let mut slider = egui::Slider::new(value, parameter.min..=parameter.max)
            .logarithmic(parameter.logarithmic)
            .custom_formatter(|v, _| number(v));
        if parameter.integer {
            slider = slider.integer().custom_formatter(|v, _| format!("{v:.0}"));
        }
        let response = ui.add(slider).on_hover_text(&parameter.path);
        // While it is dragged a large scene would be built over and over.
        if response.drag_stopped() || response.changed() && !response.dragged() {
            let text = if parameter.integer {
                format!("{value:.0}")
            } else {
                value.to_string()
            };
            changed = Some((parameter.path.clone(), text));
        }
    }
    if let Some((path, value)) = changed {
        scenes.set(&path, value);
    }
    ui.add_space(4.0);
    ui.separator();
}
