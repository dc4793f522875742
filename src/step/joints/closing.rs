//! Rounds: joints that are closed at the next midpoint (section 6 of docs/method.md).
//!
//! A row of positions asks for φ(q₊) = 0 at the next midpoint q₊ = q + h u, with an impulse along
//! J̄ = ¼J(q₋) + ½J(q) + ¼J(q₊), and a body for the balance of its momenta (`bodies`). Both are solved by Newton's method:
//! each round is a problem w = A Λ + b like any other, linear about the velocities and impulses that the last round found,
//! with the bodies' turning forces as stiffness in its mass matrix alone. What the rounds end at does not depend on that
//! matrix: it stays from round to round as long as they lead nearer (chords), so that its factor serves again.

use super::bodies::HeldBodies;
use super::contacts::HeldContacts;
use super::laws::{Laws, RowKind};
use super::linear::{Linearisation, Midpoints, Struck};
use super::loops::Loops;
use super::mixing::Mixing;
use super::ropes;
use super::rounds::{Iterate, Rounds};
use super::rows::Table;
use super::yielding::Yielding;
use crate::math::Twist;
use crate::measure::Stage;
use crate::measure::clock::Stopwatch;
use crate::problem::Problem;
use crate::solve::{Budget, Over, SolveReport, Status};
use crate::world::{JointGeometry, World};

/// Most rounds of a (sub)step. Where they are not enough it does not resolve how its joints turn.
const MAX_ROUNDS: u32 = 15;

/// Rounds in which the least error must become half of what it was.
const PATIENCE: u32 = 5;

/// Most rounds where the solver itself ends above its tolerance: more of them lead nowhere.
const ROUGH_ROUNDS: u32 = 3;

/// What rounds close of what is open from the first such one on, where joints are rigid to the step (-): what a step closes becomes motion,
/// which a solver that lags behind does not take back in time. Baumgarte's usual share.
const ROUGH_SHARE: f64 = 0.2;

/// The share of what holding impulses to a centre makes of velocity, to which rounds are closed before the next centre (-):
/// from open joints impulses jump, and centres with them. Of the error before it, that to which a round with held contacts is
/// solved, and of the first round's error, that with which rounds may end where their work is spent.
const INEXACT: f64 = 0.1;
/// What is left of it from one centre to the next, up to which another follows (-). Where joints and contacts contradict each
/// other by some velocity, which the midpoints of a belt's links on a drum do by 1e-3 m/s, impulses only grow until something
/// slides, the same from centre to centre.
const NEARER: f64 = 0.9;

/// Least error that rounds are asked for (m/s): at 1/60 s it is 2e-11 m, some last digits of a place 10 km away.
const LEAST_TOLERANCE: f64 = 1e-9;

/// The error at which the joints are closed (m/s): the solver's tolerance, or the usual one where it has none.
pub fn tolerance(budget: &Budget) -> f64 {
    match budget.tolerance {
        0.0 => Budget::default().tolerance,
        tolerance => tolerance.max(LEAST_TOLERANCE),
    }
}

/// How the rounds of a (sub)step go.
#[derive(Default)]
struct Progress {
    /// Rounds of all centres, and of this one.
    all_rounds: u32,
    rounds: u32,
    /// The error that has to be halved (m/s), and the round that had it.
    best: Option<(f64, u32)>,
    /// The last round's error (m/s), and whether it was less than the one before.
    last: Option<f64>,
    is_nearer: bool,
    /// What the last centre was left by (m/s).
    apart: Option<f64>,
    /// The error of the first round of all (m/s): about that of a plain step.
    first: Option<f64>,
}

impl Progress {
    /// Counts a round that ended at this error; false where more of them lead nowhere.
    fn goes_on(&mut self, error: f64) -> bool {
        self.all_rounds += 1;
        self.rounds += 1;
        self.first.get_or_insert(error);
        self.is_nearer = self.last.is_none_or(|last| error < last);
        self.last = Some(error);
        match self.best {
            Some((best, round)) if error.is_nan() || error > 0.5 * best => {
                self.rounds < round + PATIENCE && self.rounds < MAX_ROUNDS
            }
            _ => {
                self.best = Some((error, self.rounds));
                self.rounds < MAX_ROUNDS
            }
        }
    }

