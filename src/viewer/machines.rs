//! Machines: the keys that a scene's drives name, and what holding them does. They are the machine's
//! and not the viewer's, but with Shift, and but for those that fly while flying.

use bevy::prelude::*;
use bevy_egui::input::EguiWantsInput;

use super::camera::Eye;
use super::keys::{FLYING, label};
use super::physics::Physics;
use super::playback::Playback;
use crate::session::Input;
use crate::world::Drive;

/// The key of a name in a scene: a letter, a digit, Left, Right, Up, Down, PageUp or PageDown.
pub fn key(name: &str) -> Option<KeyCode> {
    use KeyCode::*;
    const LETTERS: [KeyCode; 26] = [
        KeyA, KeyB, KeyC, KeyD, KeyE, KeyF, KeyG, KeyH, KeyI, KeyJ, KeyK, KeyL, KeyM, KeyN, KeyO,
        KeyP, KeyQ, KeyR, KeyS, KeyT, KeyU, KeyV, KeyW, KeyX, KeyY, KeyZ,
    ];
    const DIGITS: [KeyCode; 10] = [
        Digit0, Digit1, Digit2, Digit3, Digit4, Digit5, Digit6, Digit7, Digit8, Digit9,
    ];
    Some(match name {
        "Left" => ArrowLeft,
        "Right" => ArrowRight,
        "Up" => ArrowUp,
        "Down" => ArrowDown,
        "PageUp" => PageUp,
        "PageDown" => PageDown,
        _ => match name.as_bytes() {
            [c] if c.is_ascii_alphabetic() => LETTERS[usize::from(c.to_ascii_uppercase() - b'A')],
            [c] if c.is_ascii_digit() => DIGITS[usize::from(c - b'0')],
            _ => return None,
        },
    })
}

/// What is written on that key; nothing where there is no such key.
pub fn key_label(name: &str) -> String {
    key(name).map(label).unwrap_or_default()
}

/// Whether a drive of the scene names this key; the viewer then takes it with Shift alone.
pub fn is_taken(drives: &[Drive], code: KeyCode) -> bool {
    let mut names = drives.iter().flat_map(|drive| &drive.hands);
    names.any(|name| key(name) == Some(code))
}

/// Where a drive goes while the keys that lower and raise it are held, or none where they ask for
/// nothing new. `grip` is where they have taken it so far, none while neither is held; `dt` is the time
/// since it was asked last (s).
pub fn steer(
    drive: &Drive,
    grip: &mut Option<f64>,
    [lower, raise]: [bool; 2],
    dt: f64,
) -> Option<f64> {
    let [least, most] = drive.range;
    let before = *grip;
    let rest = 0.0f64.clamp(least, most);
    *grip = if drive.rate > 0.0 {
        let way = f64::from(u8::from(raise)) - f64::from(u8::from(lower));
        let from = before.unwrap_or(drive.value);
        (way != 0.0).then(|| (from + way * drive.rate * dt).clamp(least, most))
    } else {
        match (lower, raise) {
            (false, false) => None,
            (true, false) => Some(least),
            (false, true) => Some(most),
            (true, true) => Some(rest),
        }
    };
    match (before, *grip) {
        (before, Some(target)) => (before != Some(target)).then_some(target),
        // A drive that takes its time stays where it was let go.
        (Some(_), None) if drive.rate == 0.0 => Some(rest),
        _ => None,
    }
}

/// Takes a drive over, or gives it back to its script.
pub fn drive_to(physics: &Physics, index: usize, value: Option<f64>) {
    let index = index as u32;
    physics.act(Input::Drive { index, value });
}

pub fn plugin(app: &mut App) {
    app.add_systems(Update, hold);
}

/// Where the keys have taken the drives, and since when.
#[derive(Default)]
struct Held {
    grips: Vec<Option<f64>>,
    epoch: u64,
    time: f64,
}

