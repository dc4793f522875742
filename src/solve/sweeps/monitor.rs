//! Watching an island's iteration: has it converged, does it diverge, must it roll back?

use super::block::Change;
use super::{MAX_HALVINGS, NU};
use crate::solve::{Budget, ToleranceNorm};

/// Growing iterations in a row that count as divergence, if the change has also grown by
/// [`BLOW_UP`] since its smallest value.
const GROWTH: u32 = 4;
/// Iterations whose largest change counts as one where changes go up and down, as those of a Jacobi
/// iteration at its clamps do; so many windows in a row that grow count as divergence too.
const WINDOW: u32 = 8;
const GROWING_WINDOWS: u32 = 3;
/// Friction makes changes grow for a while on the way to a solution, as when a wedged contact
/// works itself loose (a factor of 10 is common in disc pyramids); divergence grows without end.
const BLOW_UP: f64 = 100.0;

/// Projections bound what would diverge without them: too large an R then ends in a limit cycle. It is looked for
/// where for so many iterations no change was below [`PROGRESS`] times the smallest …
const QUIET: u32 = 8;
const PROGRESS: f64 = 0.9;
/// … and found where Λ is, after as many iterations more and after twice as many, still within this share of the way
/// that it went, both as ‖·‖∞: what converges, however slowly, leads on, and what goes round leads back. A circle of sixteen is
/// seen half after eight iterations, when Λ is 0.64 of its way apart, and is found when the time to look has doubled. With
/// these numbers `papers_sweeps` finds the cycles of a loaded pyramid and of over-relaxed spheres, and none on stacks, walls
/// and grids that converge slowly.
const LEADS_BACK: f64 = 0.25;
/// The second time's way is at least this share of the first time's: what comes nearer in turns shrinks. A cycle's own ways
/// are the same but for what its slow modes do meanwhile.
const STEADY: f64 = 0.98;
/// Changes up to this one (m/s) are never a cycle: a good start may leave nothing but rounding.
const ROUNDING: f64 = 1e-6;

/// Sweeps in f32 end when their changes are within so many roundings of the impulses …
const NEAR_ROUNDING: f64 = 4.0;
/// … or of the velocities, which are about as large as the largest change was (2⁻¹⁹).
const NEAR_LARGEST: f64 = 1.9e-6;
/// … or when for so many iterations no change was smaller than all before, at this share of the
/// largest one.
const IDLE: u32 = 64;
const IDLE_LARGEST: f64 = 1e-3;

/// Where an island stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Running,
    Converged,
    /// Its arithmetic gets no nearer.
    Stalled,
    Failed,
}

/// What to do after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Go on, and keep this Λ as the one to return to.
    Checkpoint,
    /// Return to the checkpoint; R has been halved.
    RollBack,
    /// Stop.
    Stop,
}

/// One island's history.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    pub state: State,
    /// ν^halvings, the factor on R.
    pub scale: f64,
    pub halvings: u32,
    pub iterations: u32,
    pub change: Change,
    /// Largest ‖ΔΛ‖/R of an iteration, of the first one and those since the last roll back (m/s).
    pub largest: f64,
    /// The size of the first change (m/s), the smallest and the last one since the last roll back.
    first: f64,
    smallest: f64,
    previous: f64,
    /// The size of the change at the checkpoint.
    kept: f64,
    growing: u32,
    /// Iterations since the start or the last roll back, and which of them had the smallest change.
    since: u32,
    /// Largest change of this window and of the last one, and windows that grew in a row.
    window: [f64; 2],
    growing_windows: u32,
    smallest_at: u32,
    /// Limit cycles that were found.
    pub cycles: u32,
    look: Look,
}

/// The search for a limit cycle.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// The last change that was progress (m/s), and its iteration.
    low: f64,
    low_at: u32,
    /// The iteration whose Λ was marked; none while there is progress.
    mark_at: Option<u32>,
    /// Iterations until Λ is measured, and again as many.
    time: u32,
    /// Σ ‖ΔΛ‖∞ since the mark (N s).
    way: f64,
    /// The way of the first time, where it led back.
    led_back: Option<f64>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            low: f64::INFINITY,
            low_at: 0,
            mark_at: None,
            time: QUIET,
            way: 0.0,
            led_back: None,
        }
    }
}

