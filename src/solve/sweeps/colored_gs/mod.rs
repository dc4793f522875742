//! `colored-gs`: SOR Prox, factorized, parallel by the colours of the body graph, sixteen edges at a
//! time.
//!
//! Its parts: `edges` and `layout` say what is swept in which order, `wide` and `scalar` pack it, `sweep` is
//! the sweep over lanes, and `run` takes all batches through an iteration. `matrices` is what is left of all that
//! where there are no bodies.

mod bodies;
pub(in crate::solve) mod edges;
mod lanes;
mod layout;
mod matrices;
mod momentum;
mod noted;
mod run;
mod scalar;
mod shared;
mod stored;
mod sweep;
mod wide;

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;

use edges::Kind;
use lanes::Real;
use layout::{EMPTY, Layout};
use matrices::ColoredMatrices;
use momentum::velocities;
use run::Run;
use scalar::{ScalarEdges, Unsafe, UnsafeColor};
use shared::Shared;
use stored::{Stored, Treatment};
use wide::{Start, WideContacts};

use super::block::Change;
use super::color::{Coloring, Strategy};
use super::monitor::{Monitor, State, relative};
use super::parameters::{ALPHA, FIXED_BODIES, Packing, RFactors, SCHEME, Scheme, SchemeChoice};
use super::{ProxIteration, REBUILD, iterate};
use crate::math::Twist;
use crate::problem::{MatrixProblem, Problem};
use crate::solve::{
    Budget, Distribution, NeedsBodies, Over, Parameter, ParameterKind, Parameters, Request,
    SolveReport, Solver, SolverInfo, SolverView, Traits,
};

/// Edges that are solved at the same time: one per lane. As many f32 as the widest registers have.
pub const LANES: usize = 16;

/// Name of the distribution: contacts and general rows of each colour, in the order of the sweep, those
/// of the merged unsafe colour last.
pub const COLORS: &str = "contacts by colour";

/// Name of the statistic: islands whose colours are swept on all threads, one colour after the other.
pub const PARALLEL: &str = "islands swept in parallel";

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "colored-gs",
    summary: "SOR Prox, factorized, parallel by graph colours: contacts of one colour share no body, \
              and are solved sixteen at a time on all threads",
    source: "Poulsen 2010, 4.3 and 7.2; Nützi 2011, 4.48 and 7",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        SCHEME,
        Parameter {
            name: "precision",
            unit: "-",
            summary: "f32: sweeps in single precision, against velocities known in double. f64: all in double. \
                      mixed: f32 until its rounding is reached, then f64. With A or T stored: f64; without bodies greedy \
                      and rigid besides",
            source: "Nützi 2011, 6.1 (single and double precision)",
            kind: ParameterKind::Choice {
                default: "mixed",
                options: &["mixed", "f32", "f64"],
            },
        },
        Parameter {
            name: "coloring",
            unit: "-",
            summary: "greedy: the lowest free colour, few colours. balanced: the one in least use, even colours",
            source: "Poulsen 2010, 4.3",
            kind: ParameterKind::Choice {
                default: "greedy",
                options: &["greedy", "balanced"],
            },
        },
        Parameter {
            name: "treatment",
            unit: "-",
            summary: "rigid: every colour as it is. relaxed: colours with fewer contacts than the threshold \
                      are merged into one unsafe colour, solved last",
            source: "Poulsen 2010, 4.3 and 7.2",
            kind: ParameterKind::Choice {
                default: "rigid",
                options: &["rigid", "relaxed"],
            },
        },
        Parameter {
            name: "threshold",
            unit: "contacts",
            summary: "relaxed: colours with fewer contacts than this are unsafe",
            source: "Poulsen 2010, 4.3",
            kind: ParameterKind::Integer {
                default: 64,
                range: [1, 1_000_000],
            },
        },
        Parameter {
            name: "unsafe",
            unit: "-",
            summary: "how the unsafe colour is solved: jacobi, on copies of the velocities, or naive, as \
                      Gauss–Seidel in parts that do not see each other. With A or T stored: jacobi, or last: jacobi \
                      from the impulses of the last iteration, those of the other colours too (without A: jacobi)",
            source: "Poulsen 2010, 7.2 (last: 7.2.3) and 7.3",
            kind: ParameterKind::Choice {
                default: "naive",
                options: &["naive", "jacobi", "last"],
            },
        },
        Parameter {
            name: "parts",
            unit: "-",
            summary: "naive: number of parts, whatever the number of threads",
            source: "Poulsen 2010, 7.2",
            kind: ParameterKind::Integer {
                default: 4,
                range: [1, 1024],
            },
        },
        Parameter {
            name: "damping",
            unit: "-",
            summary: "of the unsafe colour. shared: Λ ← (1 − ω)Λ + ω Λ_local with ω = 1/(what solves the same body in it at \
                      once). none: as in the thesis, where divergence is left to the roll back",
            source: "Munksgaard & Kaiser, section 4; none: Poulsen 2010, 7.2",
            kind: ParameterKind::Choice {
                default: "shared",
                options: &["shared", "none"],
            },
        },
        FIXED_BODIES,
        Parameter {
            name: "r_factors",
            unit: "-",
            summary: "local: R = α/A_ii. uniform: that of the largest A_ii of the contacts that are iterated together, for \
                      normal rows and for friction rows",
            source: "Nützi 2011, 4.6.1; uniform: what Poulsen's table 3.3 comes out with",
            kind: ParameterKind::Choice {
                default: "local",
                options: &["local", "uniform"],
            },
        },
        ALPHA,
    ],
    make: |parameters| Box::new(ColoredGs::new(parameters)),
};

