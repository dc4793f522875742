//! What is drawn over and instead of the bodies.

use bevy_egui::egui;

use super::theme::{self, Scheme};
use super::widgets::choice;
use super::{Context, Panel};
use crate::viewer::draw::Drawing;
use crate::viewer::keys::{Action, key_of};

pub const PANEL: Panel = Panel::right("Drawing", false, show);

/// What can be switched: its name, the key, what more there is to know, and where it is kept.
type Switch = (
    &'static str,
    Option<Action>,
    &'static str,
    fn(&mut Drawing) -> &mut bool,
);

/// Column by column.
static SWITCHES: [&[Switch]; 2] = [
    &[
        ("contact points", Some(Action::ContactPoints), "", |d| {
            &mut d.points
        }),
        ("normals", Some(Action::Normals), "", |d| &mut d.normals),
        (
            "joints",
            Some(Action::Joints),
            "anchors, axes and the way to the centres of mass, in the colour of the error; with normal \
             forces on, their forces too",
            |d| &mut d.joints,
        ),
        ("islands", Some(Action::Islands), "", |d| &mut d.islands),
        (
            "solved by",
            Some(Action::Methods),
            "bodies in the colour of how their island was solved (auto)",
            |d| &mut d.methods,
        ),
        (
            "parts",
            Some(Action::Parts),
            "bodies in the colour of the part that they are solved in (hybrid)",
            |d| &mut d.parts,
        ),
        (
            "couplings",
            Some(Action::Couplings),
            "contacts and joints between two parts, in white (hybrid)",
            |d| &mut d.couplings,
        ),
        (
            "graph colours",
            Some(Action::Colors),
            "contact points in the colour that the solver sweeps them in (colored-gs)",
            |d| &mut d.colors,
        ),
        (
            "bounding boxes",
            Some(Action::Boxes),
            "along the axes of the world, around each body's shape",
            |d| &mut d.boxes,
        ),
        (
            "centres of mass",
            Some(Action::Centers),
            "of all bodies that forces move",
            |d| &mut d.centers,
        ),
    ],
    &[
        ("normal forces", Some(Action::NormalForces), "", |d| {
            &mut d.normal_forces
        }),
        ("friction forces", Some(Action::FrictionForces), "", |d| {
            &mut d.friction_forces
        }),
        (
            "trails",
            Some(Action::Trails),
            "where bodies have been; of more than 100, the selected one",
            |d| &mut d.trails,
        ),
        (
            "wireframe",
            Some(Action::Wireframe),
            "edges instead of surfaces, but for the ground",
            |d| &mut d.wireframe,
        ),
        (
            "X-ray",
            Some(Action::XRay),
            "contacts, joints, boxes and trails are seen through the bodies",
            |d| &mut d.xray,
        ),
        ("ground grid", None, "", |d| &mut d.grid),
    ],
];

fn show(ui: &mut egui::Ui, context: &mut Context) {
    let drawing = &mut *context.drawing;
    ui.columns(SWITCHES.len(), |columns| {
        for (ui, switches) in columns.iter_mut().zip(SWITCHES) {
            for (name, action, more, of) in switches {
                let response = ui.checkbox(of(drawing), *name);
                let key = action.and_then(key_of);
                let hint = match (key, *more) {
                    (None, more) => more.to_owned(),
                    (Some(key), "") => format!("key {key}"),
                    (Some(key), more) => format!("key {key}: {more}"),
                };
                if !hint.is_empty() {
                    response.on_hover_text(hint);
                }
            }
        }
    });
    ui.horizontal(|ui| {
        ui.label("arrows");
        ui.add(egui::Slider::new(&mut drawing.scale, 0.1..=10.0).logarithmic(true));
    });
    look(ui, context);
    ui.checkbox(&mut context.eye.following, "follow the selected body")
        .on_hover_text("key G: the camera goes where it goes");
    ui.checkbox(&mut context.playback.smooth, "glide between steps")
        .on_hover_text("moves bodies evenly between two steps, one step late");
    if let Some(frame) = &context.playback.frame
        && context.drawing.any_contacts()
        && frame.contact_stride > 1
    {
        let text = format!(
            "too many contacts: one of {} is drawn",
            frame.contact_stride
        );
        ui.label(theme::quiet(text));
    }
}

/// The panels' own colours, and the size of their texts.
fn look(ui: &mut egui::Ui, context: &mut Context) {
    ui.horizontal(|ui| {
        ui.label("panels");
        choice(ui, "scheme", &mut context.open.scheme, Scheme::ALL, |s| {
            s.name().into()
        })
        .on_hover_text("dark where the system says nothing");
        if ui
            .small_button("−")
            .on_hover_text("smaller texts (Ctrl −)")
            .clicked()
        {
            egui::gui_zoom::zoom_out(ui);
        }
        ui.label(format!("{:.0} %", 100.0 * ui.zoom_factor()));
        if ui
            .small_button("+")
            .on_hover_text("larger texts (Ctrl +)")
            .clicked()
        {
            egui::gui_zoom::zoom_in(ui);
        }
    });
}
