//! The keyboard: one table that both the keys and the help overlay are made of.

use bevy::prelude::*;
use bevy_egui::input::EguiWantsInput;

use super::machines;
use super::playback::Playback;

#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub keys: &'static [KeyCode],
    pub action: Action,
    pub text: &'static str,
}

macro_rules! bindings {
    ($($topic:literal: $($action:ident $text:literal: $($key:ident)+;)+)+) => {
        /// What a key does.
        #[derive(Message, Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action { $($(#[doc = $text] $action,)+)+ }

        /// All keys, by topic.
        pub static BINDINGS: &[(&str, &[Binding])] = &[$(($topic, &[$(Binding {
            keys: &[$(KeyCode::$key),+],
            action: Action::$action,
            text: $text,
        }),+])),+];
    };
}

bindings! {
    "Time":
        PlayPause "play or pause": Space;
        Step "take one step": KeyN ArrowRight;
        StepBack "go back by one step": ArrowLeft Backspace;
        Restart "restart": KeyR;
        Slower "half the speed": Comma;
        Faster "twice the speed": Period;
        RealTime "real time": Digit0;
    "View":
        FrameAll "frame everything that moves": KeyF;
        StartView "the scene's own view": Home;
        Follow "follow the selected body": KeyG;
        Fly "fly: W A S D, Q E down and up, Shift fast": KeyC;
        Panels "show or hide the panels": Tab;
        Plots "show or hide the plots": KeyP;
        Screenshot "save a screenshot": F12;
        Animate "begin or end an animation (GIF)": F10;
        Help "this help": KeyH F1;
    "Keeping":
        Record "begin or end a recording": F9;
        SaveState "save the state as a file": F6;
        LoadState "load the state that was saved last": F7;
        SaveScene "save the scene with its edits": F8;
    "Drawing":
        ContactPoints "contact points": Digit1;
        Normals "contact normals": Digit2;
        NormalForces "normal forces": Digit3;
        FrictionForces "friction forces": Digit4;
        Islands "islands by colour": Digit5;
        Colors "contacts by graph colour": KeyK;
        Methods "bodies by how their island was solved": KeyM;
        Parts "parts of the hybrid solver": KeyL;
        Couplings "what couples these parts": KeyI;
        Joints "joints and their errors": KeyJ;
        Boxes "bounding boxes": Digit6;
        Centers "centres of mass": Digit7;
        Trails "trails": Digit8;
        Wireframe "edges instead of surfaces": Digit9;
        XRay "see overlays through bodies": KeyX;
    "Scene":
        NextScene "next scene": PageDown;
        PreviousScene "previous scene": PageUp;
        Reload "load the scene file again": F5;
        Throw "throw a ball": KeyB;
        AddBody "add a body where the mouse points": Insert;
        RemoveBody "remove the selected body": Delete;
        OwnGroup "own group for the selected bodies": KeyU;
        UndoGroup "undo the last own group": KeyY;
        Escape "let go, deselect, stop flying": Escape;
}

/// What is written on the first key of an action.
pub fn key_of(action: Action) -> Option<String> {
    let mut all = BINDINGS.iter().flat_map(|(_, bindings)| *bindings);
    let binding = all.find(|binding| binding.action == action)?;
    binding.keys.first().copied().map(label)
}

pub fn label(key: KeyCode) -> String {
    match key {
        KeyCode::Comma => ",".into(),
        KeyCode::Period => ".".into(),
        KeyCode::ArrowLeft => "←".into(),
        KeyCode::ArrowRight => "→".into(),
        KeyCode::ArrowUp => "↑".into(),
        KeyCode::ArrowDown => "↓".into(),
        KeyCode::PageUp => "PgUp".into(),
        KeyCode::PageDown => "PgDn".into(),
        KeyCode::Escape => "Esc".into(),
        other => {
            let name = format!("{other:?}");
            let short = ["Key", "Digit"]
                .iter()
                .find_map(|kind| name.strip_prefix(kind));
            short.unwrap_or(&name).into()
        }
    }
}

/// Keys that fly while flying, and leave everything else alone then.
pub const FLYING: [KeyCode; 6] = {
    use KeyCode::*;
    [KeyW, KeyA, KeyS, KeyD, KeyQ, KeyE]
};

pub static MOUSE: &[(&str, &str)] = &[
    ("Left on a body", "drag it; its numbers are shown"),
    ("Ctrl + left on a body", "select it too, or no more"),
    (
        "Left on a contact or joint",
        "its numbers are shown, while its layer is drawn",
    ),
    ("Left elsewhere, right", "orbit (look around while flying)"),
    ("Middle, Shift + right", "pan"),
    ("Wheel", "zoom"),
];

/// Turns keys into [`Action`]s while no text is being typed. Keys that a drive of the scene names need
/// Shift: without it they are the machine's.
pub fn plugin(app: &mut App) {
    app.add_message::<Action>()
        .add_systems(PreUpdate, press.after(bevy::input::InputSystems));
}

fn press(
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<EguiWantsInput>,
    playback: Res<Playback>,
    mut actions: MessageWriter<Action>,
) {
    // With Ctrl the keys + − 0 are for the size of texts.
    let control = keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight]);
    if egui.wants_keyboard_input() || control {
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
        }
        let labels = [
            KeyCode::KeyN,
            KeyCode::Digit0,
            KeyCode::F12,
            KeyCode::ArrowUp,
        ]
        .map(label);
        assert_eq!(labels, ["N", "0", "F12", "↑"]);
    }
}