/// Contacts per work block of parallel work where Λ is copied or applied.
const CHUNK: usize = 1024;
/// Does `$work` with the contacts in the precision of the present sweeps.
macro_rules! in_precision {
    ($self:ident, $wide:ident => $work:expr) => {
        if $self.in_double {
            let $wide = &mut $self.double;
            $work
        } else {
            let $wide = &mut $self.single;
            $work
        }
    };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
    #[default]
    Mixed,
}

/// The solver.
#[derive(Default)]
pub struct ColoredGs {
    packing: Packing,
    choice: SchemeChoice,
    precision: Precision,
    strategy: Strategy,
    /// Colours with fewer contacts are merged into one unsafe colour; 0 keeps every colour.
    threshold: u32,
    merged: Unsafe,
    /// Whether bodies that impulses do not move take colours.
    counts_fixed: bool,
    /// Whether a merged colour reads the last iteration's impulses, where A is stored.
    reads_last: bool,
    /// With A or T, where that is asked for.
    stored: Option<Stored>,
    coloring: Coloring,
    /// Whether colours outlive a solve.
    keeps_colors: bool,
    layout: Layout,
    single: WideContacts<f32>,
    double: WideContacts<f64>,
    in_double: bool,
    finite: bool,
    /// Iterations since the velocities were computed from the impulses.
    since_pack: u32,
    scalar: ScalarEdges,
    monitors: Vec<Monitor>,
    /// Of each work block, and of each batch.
    changes: Vec<Change>,
    sums: Vec<Change>,
}

