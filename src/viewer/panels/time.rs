//! The bar at the top: play, pause, step, restart, speed.

use bevy_egui::egui;

use super::widgets::number;
use super::{Context, theme};
use crate::session::Replayed;
use crate::viewer::keep::Keep;
use crate::viewer::keys::Action;
use crate::viewer::physics::Command;
use crate::viewer::verdicts::{Mark, Miss};

/// In narrower bars than these (points) the frame rate, time and step, and long words are left out.
const NARROW: [f32; 3] = [90.0, 270.0, 560.0];

/// Width of the button that records (points): the number of steps moves nothing beside it.
const RECORD: f32 = 100.0;

pub fn show(ui: &mut egui::Ui, context: &mut Context) {
    ui.horizontal(|ui| {
        ui.spacing_mut().interact_size.y = 24.0;
        buttons(ui, context);
        ui.separator();
        speed(ui, context);
        ui.separator();
        progress(ui, context);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.button("?").on_hover_text("keys and mouse (H)").clicked() {
                context.open.help = !context.open.help;
            }
            let plots = ui.selectable_label(context.open.plots, "plots");
            if plots.on_hover_text("P").clicked() {
                context.open.plots = !context.open.plots;
            }
            if ui.available_width() > NARROW[0] {
                frame_rate(ui, context);
            }
        });
    });
    past(ui, context);
}

/// The past to go back to, the recording, and how far a replay has come.
fn past(ui: &mut egui::Ui, context: &mut Context) {
    let Some(frame) = &context.playback.frame else {
        return;
    };
    ui.horizontal(|ui| {
        let (text, hint, color) = match frame.recording {
            Some(steps) => (
                format!("⏹ {steps} steps"),
                "end the recording and save it (F9)",
                theme::of(ui).error,
            ),
            None => (
                "⏺ record".into(),
                "record from here on (F9)",
                theme::of(ui).quiet,
            ),
        };
        let button = egui::Button::new(egui::RichText::new(text).color(color));
        if ui
            .add(button.min_size(egui::vec2(RECORD, 0.0)))
            .on_hover_text(hint)
            .clicked()
        {
            context.actions.write(Action::Record);
        }
        if let Some(replayed) = &frame.replayed {
            replay(ui, replayed);
        }
        let Some([first, last]) = frame.kept.steps else {
            let text = match frame.kept.too_large {
                Some(memory) => format!(
                    "there is no going back: one state takes {} GiB",
                    number(memory as f64 / f64::from(1 << 30))
                ),
                None => "there is no going back".into(),
            };
            ui.colored_label(theme::of(ui).warning, text);
            return;
        };
        ui.label(theme::quiet(format!("{first}")));
        let mut step = frame.step;
        ui.spacing_mut().slider_width = (ui.available_width() - 90.0).max(60.0);
        let slider = egui::Slider::new(&mut step, first..=last.max(first + 1)).show_value(false);
        let mut hint = format!(
            "go to any of the steps {first} to {last}; what is done there begins another future"
        );
        if !frame.kept.is_gapless {
            hint += ". The solver had a wall-time budget: only some of them can be returned to";
        }
        let slider = ui.add_enabled(last > first, slider).on_hover_text(hint);
        if slider.changed() {
            context.physics.send(Command::Keep(Keep::ScrubTo(step)));
        }
        if let Some(step) = marks(ui, slider.rect, &frame.marks, [first, last]) {
            context.physics.send(Command::Keep(Keep::ScrubTo(step)));
        }
        ui.label(theme::quiet(format!("{last}")));
    });
}

/// Marks on the time line where worlds first miss something; the step of one that is pressed.
fn marks(ui: &egui::Ui, line: egui::Rect, marks: &[Mark], [first, last]: [u64; 2]) -> Option<u64> {
    // As egui leaves room for the slider's handle.
    let room = line.height() / 2.5;
    let range = line.left() + room..=line.right() - room;
    let mut pressed = None;
    let kept = marks.iter().filter(|m| (first..=last).contains(&m.step));
    for (k, mark) in kept.enumerate() {
        let share = (mark.step - first) as f32 / (last - first).max(1) as f32;
        let at = egui::pos2(egui::lerp(range.clone(), share), line.bottom() + 1.0);
        let color = mark.series.map(|k| theme::of(ui).series(k));
        let color = color.unwrap_or(theme::of(ui).own_world);
        let size = match mark.miss {
            Miss::Tolerance => 3.0,
            Miss::Apart | Miss::Fell | Miss::Stopped => 5.0,
        };
        let corners = [(0.0, -size), (size, size), (-size, size)];
        let corners = corners.map(|(x, y)| at + egui::vec2(x, y));
        let sign = egui::Shape::convex_polygon(corners.into(), color, egui::Stroke::NONE);
        ui.painter().add(sign);
        let area = egui::Rect::from_center_size(at, egui::Vec2::splat(2.0 * size + 2.0));
        let id = ui.id().with(("mark", k));
        let response = ui.interact(area, id, egui::Sense::click());
        if response.on_hover_text(mark.text()).clicked() {
            pressed = Some(mark.step);
        }
    }
    pressed
}