    /// Whether there is to be a new centre, of which nothing is known but what the last one was left by, after a round that
    /// ended at this error and so far from its centre.
    fn recentres(&self, error: f64, apart: f64, tolerance: f64) -> bool {
        let is_nearer = self.apart.is_none_or(|last| apart <= NEARER * last);
        self.is_far(error, apart, tolerance) && is_nearer
    }

    /// Whether what a round has left is due to its centre.
    fn is_far(&self, error: f64, apart: f64, tolerance: f64) -> bool {
        apart > tolerance && error <= tolerance.max(INEXACT * apart)
    }

    /// Counts the rounds of a new centre, of which the last one was left by so much (m/s).
    fn begin_anew(&mut self, apart: f64) {
        *self = Self {
            all_rounds: self.all_rounds,
            apart: Some(apart),
            first: self.first,
            ..Self::default()
        };
    }

    /// The error up to which a round is nearer by far than a plain step would be (m/s).
    fn near(&self) -> f64 {
        INEXACT * self.first.unwrap_or(0.0)
    }

    /// Says how many rounds there were, and how far impulses have ended from their centre (m/s), if any were held.
    fn note(&self, apart: Option<f64>, report: &mut SolveReport) {
        report.note(
            "joint rounds",
            "Times that a (sub)step is solved until its joints are closed at the next midpoint, of the substep that needs most.",
            "-",
            Over::Max,
            f64::from(self.all_rounds),
        );
        if let Some(apart) = apart {
            report.note(
                "held impulses",
                "Velocity by which contacts and loops of joints contradict each other: what holding their impulses leaves.",
                "m/s",
                Over::Max,
                apart,
            );
        }
    }
}

/// Which rounds of a (sub)step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first ones.
    First,
    /// With contacts held of islands that those before have left open.
    Held,
    /// The first ones with drives that give way.
    Yielding,
    /// The same with contacts held.
    YieldingHeld,
}

/// How rounds have ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The joints are closed, or nobody has asked for that.
    Closed,
    /// They are, but rigid joints and stops would give more energy than a (sub)step that resolves how they turn.
    Gaining,
    /// The solver itself does not get to its tolerance, or has failed.
    Rough,
    /// The (sub)step does not resolve how the joints turn.
    Unresolved,
}

/// The joints of a (sub)step. Keeps its memory.
#[derive(Default)]
pub struct Joints {
    pub(super) table: Table,
    pub(super) laws: Laws,
    midpoints: Midpoints,
    /// The rows about the velocities that the last round has found; once they are the problem's, what these were before.
    pub(super) next: Linearisation,
    /// Whether the impulses act along its directions, and not along those of the problem.
    are_closed: bool,
    pub(super) loops: Loops,
    pub(super) bodies: HeldBodies,
    pub(super) contacts: HeldContacts,
    pub(super) yielding: Yielding,
    mixing: Mixing,
    /// Which bodies are in islands that the last rounds have not closed, and which have had an impact since.
    pub(super) are_open: Vec<bool>,
    pub(super) struck: Struck,
    /// Whether in one of these islands a stop has caught something that it did not hold before.
    pub has_caught: bool,
}

impl Joints {
    /// Fills the general rows of the problem, which has its bodies already, and remembers the joints' angles. Returns the
    /// impulses to start from.
    pub fn assemble(&mut self, world: &mut World, problem: &mut Problem) -> &[f64] {
        self.table.fill(world, problem);
        &self.table.start
    }

    /// A (sub)step begins.
    pub fn begin(&mut self) {
        self.table.begin();
        self.struck.clear();
    }

    /// Whether these velocities lead over limits that have no rows, because they were too far away: they have from the next
    /// assembly on.
    pub fn find_reached(&mut self, world: &World, h: f64, velocity: &[Twist]) -> bool {
        if self.table.beyond.is_empty() {
            return false;
        }
        self.midpoints.ahead.find(world, velocity, h);
        let (ahead, table) = (&self.midpoints.ahead, &mut self.table);
        let before = table.reached.len();
        table
            .reached
            .extend(table.beyond.iter().filter(|(index, number)| {
                let left = ahead.visit_row(&world.joints, *index as usize, *number, |_, _| {});
                left.is_some_and(|left| left < 0.0)
            }));
        table.reached.len() > before
    }

