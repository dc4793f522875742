//! Animations of the window, panels and all: pictures at an even pace, as a GIF file.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use gif::{Encoder, Frame, Repeat};
use image::imageops::{FilterType, resize};

use super::keep::{free_name, full};
use super::keys::Action;
use super::toasts::Toasts;
use crate::file::Pending;

/// Time from one picture to the next.
const INTERVAL: Duration = Duration::from_millis(100);
/// An animation ends by itself after so many pictures: at 0.3 to 1 MB each they fill the memory.
const MOST: usize = 300;
/// Pictures wider than this are made smaller (pixels): animations are large files.
const WIDTH: u32 = 720;
/// How fast and how badly 256 colours are chosen, from 1 to 30 (-).
const SPEED: i32 = 10;

/// The animation that is being made.
#[derive(Resource, Default)]
struct Animation {
    /// Pictures so far, while one is being made.
    frames: Option<Vec<image::RgbaImage>>,
    /// Pictures that were asked for.
    asked: usize,
    since: Duration,
    written: Option<std::sync::Mutex<Receiver<Result<String, String>>>>,
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Animation>()
        .add_systems(Update, (press_key, take, hear).chain());
}

fn press_key(
    mut actions: MessageReader<Action>,
    mut animation: ResMut<Animation>,
    mut toasts: ResMut<Toasts>,
) {
    for _ in actions.read().filter(|a| **a == Action::Animate) {
        if animation.frames.is_some() {
            animation.end();
        } else {
            animation.frames = Some(Vec::new());
            animation.asked = 0;
            animation.since = INTERVAL;
            toasts.say("an animation is being made; F10 ends it");
        }
    }
}

fn take(mut animation: ResMut<Animation>, time: Res<Time<Real>>, mut commands: Commands) {
    if animation.frames.is_none() {
        return;
    }
    animation.since += time.delta();
    if animation.since < INTERVAL {
        return;
    }
    animation.since = Duration::ZERO;
    animation.asked += 1;
    commands.spawn(Screenshot::primary_window()).observe(
        |captured: On<ScreenshotCaptured>, mut animation: ResMut<Animation>| {
            let picture = captured.image.clone().try_into_dynamic();
            if let (Ok(picture), Some(frames)) = (picture, &mut animation.frames) {
                frames.push(smaller(picture.to_rgba8()));
            }
        },
    );
    if animation.asked >= MOST {
        animation.end();
    }
}

fn smaller(picture: image::RgbaImage) -> image::RgbaImage {
    let (width, height) = picture.dimensions();
    if width <= WIDTH {
        return picture;
    }
    let height = (u64::from(height) * u64::from(WIDTH) / u64::from(width)).max(1) as u32;
    resize(&picture, WIDTH, height, FilterType::Triangle)
}

impl Animation {
    /// Writes what there is, beside the window: it takes longer than a frame.
    fn end(&mut self) {
        let Some(frames) = self.frames.take() else {
            return;
        };
        let (done, hear): (Sender<_>, Receiver<_>) = channel();
        self.written = Some(std::sync::Mutex::new(hear));
        std::thread::spawn(move || {
            // Nobody hears of it once the window is closed.
            let _ = done.send(match free_name("gif") {
                Some(path) => write(&path, frames),
                None => Err("there is no free name left".into()),
            });
        });
    }
}

fn hear(mut animation: ResMut<Animation>, mut toasts: ResMut<Toasts>) {
    let heard = animation.written.as_ref().and_then(|written| {
        let receiver = written.lock().ok()?;
        receiver.try_recv().ok()
    });
    if let Some(heard) = heard {
        animation.written = None;
        match heard {
            Ok(text) => toasts.say(text),
            Err(text) => toasts.fail(text),
        }
    }
}

/// Writes pictures of one size; those of another one, from before the window was resized, are left out.
fn write(path: &Path, frames: Vec<image::RgbaImage>) -> Result<String, String> {
    let Some(last) = frames.last() else {
        return Err("no picture was taken: the animation was too short".into());
    };
    let size = last.dimensions();
    let sides = [size.0, size.1].map(u16::try_from);
    let [Ok(width), Ok(height)] = sides else {
        return Err(format!(
            "{} x {} pixels are too many for an animation",
            size.0, size.1
        ));
    };
    let failed = |e: &dyn std::fmt::Display| format!("{} cannot be written: {e}", full(path));
    let mut pending = Pending::create(path).map_err(|e| failed(&e))?;
    let mut out = std::io::BufWriter::new(pending.file());
    let mut encoder = Encoder::new(&mut out, width, height, &[]).map_err(|e| failed(&e))?;
    encoder
        .set_repeat(Repeat::Infinite)
        .map_err(|e| failed(&e))?;
    let mut count = 0;
    for mut picture in frames.into_iter().filter(|p| p.dimensions() == size) {
        let mut frame = Frame::from_rgba_speed(width, height, &mut picture, SPEED);
        // In hundredths of a second.
        frame.delay = (INTERVAL.as_millis() / 10) as u16;
        encoder.write_frame(&frame).map_err(|e| failed(&e))?;
        count += 1;
    }
    drop(encoder);
    std::io::Write::flush(&mut out).map_err(|e| failed(&e))?;
    drop(out);
    pending.finish().map_err(|e| failed(&e))?;
    Ok(format!(
        "saved an animation of {count} pictures: {}",
        full(path)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_animation_can_be_read_again() {
        let path = std::env::temp_dir().join(format!("moreau-{}.gif", std::process::id()));
        let picture =
            |width, red| image::RgbaImage::from_pixel(width, 6, image::Rgba([red, 0, 0, 255]));
        let frames = vec![picture(9, 1), picture(8, 10), picture(8, 200)];
        let said = write(&path, frames).expect("it can be written");
        assert!(
            said.starts_with("saved an animation of 2 pictures"),
            "{said}"
        );
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let file = std::fs::File::open(&path).expect("a file");
        let mut decoder = options.read_info(file).expect("a GIF");
        let mut reds = Vec::new();
        while let Some(frame) = decoder.read_next_frame().expect("a frame") {
            assert_eq!((frame.width, frame.height, frame.delay), (8, 6, 10));
            reds.push(frame.buffer[0]);
        }
        assert_eq!(reds, [10, 200]);
        std::fs::remove_file(path).expect("it is ours");
        assert!(write(Path::new("unused"), Vec::new()).is_err());
    }

    #[test]
    fn large_windows_are_made_smaller() {
        let large = image::RgbaImage::new(3840, 2160);
        assert_eq!(smaller(large).dimensions(), (720, 405));
        assert_eq!(
            smaller(image::RgbaImage::new(700, 3)).dimensions(),
            (700, 3)
        );
    }
}
