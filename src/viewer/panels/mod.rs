//! The panels: one file each, laid out here.

mod controls;
mod counters;
mod display;
mod help;
mod matrix;
mod parameters;
mod plots;
mod scenes;
mod selection;
mod solver;
mod stepping;
mod theme;
mod time;
mod timings;

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::render::renderer::RenderAdapterInfo;
use bevy::window::PrimaryWindow;
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass, egui};

use super::camera::{Eye, Pointer};
use super::draw::bodies::Dressing;
use super::draw::contacts::Overlays;
use super::frame::Severity;
use super::hands::{Hands, Hold};
use super::history::History;
use super::keys::Action;
use super::physics::{Command, Observe, Physics, Playback};
use super::scenes::Scenes;
use super::setup::Setup;

/// Which panels are open.
#[derive(Resource, Clone, Debug)]
pub struct Open {
    /// All panels.
    pub panels: bool,
    /// The plots at the bottom.
    pub plots: bool,
    /// The list of keys.
    pub help: bool,
    /// Which plots.
    plot: plots::Choice,
    /// The picture of the matrices.
    matrix: matrix::Picture,
    /// Time between two frames, smoothed \[s\].
    frame_time: f64,
    dismissed: Option<super::frame::Notice>,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            panels: true,
            plots: true,
            help: false,
            plot: plots::Choice::default(),
            matrix: matrix::Picture::default(),
            frame_time: 1.0 / 60.0,
            dismissed: None,
        }
    }
}

impl Open {
    /// Everything that is open at the start, or nothing.
    pub fn new(panels: bool) -> Self {
        Self {
            panels,
            ..Self::default()
        }
    }
}

/// All that panels read and change.
#[derive(SystemParam)]
struct Context<'w> {
    physics: Res<'w, Physics>,
    playback: ResMut<'w, Playback>,
    history: Res<'w, History>,
    scenes: ResMut<'w, Scenes>,
    setup: ResMut<'w, Setup>,
    overlays: ResMut<'w, Overlays>,
    dressing: ResMut<'w, Dressing>,
    hands: ResMut<'w, Hands>,
    eye: ResMut<'w, Eye>,
    open: ResMut<'w, Open>,
    actions: MessageWriter<'w, Action>,
    adapter: Option<Res<'w, RenderAdapterInfo>>,
    time: Res<'w, Time<Real>>,
}

/// Lays out the panels around the picture.
pub struct PanelsPlugin;

impl Plugin for PanelsPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(EguiPlugin::default())
            .init_resource::<Open>()
            .add_systems(EguiPrimaryContextPass, lay_out)
            .add_systems(Update, (press_keys, observe).chain().after(Hold));
    }
}

fn press_keys(
    mut actions: MessageReader<Action>,
    mut open: ResMut<Open>,
    mut overlays: ResMut<Overlays>,
    mut dressing: ResMut<Dressing>,
) {
    let flip = |value: &mut bool| *value = !*value;
    for action in actions.read() {
        match action {
            Action::Panels => flip(&mut open.panels),
            Action::Plots => flip(&mut open.plots),
            Action::Help => flip(&mut open.help),
            Action::Escape => open.help = false,
            Action::ContactPoints => flip(&mut overlays.points),
            Action::Normals => flip(&mut overlays.normals),
            Action::NormalForces => flip(&mut overlays.normal_forces),
            Action::FrictionForces => flip(&mut overlays.friction_forces),
            Action::Joints => flip(&mut overlays.joints),
            Action::Islands => flip(&mut dressing.options.islands),
            _ => {}
        }
    }
}

/// Asks for what is shown, and for nothing else: each of it costs the physics thread some time.
fn observe(
    open: Res<Open>,
    overlays: Res<Overlays>,
    dressing: Res<Dressing>,
    hands: Res<Hands>,
    physics: Res<Physics>,
    mut asked: Local<Option<Observe>>,
) {
    let wanted = Observe {
        contacts: overlays.any_contacts(),
        joints: overlays.joints,
        matrix: open.panels && open.matrix.open,
        islands: dressing.options.islands,
        history: open.panels && open.plots && open.plot.convergence,
        body: hands.selected,
    };
    if *asked != Some(wanted) {
        *asked = Some(wanted);
        physics.send(Command::Observe(wanted));
    }
}

