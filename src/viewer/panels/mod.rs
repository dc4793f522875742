//! The panels: one file each, listed in the table `PANELS`, laid out here.

mod cards;
mod comparison;
mod controls;
mod counters;
mod display;
mod energies;
mod help;
mod keeping;
mod legend;
mod matrix;
#[cfg(test)]
mod names;
mod overlay;
mod parameters;
mod parts;
mod picked;
mod plots;
mod scenes;
mod selection;
mod solver;
mod statistics;
mod stepping;
pub mod theme;
mod time;
mod timings;
mod toasts;
mod widgets;
mod worlds;

use std::collections::BTreeSet;

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::render::renderer::RenderAdapterInfo;
use bevy::window::{PrimaryWindow, WindowTheme, WindowThemeChanged};
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass, egui};

use super::camera::{Eye, Pointer};
use super::comparison::Comparison;
use super::draw::{ArrowScale, Drawing};
use super::frame::Notice;
use super::hands::{self, Hands};
use super::history::History;
use super::inspect::Picked;
use super::keys::Action;
use super::observe::Observe;
use super::physics::{Command, Physics};
use super::playback::Playback;
use super::scenes::Scenes;
use super::setup::Setup;
use super::toasts::Toasts;
use super::tools::Tools;

/// Every panel, in the order in which those of one place are laid out.
static PANELS: &[Panel] = &[
    parameters::PANEL,
    controls::PANEL,
    scenes::PANEL,
    solver::PANEL,
    comparison::CHOICE,
    parts::PANEL,
    stepping::PANEL,
    timings::PANEL,
    counters::PANEL,
    statistics::TABLE,
    matrix::PANEL,
    display::PANEL,
    keeping::FILES,
    keeping::BODIES,
    plots::RESIDUAL,
    plots::ITERATIONS,
    plots::CONVERGENCE,
    plots::TIMINGS,
    statistics::PLOT,
    energies::PANEL,
    comparison::TABLE,
    comparison::BY_ITERATION,
    comparison::BY_TIME,
    worlds::TABLE,
    worlds::DISTANCE,
    worlds::ENERGY,
    worlds::JOINT_ERROR,
];

/// A part of the window with a purpose of its own.
struct Panel {
    title: &'static str,
    place: Place,
    /// Whether it is open at the start; those on the left always are.
    open: bool,
    /// Its share of the width at the bottom (-).
    share: f32,
    /// Whether it has anything to show now.
    applies: fn(&Context) -> bool,
    show: Show,
}

type Show = fn(&mut egui::Ui, &mut Context);

impl Panel {
    const fn new(title: &'static str, place: Place, open: bool, show: Show) -> Self {
        Self {
            title,
            place,
            open,
            share: 1.0,
            applies: |_| true,
            show,
        }
    }

    /// A panel on the left, with a title of its own.
    const fn left(title: &'static str, show: Show) -> Self {
        Self::new(title, Place::Left, true, show)
    }

    const fn right(title: &'static str, open: bool, show: Show) -> Self {
        Self::new(title, Place::Right, open, show)
    }

    const fn plot(title: &'static str, open: bool, show: Show) -> Self {
        Self::new(title, Place::Bottom, open, show)
    }

    /// A part of the comparison at the bottom.
    const fn compared(title: &'static str, show: Show) -> Self {
        Self::new(title, Place::Comparison, true, show)
    }

    /// The same, so many times as wide as others.
    const fn wide(self, share: f32) -> Self {
        Self { share, ..self }
    }

    /// The same, where it has something to show.
    const fn when(self, applies: fn(&Context) -> bool) -> Self {
        Self { applies, ..self }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// On the left, under its own title.
    Left,
    /// On the right, as a section that folds.
    Right,
    /// At the bottom: plots side by side, each chosen by its title.
    #[default]
    Bottom,
    /// There too, instead of them: what solvers make of the same problem.
    Comparison,
}

/// Which panels are open, and what they ask for.
#[derive(Resource, Default)]
pub struct Open {
    pub panels: bool,
    pub plots: bool,
    pub help: bool,
    /// Which of the two things at the bottom is shown.
    tab: Place,
    /// Titles of the plots that are as they are not at the start.
    toggled: BTreeSet<&'static str>,
    /// Names of the solver's numbers that are plotted.
    statistics: BTreeSet<&'static str>,
    /// What the panels of this frame need to be observed, made anew every frame.
    asked: Observe,
    /// Time between two frames, smoothed (s); 0 until the first, which it then is.
    frame_time: f64,
    dismissed: Option<Notice>,
    /// How large texts are (-); none as long as nobody has said it.
    pub scale: Option<f32>,
    /// Dark or light.
    pub scheme: theme::Scheme,
}

impl Open {
    /// Everything that is open at the start, or nothing.
    pub fn new(panels: bool) -> Self {
        Self {
            panels,
            plots: true,
            ..Self::default()
        }
    }

