//! Colours and shapes of the panels: quiet, with one accent, dark or light.

use bevy::window::WindowTheme;
use bevy_egui::egui::{
    self, Color32, CornerRadius, FontDefinitions, FontFamily, FontId, Frame, Margin, Shadow,
    Stroke, TextStyle,
};
use serde::{Deserialize, Serialize};

use crate::measure::Stage;
use crate::viewer::draw::palette;

/// Which theme is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    Dark,
    Light,
    /// What the system says; dark where it says nothing.
    #[default]
    System,
}

impl Scheme {
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::System];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::System => "as the system",
        }
    }

    /// The theme of a window on a system that says this.
    pub fn choose(self, system: Option<WindowTheme>) -> egui::Theme {
        match (self, system) {
            (Self::Light, _) | (Self::System, Some(WindowTheme::Light)) => egui::Theme::Light,
            _ => egui::Theme::Dark,
        }
    }
}

/// The colours of a theme. All but those of the stages are read as texts on its grounds.
pub struct Theme {
    /// What can be pressed, and what is on.
    pub accent: Color32,
    /// Something to look at.
    pub warning: Color32,
    /// Something that has gone wrong.
    pub error: Color32,
    /// Something that has gone well.
    pub good: Color32,
    pub quiet: Color32,
    /// Of the stages of a step, in the order of `Stage::PARTS`.
    pub stages: [Color32; Stage::PARTS.len()],
    /// The simulation's own world beside others.
    pub own_world: Color32,
    pub matrix: Matrix,
    /// As far from each other, and from `own_world`, as a search could bring them, with and without red or green cones;
    /// the first six further than the others.
    series: [Color32; SERIES],
    text: Color32,
    panel: Color32,
    bar: Color32,
    /// Behind plots and in fields that are typed into.
    ground: Color32,
    /// Every other row of a table.
    stripe: Color32,
    line: Color32,
    button: Color32,
    /// Sliders' rails, and boxes to tick.
    rail: Color32,
    hovered: Color32,
    /// What is chosen, and its text.
    chosen: [Color32; 2],
    shadow: u8,
}

/// Colours for many lines: one for each solver, and a few for those that take part once more.
pub const SERIES: usize = 18;

/// The colours of a matrix's picture.
#[derive(Debug, PartialEq)]
pub struct Matrix {
    pub background: Color32,
    pub envelope: Color32,
    pub entry: Color32,
    /// An entry of a tight row or column: no part of the matrix that is factored.
    pub unused: Color32,
    pub free: Color32,
    pub tight: Color32,
}

const fn rgb(r: u8, g: u8, b: u8) -> Color32 {
    Color32::from_rgb(r, g, b)
}

pub static DARK: Theme = Theme {
    accent: rgb(88, 166, 255),
    warning: rgb(240, 180, 60),
    error: rgb(255, 107, 97),
    good: rgb(104, 201, 132),
    quiet: rgb(148, 158, 172),
    stages: [
        rgb(86, 156, 214),
        rgb(78, 201, 176),
        rgb(206, 178, 92),
        rgb(170, 130, 220),
        rgb(228, 108, 92),
        rgb(128, 142, 160),
        rgb(224, 140, 190),
        rgb(160, 160, 160),
    ],
    own_world: rgb(235, 238, 242),
    matrix: Matrix {
        background: rgb(14, 16, 20),
        envelope: rgb(38, 46, 60),
        entry: rgb(120, 180, 255),
        unused: rgb(74, 80, 92),
        free: rgb(104, 201, 132),
        tight: rgb(255, 107, 97),
    },
    series: [
        rgb(255, 58, 0),
        rgb(98, 211, 255),
        rgb(5, 149, 127),
        rgb(121, 114, 251),
        rgb(255, 223, 0),
        rgb(164, 255, 200),
        rgb(197, 87, 206),
        rgb(145, 199, 81),
        rgb(87, 197, 199),
        rgb(32, 152, 0),
        rgb(91, 245, 155),
        rgb(55, 206, 160),
        rgb(229, 227, 123),
        rgb(255, 166, 0),
        rgb(229, 145, 107),
        rgb(109, 156, 254),
        rgb(64, 151, 62),
        rgb(189, 141, 209),
    ],
    text: rgb(210, 216, 226),
    panel: rgb(24, 27, 33),
    bar: rgb(19, 22, 27),
    ground: rgb(14, 16, 20),
    stripe: rgb(30, 34, 41),
    line: rgb(48, 54, 64),
    button: rgb(42, 48, 58),
    rail: rgb(42, 48, 58),
    hovered: rgb(54, 62, 75),
    chosen: [rgb(36, 78, 128), rgb(220, 235, 255)],
    shadow: 110,
};

