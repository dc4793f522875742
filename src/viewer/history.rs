//! The last steps in numbers, for plots and statistics.

use std::collections::VecDeque;

use bevy::prelude::*;

use super::frame::StepSample;
use super::playback::{self, Begun, Playback};

/// Steps that are kept.
const LENGTH: usize = 600;

#[derive(Resource, Default)]
pub struct History {
    /// The oldest first.
    pub samples: VecDeque<StepSample>,
}

impl History {
    /// Whether joints had rows in the last step.
    pub fn has_joints(&self) -> bool {
        self.samples.back().is_some_and(|s| s.report.rows > 0)
    }

    /// The name of what took the last step.
    pub fn solver(&self) -> &str {
        self.samples.back().map_or("", |s| &s.solver.name)
    }
}

pub fn plugin(app: &mut App) {
    // With the frame that it belongs to.
    app.init_resource::<History>()
        .add_systems(PreUpdate, collect.after(playback::receive));
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
    let Some(frame) = &mut playback.frame else {
        return;
    };
    // Of a future that was left nothing is shown.
    forget_from(samples, frame.step + 1);
    if frame.samples.is_empty() {
        return;
    }
    for sample in frame.samples.drain(..) {
        forget_from(samples, sample.report.step);
        samples.push_back(sample);
    }
    for sample in samples.iter_mut().rev().skip(1) {
        // Of the last step's convergence history alone there are plots.
        sample.report.solve.history = Vec::new();
    }
    let excess = samples.len().saturating_sub(LENGTH);
    samples.drain(..excess);
}

/// Forgets a step and those after it, which are taken once more when somebody goes back.
fn forget_from(samples: &mut VecDeque<StepSample>, step: u64) {
    while samples
        .back()
        .is_some_and(|sample| sample.report.step >= step)
    {
        samples.pop_back();
    }
}
