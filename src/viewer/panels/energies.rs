//! Energies over time: kinetic, of gravity, of springs, and their sum, all from what they were at first.

use bevy_egui::egui;

use super::plots::{Curve, Scale, curves, over_time};
use super::theme::{self, Theme};
use super::{Context, Panel};
use crate::viewer::history::History;
use crate::world::Energy;

pub const PANEL: Panel = Panel::plot("energies [J]", false, show);

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let lines = lines(&context.history, theme::of(ui));
    curves(ui, "energies", Scale::Range, lines);
}

/// A name, a share of the energy, and what is taken off it (J).
type Quantity = (&'static str, fn(&Energy) -> f64, f64);

/// Of joints and of contacts (J).
fn springs(energy: &Energy) -> f64 {
    energy.springs + energy.contacts
}

/// Potential energies have no zero of their own: those of the first step that is shown are taken off.
/// Springs are left out where there are none.
fn lines(history: &History, theme: &Theme) -> Vec<Curve> {
    let first = history.samples.front().map(|s| s.energy);
    let first = first.unwrap_or_default();
    let quantities: [Quantity; 4] = [
        ("kinetic", |e| e.kinetic, 0.0),
        ("gravity", |e| e.gravity, first.gravity),
        ("springs", springs, springs(&first)),
        ("total [J]", Energy::total, first.gravity + springs(&first)),
    ];
    let has_springs = history.samples.iter().any(|s| springs(&s.energy) != 0.0);
    let shown = quantities.into_iter().zip((0..).map(|k| theme.series(k)));
    let shown = shown.filter(|((name, ..), _)| *name != "springs" || has_springs);
    let line = |((name, value, zero), color): (Quantity, _)| Curve {
        name: name.into(),
        color,
        points: over_time(history, |s| Some(value(&s.energy) - zero)),
    };
    shown.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::StepReport;
    use crate::viewer::frame::StepSample;

    #[test]
    fn the_total_is_the_sum_of_what_is_shown() {
        let mut history = History::default();
        for (kinetic, gravity, springs) in [(0.0, 50.0, 2.0), (10.0, 39.0, 3.0)] {
            let energy = Energy {
                kinetic,
                gravity,
                springs,
                contacts: 0.0,
            };
            let report = StepReport::default();
            let rivals = Vec::new();
            history.samples.push_back(StepSample {
                report,
                energy,
                rivals,
            });
        }
        let last = |curve: &Curve| curve.points[1][1];
        let values: Vec<f64> = lines(&history, &theme::DARK).iter().map(last).collect();
        assert_eq!(values, [10.0, -11.0, 1.0, 0.0]);
        for sample in &mut history.samples {
            sample.energy.springs = 0.0;
        }
        let shown = lines(&history, &theme::DARK);
        assert_eq!(shown.len(), 3, "no springs");
    }
}
