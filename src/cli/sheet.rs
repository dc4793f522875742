//! `moreau scenes --sheet`: the first pictures of all shipped scenes on one sheet, to see whether each shows its subject.

use std::fmt::Write as _;
use std::path::Path;

use image::{ImageFormat, Rgb, RgbImage, imageops};
use moreau::measure::{picture, report};
use moreau::scene::library;
use moreau::viewer::Offscreen;

use super::{Failure, outputs, render};

/// Pictures beside each other.
const COLUMNS: u32 = 6;
/// Width and height of one (pixels).
const SIZE: (u32, u32) = (320, 180);
/// Height of a name below it (pixels).
const NAME: u32 = 24;
/// A document's units are as many pixels (see [`picture`]).
const SCALE: f32 = 2.0;

/// Draws the sheet.
pub fn draw(path: &Path) -> Result<(), Failure> {
    outputs::check(&[], &[("sheet", path)])?;
    let names: Vec<&str> = library::shipped_names().collect();
    let progress = report::progress(Some(names.len() as u64), "{bar:40} scene {pos}/{len}");
    let (width, height) = (SIZE.0, SIZE.1 + NAME);
    let rows = (names.len() as u32).div_ceil(COLUMNS);
    let mut sheet = RgbImage::from_pixel(COLUMNS * width, rows * height, Rgb([255; 3]));
    let mut texts = String::new();
    let mut screen = Offscreen::new(SIZE)?;
    for (k, name) in (0..).zip(&names) {
        let scene = library::shipped(name)?;
        let simulation = scene.simulation(0)?;
        render::point(&mut screen, &scene);
        let picture = screen.draw(&simulation)?;
        let (x, y) = (k % COLUMNS * width, k / COLUMNS * height);
        imageops::replace(&mut sheet, &picture, x.into(), y.into());
        let [x, y] = [x + 8, y + height - 7].map(|at| at as f32 / SCALE);
        let _ = write!(
            texts,
            r#"<text x="{x}" y="{y}" font-size="8">{name}</text>"#
        );
        progress.inc(1);
    }
    progress.finish_and_clear();
    write_names(&mut sheet, &texts).map_err(Failure::Work)?;
    render::save(&sheet, path)
}

/// Lays texts over the sheet.
fn write_names(sheet: &mut RgbImage, texts: &str) -> Result<(), String> {
    let (width, height) = (sheet.width() as f32 / SCALE, sheet.height() as f32 / SCALE);
    let document = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">{texts}</svg>"#
    );
    let png = picture::png(&document)?;
    let names = image::load_from_memory_with_format(&png, ImageFormat::Png);
    let names = names.map_err(|e| e.to_string())?.to_rgba8();
    for (under, over) in sheet.pixels_mut().zip(names.pixels()) {
        let [r, g, b, opacity] = over.0.map(u32::from);
        let mix = |under: u8, over: u32| {
            ((u32::from(under) * (255 - opacity) + over * opacity) / 255) as u8
        };
        under.0 = [mix(under.0[0], r), mix(under.0[1], g), mix(under.0[2], b)];
    }
    Ok(())
}
