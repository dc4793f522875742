//! The last steps in numbers, for plots and statistics.

use std::collections::VecDeque;

use bevy::prelude::*;

use super::frame::StepSample;
use super::playback::{Begun, Playback};
use crate::measure::{Stage, Summary};

/// Steps that are kept.
pub const LENGTH: usize = 600;

/// The last steps.
#[derive(Resource, Default)]
pub struct History {
    /// The oldest first.
    pub samples: VecDeque<StepSample>,
    summaries: Vec<(Stage, f64, Summary)>,
    seen: Option<(u64, u64)>,
}

impl History {
    /// Now, mean, 95th percentile and maximum of each stage \[s\].
    pub fn summaries(&self) -> &[(Stage, f64, Summary)] {
        &self.summaries
    }

    fn summarise(&mut self) {
        self.summaries.clear();
        let Some(last) = self.samples.back() else {
            return;
        };
        let mut values = Vec::with_capacity(self.samples.len());
        for stage in Stage::ALL {
            values.clear();
            values.extend(self.samples.iter().map(|s| s.report.timings.get(stage)));
            self.summaries
                .push((stage, last.report.timings.get(stage), Summary::of(&values)));
        }
    }
}

/// Collects the steps of every frame.
pub struct HistoryPlugin;

impl Plugin for HistoryPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<History>().add_systems(First, collect);
    }
}

fn collect(
    mut playback: ResMut<Playback>,
    mut history: ResMut<History>,
    mut begun: MessageReader<Begun>,
) {
    if begun.read().count() > 0 {
        history.samples.clear();
    }
    let Some(frame) = &mut playback.frame else {
        return;
    };
    if history.seen == Some((frame.epoch, frame.step)) {
        return;
    }
    history.seen = Some((frame.epoch, frame.step));
    history.samples.extend(frame.samples.drain(..));
    for sample in history.samples.iter_mut().rev().skip(1) {
        // Of the last step's convergence history alone there are plots.
        sample.report.solve.history = Vec::new();
    }
    let excess = history.samples.len().saturating_sub(LENGTH);
    history.samples.drain(..excess);
    history.summarise();
}