    /// Whether some joint has rigid stops, near or far.
    pub fn have_stops(&self) -> bool {
        self.table.have_stops()
    }

    /// Whether some row is one of positions, so that rounds are needed.
    pub fn have_positions(&self) -> bool {
        self.table.positions().next().is_some()
    }

    /// How far each joint is from where the last (sub)step aimed (m).
    pub fn errors(&self) -> &[f64] {
        &self.table.error
    }

    /// The joints at the midpoint of the last (sub)step.
    pub fn geometry(&self) -> &[JointGeometry] {
        &self.table.geometry
    }

    /// The directions along which the general rows' impulses act, per entry.
    pub fn directions<'a>(&'a self, problem: &'a Problem) -> &'a [Twist] {
        match self.are_closed {
            true => &self.next.jacobian,
            false => &problem.rows.jacobian,
        }
    }

    /// Whether joints hold a body, so that its momenta at the ends of the (sub)step balance.
    pub fn holds(&self, slot: usize) -> bool {
        self.bodies.holds(slot)
    }

    /// What a row's work is, where its impulse is `lambda` (N s).
    pub fn kind(&self, problem: &Problem, r: usize, lambda: f64) -> RowKind {
        self.laws.kind(problem, &self.table, r, lambda)
    }

    /// Stores impulses and forces for the next step.
    pub fn remember(&self, world: &mut World, problem: &Problem, lambda: &[f64]) {
        self.laws.remember(world, problem, &self.table, lambda);
        self.table.remember_forces(world, problem, lambda);
    }
}

impl Joints {
    /// Begins the rounds of a (sub)step that starts from the impulses `start`, which is to close so much of the joints'
    /// errors; false where no joint needs them.
    pub fn begin_rounds(
        &mut self,
        world: &World,
        problem: &mut Problem,
        start: &[f64],
        share: f64,
        attempt: Attempt,
    ) -> bool {
        self.are_closed = false;
        if !self.have_positions() {
            self.bodies.clear();
            self.contacts.clear();
            return false;
        }
        match attempt {
            Attempt::First => {
                self.contacts.wanted.clear();
                self.yielding.clear();
            }
            Attempt::Held => {}
            Attempt::Yielding => self.contacts.release(),
            Attempt::YieldingHeld => self.contacts.hold_released(),
        }
        let table = &self.table;
        self.mixing.begin();
        self.bodies
            .begin(world, problem, table, &mut self.mixing.about);
        self.midpoints.begin(world, problem, table, &self.struck);
        self.loops.soften(world, problem, table, &self.yielding);
        let behind = &self.midpoints.behind;
        self.laws.begin(world, problem, table, behind, share);
        let left = self.laws.left.as_slice();
        let (about, next) = (&self.mixing.about, &mut self.next);
        self.midpoints
            .linearise(world, problem, table, left, about, next);
        next.exchange(problem, table);
        self.yielding.give_way(problem, table, &mut self.laws);
        self.contacts.begin(problem, &self.bodies, start);
        self.bodies.set(world, problem, about);
        ropes::stiffen(problem, table, &start[problem.contact_rows()..]);
        ropes::aim(problem, table, about);
        true
    }

