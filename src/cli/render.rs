//! `moreau render`: pictures without a window.

use std::path::Path;

use image::RgbImage;
use moreau::measure::{picture, report};
use moreau::scene::Scene;
use moreau::viewer::{Drawing, Offscreen};

use super::{Failure, Pictures, RenderArgs, outputs, print, unwritable};

/// Pictures per second of simulated time in a sequence.
const FRAMES_PER_SECOND: f64 = 60.0;

/// Draws one picture, or one after the other.
pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let scene = args.scene.open()?;
    let folder = match &args.out {
        Pictures::One(file) => file.parent().unwrap_or(Path::new("")),
        Pictures::Sequence(folder) => folder,
    };
    let made = std::fs::create_dir_all(folder);
    made.map_err(|e| Failure::Input(unwritable("pictures", folder, &e)))?;
    if let Pictures::One(file) = &args.out {
        outputs::check(&scene.files(), &[("picture", file)])?;
    }
    let mut simulation = scene.simulation(0)?;
    let mut screen = screen(&scene, args.size)?;
    let step = simulation.world().settings.step;
    let steps = steps_until(args.seconds, step);
    let progress = report::progress(Some(steps), "{bar:40} step {pos}/{len}, {eta} left");
    let mut taken = 0;
    for k in 0..=steps {
        if k > 0 {
            simulation.step()?;
            progress.inc(1);
        }
        let Pictures::Sequence(folder) = &args.out else {
            continue;
        };
        // A step much longer than a picture gives each of its pictures the same state.
        while f64::from(taken) / FRAMES_PER_SECOND <= k as f64 * step + 1e-9 {
            let path = folder.join(format!("frame_{taken:05}.png"));
            save(&screen.draw(&simulation)?, &path)?;
            taken += 1;
        }
    }
    progress.finish_and_clear();
    match &args.out {
        Pictures::One(file) => save(&screen.draw(&simulation)?, file),
        Pictures::Sequence(_) => print(&format!("{taken} pictures in {}\n", folder.display())),
    }
}

/// The picture's frame, looked at as the scene wants it.
fn screen(scene: &Scene, size: (u32, u32)) -> Result<Offscreen, Failure> {
    let mut screen = Offscreen::new(size)?;
    point(&mut screen, scene);
    Ok(screen)
}

/// Looks at a scene as it wants it.
pub fn point(screen: &mut Offscreen, scene: &Scene) {
    screen.look(scene.camera);
    screen.show(Drawing::of(&scene.view));
}

/// The number of steps that end at or after a time.
fn steps_until(seconds: f64, step: f64) -> u64 {
    (seconds / step - 1e-9).ceil().max(0.0) as u64
}

/// Writes a picture.
pub fn save(picture: &RgbImage, path: &Path) -> Result<(), Failure> {
    picture::save(picture, path)
        .map_err(|e| Failure::Work(format!("{} cannot be written: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::steps_until;

    #[test]
    fn a_second_is_sixty_steps_of_a_sixtieth() {
        assert_eq!(steps_until(1.0, 1.0 / 60.0), 60);
        assert_eq!(steps_until(0.0, 1.0 / 60.0), 0);
        assert_eq!(steps_until(0.01, 1.0 / 60.0), 1);
    }
}