impl Look {
    /// Notes an iteration, counted from the start or the last roll back, and its change; `distance` is ‖Λ − Λ_mark‖∞ (N s).
    /// Whether Λ goes round in circles.
    fn goes_round(
        &mut self,
        iteration: u32,
        size: f64,
        delta: f64,
        distance: impl FnOnce() -> f64,
    ) -> bool {
        if size < PROGRESS * self.low {
            *self = Self {
                low: size,
                low_at: iteration,
                ..Self::default()
            };
            return false;
        }
        let Some(mark_at) = self.mark_at else {
            if iteration - self.low_at >= QUIET {
                self.mark(iteration);
            }
            return false;
        };
        self.way += delta;
        let after = iteration - mark_at;
        if after != self.time && after != 2 * self.time {
            return false;
        }
        let leads_back = distance() <= LEADS_BACK * self.way;
        if after == self.time && leads_back {
            self.led_back = Some(self.way);
            return false;
        }
        let first = self.led_back.filter(|_| leads_back);
        let goes_round = first.is_some_and(|first| self.way - first >= STEADY * first);
        // Larger circles need more time; where Λ leads on it is looked at ever less often.
        self.time *= 2;
        self.mark(iteration);
        goes_round
    }

    fn mark(&mut self, iteration: u32) {
        self.mark_at = Some(iteration);
        self.way = 0.0;
        self.led_back = None;
    }
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            state: State::Running,
            scale: 1.0,
            halvings: 0,
            iterations: 0,
            change: Change::default(),
            largest: 0.0,
            first: 0.0,
            smallest: f64::INFINITY,
            previous: f64::INFINITY,
            kept: f64::INFINITY,
            growing: 0,
            since: 0,
            window: [0.0, f64::INFINITY],
            growing_windows: 0,
            smallest_at: 0,
            cycles: 0,
            look: Look::default(),
        }
    }
}

impl Monitor {
    /// Notes an iteration's change and decides; `distance` says how far Λ is from where it was marked, ‖·‖∞ (N s).
    pub fn observe(
        &mut self,
        change: Change,
        budget: &Budget,
        distance: impl FnOnce() -> f64,
    ) -> Verdict {
        self.change = change;
        self.iterations += 1;
        self.since += 1;
        let size = change.speed_squared.sqrt() / self.scale;
        self.largest = self.largest.max(size);
        let finite = change.sum.is_finite() && size.is_finite();
        if self.iterations == 1 {
            self.first = size;
        }
        if finite && converged(&change, size, budget) {
            self.state = State::Converged;
            return Verdict::Stop;
        }
        self.growing = if size > self.previous {
            self.growing + 1
        } else {
            0
        };
        self.previous = size;
        self.window[0] = self.window[0].max(size);
        if self.since.is_multiple_of(WINDOW) {
            self.growing_windows = if self.window[0] > self.window[1] {
                self.growing_windows + 1
            } else {
                0
            };
            self.window = [0.0, self.window[0]];
        }
        let goes_round = self
            .look
            .goes_round(self.since, size, change.delta, distance);
        // What single precision resolves no better goes round as well.
        let noise = if change.rounding > 0.0 {
            IDLE_LARGEST * self.largest
        } else {
            0.0
        };
        let cycles = goes_round && size > ROUNDING.max(noise);
        let grows = self.growing >= GROWTH || self.growing_windows >= GROWING_WINDOWS;
        let diverges = grows && size > BLOW_UP * self.smallest;
        if !finite || diverges || cycles {
            if self.halvings == MAX_HALVINGS {
                self.state = State::Failed;
                return Verdict::Stop;
            }
            *self = Self {
                state: self.state,
                scale: self.scale * NU,
                halvings: self.halvings + 1,
                iterations: self.iterations,
                change: self.change,
                // What diverged says nothing about the size of velocities.
                largest: self.first,
                first: self.first,
                kept: self.kept,
                cycles: self.cycles + u32::from(cycles),
                ..Self::default()
            };
            return Verdict::RollBack;
        }
        // Copies cost time: only the best so far, and at powers of two.
        let best = size < self.smallest;
        if best {
            self.smallest = size;
            self.smallest_at = self.since;
        }
        if best && self.since.is_power_of_two() {
            self.kept = size;
            Verdict::Checkpoint
        } else {
            Verdict::Continue
        }
    }

