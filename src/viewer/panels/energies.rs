//! Where energy is and went: what is stored, and on top of it all that has been dissipated or lost since the first step that
//! is shown. The top rises by what is put in.

use bevy_egui::egui;

use super::plots::{Layer, stacked};
use super::theme;
use super::widgets::number;
use super::{Context, Panel};
use crate::measure::energy::{Account, Balance, Flow};
use crate::viewer::history::History;

pub const PANEL: Panel = Panel::plot("energies [J]", false, show);

fn show(ui: &mut egui::Ui, context: &mut Context) {
    // Keeping account costs sums over all bodies and contacts.
    context.open.asked.energy = true;
    let steps = kept(&context.history);
    let Some(account) = Account::of(steps.iter().map(|(_, step)| *step)) else {
        ui.label(theme::quiet("account is kept from the next step on"));
        return;
    };
    let times: Vec<f64> = steps.iter().map(|(time, _)| *time).collect();
    let steps: Vec<&Balance> = steps.iter().map(|(_, step)| *step).collect();
    let theme = theme::of(ui);
    let layers = layers(&steps).into_iter().zip(0..);
    let layers: Vec<Layer> = layers
        .filter(|((_, values), _)| values.iter().any(|v| *v != 0.0))
        .map(|((name, values), k)| Layer {
            name,
            color: theme.series(k),
            values,
        })
        .collect();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        for layer in &layers {
            let last = layer.values.last().copied().unwrap_or_default();
            ui.colored_label(layer.color, format!("{} {}", layer.name, number(last)));
        }
        let (left, moved) = (account.whole.remainder(), account.throughput);
        let text = format!("unexplained {} of {}", number(left), number(moved));
        ui.label(theme::quiet(text)).on_hover_text(
            "what is stored, dissipated and lost, less what was put in, and how much was moved, in J; 1e-9 of that or \
             less is rounding",
        );
    });
    stacked(ui, "energies", &times, &layers);
}

/// The times and balances of the last steps that have all been kept account of.
fn kept(history: &History) -> Vec<(f64, &Balance)> {
    let steps = history.samples.iter().rev();
    let known = steps.map_while(|s| Some((s.report.time, s.report.energy.as_ref()?)));
    let mut known: Vec<_> = known.collect();
    known.reverse();
    known
}

/// From below to above, a value per step (J). Heights have no zero of their own: gravity's is the least that is shown.
fn layers(steps: &[&Balance]) -> Vec<(&'static str, Vec<f64>)> {
    let stored = |of: fn(&Balance) -> f64| steps.iter().map(|s| of(s)).collect::<Vec<f64>>();
    let gravity = stored(|s| s.after.gravity);
    let least = gravity.iter().copied().fold(f64::INFINITY, f64::min);
    let gone = |is_wanted: &dyn Fn(Flow) -> bool| {
        let flows = || Flow::ALL.into_iter().filter(|flow| is_wanted(*flow));
        let sums = steps.iter().scan(0.0, |sum, step| {
            *sum -= flows().map(|flow| step[flow]).sum::<f64>();
            Some(*sum)
        });
        sums.collect::<Vec<f64>>()
    };
    vec![
        ("kinetic", stored(|s| s.after.kinetic)),
        ("gravity", gravity.iter().map(|g| g - least).collect()),
        ("springs", stored(|s| s.after.springs + s.after.contacts)),
        ("to dampers", gone(&|flow| flow == Flow::Dampers)),
        ("to friction", gone(&|flow| flow == Flow::Friction)),
        ("to impact", gone(&|flow| flow == Flow::Impact)),
        ("lost numerically", gone(&Flow::is_numerical)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::StepReport;
    use crate::viewer::frame::StepSample;
    use crate::world::Energy;

    /// 10 J of 40 become motion, then friction takes 4 and a drive gives 1.
    fn falling() -> History {
        let at = |kinetic, gravity| Energy {
            kinetic,
            gravity,
            ..Energy::default()
        };
        let first = Balance::new(at(0.0, 50.0), at(10.0, 40.0));
        let mut second = Balance::new(at(10.0, 40.0), at(7.0, 40.0));
        second[Flow::Friction] = -4.0;
        second[Flow::Drives] = 1.0;
        let mut history = History::default();
        let unknown = [None];
        for energy in unknown.into_iter().chain([first, second].map(Some)) {
            history.samples.push_back(StepSample {
                report: StepReport {
                    energy,
                    ..StepReport::default()
                },
                ..StepSample::default()
            });
        }
        history
    }

    #[test]
    fn the_top_rises_by_what_is_put_in() {
        let history = falling();
        let steps: Vec<&Balance> = kept(&history).into_iter().map(|(_, s)| s).collect();
        assert_eq!(steps.len(), 2, "of the first step nothing is known");
        let layers = layers(&steps);
        let tops = [0, 1].map(|k| layers.iter().map(|(_, values)| values[k]).sum::<f64>());
        assert_eq!(tops, [10.0, 11.0]);
        let friction = layers.iter().find(|(name, _)| *name == "to friction");
        assert_eq!(friction.expect("a layer").1, [0.0, 4.0]);
        assert!(layers[1].1.iter().all(|height| *height == 0.0));
    }
}
