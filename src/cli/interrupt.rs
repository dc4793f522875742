//! Ctrl-C, and what else asks a program to end (SIGTERM, SIGHUP): the first one asks the work to end after its step, so that
//! what it did is written; the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Failure;

/// Number of the signal that Ctrl-C sends.
const SIGINT: usize = 2;

/// The signal that has asked; 0 before.
static SIGNAL: std::sync::LazyLock<Arc<AtomicUsize>> = std::sync::LazyLock::new(Arc::default);

/// From now on the first signal is only noted.
pub fn catch() -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Work(format!("Ctrl-C cannot be caught: {e}"));
    catch_signals().map_err(|e| failed(&e))
}

#[cfg(unix)]
fn catch_signals() -> std::io::Result<()> {
    use moreau::signals::is_ignored;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    let is_asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Whoever has started this with `nohup` wants it to outlive the terminal.
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        flag::register_conditional_shutdown(signal, 128 + signal, is_asked.clone())?;
        flag::register(signal, is_asked.clone())?;
        flag::register_usize(signal, SIGNAL.clone(), signal as usize)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn catch_signals() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if SIGNAL.swap(SIGINT, Ordering::Relaxed) != 0 {
            std::process::exit(exit_code().into());
        }
    })
}

/// Whether the work is to end.
pub fn is_asked() -> bool {
    SIGNAL.load(Ordering::Relaxed) != 0
}

/// Exit code of what was interrupted, as shells have it: 128 and the number of the signal.
pub fn exit_code() -> u8 {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}