pub static LIGHT: Theme = Theme {
    accent: rgb(9, 92, 190),
    warning: rgb(146, 92, 0),
    error: rgb(192, 32, 34),
    good: rgb(20, 112, 56),
    quiet: rgb(88, 97, 110),
    stages: [
        rgb(30, 110, 180),
        rgb(0, 130, 108),
        rgb(150, 116, 10),
        rgb(122, 76, 184),
        rgb(196, 66, 48),
        rgb(96, 108, 124),
        rgb(182, 84, 142),
        rgb(120, 120, 120),
    ],
    own_world: rgb(36, 41, 47),
    matrix: Matrix {
        background: rgb(255, 255, 255),
        envelope: rgb(221, 228, 238),
        entry: rgb(40, 104, 190),
        unused: rgb(182, 188, 198),
        free: rgb(20, 128, 64),
        tight: rgb(208, 40, 40),
    },
    series: [
        rgb(208, 55, 2),
        rgb(32, 98, 255),
        rgb(0, 125, 130),
        rgb(0, 0, 149),
        rgb(123, 110, 91),
        rgb(18, 63, 36),
        rgb(99, 74, 80),
        rgb(0, 0, 78),
        rgb(0, 0, 0),
        rgb(176, 69, 118),
        rgb(105, 111, 48),
        rgb(96, 0, 122),
        rgb(64, 60, 87),
        rgb(0, 120, 166),
        rgb(0, 0, 240),
        rgb(98, 0, 6),
        rgb(101, 85, 183),
        rgb(133, 14, 0),
    ],
    text: rgb(36, 41, 47),
    panel: rgb(246, 247, 249),
    bar: rgb(236, 238, 241),
    ground: rgb(255, 255, 255),
    stripe: rgb(236, 239, 243),
    line: rgb(208, 214, 222),
    button: rgb(222, 226, 233),
    rail: rgb(196, 203, 213),
    hovered: rgb(210, 216, 225),
    chosen: [rgb(186, 214, 251), rgb(8, 42, 92)],
    shadow: 40,
};

/// The colours of now.
pub fn of(ctx: &egui::Context) -> &'static Theme {
    match ctx.theme() {
        egui::Theme::Dark => &DARK,
        egui::Theme::Light => &LIGHT,
    }
}

impl Theme {
    /// The colour of one of many lines.
    pub fn series(&self, k: usize) -> Color32 {
        self.series[k % self.series.len()]
    }

    pub fn panel(&self) -> Frame {
        Frame::new()
            .fill(self.panel)
            .inner_margin(Margin::symmetric(8, 6))
    }

    pub fn bar(&self) -> Frame {
        Frame::new()
            .fill(self.bar)
            .inner_margin(Margin::symmetric(10, 5))
    }

    pub fn card(&self, color: Color32) -> Frame {
        Frame::new()
            .fill(self.ground)
            .stroke(Stroke::new(1.5, color))
            .corner_radius(CornerRadius::same(5))
            .inner_margin(Margin::symmetric(8, 2))
    }

    pub fn message(&self, color: Color32) -> Frame {
        Frame::new()
            .fill(self.panel.gamma_multiply_u8(245))
            .stroke(Stroke::new(1.0, color))
            .corner_radius(CornerRadius::same(6))
            .inner_margin(Margin::symmetric(12, 8))
            .shadow(Shadow {
                offset: [0, 4],
                blur: 12,
                spread: 0,
                color: Color32::from_black_alpha(self.shadow),
            })
    }

    /// A colour of the picture as a text: as near to the other texts' as it has to be.
    pub fn readable(&self, color: Color32) -> Color32 {
        let mut shades = (0..10).map(|k| color.lerp_to_gamma(self.text, 0.1 * k as f32));
        let is_readable = |shade: &Color32| contrast(*shade, self.panel) >= READABLE;
        shades.find(is_readable).unwrap_or(self.text)
    }

