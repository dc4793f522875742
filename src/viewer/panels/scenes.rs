//! The list of scenes.

use bevy_egui::egui;

use super::{Context, Panel, theme};

pub const PANEL: Panel = Panel::left("Scenes", show);

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let scenes = &mut *context.scenes;
    ui.horizontal(|ui| {
        ui.strong(PANEL.title);
        ui.add(
            egui::TextEdit::singleline(&mut scenes.search)
                .hint_text("search")
                .desired_width(f32::INFINITY),
        );
    });
    let words = scenes.search.to_lowercase();
    let matches = |text: &String| text.to_lowercase().contains(words.trim());
    let mut chosen = None;
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            let mut group = None;
            let entries = scenes.entries.iter();
            for entry in entries.filter(|e| [&e.name, &e.id, &e.group].into_iter().any(matches)) {
                if group != Some(&entry.group) {
                    group = Some(&entry.group);
                    ui.add_space(4.0);
                    ui.label(theme::quiet(&entry.group).small());
                }
                let current = scenes.is_current(entry);
                let label = egui::Button::selectable(current, &entry.name)
                    .min_size(egui::vec2(ui.available_width(), 0.0));
                let file = match &entry.path {
                    Some(path) => path.display().to_string(),
                    None => "built in".into(),
                };
                let hint = format!("{}\n\n{} ({file})", entry.summary, entry.id);
                if ui.add(label).on_hover_text(hint).clicked() {
                    chosen = Some(entry.id.clone());
                }
            }
            if group.is_none() {
                ui.label(theme::quiet("no scene of this name"));
            }
        });
    if let Some(id) = chosen {
        scenes.open(&id);
    }
}
