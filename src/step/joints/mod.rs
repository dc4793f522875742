//! Joints: their rows, and the rounds that close them at the next midpoint.
//!
//! - `entry` and `rows`: the general rows that joints make of their laws, and what is remembered of each;
//! - `laws` and `spring`: how far they are to be closed, and how springs give way;
//! - `positions`: the same rows where the bodies are elsewhere, `linear`: linear about that;
//! - `ropes` and `loops`: what the matrix has of taut ropes, and of redundant rows;
//! - `contacts`: what holds contacts' impulses to the centre of proximal points;
//! - `yielding`: what gives way, and `fights`: where that is needed, and to whom;
//! - `bodies` and `stiffness`: the momenta of the bodies that joints hold, and how they resist turning;
//! - `impacts`: what joints catch at once, and `mending`: what of them is closed by positions;
//! - `mixing`: what a round is linear about, `rounds`: what solves it, `closing`: round after round, and `passive`: what is left
//!   unfinished.

mod bodies;
mod closing;
mod contacts;
mod entry;
mod fights;
mod impacts;
mod laws;
mod linear;
mod loops;
mod mending;
mod mixing;
mod passive;
mod positions;
mod ropes;
mod rounds;
mod rows;
mod spring;
mod stiffness;
mod yielding;

pub use closing::{Attempt, Closing, Joints, tolerance};
pub use laws::RowKind;
pub use mending::{Mend, Mending};
pub use rounds::{Iterate, Rounds};
