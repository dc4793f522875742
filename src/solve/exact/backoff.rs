//! Which islands are tried exactly, and which rest from that.
//!
//! Heaps that fall together stay unsolved for hundreds of steps, and become solvable when they lie. Exact solutions that
//! end early go on from each other, step after step: a tower of planks that is hit, a wall that settles and a few boxes
//! are solved after 15, 12 and 42 such steps, and would not be if sweeps came between. An island of which a burst of four
//! in turn have ended early is swept once from its start for comparison. Where that leaves hardly more, it is left to sweeps
//! for four steps, and tried again; after the next such burst the rest is twice as long, and so on. It is tried again,
//! therefore, after about as many steps as it has been unsolvable, and what is in vain takes a share of the steps that
//! falls to one in sixty. Where it is solved once, or stands, all is forgotten. With bursts of 16 heaps of boxes, hulls and shapes that
//! fall took twice as long, and as few of their steps were solved; a tower of planks, one of them pulled, was solved in 35
//! of 200 steps, which are 26 now.

use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Exact solutions in turn that end early before an island rests, and the steps of its first rest.
const BURST: u8 = 4;
/// What exact solutions that end early may leave of the residual that sweeps leave, if they are to go on (-): they take ten
/// times as long and more. Heaps in motion are left with as much by both, those that go on with a hundredth.
const WORTH: f64 = 0.1;
/// A rest is doubled so often at most.
const DOUBLED: u8 = 6;

/// What is known of the islands that a body belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Memory {
    /// How many steps it is left to sweeps still.
    steps_left: u8,
    /// How often it has rested, and, since then, how many exact solutions have ended early.
    times: u8,
    failed: u8,
}

/// How often the islands of each body have ended early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    /// By body; empty where none has.
    bodies: Vec<Memory>,
}

impl Backoff {
    /// Whether they can have come about: files may hold anything.
    pub fn are_sound(&self) -> bool {
        let mut bodies = self.bodies.iter();
        bodies.all(|body| body.times <= DOUBLED && body.failed < BURST)
    }

    /// Whether an island is left to sweeps: where any of its bodies is.
    pub fn is_resting(&self, problem: &Problem, island: usize) -> bool {
        self.of(problem, island).steps_left > 0
    }

    /// Notes that an island was solved, or stands.
    pub fn solved(&mut self, problem: &Problem, island: usize) {
        self.set(problem, island, Memory::default());
    }

    /// Notes that an island was left to sweeps.
    pub fn note_sweeps(&mut self, problem: &Problem, island: usize) {
        let mut memory = self.of(problem, island);
        if memory.steps_left > 0 {
            memory.steps_left -= 1;
            self.set(problem, island, memory);
        }
    }

    /// Whether one more exact solution of an island that ends early makes a burst, so that sweeps from the start are to
    /// be compared with it. Sweeps cannot hold bilateral rows: islands with such do not rest.
    pub fn ends_burst(&self, problem: &Problem, island: usize) -> bool {
        let mut rows = problem.islands.rows.of(island).iter();
        self.of(problem, island).failed + 1 == BURST
            && !rows.any(|r| problem.rows.is_bilateral(*r as usize))
    }

    /// Notes that an exact solution of an island has ended above the tolerance, and left this residual; `swept` is what
    /// sweeps from the start have left, where it ends a burst and they were made (m/s).
    pub fn failed(&mut self, problem: &Problem, island: usize, [error, swept]: [f64; 2]) {
        let Memory { times, failed, .. } = self.of(problem, island);
        let is_worth_it = swept.is_finite() && error <= WORTH * swept;
        let memory = if is_worth_it || !self.ends_burst(problem, island) {
            Memory {
                steps_left: 0,
                times,
                failed: (failed + 1) % BURST,
            }
        } else {
            Memory {
                steps_left: BURST.saturating_mul(1 << times),
                times: (times + 1).min(DOUBLED),
                failed: 0,
            }
        };
        self.set(problem, island, memory);
    }

    /// Of the bodies of an island, the one that rests longest.
    fn of(&self, problem: &Problem, island: usize) -> Memory {
        let bodies = problem.islands.bodies.of(island).iter();
        let known = bodies.filter_map(|b| self.bodies.get(*b as usize));
        known.copied().max().unwrap_or_default()
    }

    fn set(&mut self, problem: &Problem, island: usize, memory: Memory) {
        if self.bodies.len() < problem.bodies.len() {
            if memory == Memory::default() && self.bodies.is_empty() {
                return;
            }
            let bodies = problem.bodies.len();
            self.bodies.resize(bodies, Memory::default());
        }
        for b in problem.islands.bodies.of(island) {
            self.bodies[*b as usize] = memory;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::library;
    use crate::step::Simulation;

    fn stepped(scene: &str) -> Simulation {
        let scene = library::shipped(scene).expect("a shipped scene");
        let mut simulation = scene.simulation(1).expect("a simulation");
        simulation.step().expect("a step");
        simulation
    }

    /// Fails until the island rests, for at most so many steps; how many it took, and how long it rests then.
    fn burst(backoff: &mut Backoff, problem: &Problem, left: [f64; 2]) -> (u32, u32) {
        let (mut failed, mut rest) = (0, 0);
        while failed < 100 && !backoff.is_resting(problem, 0) {
            backoff.failed(problem, 0, left);
            failed += 1;
        }
        while backoff.is_resting(problem, 0) {
            backoff.note_sweeps(problem, 0);
            rest += 1;
        }
        (failed, rest)
    }

    #[test]
    fn rests_are_doubled_until_a_solution() {
        let simulation = stepped("pyramid");
        let problem = simulation.problem();
        let mut backoff = Backoff::default();
        let in_vain = [1e-2, 2e-2];
        for _ in 0..2 {
            for rest in [4, 8, 16, 32, 64, 128, 255, 255] {
                assert_eq!(burst(&mut backoff, problem, in_vain), (4, rest));
            }
            backoff.solved(problem, 0);
        }
    }

    #[test]
    fn what_leaves_a_tenth_of_what_sweeps_leave_goes_on() {
        let simulation = stepped("pyramid");
        let mut backoff = Backoff::default();
        let left = [1e-4, 2e-3];
        assert_eq!(
            burst(&mut backoff, simulation.problem(), left),
            (100, 0),
            "{backoff:?}"
        );
        // Where there was no work left for sweeps, nothing says that it is worth it.
        let left = [1e-4, f64::INFINITY];
        let (failed, rest) = burst(&mut backoff, simulation.problem(), left);
        assert!(failed <= 4 && rest == 4, "{failed}, {rest}");
    }

    #[test]
    fn what_cannot_have_come_about_is_not_sound() {
        let of = |times, failed| Backoff {
            bodies: vec![Memory {
                steps_left: 255,
                times,
                failed,
            }],
        };
        assert!(of(DOUBLED, BURST - 1).are_sound());
        assert!(!of(DOUBLED + 1, 0).are_sound());
        assert!(!of(0, BURST).are_sound());
    }

    #[test]
    fn machines_do_not_rest() {
        let simulation = stepped("crane");
        let mut backoff = Backoff::default();
        let islands = 0..simulation.problem().islands.len();
        let mut machines = 0;
        for island in islands {
            let rows = simulation.problem().islands.rows.of(island);
            if rows.is_empty() {
                continue;
            }
            machines += 1;
            for _ in 0..100 {
                backoff.failed(simulation.problem(), island, [1.0, 1.0]);
                assert!(!backoff.is_resting(simulation.problem(), island));
            }
        }
        assert!(machines > 0);
    }
}
