//! Past states to go back to.
//!
//! A state is kept every so many steps, and between two of them only what was done: the steps in between
//! are taken again from the kept state before, which gives the same bits, since a step depends on nothing
//! but the state, the solver and what was done. A wall-time budget breaks that; of steps that were taken
//! under one only the kept states themselves can be returned to.
//!
//! Kept states are whole copies. Measured on the ball grids of 24³ and 40³ (`cargo bench --bench measure -- past`), a
//! copy takes 520 bytes per body and 96 per contact, 11 and 52 MB, and costs 5 % of a step. What changes from
//! copy to copy is nearly half of it: differences would save about half of the memory, which is not what is
//! short with some 20 copies of the largest scene at hand, and would need care wherever one is thinned out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Drag, Input};
use crate::solve::SolverConfig;
use crate::step::Snapshot;
use crate::world::Edit;

/// What keeping may take unless something else is said (bytes).
pub const DEFAULT_LIMIT: usize = 1 << 30;
/// Computing time between two kept states (s): so long does stepping back take at worst, until memory is
/// short.
const INTERVAL: f64 = 0.25;
/// Largest distance between two kept states that thinning out leaves, in intervals (-); rather than make one
/// wait for longer than a second it forgets the beginning.
const MOST_INTERVALS: f64 = 4.0;
/// Share of the computing time that copying may take (-).
const SHARE: f64 = 0.02;
/// Memory of an input, roughly (bytes): settings are the largest, and are boxed.
const BYTES_PER_INPUT: usize = size_of::<Input>() + 200;

/// How far apart states are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spacing {
    /// As the measured times of steps and of copying ask for.
    #[default]
    Measured,
    /// So many steps; for tests.
    Steps(u64),
}

/// A state with all that goes on from it.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub snapshot: Snapshot,
    pub solver: SolverConfig,
    pub drag: Option<Drag>,
    /// The edits up to it, each with the number of the step before it.
    pub edits: Arc<Vec<(u64, Edit)>>,
}

impl State {
    fn step(&self) -> u64 {
        self.snapshot.world().step_index
    }
}

#[derive(Debug)]
struct Keyframe {
    state: State,
    memory: usize,
    /// Computing time from it to the next one, or to the last step (s).
    seconds: f64,
    /// The last step that can be taken again from it.
    reach: u64,
}

impl Keyframe {
    fn new(state: State) -> Self {
        Self {
            memory: state.snapshot.memory(),
            seconds: 0.0,
            reach: state.step(),
            state,
        }
    }

    fn step(&self) -> u64 {
        self.state.step()
    }
}

/// What is kept, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The steps after which states can be returned to; none where not even one state can be kept.
    pub steps: Option<[u64; 2]>,
    /// Whether every step between the two can be returned to. Under a wall-time budget some cannot.
    pub is_gapless: bool,
    /// Number of states in memory.
    pub states: usize,
    /// Memory that they take (bytes).
    pub memory: usize,
    /// What one state takes (bytes), where that is more than the limit.
    pub too_large: Option<usize>,
}

/// Past states, and the future of the one that was returned to, in bounded memory.
#[derive(Debug)]
pub(super) struct Ring {
    limit: usize,
    spacing: Spacing,
    keyframes: VecDeque<Keyframe>,
    /// What was done at the state after a step, before the next one.
    inputs: BTreeMap<u64, Vec<Input>>,
    memory: usize,
    /// The last step that was taken.
    last: u64,
    /// Whether a past state was returned to, whose future is still kept.
    is_past: bool,
    /// The step that is being returned to, and the last one on the way there whose state was kept.
    way: Option<[u64; 2]>,
    /// Computing time since a state was kept last (s).
    since: f64,
    /// What copying the last one took (s).
    cost: f64,
    too_large: Option<usize>,
    /// Whether the present state cannot be reached by taking steps again.
    is_broken: bool,
    /// The step after which one has been begun, and not been ended.
    begun: Option<u64>,
}

impl Ring {
    pub(super) fn new(limit: usize, spacing: Spacing) -> Self {
        Self {
            limit,
            spacing,
            keyframes: VecDeque::new(),
            inputs: BTreeMap::new(),
            memory: 0,
            last: 0,
            is_past: false,
            way: None,
            since: 0.0,
            cost: 0.0,
            too_large: None,
            is_broken: false,
            begun: None,
        }
    }

