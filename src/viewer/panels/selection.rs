//! The numbers of the selected body, in a box over the picture that moves nothing else; some can be changed.

use bevy_egui::egui;

use super::widgets::{floating, grid, number, row, table};
use super::{Context, theme};
use crate::math::Vec3;
use crate::session::Input;
use crate::viewer::frame::{BodyNumbers, JointNumbers};
use crate::viewer::keys::Action;
use crate::viewer::tools::Draft;
use crate::world::{BodyKind, Geometry};

pub fn show(ctx: &egui::Context, context: &mut Context, free: egui::Rect) {
    if context.hands.selected.is_none() {
        context.tools.draft = None;
        return;
    }
    let at = free.left_top() + egui::vec2(12.0, 12.0);
    let open = floating(ctx, "Selected body", at, free, |ui| body(ui, context));
    if !open {
        context.hands.select(None);
    }
}

fn body(ui: &mut egui::Ui, context: &mut Context) {
    let frame = context.playback.frame.as_ref();
    let Some(body) = frame.and_then(|f| f.selected.as_ref()) else {
        ui.label(theme::quiet("it is gone"));
        return;
    };
    ui.horizontal(|ui| {
        ui.strong(&body.label);
        let others = context.hands.also.len();
        if others > 0 {
            ui.label(theme::quiet(format!("and {others} more")));
        }
    });
    let slot = context.hands.selected.map_or(u32::MAX, |id| id.slot);
    let parts = frame.and_then(|f| f.parts.as_ref());
    let part = parts.and_then(|parts| parts.part(slot));
    numbers(ui, body, part);
    joints(ui, &body.joints);
    edit(ui, context);
    groups(ui, context);
}

/// Groups of bodies that the solver "hybrid" keeps together.
pub fn groups(ui: &mut egui::Ui, context: &mut Context) {
    let frame = context.playback.frame.as_ref();
    let look = context.hands.selected.zip(frame);
    let look = look.and_then(|(id, frame)| frame.table.get(id));
    ui.horizontal(|ui| {
        if let Some(look) = look {
            let group = match look.part {
                0 => "group: none".to_owned(),
                group => format!("group: {group}"),
            };
            ui.label(group).on_hover_text(
                "that somebody has chosen, which the solver \"hybrid\" keeps together",
            );
        }
        let own = ui.add_enabled(look.is_some(), egui::Button::new("own group"));
        let hint = "of all selected bodies, saved with the scene; Ctrl and a click select more";
        if own.on_hover_text(format!("{hint} (U)")).clicked() {
            context.actions.write(Action::OwnGroup);
        }
        let has_some = !context.tools.groupings.is_empty();
        let undo = ui.add_enabled(has_some, egui::Button::new("undo"));
        if undo.on_hover_text("the last own group (Y)").clicked() {
            context.actions.write(Action::UndoGroup);
        }
    });
}

fn numbers(ui: &mut egui::Ui, body: &BodyNumbers, part: Option<u32>) {
    let vector = |v: Vec3| format!("{} {} {}", number(v.x), number(v.y), number(v.z));
    let mut lines = vec![("kind", format!("{:?}", body.kind).to_lowercase(), "")];
    if body.mass.is_finite() {
        lines.push(("mass [kg]", number(body.mass), ""));
    }
    let island = body.island.map_or("none".into(), |i| i.to_string());
    lines.extend([
        (
            "position [m]",
            vector(body.position),
            "of the centre of mass",
        ),
        ("rotation [rad]", vector(body.rotation), "angle times axis"),
        ("velocity [m/s]", vector(body.velocity.linear), ""),
        ("spin [rad/s]", vector(body.velocity.angular), ""),
        ("energy [J]", number(body.kinetic_energy), "kinetic"),
        ("contacts", body.contacts.to_string(), ""),
        ("contact force [N]", vector(body.contact_force), ""),
        ("largest normal [N]", number(body.largest_normal_force), ""),
        ("island", island, ""),
    ]);
    if let Some(part) = part {
        lines.push(("part", part.to_string(), "that the solver takes it in"));
    }
    table(ui, "selection", lines);
}