    /// Turns these plots to what they are not at the start, and no others.
    pub fn set_toggled(&mut self, wanted: &[String]) {
        let titles = PANELS.iter().map(|panel| panel.title);
        self.toggled = titles
            .filter(|title| wanted.iter().any(|t| t == title))
            .collect();
    }

    /// Titles of the plots that are as they are not at the start.
    pub fn toggled(&self) -> Vec<String> {
        self.toggled.iter().map(|t| (*t).to_owned()).collect()
    }

    fn shows_plot(&self, panel: &Panel) -> bool {
        panel.open != self.toggled.contains(panel.title)
    }

    fn toggle(&mut self, title: &'static str) {
        toggle(&mut self.toggled, title);
    }
}

fn toggle(names: &mut BTreeSet<&'static str>, name: &'static str) {
    if !names.remove(name) {
        names.insert(name);
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
    comparison: ResMut<'w, Comparison>,
    drawing: ResMut<'w, Drawing>,
    arrows: Res<'w, ArrowScale>,
    hands: ResMut<'w, Hands>,
    picked: ResMut<'w, Picked>,
    eye: ResMut<'w, Eye>,
    open: ResMut<'w, Open>,
    actions: MessageWriter<'w, Action>,
    adapter: Option<Res<'w, RenderAdapterInfo>>,
    time: Res<'w, Time<Real>>,
    tools: ResMut<'w, Tools>,
    toasts: ResMut<'w, Toasts>,
}

pub fn plugin(app: &mut App) {
    app.add_plugins(EguiPlugin::default())
        .add_systems(PreUpdate, point)
        .add_systems(EguiPrimaryContextPass, lay_out)
        .add_systems(Update, (press_keys, observe).chain().after(hands::drag));
}

fn press_keys(
    mut actions: MessageReader<Action>,
    mut open: ResMut<Open>,
    mut drawing: ResMut<Drawing>,
) {
    let flip = |value: &mut bool| *value = !*value;
    for action in actions.read() {
        match action {
            Action::Panels => flip(&mut open.panels),
            Action::Plots => flip(&mut open.plots),
            Action::Help => flip(&mut open.help),
            Action::Escape => open.help = false,
            Action::ContactPoints => flip(&mut drawing.points),
            Action::Normals => flip(&mut drawing.normals),
            Action::NormalForces => flip(&mut drawing.normal_forces),
            Action::FrictionForces => flip(&mut drawing.friction_forces),
            Action::Joints => flip(&mut drawing.joints),
            Action::Islands => flip(&mut drawing.islands),
            Action::Colors => flip(&mut drawing.colors),
            Action::Methods => flip(&mut drawing.methods),
            Action::Parts => flip(&mut drawing.parts),
            Action::Couplings => flip(&mut drawing.couplings),
            Action::Boxes => flip(&mut drawing.boxes),
            Action::Centers => flip(&mut drawing.centers),
            Action::Trails => flip(&mut drawing.trails),
            Action::Wireframe => flip(&mut drawing.wireframe),
            Action::XRay => flip(&mut drawing.xray),
            _ => {}
        }
    }
}

/// Asks for what is shown, and for nothing else: each of it costs the physics thread some time.
fn observe(
    open: Res<Open>,
    drawing: Res<Drawing>,
    hands: Res<Hands>,
    picked: Res<Picked>,
    setup: Res<Setup>,
    physics: Res<Physics>,
    mut asked: Local<Option<Observe>>,
) {
    let wanted = Observe {
        contacts: drawing.any_contacts(),
        joints: drawing.joints || drawing.couplings,
        islands: drawing.islands,
        methods: drawing.methods,
        parts: open.asked.parts || drawing.parts || drawing.couplings,
        colors: drawing.colors,
        residual: setup.residual,
        body: hands.selected,
        thing: picked.thing,
        ..open.asked
    };
    if *asked != Some(wanted) {
        *asked = Some(wanted);
        physics.send(Command::Observe(wanted));
    }
}

fn lay_out(
    mut contexts: EguiContexts,
    mut context: Context,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
    mut told: MessageReader<WindowThemeChanged>,
    mut system: Local<Option<WindowTheme>>,
    mut scaled: Local<Option<f32>>,
) -> Result {
    let Some(window) = window else {
        return Ok(());
    };
    let ctx = contexts.ctx_mut()?.clone();
    if scaled.is_none() {
        theme::apply(&ctx);
    }
    scale(&ctx, &window, &mut context.open.scale, &mut scaled);
    let news = told.read().last().map(|message| message.theme);
    *system = news.or(*system).or(window.window_theme);
    ctx.set_theme(context.open.scheme.choose(*system));
    let all = ctx.viewport_rect();
    let mut ui = egui::Ui::new(
        ctx.clone(),
        "panels".into(),
        egui::UiBuilder::new()
            .layer_id(egui::LayerId::background())
            .max_rect(all),
    );
    context.open.asked = Observe::default();
    context.hands.last_row = context.hands.row.take();
    if context.open.panels {
        around(&mut ui, all.size(), &mut context);
    }
    let free = ui.available_rect_before_wrap();
    overlay::loading(&ctx, &context, free);
    overlay::broken(&ctx, &mut context, free);
    overlay::pull(&ctx, &context);
    notice(&ctx, &mut context, free);
    cell_names(&ctx, &context, free);
    legend::show(&ctx, &context, free);
    selection::show(&ctx, &mut context, free);
    picked::show(&ctx, &mut context, free);
    toasts::show(&ctx, &mut context.toasts, free);
    let frame = context.playback.frame.as_ref();
    let drives = frame.map_or(&[][..], |f| &f.drives);
    help::show(&ctx, &mut context.open.help, drives);

    // What the panels leave is the picture's.
    let scale = ctx.pixels_per_point();
    let limit = UVec2::new(window.physical_width(), window.physical_height());
    let corner = |p: egui::Pos2| {
        UVec2::new((p.x * scale).round() as u32, (p.y * scale).round() as u32).min(limit)
    };
    context.eye.viewport = URect::from_corners(corner(free.min), corner(free.max));
    Ok(())
}

/// Where the mouse is, before anybody asks: what is pressed in the same moment in which the mouse comes there is meant
/// there. Panels are where they were laid out last.
fn point(
    mut contexts: EguiContexts,
    eye: Res<Eye>,
    mut pointer: ResMut<Pointer>,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
) -> Result {
    let position = window.and_then(|window| window.physical_cursor_position());
    pointer.position = position;
    pointer.over_scene = false;
    if let Some(pixel) = position.filter(|p| eye.viewport.contains(p.as_uvec2())) {
        let ctx = contexts.ctx_mut()?;
        let at = egui::pos2(pixel.x, pixel.y) / ctx.pixels_per_point();
        let is_background = |layer: egui::LayerId| layer.order == egui::Order::Background;
        pointer.over_scene = ctx.layer_id_at(at).is_none_or(is_background);
    }
    Ok(())
}

/// Makes texts as large as somebody has asked for, else as the window asks for, which may come onto another display;
/// `scaled` is how large they have been made last.
fn scale(ctx: &egui::Context, window: &Window, asked: &mut Option<f32>, scaled: &mut Option<f32>) {
    let differs = |a: f32, b: f32| (a - b).abs() > 1e-3;
    if scaled.is_some_and(|scaled| differs(ctx.zoom_factor(), scaled)) {
        // Ctrl and + or − have been pressed.
        let [least, most] = SCALES;
        *asked = Some(ctx.zoom_factor().clamp(least, most));
    }
    let wanted = asked.unwrap_or_else(|| usual_scale(window));
    if differs(ctx.zoom_factor(), wanted) {
        ctx.set_zoom_factor(wanted);
    }
    *scaled = Some(wanted);
}

/// How large texts may be made (-).
pub const SCALES: [f32; 2] = [0.5, 4.0];

/// How large texts are as long as nobody says it: as the display asks for, and twice as large on one of 4K that
/// asks for nothing.
fn usual_scale(window: &Window) -> f32 {
    let asked = window.resolution.base_scale_factor();
    let is_large = window.physical_height() >= 1900;
    if is_large { asked.max(2.0) } else { asked }
}

/// The panels around the picture in a window of this size.
fn around(ui: &mut egui::Ui, window: egui::Vec2, context: &mut Context) {
    egui::Panel::top("time")
        .frame(theme::of(ui).bar())
        .show(ui, |ui| time::show(ui, context));
    // The sides have the whole height: lists are tall, plots are wide enough between them.
    egui::Panel::left("scenes")
        .frame(theme::of(ui).panel())
        .default_size(215.0)
        .size_range(160.0..=window.x * 0.3)
        .show(ui, |ui| {
            for panel in at(Place::Left, context) {
                (panel.show)(ui, context);
            }
        });
    egui::Panel::right("inspector")
        .frame(theme::of(ui).panel())
        .default_size(295.0)
        .size_range(240.0..=window.x * 0.4)
        .show(ui, |ui| {
            let scroll = egui::ScrollArea::vertical().auto_shrink(false);
            scroll.show(ui, |ui| {
                for panel in at(Place::Right, context) {
                    let title = egui::RichText::new(panel.title).strong();
                    egui::CollapsingHeader::new(title)
                        .default_open(panel.open)
                        .show_unindented(ui, |ui| {
                            (panel.show)(ui, context);
                            ui.add_space(6.0);
                        });
                }
            });
        });
    if context.open.plots {
        egui::Panel::bottom("plots")
            .frame(theme::of(ui).panel())
            .resizable(true)
            .default_size(190.0)
            .size_range(110.0..=window.y * 0.6)
            .show(ui, |ui| plots::show(ui, context));
    }
}

/// The panels of a place that have something to show.
fn at(place: Place, context: &Context) -> Vec<&'static Panel> {
    let panels = PANELS.iter().filter(|panel| panel.place == place);
    panels.filter(|panel| (panel.applies)(context)).collect()
}

/// Whose world it is, in the corner of every cell of the picture.
fn cell_names(ctx: &egui::Context, context: &Context, free: egui::Rect) {
    if context.eye.worlds <= 1 {
        return;
    }
    let cells = context.eye.cells();
    let size = free.size() / egui::vec2(cells.x as f32, cells.y as f32);
    let painter = ctx.layer_painter(egui::LayerId::background());
    for (k, (name, color)) in worlds::names(context, &theme::DARK).into_iter().enumerate() {
        let at = egui::vec2((k as u32 % cells.x) as f32, (k as u32 / cells.x) as f32);
        let cell = egui::Rect::from_min_size(free.min + at * size, size);
        let font = egui::FontId::proportional(15.0);
        let text = painter.layout_no_wrap(name, font, color);
        let place = cell.min + egui::vec2(12.0, 10.0);
        let ground = egui::Rect::from_min_size(place, text.size()).expand2(egui::vec2(6.0, 3.0));
        painter.rect_filled(ground, 4.0, theme::LEGEND);
        painter.galley(place, text, color);
        let line = egui::Stroke::new(1.0, theme::LEGEND);
        painter.rect_stroke(cell, 0.0, line, egui::StrokeKind::Inside);
    }
}

/// The latest message, over the lower edge of the picture, until it is closed.
fn notice(ctx: &egui::Context, context: &mut Context, free: egui::Rect) {
    let frame = context.playback.frame.as_ref();
    let older = frame.and_then(|f| f.notice.clone());
    let open = &mut *context.open;
    // A scene that does not open is news; what the physics thread says may be older.
    let latest = context.scenes.notice.clone().or(older);
    let Some(shown) = latest.filter(|n| open.dismissed.as_ref() != Some(n)) else {
        return;
    };
    let (sign, color) = if shown.is_error {
        ("⛔", theme::of(ctx).error)
    } else {
        ("⚠", theme::of(ctx).warning)
    };
    egui::Area::new("notice".into())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::CENTER_BOTTOM)
        .fixed_pos(free.center_bottom() - egui::vec2(0.0, 14.0))
        .show(ctx, |ui| {
            theme::of(ctx).message(color).show(ui, |ui| {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Plots are chosen by their titles.
    #[test]
    fn no_two_panels_have_the_same_title() {
        let titles: BTreeSet<&str> = PANELS.iter().map(|panel| panel.title).collect();
        assert_eq!(titles.len(), PANELS.len());
    }

    #[test]
    fn a_plot_is_toggled_from_what_it_is_at_the_start() {
        let mut open = Open::new(true);
        for panel in PANELS {
            assert_eq!(open.shows_plot(panel), panel.open);
            open.toggle(panel.title);
            assert_ne!(open.shows_plot(panel), panel.open);
            open.toggle(panel.title);
            assert_eq!(open.shows_plot(panel), panel.open);
        }
    }
}