    /// What is kept.
    pub(super) fn kept(&self) -> Kept {
        let first = self.keyframes.front().map(Keyframe::step);
        let ends = self.keyframes.iter().skip(1).map(Keyframe::step);
        let ends = ends.chain([self.last]);
        Kept {
            steps: first.map(|first| [first, self.last]),
            is_gapless: self
                .keyframes
                .iter()
                .zip(ends)
                .all(|(k, end)| k.reach >= end),
            states: self.keyframes.len(),
            memory: self.memory,
            too_large: self.too_large,
        }
    }

    /// Begins afresh with a state, after so many steps of the world.
    pub(super) fn begin(&mut self, step: u64, state: impl FnOnce() -> State, memory: usize) {
        *self = Self {
            last: step,
            ..Self::new(self.limit, self.spacing)
        };
        self.keep(state, memory);
    }

    /// Notes what is done at the state after a step. Done in the past, it ends the future that was kept.
    pub(super) fn add_input(&mut self, step: u64, input: &Input) {
        self.cut(step);
        if !self.keyframes.is_empty() {
            self.inputs.entry(step).or_default().push(input.clone());
            self.memory += BYTES_PER_INPUT;
        }
    }

    /// Forgets the future of the state after a step, if that is a past one.
    pub(super) fn cut(&mut self, step: u64) {
        self.way = None;
        if !std::mem::take(&mut self.is_past) {
            return;
        }
        let mut end = self.last;
        while let Some(k) = self.keyframes.pop_back_if(|k| k.step() > step) {
            self.memory -= k.memory;
            end = k.step();
        }
        if let Some(k) = self.keyframes.back_mut() {
            k.seconds *= share([k.step(), end], step);
            k.reach = k.reach.min(step);
            self.since = k.seconds;
        }
        for (_, inputs) in self.inputs.split_off(&step) {
            self.memory -= inputs.len() * BYTES_PER_INPUT;
        }
        self.last = step;
        self.is_broken = false;
    }

    /// What was done at the state after a step, where it is to be done again before the next one; none where
    /// the next step is a new one. Where it cannot be taken again it ends the future that was kept.
    ///
    /// A step that was begun and is begun again has failed in between: the state may be another one now, which
    /// can be kept but not be reached by taking steps again.
    pub(super) fn begin_step(&mut self, step: u64) -> Option<Vec<Input>> {
        if self.begun.replace(step) == Some(step) {
            self.cut(step);
            self.is_broken = true;
        }
        if !self.is_past {
            return None;
        }
        let is_kept = self
            .position(step)
            .is_some_and(|k| self.keyframes[k].reach > step);
        // At the last step something may have been done that no step has followed yet.
        if !is_kept && step < self.last {
            self.cut(step);
            return None;
        }
        let inputs = self.inputs.get(&step).cloned().unwrap_or_default();
        if step == self.last {
            self.is_past = false;
        }
        Some(inputs)
    }

    /// Notes a step that was taken, that it took some seconds, and whether taking it again gives the same.
    /// `memory` is that of the state after it (bytes).
    pub(super) fn note(
        &mut self,
        step: u64,
        (seconds, is_exact): (f64, bool),
        state: impl FnOnce() -> State,
        memory: impl FnOnce() -> usize,
    ) {
        self.begun = None;
        if self.is_past {
            self.note_again(step, state);
            return;
        }
        self.last = step;
        self.since += seconds;
        if let Some(k) = self.keyframes.back_mut() {
            k.seconds += seconds;
            if is_exact && !self.is_broken && k.reach + 1 == step {
                k.reach = step;
            }
        }
        let steps = self.keyframes.back().map_or(u64::MAX, |k| step - k.step());
        let is_due = match self.spacing {
            Spacing::Measured => self.since >= INTERVAL.max(self.cost / SHARE),
            Spacing::Steps(spacing) => steps >= spacing,
        };
        if is_due {
            self.keep(state, memory());
        }
    }

    /// Notes a step that was taken again. On the way to a state, states are kept where half of the way that
    /// was left is gone, so that going back from there step by step need not begin so far away again.
    fn note_again(&mut self, step: u64, state: impl FnOnce() -> State) {
        if step == self.last && !self.inputs.contains_key(&step) {
            self.is_past = false;
        }
        let Some([goal, kept]) = self.way else {
            return;
        };
        if step >= goal {
            self.way = None;
        } else if 2 * (goal - step) <= goal - kept {
            self.way = Some([goal, step]);
            self.insert(step, state);
        }
    }

    /// Where to begin to return to a step: the index of a kept state, and the step that is reached from there. It
    /// is one before it where the last step can be taken again, for the contacts and forces of a state are known
    /// only after its step. None where nothing is kept.
    pub(super) fn find(&self, step: u64) -> Option<(usize, u64)> {
        let first = self.keyframes.front()?.step();
        let step = step.min(self.last).max(first);
        let at = self.position(step)?;
        let stepped =
            |k: &usize| self.keyframes[at].step() == step && self.keyframes[*k].reach >= step;
        let from = at.checked_sub(1).filter(stepped).unwrap_or(at);
        Some((from, step.min(self.keyframes[from].reach)))
    }

