//! The window's side of the physics thread: its frames, and where between two of them the picture is.

use std::time::Instant;

use bevy::prelude::*;

use super::frame::Frame;
use super::physics::Physics;

/// The last two frames, and where between them the picture is.
#[derive(Resource, Default)]
pub struct Playback {
    pub frame: Option<Frame>,
    before: Vec<Isometry3d>,
    arrived: Option<Instant>,
    interval: f32,
    /// Whether bodies glide between two frames. It costs one frame of delay.
    pub smooth: bool,
    blend: f32,
}

impl Playback {
    /// The pose of a body now, between the last two frames.
    #[inline]
    pub fn pose(&self, slot: usize) -> Isometry3d {
        self.pose_in(0, slot)
    }

    /// The same in one of the worlds side by side.
    #[inline]
    pub fn pose_in(&self, world: usize, slot: usize) -> Isometry3d {
        let Some(frame) = &self.frame else {
            return Isometry3d::IDENTITY;
        };
        let at = world * frame.table.bodies.len() + slot;
        let new = frame.poses.get(at).copied().unwrap_or_default();
        // Where worlds come or go, what was there before is of another one.
        let is_same = self.before.len() == frame.poses.len();
        match self.before.get(at).filter(|_| is_same) {
            Some(old) if self.blend < 1.0 => Isometry3d::new(
                old.translation.lerp(new.translation, self.blend),
                old.rotation.lerp(new.rotation, self.blend),
            ),
            _ => new,
        }
    }
}

/// Sent when another scene, or the same one afresh, has begun.
#[derive(Message, Clone, Copy, Debug)]
pub struct Begun {
    /// Whether the bodies are others than before.
    pub loaded: bool,
}

pub fn plugin(app: &mut App) {
    app.insert_resource(Playback {
        smooth: true,
        ..Playback::default()
    })
    .add_message::<Begun>()
    .add_systems(PreUpdate, receive);
}

pub fn receive(
    physics: Res<Physics>,
    mut playback: ResMut<Playback>,
    mut begun: MessageWriter<Begun>,
) {
    let playback = &mut *playback;
    let now = Instant::now();
    if let Some(new) = physics.frames().take() {
        let state = |f: &Frame| (f.epoch, f.load, f.step);
        let (epoch, load, step) = state(&new);
        let old = playback.frame.replace(new);
        let before = old.as_ref().map_or((0, 0, 0), state);
        if let Some(mut old) = old {
            if (epoch, step) != (before.0, before.2) {
                std::mem::swap(&mut playback.before, &mut old.poses);
                let gap = playback.arrived.map_or(0.0, |t| (now - t).as_secs_f32());
                // Smoothed, so that one late frame does not make the next ones jump.
                playback.interval = 0.8 * playback.interval + 0.2 * gap.min(0.5);
                playback.arrived = Some(now);
            }
            physics.frames().recycle(old);
        }
        if epoch != before.0 {
            playback.before.clear();
            playback.interval = 0.0;
            begun.write(Begun {
                loaded: load != before.1,
            });
        }
    }
    let since = playback.arrived.map_or(1.0, |t| (now - t).as_secs_f32());
    playback.blend = if playback.smooth && playback.interval > 0.0 {
        (since / playback.interval).min(1.0)
    } else {
        1.0
    };
}
