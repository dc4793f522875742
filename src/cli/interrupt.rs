//! Ctrl-C: the first one asks the work to end after its step, the second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Failure;

/// Exit code of what was interrupted, as shells have it: 128 and the number of the signal.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C is only noted.
pub fn catch() -> Result<(), Failure> {
    let noted = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_CODE.into());
        }
    };
    ctrlc::set_handler(noted).map_err(|e| Failure::Work(format!("Ctrl-C cannot be caught: {e}")))
}

/// Whether the work is to end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