    /// Begins to return to a step from a kept state, as [`Ring::find`] has found them.
    pub(super) fn seek(&mut self, (from, goal): (usize, u64)) -> &State {
        let state = &self.keyframes[from].state;
        let step = state.step();
        self.is_past = step < self.last || self.inputs.contains_key(&self.last);
        self.way = (step < goal).then_some([goal, step]);
        self.begun = None;
        state
    }

    /// What was done at the state after a step.
    pub(super) fn done_after(&self, step: u64) -> &[Input] {
        self.inputs.get(&step).map_or(&[], Vec::as_slice)
    }

    /// Whether a future is kept.
    pub(super) fn is_past(&self) -> bool {
        self.is_past
    }

    /// The index of the last kept state that is not after a step.
    fn position(&self, step: u64) -> Option<usize> {
        self.keyframes
            .partition_point(|k| k.step() <= step)
            .checked_sub(1)
    }

    /// Keeps the present state at the end.
    fn keep(&mut self, state: impl FnOnce() -> State, memory: usize) {
        self.since = 0.0;
        self.too_large = Some(memory).filter(|memory| *memory > self.limit);
        if self.too_large.is_some() {
            return;
        }
        self.is_broken = false;
        let begun = std::time::Instant::now();
        let keyframe = Keyframe::new(state());
        self.memory += keyframe.memory;
        self.keyframes.push_back(keyframe);
        self.thin_out();
        // Freeing what is forgotten is a part of the price.
        self.cost = begun.elapsed().as_secs_f64();
    }

    /// Keeps a state between others, unless it is there or would push others out.
    fn insert(&mut self, step: u64, state: impl FnOnce() -> State) {
        let Some(at) = self.position(step) else {
            return;
        };
        let (end, before) = (self.end(at), &mut self.keyframes[at]);
        if before.step() == step || self.memory + before.memory > self.limit {
            return;
        }
        let mut keyframe = Keyframe::new(state());
        keyframe.reach = before.reach;
        let part = before.seconds * share([before.step(), end], step);
        keyframe.seconds = before.seconds - part;
        before.seconds = part;
        self.memory += keyframe.memory;
        self.keyframes.insert(at + 1, keyframe);
    }

    /// The step at which a kept state's own time ends.
    fn end(&self, at: usize) -> u64 {
        self.keyframes.get(at + 1).map_or(self.last, Keyframe::step)
    }

    /// How far a kept state is from the next one, in intervals (-).
    fn intervals(&self, at: usize) -> f64 {
        let keyframe = &self.keyframes[at];
        match self.spacing {
            Spacing::Measured => keyframe.seconds / INTERVAL,
            Spacing::Steps(steps) => (self.end(at) - keyframe.step()) as f64 / steps.max(1) as f64,
        }
    }

    /// Brings the memory below the limit: forgets the state whose neighbours are then closest together in
    /// computing time, or the first one where that would be too far.
    fn thin_out(&mut self) {
        while self.memory > self.limit && self.keyframes.len() > 1 {
            // The last one has just been taken.
            let inner = 1..self.keyframes.len() - 1;
            let gap = |k: usize| self.intervals(k - 1) + self.intervals(k);
            let closest = inner.min_by(|a, b| gap(*a).total_cmp(&gap(*b)));
            match closest.filter(|k| gap(*k) <= MOST_INTERVALS) {
                Some(k) => {
                    let gone = self.keyframes.remove(k).expect("it is within");
                    let before = &mut self.keyframes[k - 1];
                    before.seconds += gone.seconds;
                    if before.reach >= gone.step() {
                        before.reach = gone.reach;
                    }
                    self.memory -= gone.memory;
                }
                None => self.forget_first(),
            }
        }
    }

    fn forget_first(&mut self) {
        let gone = self.keyframes.pop_front().map_or(0, |k| k.memory);
        let first = self.keyframes.front().map_or(self.last, Keyframe::step);
        let rest = self.inputs.split_off(&first);
        let forgotten = std::mem::replace(&mut self.inputs, rest);
        let inputs: usize = forgotten.values().map(Vec::len).sum();
        self.memory -= gone + inputs * BYTES_PER_INPUT;
    }
}

/// Which share of the way from one step to another a step between them is (-).
fn share([from, to]: [u64; 2], step: u64) -> f64 {
    (step - from) as f64 / (to - from).max(1) as f64
}
