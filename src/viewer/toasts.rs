//! Messages that come and go: what was saved and where, and what failed.

use bevy::prelude::*;

use super::playback::Playback;

/// How long a message is shown (s); one that says what failed is read more slowly.
const LIFETIME: f32 = 7.0;
const LIFETIME_OF_FAILURES: f32 = 14.0;
/// More than these would hide the scene.
const MOST: usize = 6;

#[derive(Clone, Debug, PartialEq)]
pub struct Toast {
    pub text: String,
    pub is_error: bool,
    /// How long it is still shown (s).
    pub left: f32,
}

/// The messages that are shown now, the oldest first.
#[derive(Resource, Default)]
pub struct Toasts {
    pub list: Vec<Toast>,
}

impl Toasts {
    /// Says what was done.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        info!("{text}");
        self.add(text, false, LIFETIME);
    }

    /// Says what failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        let text = text.into();
        error!("{text}");
        self.add(text, true, LIFETIME_OF_FAILURES);
    }

    fn add(&mut self, text: String, is_error: bool, left: f32) {
        // The same again is the same message, shown for longer.
        self.list.retain(|toast| toast.text != text);
        let excess = (self.list.len() + 1).saturating_sub(MOST);
        self.list.drain(..excess);
        self.list.push(Toast {
            text,
            is_error,
            left,
        });
    }

    fn pass(&mut self, seconds: f32) {
        for toast in &mut self.list {
            toast.left -= seconds;
        }
        self.list.retain(|toast| toast.left > 0.0);
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Toasts>().add_systems(First, collect);
}

/// Lets time pass, and takes over what the physics thread has to say.
fn collect(mut toasts: ResMut<Toasts>, mut playback: ResMut<Playback>, time: Res<Time<Real>>) {
    toasts.pass(time.delta_secs());
    let news = playback
        .frame
        .as_mut()
        .map(|frame| std::mem::take(&mut frame.news));
    for news in news.unwrap_or_default() {
        match news {
            Ok(text) => toasts.say(text),
            Err(text) => toasts.fail(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_and_go() {
        let mut toasts = Toasts::default();
        toasts.say("saved a");
        toasts.fail("no room");
        toasts.pass(0.9 * LIFETIME);
        toasts.say("saved a");
        let texts = |toasts: &Toasts| -> Vec<String> {
            toasts.list.iter().map(|t| t.text.clone()).collect()
        };
        assert_eq!(
            texts(&toasts),
            ["no room", "saved a"],
            "once, and the newest last"
        );
        toasts.pass(0.9 * LIFETIME);
        assert_eq!(texts(&toasts), ["no room", "saved a"]);
        toasts.pass(0.3 * LIFETIME);
        assert!(toasts.list.is_empty());
        for k in 0..20 {
            toasts.say(k.to_string());
        }
        assert_eq!(toasts.list.len(), MOST);
        assert_eq!(toasts.list[MOST - 1].text, "19");
    }
}