fn lay_out(
    mut contexts: EguiContexts,
    mut context: Context,
    mut pointer: ResMut<Pointer>,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
    mut themed: Local<bool>,
) -> Result {
    let Some(window) = window else {
        return Ok(());
    };
    let ctx = contexts.ctx_mut()?.clone();
    if !*themed {
        theme::apply(&ctx);
        *themed = true;
    }
    let all = ctx.viewport_rect();
    let mut ui = egui::Ui::new(
        ctx.clone(),
        "panels".into(),
        egui::UiBuilder::new()
            .layer_id(egui::LayerId::background())
            .max_rect(all),
    );
    if context.open.panels {
        egui::Panel::top("time")
            .frame(theme::bar())
            .show(&mut ui, |ui| time::show(ui, &mut context));
        if context.open.plots {
            egui::Panel::bottom("plots")
                .frame(theme::panel())
                .resizable(true)
                .default_size(190.0)
                .size_range(110.0..=all.height() * 0.6)
                .show(&mut ui, |ui| plots::show(ui, &mut context));
        }
        egui::Panel::left("scenes")
            .frame(theme::panel())
            .resizable(true)
            .default_size(215.0)
            .size_range(160.0..=all.width() * 0.3)
            .show(&mut ui, |ui| {
                parameters::show(ui, &mut context);
                controls::show(ui, &mut context);
                scenes::show(ui, &mut context);
            });
        egui::Panel::right("inspector")
            .frame(theme::panel())
            .resizable(true)
            .default_size(295.0)
            .size_range(240.0..=all.width() * 0.4)
            .show(&mut ui, |ui| {
                egui::ScrollArea::vertical()
                    .auto_shrink(false)
                    .show(ui, |ui| inspector(ui, &mut context));
            });
    }
    let free = ui.available_rect_before_wrap();
    notice(&ctx, &mut context, free);
    let drives = context
        .playback
        .frame
        .as_ref()
        .map_or(&[][..], |f| &f.drives);
    help::show(&ctx, &mut context.open.help, drives);

    // What the panels leave is the picture's.
    let scale = ctx.pixels_per_point();
    let limit = UVec2::new(window.physical_width(), window.physical_height());
    let corner = |p: egui::Pos2| {
        UVec2::new((p.x * scale).round() as u32, (p.y * scale).round() as u32).min(limit)
    };
    let viewport = URect::from_corners(corner(free.min), corner(free.max));
    if context.eye.viewport != viewport {
        context.eye.viewport = viewport;
    }
    pointer.position = window.physical_cursor_position();
    let over = window
        .cursor_position()
        .map(|p| egui::pos2(p.x, p.y) / (scale / window.scale_factor()));
    pointer.over_scene = over.is_some_and(|p| {
        free.contains(p)
            && ctx
                .layer_id_at(p)
                .is_none_or(|layer| layer.order == egui::Order::Background)
    });
    Ok(())
}

fn inspector(ui: &mut egui::Ui, context: &mut Context) {
    let section =
        |ui: &mut egui::Ui, title: &str, open: bool, add: &mut dyn FnMut(&mut egui::Ui)| {
            egui::CollapsingHeader::new(egui::RichText::new(title).strong())
                .default_open(open)
                .show_unindented(ui, |ui| {
                    add(ui);
                    ui.add_space(6.0);
                });
        };
    if context.hands.selected.is_some() {
        section(ui, "Selected body", true, &mut |ui| {
            selection::show(ui, context)
        });
    }
    section(ui, "Solver", true, &mut |ui| solver::show(ui, context));
    section(ui, "Time step", false, &mut |ui| {
        stepping::show(ui, context)
    });
    section(ui, "Timings", true, &mut |ui| timings::show(ui, context));
    section(ui, "Counters", true, &mut |ui| counters::show(ui, context));
    // Set again by the panel itself, if it is laid out.
    context.open.matrix.open = false;
    let pivoting = context
        .playback
        .frame
        .as_ref()
        .and_then(|f| f.counters.pivoting);
    if pivoting.is_some() {
        section(ui, "Matrix", false, &mut |ui| matrix::show(ui, context));
    }
    section(ui, "Drawing", false, &mut |ui| display::show(ui, context));
}

/// The latest message, over the lower edge of the picture, until it is closed.
fn notice(ctx: &egui::Context, context: &mut Context, free: egui::Rect) {
    let latest = context
        .playback
        .frame
        .as_ref()
        .and_then(|f| f.notice.clone());
    let open = &mut *context.open;
    // A scene that does not open is news; what the physics thread says may be older.
    let latest = context.scenes.notice.clone().or(latest);
    let Some(shown) = latest.filter(|n| open.dismissed.as_ref() != Some(n)) else {
        return;
    };
    let (sign, color) = match shown.severity {
        Severity::Info => ("ℹ", theme::ACCENT),
        Severity::Warning => ("⚠", theme::WARNING),
        Severity::Error => ("⛔", theme::ERROR),
    };
    egui::Area::new("notice".into())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::CENTER_BOTTOM)
        .fixed_pos(free.center_bottom() - egui::vec2(0.0, 14.0))
        .show(ctx, |ui| {
            theme::message(color).show(ui, |ui| {
                ui.set_max_width((free.width() - 60.0).clamp(200.0, 620.0));
                ui.horizontal_top(|ui| {
                    ui.colored_label(color, egui::RichText::new(sign).size(18.0));
                    ui.vertical(|ui| {
                        ui.set_max_width(ui.available_width() - 28.0);
                        ui.add(egui::Label::new(&shown.text).wrap());
                    });
                    if ui.small_button("✖").on_hover_text("close").clicked() {
                        open.dismissed = Some(shown.clone());
                    }
                });
            });
        });
}

/// A number with three or four significant digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 4) as usize;
        format!("{value:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (9.80665, "9.807"),
            (-123.456, "-123.5"),
            (54321.0, "54321"),
            (1.5e7, "1.50e7"),
            (2.5e-6, "2.50e-6"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
