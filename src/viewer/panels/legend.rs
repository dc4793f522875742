//! What the colours of the picture mean: a legend in its corner of the layers that are switched on.

use std::collections::BTreeSet;

use bevy_egui::egui::{self, Color32, CornerRadius, Frame, Margin};

use super::Context;
use super::theme::{self, drawn};
use super::widgets::number;
use crate::solve::{Method, NO_COLOR};
use crate::viewer::draw::{MOST_TRAILS, palette};
use crate::viewer::frame::ContactState;

/// Width of a colour's sample in the legend (points).
const SAMPLE: f32 = 12.0;

/// Graph colours that the legend has room for, and in one of its lines.
const MOST_COLORS: usize = 24;
const COLORS_PER_LINE: usize = 6;

/// Shows the legend over the lower left corner of the picture.
pub fn show(ctx: &egui::Context, context: &Context, free: egui::Rect) {
    let drawing = &*context.drawing;
    let forces = drawing.normal_forces || drawing.friction_forces;
    let marks = drawing.boxes || drawing.centers || drawing.trails;
    let heated = context.comparison.heated();
    let by_island = drawing.islands || drawing.methods || drawing.parts || drawing.couplings;
    if !(drawing.any_contacts() || drawing.joints || by_island || marks || heated.is_some()) {
        return;
    }
    egui::Area::new("legend".into())
        .order(egui::Order::Background)
        .interactable(false)
        .pivot(egui::Align2::LEFT_BOTTOM)
        .fixed_pos(free.left_bottom() + egui::vec2(10.0, -10.0))
        .show(ctx, |ui| {
            frame().show(ui, |ui| {
                theme::over_picture(ui);
                ui.spacing_mut().item_spacing.y = 2.0;
                let graph = graph(ui, context);
                if drawing.points && !graph {
                    for state in ContactState::ALL {
                        ball(
                            ui,
                            palette::contact(state),
                            &format!("contact: {}", state.name()),
                        );
                    }
                }
                for (shown, color, text) in [
                    (drawing.normals, palette::NORMAL, "contact normal"),
                    (drawing.normal_forces, palette::NORMAL_FORCE, "normal force"),
                    (
                        drawing.friction_forces,
                        palette::FRICTION_FORCE,
                        "friction force",
                    ),
                    (
                        drawing.normal_forces && drawing.joints,
                        palette::JOINT_FORCE,
                        "joint force",
                    ),
                ] {
                    if shown {
                        arrow(ui, color, text);
                    }
                }
                let scale = context.arrows.metres_per_newton;
                if forces && scale > 0.0 {
                    let force = number(1.0 / f64::from(scale));
                    ui.label(theme::quiet(format!("1 m of arrow = {force} N")));
                }
                if drawing.joints {
                    error_scale(ui);
                }
                if drawing.methods {
                    methods(ui, context);
                } else if drawing.islands && !(drawing.parts && has_parts(context)) {
                    hues(ui, ["one colour per island", "in no island"]);
                }
                parts(ui, context);
                if drawing.boxes {
                    line(ui, "bounding box", |painter, rect| {
                        let stroke = egui::Stroke::new(1.0, drawn(palette::BOX));
                        let inside = egui::StrokeKind::Inside;
                        _ = painter.rect_stroke(rect.shrink(1.0), 0.0, stroke, inside);
                    });
                }
                if drawing.centers {
                    line(ui, "centre of mass", center);
                }
                if let Some(heated) = heated {
                    heat(ui, &heated.outcome.label, heated.posed.step);
                }
                if drawing.trails {
                    ui.label(theme::quiet(trails(context)));
                }
            });
        });
}

/// Dark enough for its text on any picture.
fn frame() -> Frame {
    Frame::new()
        .fill(theme::LEGEND)
        .corner_radius(CornerRadius::same(5))
        .inner_margin(Margin::symmetric(8, 6))
}

/// A disc with black and white quarters.
fn center(painter: &egui::Painter, rect: egui::Rect) {
    let (middle, radius) = (rect.center(), 0.42 * SAMPLE);
    painter.circle_filled(middle, radius, Color32::WHITE);
    let clipped = |from: egui::Pos2, to: egui::Pos2| {
        let quarter = painter.with_clip_rect(egui::Rect::from_two_pos(from, to));
        quarter.circle_filled(middle, radius, Color32::BLACK);
    };
    clipped(middle, rect.left_top());
    clipped(middle, rect.right_bottom());
}

/// Whose trails are drawn.
fn trails(context: &Context) -> String {
    let frame = context.playback.frame.as_ref();
    let is_all = frame.is_none_or(|f| f.dynamic_bodies <= MOST_TRAILS);
    if is_all {
        "trails in the colours of the bodies".into()
    } else if context.hands.selected.is_some() {
        format!("trail of the selected body (more than {MOST_TRAILS} move)")
    } else {
        format!("select a body for its trail (more than {MOST_TRAILS} move)")
    }
}

/// A line of the legend whose sample is painted by `paint`.
fn line(ui: &mut egui::Ui, text: &str, paint: impl FnOnce(&egui::Painter, egui::Rect)) {
    ui.horizontal(|ui| {
        let size = egui::vec2(SAMPLE, SAMPLE);
        let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
        paint(ui.painter(), rect);
        ui.label(text);
    });
}

