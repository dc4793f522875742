//! One island without bodies: its impulses, and the methods that lead on.

use crate::problem::MatrixProblem;
use crate::solve::island::Operator;
use crate::solve::island::rows::Rows;
use crate::solve::method::alternating_directions::{AlternatingDirections, Options};
use crate::solve::method::semismooth_newton::SemismoothNewton;
use crate::solve::method::{Limits, State};

/// One island's solver.
pub struct Engine<'a> {
    pub rows: Rows<'a>,
    pub state: State,
    newton: SemismoothNewton,
    /// They go on where they were left.
    directions: Option<AlternatingDirections>,
    /// Most multiplications.
    pub work: f64,
}

impl<'a> Engine<'a> {
    /// Takes an island and its impulses from those of the problem.
    pub fn new(problem: &'a MatrixProblem, island: usize, lambda: &[f64]) -> Self {
        let mut rows = Rows::new(problem, island);
        let mut state = State::default();
        state.x.resize(rows.of.rows, 0.0);
        rows.of.load(lambda, &mut state.x);
        state.begin(&mut rows);
        // Whatever is nearer is worth it.
        state.wanted = f64::INFINITY;
        Self {
            rows,
            state,
            newton: SemismoothNewton::default(),
            directions: None,
            work: f64::INFINITY,
        }
    }

    /// Newton's method from where it is, as long as that leads nearer. A matrix that cannot be factored leads nowhere.
    pub fn semismooth_newton(&mut self, limits: &Limits) {
        let limits = limits.with(self.work);
        let error = self.state.go_back(&mut self.rows);
        let _ = (self.newton).run(&mut self.rows, &mut self.state, error, &limits);
    }

    /// Takes what so many sweeps have made of the best impulses as those to go on from.
    pub fn follow(&mut self, lambda: &[f64], sweeps: u32, limits: &Limits) {
        self.state.tally.steps += 1;
        self.state.tally.work += 2.0 * f64::from(sweeps) * self.rows.of.entries();
        self.rows.of.load(lambda, &mut self.state.x);
        self.go_on(limits);
    }

    /// So many alternating directions at most, which begin at the best impulses and later go on where they were left;
    /// what becomes of them is to go on from. They end at a residual of `aim` (m/s).
    pub fn alternate(&mut self, most: u32, aim: f64, limits: &Limits) {
        let (rows, state) = (&mut self.rows, &mut self.state);
        let directions = self.directions.get_or_insert_with(|| {
            let mut out = AlternatingDirections::default();
            out.y.clone_from(&state.best);
            out.begin(rows, Options::default(), aim, &mut state.tally);
            out
        });
        state.tally.steps += 1;
        let limits = limits.with(self.work);
        for _ in 0..most {
            if !directions.is_running || state.is_out_of_time(&limits) {
                break;
            }
            state.tally.solves += 1;
            state.tally.work += rows.work_of_a_solve();
            directions.iterate(rows, aim, &mut state.tally);
        }
        if directions.least < state.least {
            state.x.clone_from(&directions.best);
            state.keep(directions.least);
        }
        let next = if directions.is_running {
            &directions.y
        } else {
            &directions.best
        };
        state.x.clone_from(next);
        self.go_on(&limits);
    }

    /// Measures the impulses and keeps them as those to go on from.
    fn go_on(&mut self, limits: &Limits) {
        self.state.record(limits);
        let error = self.state.measure(&mut self.rows);
        self.state.keep(error);
    }

    /// Whether a limit is reached.
    pub fn is_over(&self, limits: &Limits) -> bool {
        self.state.is_over(&limits.with(self.work))
    }
}