    /// [`Monitor::observe`], and Λ to the mark, and to or from the checkpoint, as that decides.
    pub fn decide(
        &mut self,
        change: Change,
        budget: &Budget,
        lambda: &mut [f64],
        checkpoint: &mut [f64],
        mark: &mut [f64],
    ) -> Verdict {
        let verdict = self.observe(change, budget, || {
            let apart = lambda.iter().zip(&*mark).map(|(x, y)| (x - y).abs());
            apart.fold(0.0, f64::max)
        });
        if self.takes_mark() {
            mark.copy_from_slice(lambda);
        }
        match verdict {
            Verdict::Continue | Verdict::Stop => {}
            Verdict::Checkpoint => checkpoint.copy_from_slice(lambda),
            Verdict::RollBack => lambda.copy_from_slice(checkpoint),
        }
        verdict
    }

    /// Whether the present Λ is the one to measure from.
    pub fn takes_mark(&self) -> bool {
        self.look.mark_at == Some(self.since)
    }

    /// Whether the budget ran out on the way to divergence: the checkpoint is then the better result.
    pub fn is_worse_than_checkpoint(&self) -> bool {
        self.state == State::Running && self.previous > 2.0 * self.kept
    }

    /// Whether an iteration came before, since the start or the last roll back.
    pub fn goes_on(&self) -> bool {
        self.since > 0
    }

    /// Iterations since the one with the smallest change.
    pub fn idle(&self) -> u32 {
        self.since - self.smallest_at
    }

    /// Notes that the present Λ has become the one to return to.
    pub fn keep(&mut self) {
        self.kept = self.previous;
        self.look = Look::default();
    }

    /// Whether single precision brings it no further: its changes are as small as roundings of the impulses or of the
    /// velocities, or have not become smaller for long, and are above the tolerance.
    pub fn is_at_rounding(&self, budget: &Budget) -> bool {
        let size = self.change.speed_squared.sqrt();
        let near = size <= NEAR_LARGEST * self.largest && size > budget.tolerance;
        near || self.is_stuck(budget)
    }

    /// The same but for roundings of the velocities, where those are computed afresh in every iteration or batch.
    pub fn is_stuck(&self, budget: &Budget) -> bool {
        let size = self.change.speed_squared.sqrt();
        let near = size <= NEAR_ROUNDING * self.change.rounding;
        let idle = self.idle() >= IDLE && size <= IDLE_LARGEST * self.largest;
        (near || idle) && size > budget.tolerance
    }

    /// Whether the last change is larger than the first one was: then the result is perhaps worse
    /// than the start.
    pub fn made_no_progress(&self) -> bool {
        self.state == State::Running && self.previous > self.first
    }
}

/// Room for marks of `rows` impulses: zeros that the system hands out untouched, so that they cost nothing until a mark is
/// taken.
pub fn make_room(mark: &mut Vec<f64>, rows: usize) {
    if mark.len() < rows {
        *mark = vec![0.0; rows.next_power_of_two()];
    }
}

fn converged(change: &Change, size: f64, budget: &Budget) -> bool {
    if budget.tolerance > 0.0 && size <= budget.tolerance {
        return true;
    }
    if budget.absolute <= 0.0 && budget.relative <= 0.0 {
        return false;
    }
    match budget.norm {
        ToleranceNorm::Component => change.beyond <= budget.absolute,
        ToleranceNorm::Euclidean => {
            change.squares[0].sqrt() <= change.squares[1].sqrt() * budget.relative + budget.absolute
        }
    }
}

/// T_rel as sweeps want it: negative when Nützi's tests are off.
pub fn relative(budget: &Budget) -> f64 {
    if budget.absolute > 0.0 || budget.relative > 0.0 {
        budget.relative
    } else {
        -1.0
    }
}
