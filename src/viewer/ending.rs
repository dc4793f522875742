//! What ends the viewer from outside: SIGTERM and SIGHUP close the window as its user does, so that a recording is saved.
//! Bevy itself sees to Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bevy::prelude::*;

/// Whether somebody has asked for the end.
#[derive(Resource, Clone, Default)]
struct Asked(Arc<AtomicBool>);

pub fn plugin(app: &mut App) {
    let asked = Asked::default();
    if let Err(error) = listen(&asked) {
        warn!("signals cannot be caught: {error}");
    }
    app.insert_resource(asked).add_systems(Last, end);
}

#[cfg(unix)]
fn listen(asked: &Asked) -> std::io::Result<()> {
    use crate::signals::is_ignored;
    use signal_hook::consts::{SIGHUP, SIGTERM};
    // Whoever has started this with `nohup` wants it to outlive the terminal.
    let signals = [SIGTERM, SIGHUP].into_iter();
    for signal in signals.filter(|signal| !is_ignored(*signal)) {
        signal_hook::flag::register(signal, asked.0.clone())?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn listen(_: &Asked) -> std::io::Result<()> {
    Ok(())
}

fn end(asked: Res<Asked>, mut exit: MessageWriter<AppExit>) {
    if asked.0.load(Ordering::Relaxed) {
        exit.write(AppExit::Success);
    }
}
