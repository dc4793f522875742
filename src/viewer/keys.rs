//! The keyboard: one table that both the keys and the help overlay are made of.

use bevy::prelude::*;
use bevy_egui::input::EguiWantsInput;

use super::machines;
use super::playback::Playback;

/// What a key does.
#[derive(Message, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start or stop time.
    PlayPause,
    /// One step.
    Step,
    /// Back to the beginning.
    Restart,
    /// Half the speed.
    Slower,
    /// Twice the speed.
    Faster,
    /// Real time.
    RealTime,
    /// Show everything.
    FrameAll,
    /// The scene's own view.
    StartView,
    /// Fly instead of orbiting, or back.
    Fly,
    /// Throw a ball.
    Throw,
    /// Let go, deselect, stop flying, close the help.
    Escape,
    /// Contact points on or off.
    ContactPoints,
    /// Contact normals on or off.
    Normals,
    /// Normal forces on or off.
    NormalForces,
    /// Friction forces on or off.
    FrictionForces,
    /// Joints on or off.
    Joints,
    /// Colours by island on or off.
    Islands,
    /// Panels on or off.
    Panels,
    /// Plots on or off.
    Plots,
    /// This list on or off.
    Help,
    /// Save a picture of the window.
    Screenshot,
    /// Load the scene file again.
    Reload,
    /// The next scene of the list.
    NextScene,
    /// The one before.
    PreviousScene,
}

/// A key and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys; any of them will do.
    pub keys: &'static [KeyCode],
    /// How they are called, one after the other, with " or " between them.
    pub label: &'static str,
    /// What they do.
    pub action: Action,
    /// That in words.
    pub text: &'static str,
}

const fn binding(
    keys: &'static [KeyCode],
    label: &'static str,
    action: Action,
    text: &'static str,
) -> Binding {
    Binding {
        keys,
        label,
        action,
        text,
    }
}

/// All keys, by topic.
pub static BINDINGS: &[(&str, &[Binding])] = &[
    (
        "Time",
        &[
            binding(
                &[KeyCode::Space],
                "Space",
                Action::PlayPause,
                "play or pause",
            ),
            binding(
                &[KeyCode::KeyN, KeyCode::ArrowRight],
                "N or →",
                Action::Step,
                "take one step",
            ),
            binding(&[KeyCode::KeyR], "R", Action::Restart, "restart"),
            binding(&[KeyCode::Comma], ",", Action::Slower, "half the speed"),
            binding(&[KeyCode::Period], ".", Action::Faster, "twice the speed"),
            binding(&[KeyCode::Digit0], "0", Action::RealTime, "real time"),
        ],
    ),
    (
        "View",
        &[
            binding(
                &[KeyCode::KeyF],
                "F",
                Action::FrameAll,
                "frame everything that moves",
            ),
            binding(
                &[KeyCode::Home],
                "Home",
                Action::StartView,
                "the scene's own view",
            ),
            binding(
                &[KeyCode::KeyC],
                "C",
                Action::Fly,
                "fly: W A S D, Q E down and up, Shift fast",
            ),
            binding(
                &[KeyCode::Tab],
                "Tab",
                Action::Panels,
                "show or hide the panels",
            ),
            binding(
                &[KeyCode::KeyP],
                "P",
                Action::Plots,
                "show or hide the plots",
            ),
            binding(
                &[KeyCode::F12],
                "F12",
                Action::Screenshot,
                "save a screenshot",
            ),
            binding(
                &[KeyCode::KeyH, KeyCode::F1],
                "H or F1",
                Action::Help,
                "this help",
            ),
        ],
    ),
    (
        "Drawing",
        &[
            binding(
                &[KeyCode::Digit1],
                "1",
                Action::ContactPoints,
                "contact points",
            ),
            binding(&[KeyCode::Digit2], "2", Action::Normals, "contact normals"),
            binding(
                &[KeyCode::Digit3],
                "3",
                Action::NormalForces,
                "normal forces",
            ),
            binding(
                &[KeyCode::Digit4],
                "4",
                Action::FrictionForces,
                "friction forces",
            ),
            binding(
                &[KeyCode::Digit5],
                "5",
                Action::Islands,
                "islands by colour",
            ),
            binding(
                &[KeyCode::KeyJ],
                "J",
                Action::Joints,
                "joints and their errors",
            ),
        ],
    ),
    (
        "Scene",
        &[
            binding(
                &[KeyCode::PageDown],
                "Page Down",
                Action::NextScene,
                "next scene",
            ),
            binding(
                &[KeyCode::PageUp],
                "Page Up",
                Action::PreviousScene,
                "previous scene",
            ),
            binding(
                &[KeyCode::F5],
                "F5",
                Action::Reload,
                "load the scene file again",
            ),
            binding(&[KeyCode::KeyB], "B", Action::Throw, "throw a ball"),
            binding(
                &[KeyCode::Escape],
                "Esc",
                Action::Escape,
                "let go, deselect, stop flying",
            ),
        ],
    ),
];

/// Keys that fly while flying, and leave everything else alone then.
pub const FLYING: [KeyCode; 6] = [
    KeyCode::KeyW,
    KeyCode::KeyA,
    KeyCode::KeyS,
    KeyCode::KeyD,
    KeyCode::KeyQ,
    KeyCode::KeyE,
];

/// What the mouse does.
pub static MOUSE: &[(&str, &str)] = &[
    ("Left on a body", "drag it; its numbers are shown"),
    ("Left elsewhere, right", "orbit (look around while flying)"),
    ("Middle, Shift + right", "pan"),
    ("Wheel", "zoom"),
];

/// Turns keys into [`Action`]s while no text is being typed. Keys that a drive of the scene names need
/// Shift: without it they are the machine's.
pub struct KeysPlugin;

impl Plugin for KeysPlugin {
    fn build(&self, app: &mut App) {
        app.add_message::<Action>()
            .add_systems(PreUpdate, press.after(bevy::input::InputSystems));
    }
}

fn press(
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<EguiWantsInput>,
    playback: Res<Playback>,
    mut actions: MessageWriter<Action>,
) {
    if egui.wants_keyboard_input() {
        return;
    }
    let shift = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    let drives = playback.frame.as_ref().map_or(&[][..], |f| &f.drives);
    for binding in BINDINGS.iter().flat_map(|(_, bindings)| *bindings) {
        let mut own = binding.keys.iter().copied();
        if own.any(|key| keys.just_pressed(key) && (shift || !machines::is_taken(drives, key))) {
            actions.write(binding.action);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut seen = std::collections::HashSet::new();
        for binding in BINDINGS.iter().flat_map(|(_, bindings)| *bindings) {
            for key in binding.keys {
                assert!(seen.insert(*key), "{key:?}");
                assert!(!FLYING.contains(key), "{key:?}");
            }
            let labels = binding.label.split(" or ").count();
            assert_eq!(labels, binding.keys.len(), "{}", binding.label);
        }
    }
}
