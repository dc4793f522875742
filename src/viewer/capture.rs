//! Pictures of the window: by key, and by the command line.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};

use super::keep::{free_name, full};
use super::keys::Action;
use super::playback::Playback;
use super::toasts::Toasts;
use crate::measure::picture as pictures;

/// A picture to take some time after the first frame, after which the program ends.
#[derive(Resource, Clone, Debug)]
pub struct Automatic {
    pub path: PathBuf,
    pub wait: Timer,
    /// Hears whether it was saved, or why not.
    pub outcome: Sender<Result<(), String>>,
}

pub fn plugin(app: &mut App) {
    let take = take.run_if(resource_exists::<Automatic>);
    app.add_systems(Update, (press_key, take));
}

fn press_key(mut actions: MessageReader<Action>, mut commands: Commands) {
    for _ in actions.read().filter(|a| **a == Action::Screenshot) {
        if let Some(path) = free_name("png") {
            commands.spawn(Screenshot::primary_window()).observe(
                move |captured: On<ScreenshotCaptured>, mut toasts: ResMut<Toasts>| match save(
                    &captured.image,
                    &path,
                ) {
                    Ok(()) => toasts.say(format!("saved the picture: {}", full(&path))),
                    Err(message) => toasts.fail(message),
                },
            );
        }
    }
}

fn take(
    mut automatic: ResMut<Automatic>,
    playback: Res<Playback>,
    time: Res<Time<Real>>,
    mut is_running: Local<bool>,
    mut commands: Commands,
) {
    if playback.frame.is_none() {
        return;
    }
    // The time before the first frame does not count.
    let passed = if *is_running {
        time.delta()
    } else {
        Duration::ZERO
    };
    *is_running = true;
    if !automatic.wait.tick(passed).is_finished() {
        return;
    }
    let automatic = automatic.clone();
    commands.remove_resource::<Automatic>();
    commands.spawn(Screenshot::primary_window()).observe(
        move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
            // It is heard until the app has ended.
            let _ = automatic
                .outcome
                .send(save(&captured.image, &automatic.path));
            exit.write(AppExit::Success);
        },
    );
}

fn save(image: &Image, path: &Path) -> Result<(), String> {
    let picture = image
        .clone()
        .try_into_dynamic()
        .map_err(|e| format!("the picture cannot be read back: {e}"))?;
    pictures::save(&picture.to_rgb8(), path)
        .map_err(|e| format!("{} cannot be written: {e}", path.display()))
}