    fn apply(&self, style: &mut egui::Style) {
        let v = &mut style.visuals;
        v.panel_fill = self.panel;
        v.window_fill = self.panel;
        v.extreme_bg_color = self.ground;
        v.faint_bg_color = self.stripe;
        v.window_stroke = Stroke::new(1.0, self.line);
        v.hyperlink_color = self.accent;
        v.weak_text_color = Some(self.quiet);
        v.selection.bg_fill = self.chosen[0];
        v.selection.stroke = Stroke::new(1.0, self.chosen[1]);
        v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, self.line);
        v.widgets.noninteractive.fg_stroke = Stroke::new(1.0, self.text);
        v.widgets.inactive.fg_stroke = Stroke::new(1.0, self.text);
        v.widgets.inactive.weak_bg_fill = self.button;
        v.widgets.inactive.bg_fill = self.rail;
        v.widgets.hovered.weak_bg_fill = self.hovered;
        for w in [
            &mut v.widgets.inactive,
            &mut v.widgets.hovered,
            &mut v.widgets.active,
            &mut v.widgets.open,
        ] {
            w.corner_radius = CornerRadius::same(4);
        }
    }
}

/// Least contrast of texts (WCAG 2.2, level AA).
const READABLE: f32 = 4.5;

/// The contrast of two colours (WCAG 2.2), from 1 to 21.
fn contrast(a: Color32, b: Color32) -> f32 {
    let [a, b] = [a, b].map(|color| {
        let [r, g, b, _] = egui::Rgba::from(color).to_array();
        0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
    });
    a.max(b) / a.min(b)
}

/// Behind texts over the picture, whose colours are the picture's: dark in both themes.
pub const LEGEND: Color32 = Color32::from_rgba_unmultiplied_const(24, 27, 33, 225);

/// What stands on that ground has the texts of the dark theme.
pub fn over_picture(ui: &mut egui::Ui) {
    let dark = ui.ctx().style_of(egui::Theme::Dark);
    ui.style_mut().visuals = dark.visuals.clone();
}

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

/// The fonts of texts. What the first ones lack (arrows, norms, raised signs) the one of numbers has.
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let of_numbers = fonts.families[&FontFamily::Monospace].clone();
    if let Some(of_texts) = fonts.families.get_mut(&FontFamily::Proportional) {
        of_texts.extend(of_numbers);
    }
    fonts
}

/// Gives both themes their looks.
pub fn apply(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
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
    });
    ctx.style_mut_of(egui::Theme::Dark, |style| DARK.apply(style));
    ctx.style_mut_of(egui::Theme::Light, |style| LIGHT.apply(style));
}

/// The colour that joints of this error are drawn in (m).
pub fn joint_error(error: f64) -> Color32 {
    drawn(palette::error(Some(error)))
}