    /// Solves in rounds until the joints are closed at the next midpoint, from the first round, whose report is given and
    /// becomes that of all.
    pub fn close(
        &mut self,
        world: &mut World,
        at: &mut Iterate<'_>,
        rounds: &mut Rounds<'_>,
        report: &mut SolveReport,
        watch: &mut Stopwatch<'_>,
    ) -> Closing {
        let tolerance = tolerance(&rounds.request.budget);
        let mut asked = tolerance;
        let mut progress = Progress::default();
        let mut closing = Closing::Rough;
        let mut is_relaxed = false;
        let mut apart = 0.0;
        while report.status.is_usable() {
            let is_rough = self.find_rough(at, rounds, report, asked);
            if self.wants_held() {
                break;
            }
            let was_relaxed = is_relaxed && !is_rough;
            if was_relaxed {
                self.relax(at.problem, 1.0);
                is_relaxed = false;
            }
            let error = self.look(world, at);
            apart = self.apart(at);
            watch.lap(Stage::Assemble);
            let goes_on = progress.goes_on(error);
            let is_closed = error <= tolerance && asked <= tolerance;
            let is_resolved = self.bodies.are_resolved(at.problem.h, at.velocity);
            let may_recentre = is_resolved && !is_rough && rounds.can_go_on();
            let found = (error, apart, tolerance);
            let recentres = may_recentre && self.recentres(world, at, &mut progress, found);
            if is_resolved && is_closed && !recentres {
                let directions = &self.next.jacobian;
                (self.bodies).balance(at.problem, directions, at.lambda, tolerance, at.velocity);
                self.are_closed = true;
                closing = self.judge(world, at, tolerance);
                break;
            }
            let is_near = !is_rough && error <= progress.near();
            // A try that is near goes on with all that there is.
            let is_spent = !(rounds.can_go_on() || is_near && rounds.extend());
            let leads_on = if is_spent { is_near } else { goes_on };
            let is_over = is_spent || !goes_on || is_rough && progress.rounds >= ROUGH_ROUNDS;
            if (is_over || !is_resolved) && !recentres {
                if !(is_resolved && leads_on) {
                    closing = Closing::Unresolved;
                    self.find_open(at, tolerance);
                }
                if is_spent || closing == Closing::Unresolved {
                    self.want_held(rounds, |_| true);
                }
                report.status = report.status.clone().or_worse(Status::Budget);
                break;
            }
            if recentres {
                self.recentre(at);
            }
            // A chord, unless the last one led no nearer.
            let mut is_chord = progress.is_nearer && !was_relaxed && !recentres;
            if is_rough && !is_relaxed {
                self.relax(at.problem, ROUGH_SHARE);
                self.look(world, at);
                (is_relaxed, is_chord) = (true, false);
            }
            self.next_round(world, at, is_chord);
            watch.lap(Stage::Assemble);
            asked = self.asked(error, tolerance);
            let least = if asked > tolerance { asked } else { 0.0 };
            let next = rounds.solve_to(least, at, is_chord, watch);
            // How the last round was solved is how the step was.
            let status = next.status.clone();
            *report = std::mem::take(report).followed_by(next);
            report.status = status;
        }
        progress.note(self.contacts.are_held().then_some(apart), report);
        closing
    }

    /// The residual that is asked of the round after one that ended at this error (m/s): where contacts are held, a share of it, since
    /// they are solved anew from centre to centre.
    fn asked(&self, error: f64, tolerance: f64) -> f64 {
        match self.contacts.are_held() {
            true => tolerance.max(INEXACT * error),
            false => tolerance,
        }
    }

    /// Whether the last round has left an island whose bodies joints hold above the tolerance (m/s); in a try, contacts of such islands
    /// are wanted held, unless they were swept.
    fn find_rough(
        &mut self,
        at: &Iterate<'_>,
        rounds: &Rounds<'_>,
        report: &SolveReport,
        tolerance: f64,
    ) -> bool {
        if report.status == Status::Converged {
            return false;
        }
        let is_rough = |island| at.is_rough(report, island, tolerance);
        self.want_held(rounds, is_rough);
        let mut islands = self.bodies.islands.iter();
        islands.any(|(island, _)| is_rough(*island))
    }

    /// In a try, contacts of the islands of these that are not held yet, and not swept, are wanted held, and so are those that are.
    fn want_held(&mut self, rounds: &Rounds<'_>, is_open: impl Fn(usize) -> bool) {
        if !rounds.request.is_try {
            return;
        }
        let (contacts, islands) = (&mut self.contacts, &self.bodies.islands);
        contacts.want(|k| is_open(islands[k].0) && !rounds.is_swept(islands[k].0));
    }

    /// Whether there is to be a new beginning, with contacts of more islands held.
    pub fn wants_held(&self) -> bool {
        !self.contacts.wanted.is_empty()
    }

    /// From the next linearisation on only a share of what is open of the joints is closed.
    fn relax(&mut self, problem: &mut Problem, share: f64) {
        (self.laws).relax(problem, &self.table, &self.loops.hold, share);
    }

    /// Whether rounds that have ended so lack contacts that were held before.
    pub fn lacks_held(&self, closing: Closing) -> bool {
        closing != Closing::Closed && !self.contacts.released.is_empty()
    }