impl ColoredGs {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let relaxed = parameters.choice("treatment") == "relaxed";
        Self {
            packing: Packing {
                alpha: parameters.number("alpha"),
                r_factors: RFactors::from_parameters(parameters),
                exact: false,
            },
            choice: SchemeChoice::new(parameters),
            precision: match parameters.choice("precision") {
                "f32" => Precision::Single,
                "f64" => Precision::Double,
                _ => Precision::Mixed,
            },
            strategy: match parameters.choice("coloring") {
                "balanced" => Strategy::Balanced,
                _ => Strategy::Greedy,
            },
            threshold: if relaxed {
                parameters.integer("threshold") as u32
            } else {
                0
            },
            merged: Unsafe {
                color: match parameters.choice("unsafe") {
                    "jacobi" | "last" => UnsafeColor::Jacobi,
                    _ => UnsafeColor::Naive {
                        parts: parameters.integer("parts") as usize,
                    },
                },
                damped: parameters.choice("damping") == "shared",
            },
            counts_fixed: parameters.choice("fixed_bodies") == "as-poulsen",
            reads_last: parameters.choice("unsafe") == "last",
            keeps_colors: true,
            ..Self::default()
        }
    }

    /// One that colours every problem from nothing, so that it carries nothing from solve to solve.
    pub fn without_memory(parameters: &Parameters) -> Self {
        Self {
            keeps_colors: false,
            ..Self::new(parameters)
        }
    }

    /// Packs the problem at Λ⁰, which is in the problem's order, with room for u⁰ = u_free + M⁻¹ Jᵀ Λ⁰. The impulses to
    /// return to may be kept: they are in the same lanes.
    fn pack(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        u: &mut Vec<Twist>,
        keeps_checkpoint: bool,
    ) {
        self.since_pack = 0;
        let frictionless = problem.contacts.are_frictionless();
        let mut lambda = Cow::Borrowed(lambda);
        if frictionless {
            // Friction left over from a step that had some would never be projected away.
            for block in lambda.to_mut()[..problem.contact_rows()].chunks_exact_mut(3) {
                block[1..].fill(0.0);
            }
        }
        velocities(problem, &self.layout, &lambda, u);
        let (
            layout,
            Packing {
                alpha, r_factors, ..
            },
        ) = (&self.layout, self.packing);
        let start = Start {
            lambda: &lambda,
            u,
            keeps_checkpoint,
        };
        self.finite = in_precision!(self, wide => {
            wide.pack(problem, layout, frictionless, start) & wide.pack_step_lengths(layout, alpha)
        });
        self.finite &= self.scalar.pack(problem, layout, alpha, start, self.merged);
        if r_factors == RFactors::Uniform {
            for batch in &layout.batches {
                let (points, edges) = (layout.points_of(batch), layout.scalar_of(batch));
                let of_edges = self.scalar.smallest_r(edges.clone());
                in_precision!(self, wide => {
                    let r = wide.smallest_r(&layout.points, points.clone(), of_edges);
                    wide.use_r(&layout.points, points, r);
                    self.scalar.use_r(edges, r);
                });
            }
        }
    }

    /// [`Solver::solve`] with A or T.
    fn solve_stored(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
        scheme: Scheme,
    ) -> SolveReport {
        let start = Instant::now();
        let treatment = Treatment {
            strategy: self.strategy,
            threshold: self.threshold,
            counts_fixed: self.counts_fixed,
            damped: self.merged.damped,
            reads_last: self.reads_last,
        };
        if !self.keeps_colors {
            self.coloring.clear();
        }
        // The colours are those of other edges from here on.
        self.layout.forget();
        let packing = self.packing;
        let stored = self.stored.get_or_insert_with(|| Stored::new(packing));
        stored.prepare(problem, scheme, treatment, &mut self.coloring, lambda);
        let prepare_time = start.elapsed().as_secs_f64();
        let mut report = iterate(stored, problem, request, lambda, u);
        report.prepare_time += prepare_time;
        report.distributions.push(Distribution {
            name: COLORS,
            counts: stored.counts.clone(),
        });
        report
    }

    /// Sweeps and observes every batch that runs.
    fn sweep(&mut self, budget: &Budget) {
        let run = Run {
            layout: &self.layout,
            relative: relative(budget),
            budget,
        };
        let (scalar, monitors) = (&mut self.scalar, &mut self.monitors);
        let (changes, sums) = (&mut self.changes, &mut self.sums);
        in_precision!(self, wide => run.all(wide, scalar, monitors, changes, sums));
    }

    /// Batches that f32 brings no further stop, or make all go on in f64.
    fn watch_rounding(&mut self, problem: &Problem, budget: &Budget) {
        if self.in_double {
            return;
        }
        let is_done = |m: &Monitor| m.is_at_rounding(budget);
        let is_running = self.monitors.iter().any(|m| m.state == State::Running);
        let mut running = self
            .monitors
            .iter_mut()
            .filter(|m| m.state == State::Running);
        if self.precision == Precision::Single {
            for monitor in running {
                if is_done(monitor) {
                    monitor.state = State::Stalled;
                }
            }
        } else if is_running && running.all(|m| is_done(m)) {
            self.restart(problem, true);
            for monitor in &mut self.monitors {
                monitor.keep();
            }
        }
    }

    /// Goes on from the impulses as they are, with what follows from them computed afresh.
    fn restart(&mut self, problem: &Problem, in_double: bool) {
        // So seldom that it keeps no memory for it.
        let mut lambda = vec![0.0; problem.row_count()];
        self.store(problem, &mut lambda);
        let same = self.in_double == in_double;
        self.in_double = in_double;
        self.pack(problem, &lambda, &mut Vec::new(), same);
    }
}