fn replay(ui: &mut egui::Ui, replayed: &Replayed) {
    let [first, last] = replayed.steps;
    let progress = format!("replay {} of {}", replayed.compared - first, last - first);
    let (text, color) = match replayed.divergence {
        Some(divergence) => (
            format!("{progress}: diverged at step {}", divergence.step),
            theme::of(ui).error,
        ),
        None if replayed.compared == last => (
            format!("{progress}: the same as recorded"),
            theme::of(ui).good,
        ),
        None => (format!("{progress}: the same so far"), theme::of(ui).accent),
    };
    ui.colored_label(color, text);
}

fn buttons(ui: &mut egui::Ui, context: &mut Context) {
    let frame = context.playback.frame.as_ref();
    let play = if frame.is_some_and(|f| f.playing) {
        ("⏸", "pause (Space)", Action::PlayPause)
    } else {
        ("▶", "play (Space)", Action::PlayPause)
    };
    let restart = ("⏮", "restart (R)", Action::Restart);
    let back = ("◀", "one step back (←)", Action::StepBack);
    let step = ("⏭", "one step (N)", Action::Step);
    for (sign, hint, action) in [restart, back, play, step] {
        let text = egui::RichText::new(sign).size(15.0);
        let button = egui::Button::new(text).min_size(egui::vec2(30.0, 24.0));
        if ui.add(button).on_hover_text(hint).clicked() {
            context.actions.write(action);
        }
    }
}

fn speed(ui: &mut egui::Ui, context: &mut Context) {
    let setup = &mut *context.setup;
    let before = setup.speed;
    let mut unlimited = before.is_infinite();
    ui.label("speed");
    ui.add_enabled_ui(!unlimited, |ui| {
        let mut speed = if unlimited { 1.0 } else { before };
        let slider = egui::Slider::new(&mut speed, 0.01..=8.0)
            .logarithmic(true)
            .custom_formatter(|v, _| format!("{}×", number(v)));
        let hint = "simulated over real time: below 1 is slow motion";
        if ui.add(slider).on_hover_text(hint).changed() {
            setup.speed = speed;
        }
    });
    let name = match ui.available_width() < NARROW[2] {
        true => "fastest",
        false => "as fast as possible",
    };
    let checkbox = ui.checkbox(&mut unlimited, name);
    if checkbox.on_hover_text("as fast as possible").changed() {
        setup.speed = if unlimited { f64::INFINITY } else { 1.0 };
    }
    if setup.speed != before {
        context.physics.send(Command::Speed(setup.speed));
    }
}

/// How fast time runs, and how far it has come.
fn progress(ui: &mut egui::Ui, context: &Context) {
    let Some(frame) = &context.playback.frame else {
        return;
    };
    let factor = frame.real_time_factor;
    let (color, text) = if !frame.playing {
        (theme::of(ui).quiet, "paused".into())
    } else if factor >= 0.9 * context.setup.speed.min(1.0) {
        (theme::of(ui).good, format!("{factor:.2}× real time"))
    } else {
        (theme::of(ui).warning, format!("{factor:.2}× real time"))
    };
    ui.colored_label(color, text)
        .on_hover_text("simulated seconds per second of real time, measured");
    if ui.available_width() > NARROW[1] {
        let text = format!("t = {:.3} s   step {}", frame.time, frame.step);
        ui.label(theme::quiet(text));
    }
}

/// Smoothed over frames of like length; a much longer one is shown at once.
fn frame_rate(ui: &mut egui::Ui, context: &mut Context) {
    let now = context.time.delta_secs_f64().max(1e-6);
    let mean = &mut context.open.frame_time;
    let share = if now > 3.0 * *mean { 1.0 } else { 0.1 };
    *mean += share * (now - *mean);
    let label = ui.label(theme::quiet(format!("{} frames/s", number(1.0 / *mean))));
    if let Some(adapter) = &context.adapter {
        label.on_hover_text(format!("{} ({:?})", adapter.name, adapter.backend));
    }
}