    /// Whether there are contacts that could be held to centres, and are not.
    pub fn could_hold(&self) -> bool {
        self.contacts.islands.len() > self.contacts.held.len()
    }

    /// How much velocity it makes that impulses are held to their centre, where contacts are (m/s).
    fn apart(&self, at: &Iterate<'_>) -> f64 {
        if !self.contacts.are_held() {
            return 0.0;
        }
        let general = &at.lambda[at.problem.contact_rows()..];
        let contacts = self.contacts.apart(at.problem, at.lambda);
        self.loops.apart(general).max(contacts)
    }

    /// Whether there is to be a new centre after a round of that error, so far apart, and with that tolerance (m/s); where the last one
    /// led no nearer, and drives push through contacts, these are held less.
    fn recentres(
        &mut self,
        world: &World,
        at: &mut Iterate<'_>,
        progress: &mut Progress,
        (error, apart, tolerance): (f64, f64, f64),
    ) -> bool {
        let recentres = progress.recentres(error, apart, tolerance)
            || progress.is_far(error, apart, tolerance)
                && self.push_through(at, world.settings.stabilisation.slop())
                && self.contacts.tighten(at.problem);
        if recentres {
            progress.begin_anew(apart);
        }
        recentres
    }

    /// Makes the impulses that a round has found the centre. Those of loops move by next to nothing; where contacts are held,
    /// rounds lead elsewhere, and with the earlier ones among what is mixed the belt of 16 links takes 24 times the work.
    fn recentre(&mut self, at: &mut Iterate<'_>) {
        let general = &at.lambda[at.problem.contact_rows()..];
        self.loops.recentre(general);
        self.contacts.recentre(at.problem, at.lambda);
        for island in &self.contacts.held {
            self.mixing.forget(*island);
        }
    }

    /// Linearises the joints about the velocities that a round has found, and says how far they are from their laws there
    /// (m/s): by what gapes, and by what the velocities lack of the impulses' momentum.
    fn look(&mut self, world: &World, at: &Iterate<'_>) -> f64 {
        let (problem, lambda, velocity) = (&*at.problem, at.lambda.as_slice(), &*at.velocity);
        let (table, left) = (&self.table, self.laws.left.as_slice());
        let next = &mut self.next;
        (self.midpoints).linearise(world, problem, table, left, velocity, next);
        let loops = (&self.loops, self.contacts.are_held());
        let gap = next.gap(problem, table, loops, lambda, 0..table.rows.len());
        let left = (self.bodies).momentum_left(problem, &next.jacobian, lambda, velocity);
        gap.max(left)
    }

    /// Sets the next round's problem up: a chord leaves it but for its right-hand side.
    fn next_round(&mut self, world: &mut World, at: &mut Iterate<'_>, is_chord: bool) {
        let (problem, table) = (&mut *at.problem, &self.table);
        let is_mixed = (self.mixing).mix(problem, &self.bodies, at.lambda, at.velocity);
        let (about, impulses) = (&self.mixing.about, &self.mixing.impulses);
        if is_mixed {
            let left = self.laws.left.as_slice();
            (self.midpoints).linearise(world, problem, table, left, about, &mut self.next);
        }
        if is_chord {
            (self.bodies).shift(problem, table, &self.next, about, impulses);
        } else {
            table.remember_forces(world, problem, at.lambda);
            self.next.exchange(problem, table);
            self.bodies.set(world, problem, about);
            ropes::stiffen(problem, table, impulses);
        }
        if !self.contacts.are_held() {
            self.loops.recentre(impulses);
        }
        self.loops.hold_on(problem);
        ropes::aim(problem, table, about);
    }

    /// Makes the problem what it is where nothing is known of where the velocities lead, which leaves open what is open of rigid
    /// joints; if a solver `is_hurried`, with a share of what springs lack.
    pub fn restore(&mut self, problem: &mut Problem, is_hurried: bool) {
        if is_hurried {
            self.relax(problem, ROUGH_SHARE);
        }
        let table = &self.table;
        (self.midpoints).restore(problem, table, &self.laws.left);
        self.bodies.restore(problem);
        ropes::release(problem, table);
    }
}
