//! Every number that steers the strategies, in one place.

/// What may be tried, for how long, and where one strategy gives way to the next. Shares are of the unit
/// diagonal that A has after scaling. `moreau bench machines --ablation` takes one field away at a time;
/// `docs/pivoting.md` has its table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Most block pivots of a problem with fixed bounds (Lefebvre 2020, table 2.1).
    pub pivots: u32,
    /// Block pivots that may pass without fewer violations than ever before (Júdice & Pires 1994, p).
    pub patience: u32,
    /// Most single pivots of such a problem (Murty 1974).
    pub single_pivots: u32,
    /// Most problems with fixed friction bounds of an island.
    pub outer_iterations: u32,
    /// The same while the coupled method has not been tried.
    pub quick_outer_iterations: u32,
    /// Whether friction bounds follow by Newton's method, or from solve to solve.
    pub newton: bool,
    /// Bounds have settled when they are wrong by less than this times the rounding noise of w.
    pub settled_noise: f64,
    /// Before the last proximal step: by less than this share of what the compliance does to w.
    pub settled_compliance: f64,
    /// A step on the bounds must leave at most this share of their error; else it is halved.
    pub progress: f64,
    /// Halvings of a Newton step before steps to the normals' bounds take over, and of both in all.
    pub halvings: [u32; 2],
    /// Directions of a GMRES cycle: each holds a vector of the island's length in memory.
    pub gmres_directions: usize,
    /// GMRES cycles of a linear problem.
    pub gmres_cycles: usize,
    /// Compliance of contact rows, a share of the diagonal (Lefebvre 2020, 1.2.1).
    pub contact_compliance: f64,
    /// Most proximal steps that take it back out of w (Rockafellar 1976).
    pub refinements: u32,
    /// An island is solved where its error is below this (m/s), or below 100 times its rounding noise.
    pub accurate: f64,
    /// Sweeps of Gauss–Seidel before each attempt of the coupled method: more go closer to the solution,
    /// and cost more.
    pub sweeps: [u32; 3],
    /// Most Newton steps of such an attempt; 0 does without the coupled method.
    pub coupled_steps: u32,
    /// Weight of the first proximal problem, a share of the diagonal. At 0.1 most are solved; above
    /// `most_weight` the method has failed, and below `least_weight` the weight no longer shows in w.
    pub first_weight: f64,
    /// See `first_weight`.
    pub least_weight: f64,
    /// See `first_weight`.
    pub most_weight: f64,
    /// What the weight is multiplied by after a problem that took at most `fast_steps` Newton steps.
    pub fast: f64,
    /// See `fast`.
    pub fast_steps: u32,
    /// The same after one that took more of them.
    pub slow: f64,
    /// The same after one that was solved although the one before it was not.
    pub after_failure: f64,
    /// The same after one that was not solved.
    pub failed: f64,
    /// Newton steps per proximal problem: it is solved in few, or not at all.
    pub newton_steps: u32,
    /// Newton steps that may pass without fewer changes of the sets than ever before.
    pub newton_patience: u32,
    /// What an unsolved proximal problem must leave of the error to count nevertheless.
    pub useful: f64,
    /// Accuracy of the linear problems, as a share of the error.
    pub linear_accuracy: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            pivots: 35,
            patience: 3,
            single_pivots: 1000,
            outer_iterations: 60,
            quick_outer_iterations: 8,
            newton: true,
            settled_noise: 4.0,
            settled_compliance: 0.1,
            progress: 0.9,
            halvings: [4, 12],
            gmres_directions: 48,
            gmres_cycles: 6,
            contact_compliance: 1e-9,
            refinements: 6,
            accurate: 1e-9,
            sweeps: [10, 100, 1000],
            coupled_steps: 400,
            first_weight: 0.1,
            least_weight: 1e-11,
            most_weight: 10.0,
            fast: 0.03,
            fast_steps: 4,
            slow: 0.2,
            after_failure: 0.5,
            failed: 3.0,
            newton_steps: 15,
            newton_patience: 1,
            useful: 0.5,
            linear_accuracy: 1e-3,
        }
    }
}

impl Tuning {
    /// What pivoting may do while the coupled method has not been tried: whole blocks only.
    pub fn quick(&self) -> Self {
        Self {
            single_pivots: 0,
            outer_iterations: self.outer_iterations.min(self.quick_outer_iterations),
            ..*self
        }
    }
}
