//! Signs over the picture: a scene is being built, or a machine has come apart.

use bevy_egui::egui;

use super::widgets::number;
use super::{Context, theme};
use crate::session::Input;
use crate::solve::{self, SolverInfo, default_solver};
use crate::viewer::draw::palette;
use crate::viewer::physics::Command;
use crate::viewer::verdicts::{Miss, are_apart, first};

/// Steps whose worst joint error counts.
const LATELY: usize = 60;
/// Whether the panels are already of a scene that is still being built.
fn is_loading(context: &Context) -> bool {
    let built = context.playback.frame.as_ref().map_or(0, |f| f.builds);
    built < context.scenes.sent
}

/// Says that a scene is being built while the old one still stands there.
pub fn loading(ctx: &egui::Context, context: &Context, free: egui::Rect) {
    let scene = context.scenes.scene.as_ref();
    let Some(scene) = scene.filter(|_| is_loading(context)) else {
        return;
    };
    egui::Area::new("loading".into())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::CENTER_CENTER)
        .fixed_pos(free.center())
        .interactable(false)
        .show(ctx, |ui| {
            theme::of(ctx)
                .message(theme::of(ctx).accent)
                .show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.spinner();
                        let name = if scene.name.is_empty() {
                            scene.id()
                        } else {
                            &scene.name
                        };
                        ui.label(format!("building {name} …"));
                    });
                    ui.label(theme::quiet(scene.summary()));
                });
        });
}

/// Says that joints have come apart or that something fell, and offers the solver that holds it.
pub fn broken(ctx: &egui::Context, context: &mut Context, free: egui::Rect) {
    let Some(last) = context.history.samples.back() else {
        return;
    };
    if is_loading(context) {
        return;
    }
    let (what, holds) = match (apart(context), fell(context)) {
        (Some(error), _) => (format!("joints are {} m apart", number(error)), "hold them"),
        (None, Some(fell)) => (fell, "meet its tolerance before"),
        (None, None) => return,
    };
    let name = &last.solver.name;
    let holds_them = default_solver().name;
    let is_exact = name == holds_them || solve::find(name).is_some_and(SolverInfo::is_direct);
    let advice = context.physics.advice();
    let help = advice
        .as_ref()
        .and_then(|diagnosis| diagnosis.help.as_deref());
    let text = if is_exact {
        let help = help.unwrap_or("shorter steps may help (panel \"Time step\")");
        format!("{what}: {help}")
    } else {
        format!("{what}: {name} did not {holds}, {holds_them} does")
    };
    let offers = !is_exact;
    egui::Area::new("broken".into())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::CENTER_TOP)
        .fixed_pos(free.center_top() + egui::vec2(0.0, 12.0))
        .show(ctx, |ui| {
            theme::of(ctx)
                .message(theme::of(ctx).warning)
                .show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.colored_label(theme::of(ctx).warning, "⚠");
                        ui.label(text);
                        if offers && ui.button(format!("restart with {holds_them}")).clicked() {
                            context.setup.solver.switch(holds_them);
                            let solver = context.setup.solver.clone();
                            context.physics.send(Command::Restart);
                            context.physics.act(Input::Solver(solver));
                        }
                    });
                });
        });
}

/// How far joints are apart, where they do not hold; the worst of the present solver's last steps, so that the sign does not
/// flicker (m).
fn apart(context: &Context) -> Option<f64> {
    let samples = &context.history.samples;
    let solver = &samples.back()?.solver;
    let own = samples.iter().rev().take_while(|s| s.solver == *solver);
    let errors = own.take(LATELY).map(|s| s.report.joint_error);
    let worst = errors.max_by(|a, b| a.total_cmp(b))?;
    are_apart(worst).then_some(worst)
}

/// What has fallen under the present solver, when it had missed its tolerance before: where it had not, falling is what such
/// a thing does.
fn fell(context: &Context) -> Option<String> {
    let frame = context.playback.frame.as_ref()?;
    let first = |miss| first(&frame.marks, None, miss, frame.step);
    let (fell, missed) = (first(Miss::Fell)?, first(Miss::Tolerance)?);
    let last = context.history.samples.back()?;
    let fallen = last.fallen;
    let is_its = [fell, missed]
        .iter()
        .all(|mark| mark.name == last.solver.name);
    let counts = fallen > 0 && is_its && missed.step <= fell.step;
    counts.then(|| {
        format!(
            "{fallen} of {} bodies fell since {:.1} s",
            frame.dynamic_bodies, fell.time
        )
    })
}

/// Says beside the pointer how hard a hand pulls: less where the body does not follow, and never more than a hand may.
pub fn pull(ctx: &egui::Context, context: &Context) {
    let frame = context.playback.frame.as_ref();
    let pull = frame.filter(|_| context.hands.grip.is_some());
    let (Some(frame), Some(at)) = (pull, ctx.pointer_latest_pos()) else {
        return;
    };
    let text = match frame.drag_force {
        force if force < 1e3 => format!("{force:.0} N"),
        force => format!("{:.1} kN", 1e-3 * force),
    };
    let painter = ctx.layer_painter(egui::LayerId::background());
    let font = egui::FontId::proportional(13.0);
    let text = painter.layout_no_wrap(text, font, theme::drawn(palette::SPRING));
    let ground = egui::Rect::from_min_size(at + egui::vec2(16.0, 12.0), text.size());
    painter.rect_filled(ground.expand2(egui::vec2(5.0, 2.0)), 4.0, theme::LEGEND);
    painter.galley(ground.min, text, egui::Color32::WHITE);
}
