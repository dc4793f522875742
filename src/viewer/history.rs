//! The last steps in numbers, for plots and statistics.

use std::collections::VecDeque;

use bevy::prelude::*;

use super::frame::StepSample;
use super::playback::{Begun, Playback};

/// Steps that are kept.
const LENGTH: usize = 600;

#[derive(Resource, Default)]
pub struct History {
    /// The oldest first.
    pub samples: VecDeque<StepSample>,
}

pub fn plugin(app: &mut App) {
    app.init_resource::<History>().add_systems(First, collect);
}

fn collect(
    mut playback: ResMut<Playback>,
    mut history: ResMut<History>,
    mut begun: MessageReader<Begun>,
) {
    let samples = &mut history.samples;
    if begun.read().count() > 0 {
        samples.clear();
    }
    let new = playback.frame.as_mut().map(|frame| &mut frame.samples);
    let Some(new) = new.filter(|new| !new.is_empty()) else {
        return;
    };
    samples.extend(new.drain(..));
    for sample in samples.iter_mut().rev().skip(1) {
        // Of the last step's convergence history alone there are plots.
        sample.report.solve.history = Vec::new();
    }
    let excess = samples.len().saturating_sub(LENGTH);
    samples.drain(..excess);
}