fn hold(
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<EguiWantsInput>,
    eye: Res<Eye>,
    playback: Res<Playback>,
    physics: Res<Physics>,
    mut held: Local<Held>,
) {
    let Some(frame) = &playback.frame else {
        return;
    };
    if held.epoch != frame.epoch || held.grips.len() != frame.drives.len() {
        *held = Held {
            grips: vec![None; frame.drives.len()],
            epoch: frame.epoch,
            time: frame.time,
        };
    }
    // Simulated time: a machine in slow motion does not run ahead of its keys.
    let dt = (frame.time - held.time).max(0.0);
    held.time = frame.time;
    let shift = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    let others = shift || egui.wants_keyboard_input();
    let is_held = |name: &String| {
        key(name)
            .is_some_and(|k| keys.pressed(k) && !others && !(eye.flying && FLYING.contains(&k)))
    };
    for (index, (drive, grip)) in frame.drives.iter().zip(&mut held.grips).enumerate() {
        let [lower, raise] = &drive.hands;
        let target = steer(drive, grip, [is_held(lower), is_held(raise)], dt);
        if target.is_some() {
            drive_to(&physics, index, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::drive::Interpolation;

    fn drive(rate: f64) -> Drive {
        Drive {
            name: String::new(),
            unit: String::new(),
            motors: Vec::new(),
            keys: Vec::new(),
            interpolation: Interpolation::Linear,
            range: [-2.0, 5.0],
            rate,
            hands: ["q".into(), "PageUp".into()],
            live: None,
            value: 1.0,
        }
    }

    #[test]
    fn a_slow_drive_moves_while_a_key_is_held_and_stays_where_it_is_let_go() {
        let (drive, mut grip) = (drive(4.0), None);
        assert_eq!(steer(&drive, &mut grip, [false, false], 0.1), None);
        assert_eq!(steer(&drive, &mut grip, [false, true], 0.5), Some(3.0));
        assert_eq!(steer(&drive, &mut grip, [false, true], 0.0), None, "paused");
        assert_eq!(steer(&drive, &mut grip, [false, true], 9.0), Some(5.0));
        assert_eq!(steer(&drive, &mut grip, [true, false], 0.25), Some(4.0));
        assert_eq!(steer(&drive, &mut grip, [false, false], 0.25), None);
        assert_eq!(grip, None);
        // The next time it starts from where the drive is then.
        assert_eq!(steer(&drive, &mut grip, [true, false], 0.25), Some(0.0));
    }

    #[test]
    fn a_quick_drive_jumps_to_the_end_and_back_to_rest() {
        let (drive, mut grip) = (drive(0.0), None);
        assert_eq!(steer(&drive, &mut grip, [true, false], 0.1), Some(-2.0));
        assert_eq!(steer(&drive, &mut grip, [true, false], 0.1), None);
        assert_eq!(steer(&drive, &mut grip, [true, true], 0.1), Some(0.0));
        assert_eq!(steer(&drive, &mut grip, [false, true], 0.1), Some(5.0));
        assert_eq!(steer(&drive, &mut grip, [false, false], 0.1), Some(0.0));
        assert_eq!(steer(&drive, &mut grip, [false, false], 0.1), None);
        let above = Drive {
            range: [1.0, 3.0],
            ..drive
        };
        steer(&above, &mut grip, [false, true], 0.1);
        let rest = steer(&above, &mut grip, [false, false], 0.1);
        assert_eq!(rest, Some(1.0), "the nearest to 0 that it can be");
    }

    #[test]
    fn keys_are_found_by_name() {
        for (name, code) in [
            ("q", KeyCode::KeyQ),
            ("Z", KeyCode::KeyZ),
            ("0", KeyCode::Digit0),
            ("Left", KeyCode::ArrowLeft),
            ("PageDown", KeyCode::PageDown),
        ] {
            assert_eq!(key(name), Some(code));
            assert!(!key_label(name).is_empty());
        }
        for name in ["", "ä", "Space", "F1", "QQ"] {
            assert_eq!(key(name), None);
            assert_eq!(key_label(name), "");
        }
        let drives = [drive(1.0)];
        assert!(is_taken(&drives, KeyCode::PageUp) && is_taken(&drives, KeyCode::KeyQ));
        assert!(!is_taken(&drives, KeyCode::PageDown));
    }
}