fn ball(ui: &mut egui::Ui, color: [f32; 3], text: &str) {
    line(ui, text, |painter, rect| {
        _ = painter.circle_filled(rect.center(), 0.36 * SAMPLE, drawn(color));
    });
}

fn arrow(ui: &mut egui::Ui, color: [f32; 3], text: &str) {
    line(ui, text, |painter, rect| {
        let stroke = egui::Stroke::new(2.0, drawn(color));
        painter.arrow(rect.left_center(), egui::vec2(SAMPLE, 0.0), stroke);
    });
}

/// From the error that is drawn darkest to the one that is drawn brightest.
fn error_scale(ui: &mut egui::Ui) {
    scale(ui, "joint error", palette::ERRORS, " m", |error| {
        theme::joint_error(error)
    });
}

/// From the contact's residual that is drawn darkest to the one that is drawn brightest.
fn heat(ui: &mut egui::Ui, solver: &str, step: u64) {
    ui.label(format!("residuals of {solver}, step {step}"));
    scale(ui, "", palette::HEAT, " m/s", |residual| {
        drawn(palette::heat(residual))
    });
}

/// A strip of colours between two numbers, by powers of ten.
fn scale(
    ui: &mut egui::Ui,
    name: &str,
    [low, high]: [f64; 2],
    unit: &str,
    color: impl Fn(f64) -> Color32,
) {
    ui.horizontal(|ui| {
        ui.label(format!("{name} {low:.0e}{unit}").trim_start().to_owned());
        let (rect, _) = ui.allocate_exact_size(egui::vec2(60.0, 8.0), egui::Sense::hover());
        const STEPS: u8 = 24;
        let share = |k: u8| f32::from(k) / f32::from(STEPS);
        let x = |k: u8| egui::lerp(rect.left()..=rect.right(), share(k));
        for k in 0..STEPS {
            let value = low * (high / low).powf(f64::from(share(k)));
            let part = egui::Rect::from_x_y_ranges(x(k)..=x(k + 1), rect.y_range());
            ui.painter().rect_filled(part, 0.0, color(value));
        }
        ui.label(format!("{high:.0e}{unit}"));
    });
}

/// The graph colours in the order in which they are swept; whether contacts are drawn in them.
fn graph(ui: &mut egui::Ui, context: &Context) -> bool {
    if !context.drawing.colors {
        return false;
    }
    let frame = context.playback.frame.as_ref();
    let found = frame.map_or(&[][..], |f| &f.colors);
    let colors: BTreeSet<u32> = found.iter().copied().filter(|c| *c != NO_COLOR).collect();
    if found.is_empty() {
        let has_contacts = frame.is_some_and(|f| !f.contacts.is_empty());
        let solver = context.history.solver();
        ui.label(theme::quiet(match has_contacts {
            true => format!("{solver} has no graph colours"),
            false => "no contact has a graph colour".into(),
        }));
        return false;
    }
    ui.label("graph colours, in the order of the sweep");
    let colors: Vec<u32> = colors.into_iter().collect();
    for part in colors[..colors.len().min(MOST_COLORS)].chunks(COLORS_PER_LINE) {
        ui.horizontal(|ui| {
            for color in part {
                let number = (color + 1).to_string();
                ball(ui, palette::graph(*color), &number);
            }
        });
    }
    if colors.len() > MOST_COLORS {
        let more = colors.len() - MOST_COLORS;
        ui.label(theme::quiet(format!("and {more} more")));
    }
    true
}

/// How the bodies' islands were solved.
fn methods(ui: &mut egui::Ui, context: &Context) {
    let frame = context.playback.frame.as_ref();
    if frame.is_none_or(|f| f.methods.is_empty()) {
        let solver = context.history.solver();
        ui.label(theme::quiet(format!(
            "{solver} has not chosen between methods"
        )));
        return;
    }
    ui.label("bodies by how their island was solved");
    for method in Method::ALL {
        let text = format!("{}: {}", method.name(), method.summary());
        ball(ui, palette::method(method), &text);
    }
    ball(ui, palette::NO_ISLAND, "in no island");
}

fn has_parts(context: &Context) -> bool {
    let frame = context.playback.frame.as_ref();
    frame.is_some_and(|f| f.parts.is_some())
}

/// The solver's parts, and what couples them.
fn parts(ui: &mut egui::Ui, context: &Context) {
    let drawing = &*context.drawing;
    if !(drawing.parts || drawing.couplings) {
        return;
    }
    if !has_parts(context) {
        let solver = context.history.solver();
        ui.label(theme::quiet(format!("{solver} solves no parts")));
        return;
    }
    if drawing.parts && !drawing.methods {
        hues(ui, ["one colour per part", "in no part"]);
    }
    if drawing.couplings {
        ball(ui, palette::COUPLING, "couples two parts");
    }
}

/// Hues that have no meaning beyond being different, and the colour of what has none.
fn hues(ui: &mut egui::Ui, [each, none]: [&str; 2]) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(egui::vec2(60.0, 8.0), egui::Sense::hover());
        const COLORS: u8 = 6;
        for k in 0..COLORS {
            let x = |k: u8| egui::lerp(rect.x_range(), f32::from(k) / f32::from(COLORS));
            let part = egui::Rect::from_x_y_ranges(x(k)..=x(k + 1), rect.y_range());
            let color: Color32 = drawn(palette::island(u32::from(k)));
            ui.painter().rect_filled(part, 0.0, color);
        }
        ui.label(each);
    });
    ball(ui, palette::NO_ISLAND, none);
}
