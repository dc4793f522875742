//! Plots as pixels. The fonts come with the program, so that a picture is the same everywhere.

use std::io::{self, Cursor};
use std::path::Path;

use epaint_default_fonts::{HACK_REGULAR, UBUNTU_LIGHT};
use image::{ImageFormat, RgbImage};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::file;

/// Pixels per unit of the document: texts of 13 units are to be read on any display.
const SCALE: f32 = 2.0;

/// A document of [`plot`](super::plot) as PNG, in the colours of a light scheme.
///
/// # Errors
/// It is no SVG, or too large for a picture.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(UBUNTU_LIGHT.to_vec());
    // What the first one lacks is taken from the second.
    fonts.load_font_data(HACK_REGULAR.to_vec());
    let first = fonts.faces().next().and_then(|face| face.families.first());
    let name = first.map(|family| family.0.clone());
    fonts.set_sans_serif_family(name.ok_or("the font cannot be read")?);
    let tree = Tree::from_str(&raised(svg), &options).map_err(|e| e.to_string())?;
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|side| (SCALE * side).ceil() as u32);
    let mut picture = Pixmap::new(width, height).ok_or("it is too large for a picture")?;
    let enlarged = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, enlarged, &mut picture.as_mut());
    picture.encode_png().map_err(|e| e.to_string())
}

/// Writes a picture as PNG, as a whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn save(picture: &RgbImage, path: &Path) -> io::Result<()> {
    let mut bytes = Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, ImageFormat::Png)
        .map_err(io::Error::other)?;
    file::save(path, bytes.get_ref())
}

/// Raised digits as plain ones that are raised: the first font has not all of them, and a number of two fonts looks
/// like two numbers.
fn raised(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    let mut is_up = false;
    for c in svg.chars() {
        let mut digits = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".chars().zip("0123456789−".chars());
        let digit = digits.find(|(raised, _)| *raised == c);
        if digit.is_some() != is_up {
            is_up = !is_up;
            out += match is_up {
                true => "<tspan baseline-shift=\"super\" font-size=\"9\">",
                false => "</tspan>",
            };
        }
        out.push(digit.map_or(c, |(_, plain)| plain));
    }
    out
}

#[cfg(test)]
mod tests {
    use resvg::tiny_skia::Color;

    use super::*;
    use crate::measure::plot::{Axis, Mark, Plot, column};

    /// White behind, the line in its colour of the light scheme, the title in glyphs.
    #[test]
    fn a_plot_is_drawn_in_its_light_colours() {
        let mut plot = Plot::new("Résidu ‖Λ‖", Axis::Linear("x"), Axis::Log("y [m/s]"));
        plot.add("line", [[0.0, 1e-7], [10.0, 1e-7]], Mark::Line);
        let bytes = png(&column(&[plot.clone(), plot])).expect("a picture");
        let picture = Pixmap::decode_png(&bytes).expect("a PNG");
        assert_eq!((picture.width(), picture.height()), (1720, 1840));
        let color = |x: u32, y: u32| {
            let pixel = picture.pixel(x, y).expect("within").demultiply();
            Color::from_rgba8(pixel.red(), pixel.green(), pixel.blue(), pixel.alpha())
        };
        assert_eq!(color(2, 2), Color::WHITE);
        let blue = Color::from_rgba8(0x09, 0x69, 0xda, 255);
        let count = |rows: std::ops::Range<u32>, is_it: &dyn Fn(Color) -> bool| {
            let pixels = rows.flat_map(|y| (0..picture.width()).map(move |x| (x, y)));
            pixels.filter(|(x, y)| is_it(color(*x, *y))).count()
        };
        for k in [0, 920] {
            assert!(count(k + 92..k + 804, &|c| c == blue) > 2000, "the line");
            assert!(count(k + 20..k + 70, &|c| c.red() < 0.5) > 300, "the title");
        }
    }

    #[test]
    fn raised_digits_are_plain_ones_that_are_raised() {
        let up = "<tspan baseline-shift=\"super\" font-size=\"9\">";
        assert_eq!(
            raised("<text>5·10⁻¹²</text>"),
            format!("<text>5·10{up}−12</tspan></text>")
        );
    }

    #[test]
    fn what_is_no_document_is_refused() {
        assert!(png("<svg").is_err());
    }
}
