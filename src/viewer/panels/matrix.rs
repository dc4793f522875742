//! The matrices of a pivoting solver: where A and its factor L have entries, and which rows are tight
//! (Lefebvre 2020, figures 2.5 and 2.6).

use std::ops::RangeInclusive;
use std::sync::Arc;

use bevy_egui::egui::{self, Color32, ColorImage};

use super::theme::{self, Matrix};
use super::widgets::{swatch, table};
use super::{Context, Panel};
use crate::solve::{self, MatrixView, SolverInfo};

/// Which matrix is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// A, rows as the problem has them.
    #[default]
    Natural,
    /// A, rows as the factor has them.
    Ordered,
    /// L, tight rows left out.
    Factor,
}

/// Pixels of the picture: larger matrices have several entries per pixel.
const PIXELS: usize = 512;
/// Width of the strips beside the matrix that mark its rows, as a share of the picture.
const STRIP: f32 = 0.025;

/// A new texture is drawn this many frames after it was made: until then it may not have reached the
/// graphics adapter.
const TEXTURE_FRAMES: u32 = 2;

#[derive(Clone, Default)]
struct Picture {
    which: Which,
    shown: Option<Drawn>,
    /// The next one, and the frames since it was made.
    coming: Option<(Drawn, u32)>,
}

/// A matrix, and the picture that was drawn of it.
#[derive(Clone)]
struct Drawn {
    view: Arc<MatrixView>,
    which: Which,
    colors: &'static Matrix,
    texture: egui::TextureHandle,
}

impl Picture {
    /// The texture to show, while one of this matrix is made if it is a new one.
    fn follow(&mut self, ctx: &egui::Context, view: &Arc<MatrixView>) -> Option<&Drawn> {
        if let Some((_, frames)) = &mut self.coming {
            *frames += 1;
        }
        if let Some((drawn, _)) = self.coming.take_if(|c| c.1 >= TEXTURE_FRAMES) {
            self.shown = Some(drawn);
        }
        let colors = &theme::of(ctx).matrix;
        let is_drawn = |drawn: &Drawn| {
            let wanted = (self.which, colors);
            Arc::ptr_eq(&drawn.view, view) && (drawn.which, drawn.colors) == wanted
        };
        if self.coming.is_none() && !self.shown.as_ref().is_some_and(is_drawn) {
            let image = draw(view, self.which, colors);
            let drawn = Drawn {
                view: view.clone(),
                which: self.which,
                colors,
                texture: ctx.load_texture("matrix", image, egui::TextureOptions::LINEAR),
            };
            self.coming = Some((drawn, 0));
        }
        self.shown.as_ref()
    }
}

pub const PANEL: Panel = Panel::right("Matrix", false, show).when(|context| {
    let solver = solve::find(&context.setup.solver.name);
    solver.is_some_and(SolverInfo::is_direct)
});

fn show(ui: &mut egui::Ui, context: &mut Context) {
    context.open.asked.matrix = true;
    let id = egui::Id::new("matrix picture");
    let mut picture: Picture = ui.data_mut(|data| data.get_temp(id)).unwrap_or_default();
    ui.horizontal(|ui| {
        for (which, name, hint) in [
            (Which::Natural, "A", "rows in the order of the problem"),
            (
                Which::Ordered,
                "A reordered",
                "rows in the order of the factor",
            ),
            (
                Which::Factor,
                "L",
                "the factor of the free rows; its envelope in grey",
            ),
        ] {
            ui.selectable_value(&mut picture.which, which, name)
                .on_hover_text(hint);
        }
    });
    let frame = context.playback.frame.as_ref();
    if let Some(view) = frame.and_then(|f| f.matrix.clone()) {
        let side = ui.available_width().min(640.0);
        let (place, _) = ui.allocate_exact_size(egui::Vec2::splat(side), egui::Sense::hover());
        if let Some(drawn) = picture.follow(ui.ctx(), &view) {
            egui::Image::new(&drawn.texture).paint_at(ui, place);
        }
        legend(ui, picture.which);
        numbers(ui, &view);
    } else {
        ui.label(theme::quiet("no step taken yet"));
        (picture.shown, picture.coming) = (None, None);
    }
    ui.data_mut(|data| data.insert_temp(id, picture));
}

fn legend(ui: &mut egui::Ui, which: Which) {
    let colors = &theme::of(ui).matrix;
    ui.horizontal_wrapped(|ui| {
        let mut sample = |color: Color32, text: &str| {
            swatch(ui, color);
            ui.label(theme::quiet(text).small());
        };
        sample(colors.free, "free");
        sample(colors.tight, "tight");
        sample(colors.entry, "non-zero");
        match which {
            Which::Factor => sample(colors.envelope, "envelope"),
            _ => sample(colors.unused, "in a tight row"),
        }
    });
}

fn numbers(ui: &mut egui::Ui, view: &MatrixView) {
    let tight = view.tight.iter().filter(|t| **t).count();
    let lower = view.n * (view.n + 1) / 2;
    let share = |count: usize| {
        let percent = 100.0 * count as f64 / lower.max(1) as f64;
        format!("{count} ({percent:.1} %)")
    };
    let envelope = (0..).zip(&view.envelope);
    let envelope: usize = envelope.map(|(k, last)| (*last as usize + 1) - k).sum();
    let lines = [
        (
            "rows",
            format!("{} ({} free, {tight} tight)", view.n, view.n - tight),
            "of the largest island",
        ),
        (
            "non-zeros of A",
            share(view.a.len()),
            "in the lower triangle, and their share of it",
        ),
        ("non-zeros of L", share(view.l.len()), "tight rows left out"),
        (
            "envelope",
            share(envelope),
            "what is stored of L: each column down to its last row that is coupled",
        ),
    ];
    table(ui, "matrix", lines);
}

