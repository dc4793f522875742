//! Colours and shapes of the panels: dark, quiet, with one accent.

use bevy_egui::egui::{
    self, Color32, CornerRadius, FontId, Frame, Margin, Shadow, Stroke, TextStyle,
};

use crate::measure::Stage;
use crate::viewer::draw::palette;

/// What can be pressed, and what is on.
pub const ACCENT: Color32 = Color32::from_rgb(88, 166, 255);
/// Something to look at.
pub const WARNING: Color32 = Color32::from_rgb(240, 180, 60);
/// Something that has gone wrong.
pub const ERROR: Color32 = Color32::from_rgb(255, 107, 97);
/// Something that has gone well.
pub const GOOD: Color32 = Color32::from_rgb(104, 201, 132);
pub const QUIET: Color32 = Color32::from_rgb(148, 158, 172);
const PANEL: Color32 = Color32::from_rgb(24, 27, 33);
const BAR: Color32 = Color32::from_rgb(19, 22, 27);
const LINE: Color32 = Color32::from_rgb(48, 54, 64);

/// Colours of the stages of a step, in the order of `Stage::PARTS`.
pub const STAGES: [Color32; Stage::PARTS.len()] = [
    Color32::from_rgb(86, 156, 214),
    Color32::from_rgb(78, 201, 176),
    Color32::from_rgb(206, 178, 92),
    Color32::from_rgb(170, 130, 220),
    Color32::from_rgb(228, 108, 92),
    Color32::from_rgb(128, 142, 160),
    Color32::from_rgb(224, 140, 190),
];

/// The simulation's own world beside others.
pub const OWN_WORLD: Color32 = Color32::from_rgb(235, 238, 242);
/// Behind texts over the picture: dark enough on any picture.
pub const LEGEND: Color32 = Color32::from_rgba_unmultiplied_const(24, 27, 33, 225);

/// A colour of the picture, given in linear RGB.
pub fn drawn(color: [f32; 3]) -> Color32 {
    let [r, g, b, _] = palette::pack(color).to_le_bytes();
    Color32::from_rgb(r, g, b)
}

/// The same the other way round.
pub fn as_drawn(color: Color32) -> [f32; 3] {
    let [r, g, b, _] = color.to_array();
    [r, g, b].map(|byte| (f32::from(byte) / 255.0).powi(2))
}

/// The colour of one of many lines: Okabe and Ito's colours, which are told apart with every kind of colour vision,
/// lightened for a dark ground, and one more.
pub fn series(k: usize) -> Color32 {
    const ALL: [Color32; 9] = [
        Color32::from_rgb(230, 159, 0),
        Color32::from_rgb(86, 180, 233),
        Color32::from_rgb(0, 178, 125),
        Color32::from_rgb(240, 228, 66),
        Color32::from_rgb(64, 140, 220),
        Color32::from_rgb(226, 106, 30),
        Color32::from_rgb(218, 138, 182),
        Color32::from_rgb(190, 196, 206),
        Color32::from_rgb(158, 116, 255),
    ];
    ALL[k % ALL.len()]
}

pub fn apply(ctx: &egui::Context) {
    ctx.set_theme(egui::Theme::Dark);
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (TextStyle::Small, FontId::proportional(10.5)),
            (TextStyle::Body, FontId::proportional(12.5)),
            (TextStyle::Button, FontId::proportional(12.5)),
            (TextStyle::Heading, FontId::proportional(15.0)),
            (TextStyle::Monospace, FontId::monospace(11.5)),
        ]
        .into();
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.spacing.button_padding = egui::vec2(6.0, 2.0);
        style.spacing.slider_width = 90.0;
        style.spacing.combo_width = 90.0;
        let v = &mut style.visuals;
        v.panel_fill = PANEL;
        v.window_fill = PANEL;
        v.extreme_bg_color = Color32::from_rgb(14, 16, 20);
        v.faint_bg_color = Color32::from_rgb(30, 34, 41);
        v.window_stroke = Stroke::new(1.0, LINE);
        v.hyperlink_color = ACCENT;
        v.selection.bg_fill = Color32::from_rgb(36, 78, 128);
        v.selection.stroke = Stroke::new(1.0, Color32::from_rgb(220, 235, 255));
        v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, LINE);
        v.widgets.noninteractive.fg_stroke = Stroke::new(1.0, Color32::from_rgb(205, 212, 222));
        v.widgets.inactive.fg_stroke = Stroke::new(1.0, Color32::from_rgb(215, 221, 230));
        v.widgets.inactive.weak_bg_fill = Color32::from_rgb(42, 48, 58);
        v.widgets.inactive.bg_fill = Color32::from_rgb(42, 48, 58);
        v.widgets.hovered.weak_bg_fill = Color32::from_rgb(54, 62, 75);
        for w in [
            &mut v.widgets.inactive,
            &mut v.widgets.hovered,
            &mut v.widgets.active,
            &mut v.widgets.open,
        ] {
            w.corner_radius = CornerRadius::same(4);
        }
    });
}

pub fn panel() -> Frame {
    Frame::new()
        .fill(PANEL)
        .inner_margin(Margin::symmetric(8, 6))
}

pub fn bar() -> Frame {
    Frame::new()
        .fill(BAR)
        .inner_margin(Margin::symmetric(10, 5))
}

pub fn message(color: Color32) -> Frame {
    Frame::new()
        .fill(Color32::from_rgba_unmultiplied(24, 27, 33, 245))
        .stroke(Stroke::new(1.0, color))
        .corner_radius(CornerRadius::same(6))
        .inner_margin(Margin::symmetric(12, 8))
        .shadow(Shadow {
            offset: [0, 4],
            blur: 12,
            spread: 0,
            color: Color32::from_black_alpha(110),
        })
}

/// The colour that joints of this error are drawn in (m).
pub fn joint_error(error: f64) -> Color32 {
    drawn(palette::error(Some(error)))
}

pub fn quiet(text: impl Into<String>) -> egui::RichText {
    egui::RichText::new(text).color(QUIET)
}