impl Solver for ColoredGs {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let scheme = self.choice.decide(problem);
        if scheme != Scheme::Factorized {
            return self.solve_stored(problem, request, lambda, u, scheme);
        }
        self.stored = None;
        let mut report = iterate(self, problem, request, lambda, u);
        let large = self.layout.batches.iter().filter(|b| b.is_large);
        let summary = "Islands that are large enough to be swept colour by colour on all threads.";
        report.note(PARALLEL, summary, "-", Over::Last, large.count() as f64);
        report.distributions.push(Distribution {
            name: COLORS,
            counts: self.layout.counts.clone(),
        });
        report
    }

    fn solve_matrices(
        &mut self,
        problem: &MatrixProblem,
        request: &Request,
        lambda: &mut [f64],
    ) -> Result<SolveReport, NeedsBodies> {
        let mut colored = ColoredMatrices::new(self.packing, self.choice.stored());
        let mut report = iterate(&mut colored, problem, request, lambda, &mut Vec::new());
        report.distributions.push(Distribution {
            name: COLORS,
            counts: colored.counts,
        });
        Ok(report)
    }

    fn correct(
        &mut self,
        problem: &Problem,
        bias: &[f64],
        budget: &Budget,
        u: &mut Vec<Twist>,
    ) -> bool {
        if self.stored.is_some()
            || !self.layout.scalar.is_empty()
            || bias.len() != self.layout.place.len()
        {
            return false;
        }
        let run = Run {
            layout: &self.layout,
            relative: -1.0,
            budget,
        };
        in_precision!(self, wide => {
            run.correct(wide, &mut self.scalar, bias);
            wide.velocities(problem.bodies.len(), u);
        });
        true
    }

    fn view(&self) -> &dyn SolverView {
        self
    }

    fn state(&self) -> Vec<u8> {
        self.coloring.state()
    }

    fn set_state(&mut self, state: &[u8]) {
        self.coloring.set_state(state);
        self.layout.forget();
    }
}

impl SolverView for ColoredGs {
    fn colors(&self) -> Option<Vec<u32>> {
        match &self.stored {
            Some(stored) => Some(stored.color_of_contact.clone()),
            None => self.layout.contact_colors(self.threshold),
        }
    }
}

