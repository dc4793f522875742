//! What happens between steps: edits, the past, recordings, clocks and threads.

mod api_edits;
mod clock;
mod keeping;
mod recordings;