/// The picture: entries, the diagonal in the colours of its rows, and the same colours in strips on
/// the left and the upper edge.
pub fn draw(view: &MatrixView, which: Which, colors: &Matrix) -> ColorImage {
    let n = view.n;
    // Entries of small matrices all get the same number of pixels.
    let side = PIXELS - if n <= PIXELS { PIXELS % n.max(1) } else { 0 };
    let strip = (STRIP * side as f32).ceil() as usize;
    let mut image = ColorImage::filled([side + strip; 2], colors.background);
    if n == 0 {
        return image;
    }
    let place = |i: u32| match which {
        Which::Natural => view.natural[i as usize] as usize,
        Which::Ordered | Which::Factor => i as usize,
    };
    // The pixels of an entry; at least one, so that single entries of large matrices stay.
    let span = |k: usize| {
        let low = k * side / n;
        low..((k + 1) * side / n).max(low + 1)
    };
    let mut fill = |rows: RangeInclusive<usize>, column: usize, color: Color32| {
        for y in span(*rows.start()).start..span(*rows.end()).end {
            for x in span(column) {
                image[(x + strip, y + strip)] = color;
            }
        }
    };
    let is_tight = |i: u32| view.tight[i as usize];
    if which == Which::Factor {
        for (k, last) in view.envelope.iter().enumerate() {
            fill(k..=*last as usize, k, colors.envelope);
        }
        for [i, k] in &view.l {
            let i = *i as usize;
            fill(i..=i, *k as usize, colors.entry);
        }
    } else {
        // What is used goes over what is not, where several entries share a pixel.
        for used in [false, true] {
            for [i, k] in view
                .a
                .iter()
                .filter(|[i, k]| used != (is_tight(*i) || is_tight(*k)))
            {
                let color = if used { colors.entry } else { colors.unused };
                let (i, k) = (place(*i), place(*k));
                fill(i..=i, k, color);
                fill(k..=k, i, color);
            }
        }
    }
    let rows = |tight: bool| (0..n as u32).filter(move |i| is_tight(*i) == tight);
    let marks = [(false, colors.free), (true, colors.tight)];
    for (tight, color) in marks {
        rows(tight).for_each(|i| fill(place(i)..=place(i), place(i), color));
    }
    for (tight, color) in marks {
        for at in rows(tight).flat_map(|i| span(place(i))) {
            for across in 0..strip.saturating_sub(2) {
                image[(across, at + strip)] = color;
                image[(at + strip, across)] = color;
            }
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    const DARK: &Matrix = &theme::DARK.matrix;

    /// Three rows: 0 and 2 are coupled, 1 is tight; the factor has them in the order 1, 0, 2.
    fn view() -> MatrixView {
        MatrixView {
            n: 3,
            a: vec![[0, 0], [1, 1], [2, 1], [2, 2]],
            l: vec![[1, 1], [2, 1], [2, 2]],
            envelope: vec![0, 2, 2],
            natural: vec![1, 0, 2],
            row: vec![11, 10, 12],
            tight: vec![true, false, false],
        }
    }

    fn at(image: &ColorImage, row: usize, column: usize) -> Color32 {
        let strip = (STRIP * (image.width() as f32 / (1.0 + STRIP))).ceil() as usize;
        let cell = (image.width() - strip) / 3;
        let middle = |k: usize| strip + k * cell + cell / 2;
        image[(middle(column), middle(row))]
    }

    #[test]
    fn entries_are_where_the_matrix_has_them() {
        let natural = draw(&view(), Which::Natural, DARK);
        assert_eq!(at(&natural, 2, 0), DARK.entry);
        assert_eq!(at(&natural, 0, 2), DARK.entry, "A is symmetric");
        assert_eq!(at(&natural, 1, 0), DARK.background);
        let ordered = draw(&view(), Which::Ordered, DARK);
        assert_eq!(at(&ordered, 2, 1), DARK.entry);
        assert_eq!(at(&ordered, 1, 2), DARK.entry);
        let factor = draw(&view(), Which::Factor, DARK);
        assert_eq!(at(&factor, 2, 1), DARK.entry);
        assert_eq!(at(&factor, 1, 2), DARK.background, "L is lower triangular");
    }

    #[test]
    fn tight_rows_are_marked_in_either_order() {
        for (which, row) in [(Which::Natural, 1), (Which::Ordered, 0), (Which::Factor, 0)] {
            let image = draw(&view(), which, DARK);
            for k in 0..3 {
                let color = if k == row { DARK.tight } else { DARK.free };
                assert_eq!(at(&image, k, k), color);
            }
        }
    }

    #[test]
    fn large_matrices_keep_their_entries() {
        let n = 5000;
        let view = MatrixView {
            n,
            a: vec![[4321, 77]],
            natural: (0..n as u32).collect(),
            tight: vec![false; n],
            ..MatrixView::default()
        };
        let image = draw(&view, Which::Ordered, DARK);
        assert!(image.width() < 600);
        let lit = image.pixels.iter().filter(|p| **p == DARK.entry).count();
        assert_eq!(lit, 2, "the entry and its mirror");
        let empty = draw(&MatrixView::default(), Which::Factor, DARK);
        assert!(empty.pixels.iter().all(|p| *p == DARK.background));
    }
}