/// What can be changed of it: nothing is done until a button is pressed, and all of it at once.
fn edit(ui: &mut egui::Ui, context: &mut Context) {
    let frame = context.playback.frame.as_ref();
    let (Some(id), Some(frame)) = (context.hands.selected, frame) else {
        return;
    };
    let (Some(body), Some(look)) = (&frame.selected, frame.table.get(id)) else {
        return;
    };
    let now = Draft {
        body: id,
        mass: body.mass,
        friction: body.friction,
        shape: look.shape.as_ref().map(|shape| shape.geometry().clone()),
    };
    let draft = &mut context.tools.draft;
    let draft = match draft {
        Some(draft) if draft.body == id => draft,
        other => other.insert(now.clone()),
    };
    ui.add_space(4.0);
    egui::CollapsingHeader::new("change it").show_unindented(ui, |ui| {
        grid(ui, "edit", |ui| {
            if body.kind == BodyKind::Dynamic {
                let hint = "its inertia grows with it";
                row(ui, "mass [kg]", hint, |ui| length(ui, &mut draft.mass));
            }
            let hint = "of this body alone, and not of all of its material";
            row(ui, "friction [-]", hint, |ui| {
                length(ui, &mut draft.friction)
            });
            if let Some(shape) = &mut draft.shape {
                sizes(ui, shape);
            }
        });
        let edits = draft.edits_from(&now);
        ui.horizontal(|ui| {
            let apply = ui.add_enabled(!edits.is_empty(), egui::Button::new("apply"));
            if apply.clicked() {
                for edit in edits.iter().cloned() {
                    context.physics.act(Input::Edit(edit));
                }
            }
            let undo = ui.add_enabled(!edits.is_empty(), egui::Button::new("as it is"));
            if undo.clicked() {
                *draft = now;
            }
        });
    });
}

fn length(ui: &mut egui::Ui, value: &mut f64) -> egui::Response {
    let speed = (0.01 * value.abs()).max(1e-4);
    ui.add(egui::DragValue::new(value).speed(speed).max_decimals(6))
}

/// The lengths of a shape, where it has few.
fn sizes(ui: &mut egui::Ui, shape: &mut Geometry) {
    let mut line = |name: &str, value: &mut f64| row(ui, name, "", |ui| length(ui, value));
    match shape {
        Geometry::Ball { radius } => line("radius [m]", radius),
        Geometry::Cuboid { half_extents: h } => {
            line("half of x [m]", &mut h.x);
            line("half of y [m]", &mut h.y);
            line("half of z [m]", &mut h.z);
        }
        Geometry::Capsule {
            half_height,
            radius,
        }
        | Geometry::Cylinder {
            half_height,
            radius,
        }
        | Geometry::Cone {
            half_height,
            radius,
        } => {
            line("half of height [m]", half_height);
            line("radius [m]", radius);
        }
        _ => {}
    }
}

/// The body's joints: coordinates, error and force.
fn joints(ui: &mut egui::Ui, joints: &[JointNumbers]) {
    for (k, joint) in joints.iter().enumerate() {
        ui.add_space(4.0);
        ui.label(egui::RichText::new(&joint.label).color(theme::of(ui).accent));
        ui.label(theme::quiet(format!("{} to {}", joint.kind, joint.other)));
        let coordinates = joint.coordinates.iter();
        let lines =
            coordinates.map(|(name, value, unit)| (format!("{name} [{unit}]"), number(*value), ""));
        let force = ("force [N]".to_owned(), number(joint.force), "");
        table(ui, ("joint", k), lines.chain([force]));
        grid(ui, ("joint error", k), |ui| {
            ui.label("error [m]").on_hover_text(
                "how far its worst held coordinate is from where the last step aimed",
            );
            let (text, color) = match joint.error {
                Some(error) => {
                    let color = theme::of(ui).readable(theme::joint_error(error));
                    (number(error), color)
                }
                None => ("–".into(), theme::of(ui).quiet),
            };
            ui.label(egui::RichText::new(text).monospace().color(color));
            ui.end_row();
        });
    }
}