impl ProxIteration for ColoredGs {
    fn prepare(&mut self, problem: &Problem, lambda: &[f64], u: &mut Vec<Twist>) {
        self.layout.update(
            problem,
            &mut self.coloring,
            self.keeps_colors,
            self.strategy,
            self.threshold,
            Kind {
                counts_fixed: self.counts_fixed,
                one_by_one: false,
            },
        );
        let in_range = is_in_range_of_f32(problem);
        self.in_double = match self.precision {
            Precision::Double => true,
            // The many small steps of an unsafe colour would be lost in a hub's velocity.
            Precision::Mixed => {
                !in_range || self.layout.batches.iter().any(|b| b.unsafe_edges.len() > 0)
            }
            Precision::Single => false,
        };
        self.pack(problem, lambda, u, false);
        self.finite &= in_range || self.in_double;
        self.monitors.clear();
        self.monitors
            .resize(self.layout.batches.len(), Monitor::default());
        let blocks = self.layout.work.len();
        self.changes.clear();
        self.changes.resize(blocks, Change::default());
        self.sums
            .resize(self.layout.batches.len(), Change::default());
    }

    fn is_finite(&self) -> bool {
        self.finite
    }

    fn iterate(&mut self, problem: &Problem, budget: &Budget) {
        self.sweep(budget);
        self.since_pack += 1;
        if self.since_pack == REBUILD {
            self.restart(problem, self.in_double);
        }
        self.watch_rounding(problem, budget);
    }

    fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    fn return_to_checkpoints(&mut self) {
        for (batch, monitor) in self.layout.batches.iter().zip(&self.monitors) {
            if monitor.is_worse_than_checkpoint() {
                let points = self.layout.points_of(batch);
                if self.in_double {
                    self.double.return_to_kept(points);
                } else {
                    self.single.return_to_kept(points);
                }
                self.scalar.return_to_kept(self.layout.scalar_of(batch));
            }
        }
    }

    fn store(&self, problem: &Problem, lambda: &mut [f64]) {
        if self.in_double {
            store(problem, &self.layout, &self.double, lambda);
        } else {
            store(problem, &self.layout, &self.single, lambda);
        }
        self.scalar.store(lambda);
    }

    fn velocities(&self, problem: &Problem, lambda: &[f64], u: &mut Vec<Twist>) {
        velocities(problem, &self.layout, lambda, u);
    }

    fn traffic(&self) -> [u64; 2] {
        let [read, written, body] = if self.in_double {
            self.double.traffic(&self.layout)
        } else {
            self.single.traffic(&self.layout)
        };
        let scalar = self.scalar.bytes(body);
        [read as u64 + scalar[0], written as u64 + scalar[1]]
    }
}

/// Λ from the lanes, in the problem's order, and exactly within the cone.
fn store<R: Real>(problem: &Problem, layout: &Layout, wide: &WideContacts<R>, lambda: &mut [f64]) {
    lambda.fill(0.0);
    let contacts = &problem.contacts;
    if contacts.is_empty() {
        return;
    }
    let target = Shared::new(lambda);
    layout
        .place
        .par_iter()
        .with_min_len(CHUNK)
        .enumerate()
        .filter(|(_, place)| **place != EMPTY)
        .for_each(|(c, place)| {
            // SAFETY: every contact has rows of its own.
            let block = unsafe { target.slice(contacts.rows(c)) };
            let (point, lane) = (*place as usize / LANES, *place as usize % LANES);
            let p = wide.total(point, lane);
            for (x, e) in block.iter_mut().zip(contacts.frame[c].axes()) {
                *x = e.dot(&p);
            }
            let normal = block[0].max(0.0);
            block[0] = normal;
            let friction = &contacts.friction[c];
            friction.project(&mut block[1..], normal);
        });
}

/// Whether single precision holds the masses, and squares of the impulses that they make.
fn is_in_range_of_f32(problem: &Problem) -> bool {
    let bodies = &problem.bodies;
    bodies
        .inverse_mass
        .iter()
        .zip(&bodies.inverse_inertia)
        .all(|(m, i)| {
            let turn = i.xx.max(i.yy).max(i.zz);
            *m == 0.0 || ((1e-10..=1e10).contains(m) && turn <= 1e20)
        })
}