pub fn quiet(text: impl Into<String>) -> egui::RichText {
    egui::RichText::new(text).weak()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts are readable on every ground that they stand on, areas and lines are told from it (3, as WCAG asks).
    #[test]
    fn colours_stand_out_from_their_grounds() {
        for theme in [&DARK, &LIGHT] {
            let grounds = [theme.panel, theme.ground, theme.stripe, theme.bar];
            let texts = [
                theme.accent,
                theme.warning,
                theme.error,
                theme.good,
                theme.quiet,
                theme.own_world,
                theme.text,
            ];
            let errors = [1e-9, 1e-5, 1e-4, 1.0].map(|e| theme.readable(joint_error(e)));
            for color in texts.into_iter().chain(theme.series).chain(errors) {
                for ground in grounds {
                    let found = contrast(color, ground);
                    let least = if ground == theme.panel { READABLE } else { 4.0 };
                    assert!(found >= least, "{color:?} on {ground:?}: {found}");
                }
            }
            assert!(contrast(theme.chosen[0], theme.chosen[1]) >= READABLE);
            assert!(contrast(theme.button, theme.text) >= READABLE);
            assert!(contrast(theme.rail, theme.text) >= READABLE);
            let matrix = &theme.matrix;
            let stages = theme.stages.map(|color| (color, theme.ground));
            let entries = [matrix.entry, matrix.free, matrix.tight];
            let entries = entries.map(|color| (color, matrix.background));
            for (color, ground) in stages.into_iter().chain(entries) {
                assert!(contrast(color, ground) >= 3.0, "{color:?} on {ground:?}");
            }
        }
    }

    /// Whatever stands between quotation marks somewhere may be shown.
    #[test]
    fn every_character_has_a_glyph() {
        fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => sources(&path, found),
                    false => found.push(path),
                }
            }
        }
        let ctx = egui::Context::default();
        apply(&ctx);
        let mut output = ctx.run_ui(egui::RawInput::default(), |_| ());
        output.textures_delta.clear();
        let family = FontFamily::Proportional;
        let known = ctx.fonts_mut(|fonts| fonts.fonts.font(&family).characters().clone());
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = Vec::new();
        for folder in ["src", "scenes"] {
            sources(&root.join(folder), &mut found);
        }
        // What these say, tables and documents show.
        let is_shown = |path: &std::path::PathBuf| {
            let elsewhere = ["src/papers", "src/verify"].map(|folder| root.join(folder));
            let is_text = path.extension().is_some_and(|e| e == "rs" || e == "ron");
            is_text && !elsewhere.iter().any(|folder| path.starts_with(folder))
        };
        found.retain(is_shown);
        assert!(found.len() > 100);
        let mut missing = Vec::new();
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let shown = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for c in shown.flat_map(str::chars).filter(|c| !c.is_ascii()) {
                if !known.contains_key(&c) {
                    missing.push((c, path.clone()));
                }
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// A colour in CIELAB, as it is seen without some of the eye's pigments.
    fn lab(color: Color32, seen: &[[f32; 3]; 3]) -> [f32; 3] {
        let [r, g, b, _] = egui::Rgba::from(color).to_array();
        let row = |m: &[f32; 3], [r, g, b]: [f32; 3]| m[0] * r + m[1] * g + m[2] * b;
        let rgb = [0, 1, 2].map(|k| row(&seen[k], [r, g, b]).clamp(0.0, 1.0));
        let xyz = [
            row(&[0.412_456_4, 0.357_576_1, 0.180_437_5], rgb) / 0.950_47,
            row(&[0.212_672_9, 0.715_152_2, 0.072_175], rgb),
            row(&[0.019_333_9, 0.119_192, 0.950_304_1], rgb) / 1.088_83,
        ];
        let [x, y, z] = xyz.map(|v| match v > 216.0 / 24_389.0 {
            true => v.cbrt(),
            false => (24_389.0 / 27.0 * v + 16.0) / 116.0,
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// No two solvers look alike: with normal vision, and without red or green cones (Machado, Oliveira and Fernandes
    /// 2009). About 2 is just noticed side by side.
    #[test]
    fn series_are_told_apart() {
        let normal = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let no_red = [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ];
        let no_green = [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ];
        for theme in [&DARK, &LIGHT] {
            for (seen, [all, first]) in [
                (normal, [16.5, 33.0]),
                (no_red, [10.5, 19.0]),
                (no_green, [10.5, 19.0]),
            ] {
                let mut labs: Vec<_> = theme.series.iter().map(|c| lab(*c, &seen)).collect();
                labs.push(lab(theme.own_world, &seen));
                for (k, a) in labs.iter().enumerate() {
                    for (i, b) in labs[..k].iter().enumerate() {
                        let square: f32 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                        let least = if k < 6 { first } else { all };
                        assert!(square.sqrt() >= least, "{i} and {k}: {}", square.sqrt());
                    }
                }
            }
        }
        assert!(SERIES > crate::solve::SOLVERS.len());
    }

    #[test]
    fn the_system_is_asked_where_nothing_is_chosen() {
        let [light, dark] = [WindowTheme::Light, WindowTheme::Dark].map(Some);
        assert_eq!(Scheme::Light.choose(dark), egui::Theme::Light);
        assert_eq!(Scheme::Dark.choose(light), egui::Theme::Dark);
        assert_eq!(Scheme::System.choose(light), egui::Theme::Light);
        assert_eq!(Scheme::System.choose(None), egui::Theme::Dark);
    }
}
