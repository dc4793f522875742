//! Verdicts first: under the picture a card for each solver says what a step takes, and what comes of it in words.

use bevy_egui::egui::{self, Color32};

use super::widgets::number;
use super::{Context, comparison, theme, worlds};
use crate::viewer::comparison::Mode;

/// Most cards beside each other.
const MOST: usize = 4;

/// What is said of a solver, or of its world.
pub struct Card {
    pub color: Color32,
    pub name: String,
    /// What its last step took (s).
    pub time: Option<f64>,
    /// None before the first step.
    pub verdict: Option<Verdict>,
}

/// What has become of it in words, and their colour.
pub type Verdict = (String, Color32);

/// The cards of what is compared.
pub fn show(ui: &mut egui::Ui, context: &Context) {
    if !context.comparison.is_on() {
        return;
    }
    match context.comparison.mode {
        Mode::SameProblem => comparison::cards(ui, context),
        Mode::Worlds => worlds::cards(ui, context),
    }
}

/// Shows cards beside each other, all of a size: longer texts move nothing.
pub fn deal(ui: &mut egui::Ui, cards: &[Card]) {
    let theme = theme::of(ui);
    let gap = ui.spacing().item_spacing.x;
    let count = cards.len().clamp(1, MOST) as f32;
    let width = (ui.available_width() - gap * (count - 1.0)) / count;
    for row in cards.chunks(MOST) {
        ui.horizontal(|ui| {
            for card in row {
                theme.card(card.color).show(ui, |ui| {
                    // Its margins are 8 points on either side.
                    ui.set_width(width - 19.0);
                    ui.spacing_mut().item_spacing.y = 0.0;
                    ui.vertical(|ui| show_one(ui, card));
                });
            }
        });
    }
}

fn show_one(ui: &mut egui::Ui, card: &Card) {
    ui.horizontal(|ui| {
        let name = egui::RichText::new(&card.name).color(card.color).strong();
        let time = card.time.map(|time| format!("{} ms", number(1e3 * time)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(theme::quiet(time.unwrap_or_default()))
                .on_hover_text("what its last step took");
            let left = egui::Layout::left_to_right(egui::Align::Center);
            ui.with_layout(left, |ui| ui.add(egui::Label::new(name).truncate()));
        });
    });
    let (text, color) = match &card.verdict {
        Some((text, color)) => (text.as_str(), *color),
        None => ("no step taken yet", theme::of(ui).quiet),
    };
    let text = egui::RichText::new(text).color(color);
    ui.add(egui::Label::new(text).truncate());
}
