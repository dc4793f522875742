//! The bar at the top: play, pause, step, restart, speed.

use bevy_egui::egui;

use super::{Context, number, theme};
use crate::viewer::keys::Action;
use crate::viewer::physics::Command;

/// Shows the bar.
pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    ui.horizontal(|ui| {
        ui.spacing_mut().interact_size.y = 24.0;
        let playing = context.playback.frame.as_ref().is_some_and(|f| f.playing);
        let button = |ui: &mut egui::Ui, sign: &str, hint: &str| {
            let text = egui::RichText::new(sign).size(15.0);
            ui.add(egui::Button::new(text).min_size(egui::vec2(30.0, 24.0)))
                .on_hover_text(hint)
                .clicked()
        };
        if button(ui, "⏮", "restart (R)") {
            context.actions.write(Action::Restart);
        }
        let (sign, hint) = if playing {
            ("⏸", "pause (Space)")
        } else {
            ("▶", "play (Space)")
        };
        if button(ui, sign, hint) {
            context.actions.write(Action::PlayPause);
        }
        if button(ui, "⏭", "one step (N)") {
            context.actions.write(Action::Step);
        }
        ui.separator();

        let setup = &mut *context.setup;
        let mut unlimited = setup.speed.is_infinite();
        ui.label("speed");
        let before = setup.speed;
        ui.add_enabled_ui(!unlimited, |ui| {
            let mut speed = if unlimited { 1.0 } else { setup.speed };
            let slider = egui::Slider::new(&mut speed, 0.01..=8.0)
                .logarithmic(true)
                .custom_formatter(|v, _| format!("{}×", number(v)));
            if ui
                .add(slider)
                .on_hover_text("simulated over real time: below 1 is slow motion")
                .changed()
            {
                setup.speed = speed;
            }
        });
        if ui.checkbox(&mut unlimited, "as fast as possible").changed() {
            setup.speed = if unlimited { f64::INFINITY } else { 1.0 };
        }
        if setup.speed != before {
            context.physics.send(Command::Speed(setup.speed));
        }
        ui.separator();

        if let Some(frame) = &context.playback.frame {
            let factor = frame.real_time_factor;
            let target = setup.speed.min(1e9);
            let color = if !frame.playing {
                theme::QUIET
            } else if factor >= 0.9 * target.min(1.0) {
                theme::GOOD
            } else {
                theme::WARNING
            };
            let text = if frame.playing {
                format!("{factor:.2}× real time")
            } else {
                "paused".into()
            };
            ui.colored_label(color, text)
                .on_hover_text("simulated seconds per second of real time, measured");
            ui.label(theme::quiet(format!(
                "t = {:.3} s   step {}",
                frame.time, frame.step
            )));
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.button("?").on_hover_text("keys and mouse (H)").clicked() {
                context.open.help = !context.open.help;
            }
            let plots = ui.selectable_label(context.open.plots, "plots");
            if plots.on_hover_text("P").clicked() {
                context.open.plots = !context.open.plots;
            }
            // Smoothed over frames of like length; a much longer one is shown at once.
            let now = context.time.delta_secs_f64().max(1e-6);
            let open = &mut context.open;
            let share = if now > 3.0 * open.frame_time {
                1.0
            } else {
                0.1
            };
            open.frame_time += share * (now - open.frame_time);
            let rate = number(1.0 / open.frame_time);
            let label = ui.label(theme::quiet(format!("{rate} frames/s")));
            if let Some(adapter) = &context.adapter {
                label.on_hover_text(format!("{} ({:?})", adapter.name, adapter.backend));
            }
        });
    });
}
