//! Factorisations on the tight sets of whole runs: the engine's own, and those of faer.
//!
//! A run is recorded at [`Factorization`]: the matrices of every island, its tight sets and its right-hand
//! sides, in their order. Then every factorisation solves the same, all in turns, on one thread. A time
//! includes everything: orders and symbolic parts, factors, substitutions. faer takes no rows out of a
//! factor, so each tight set is a whole factorisation, with the tight rows those of the unit matrix in a
//! pattern that stays.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::LdltRegularization;
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};
use moreau::measure::report;
use moreau::scene::library;
use moreau::solve::bpp::panels::{BREAKDOWN, RAISED};
use moreau::solve::bpp::{
    Bpp, Breakdown, Counters, Factorization, IslandMatrix, Pattern, factorization,
};

/// What is recorded: a scene, what is set in it, and its steps.
struct Run {
    name: &'static str,
    scene: &'static str,
    set: &'static [(&'static str, &'static str)],
    steps: u32,
}

impl Run {
    const fn of(scene: &'static str, steps: u32) -> Self {
        Self {
            name: scene,
            scene,
            set: &[],
            steps,
        }
    }
}

const RUNS: [Run; 15] = [
    Run::of("vehicle_parkour", 200),
    Run::of("crane", 60),
    Run::of("forklift", 60),
    Run::of("offshore", 60),
    Run::of("winch", 60),
    Run::of("log_tower", 60),
    Run::of("bridge", 60),
    Run::of("chain", 60),
    Run::of("heavy_stack", 60),
    Run::of("forwarder", 60),
    Run::of("simple_crane", 60),
    Run::of("wall", 2),
    Run::of("pyramid", 2),
    Run {
        name: "pyramid_29",
        scene: "pyramid",
        set: &[("generators.0.layers", "29")],
        steps: 1,
    },
    Run {
        name: "pyramid_40",
        scene: "pyramid",
        set: &[("generators.0.layers", "40")],
        steps: 1,
    },
];

/// Pivoting with the sparse factor, for every scene.
const PIVOTING: &[(&str, &str)] = &[
    ("solver.name", "bpp"),
    ("solver.budget.iterations", "50000"),
    ("solver.parameters.factorization", "sparse"),
    ("solver.parameters.memory", "8192"),
    ("settings.friction_law", "Box"),
];

/// Times are the best of so many rounds, of one where an island has more rows than [`LARGE`].
const ROUNDS: usize = 4;
/// Rows (-) from which a replay takes seconds, and simplicial factors minutes: those are left out.
const LARGE: usize = 4000;

/// What an island asked of its factorisation.
enum Event {
    Matrix(Arc<Pattern>, Vec<f64>),
    Tight(Vec<bool>),
    Solve(Vec<f64>),
}

/// The islands' events, by the number of the factorisation.
type Log = Arc<Mutex<Vec<Vec<Event>>>>;

/// The sparse factor, and a protocol of what it is asked.
struct Recorder {
    inner: Box<dyn Factorization>,
    pattern: Arc<Pattern>,
    number: usize,
    log: Log,
}

impl Recorder {
    fn new(log: Log) -> Self {
        let mut islands = log.lock().expect("no thread has panicked");
        let number = islands.len();
        islands.push(Vec::new());
        drop(islands);
        Self {
            inner: factorization("sparse", 1.0, 0),
            pattern: Arc::default(),
            number,
            log,
        }
    }

    fn write(&self, event: Event) {
        self.log.lock().expect("no thread has panicked")[self.number].push(event);
    }
}

impl Factorization for Recorder {
    fn prepare(&mut self, a: &IslandMatrix) {
        if *self.pattern != a.pattern {
            self.pattern = Arc::new(a.pattern.clone());
        }
        let mut value = Vec::new();
        values(a, &mut value);
        self.write(Event::Matrix(self.pattern.clone(), value));
        self.inner.prepare(a);
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        self.write(Event::Tight(tight.to_vec()));
        self.inner.restrict(a, tight)
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.write(Event::Solve(x.to_vec()));
        self.inner.solve(x);
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn extremes(&self, tight: &[bool]) -> [f64; 2] {
        self.inner.extremes(tight)
    }

    fn order(&self) -> Option<&[u32]> {
        self.inner.order()
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        self.inner.each_entry(visit);
    }
}

/// The entries of each column.
fn entries(pattern: &Pattern, column: usize) -> std::ops::Range<usize> {
    pattern.start[column] as usize..pattern.start[column + 1] as usize
}

/// The matrix's entries in compressed columns.
fn values(a: &IslandMatrix, out: &mut Vec<f64>) {
    out.clear();
    for k in 0..a.n {
        let rows = &a.pattern.row[entries(&a.pattern, k)];
        out.extend(rows.iter().map(|i| a.value[a.envelope.at(*i as usize, k)]));
    }
}

/// The island's matrix again.
fn matrix(pattern: &Pattern, value: &[f64]) -> IslandMatrix {
    let n = pattern.start.len() - 1;
    let mut a = IslandMatrix {
        n,
        pattern: pattern.clone(),
        ..IslandMatrix::default()
    };
    let last = |k: usize| pattern.row[pattern.start[k + 1] as usize - 1] as usize;
    a.envelope.set(n, last);
    a.value.resize(a.envelope.len(), 0.0);
    for k in 0..n {
        for e in entries(pattern, k) {
            a.value[a.envelope.at(pattern.row[e] as usize, k)] = value[e];
        }
    }
    a.envelope.pad(n, &mut a.value);
    a
}

/// Which of faer's factorisations.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ldlt,
    Llt,
}

/// faer's sparse Cholesky factors, the symbolic part cached.
struct Faer {
    kind: Kind,
    threshold: SupernodalThreshold,
    pattern: Pattern,
    symbolic: Option<SymbolicCholesky<u32>>,
    value: Vec<f64>,
    masked: Vec<f64>,
    l: Vec<f64>,
    memory: Option<MemBuffer>,
    tight: Vec<bool>,
    fresh: bool,
}

impl Faer {
    fn boxed(kind: Kind, threshold: SupernodalThreshold) -> Box<dyn Factorization> {
        Box::new(Self {
            kind,
            threshold,
            pattern: Pattern::default(),
            symbolic: None,
            value: Vec::new(),
            masked: Vec::new(),
            l: Vec::new(),
            memory: None,
            tight: Vec::new(),
            fresh: true,
        })
    }

    fn analyse(&mut self, n: usize) {
        let pattern = SymbolicSparseColMatRef::new_checked(
            n,
            n,
            &self.pattern.start,
            None,
            &self.pattern.row,
        );
        let parameters = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: self.threshold,
            ..Default::default()
        };
        let order = SymmetricOrdering::Amd;
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, order, parameters)
            .expect("memory for a factor");
        let numeric = match self.kind {
            Kind::Ldlt => {
                symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Default::default())
            }
            Kind::Llt => {
                symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default())
            }
        };
        let solve = symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        self.memory = Some(MemBuffer::new(numeric.or(solve)));
        self.l.clear();
        self.l.resize(symbolic.len_val(), 0.0);
        self.symbolic = Some(symbolic);
    }

    /// The tight rows and columns become those of the unit matrix.
    fn mask(&mut self, tight: &[bool]) {
        self.masked.clone_from(&self.value);
        for k in 0..tight.len() {
            for e in entries(&self.pattern, k) {
                let i = self.pattern.row[e] as usize;
                if tight[k] || tight[i] {
                    self.masked[e] = if i == k { 1.0 } else { 0.0 };
                }
            }
        }
    }
}

impl Factorization for Faer {
    fn prepare(&mut self, a: &IslandMatrix) {
        if self.symbolic.is_none() || self.pattern != a.pattern {
            self.pattern.clone_from(&a.pattern);
            self.analyse(a.n);
        }
        values(a, &mut self.value);
        self.fresh = true;
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        if !self.fresh && self.tight == tight {
            return Ok(());
        }
        self.fresh = false;
        tight.clone_into(&mut self.tight);
        self.mask(tight);
        let (start, row) = (&self.pattern.start, &self.pattern.row);
        let pattern = SymbolicSparseColMatRef::new_checked(a.n, a.n, start, None, row);
        let m = SparseColMatRef::new(pattern, &self.masked);
        let symbolic = self.symbolic.as_ref().expect("prepared");
        let stack = MemStack::new(self.memory.as_mut().expect("prepared"));
        let (l, side, settings) = (&mut self.l, Side::Lower, Default::default());
        let factored = match self.kind {
            Kind::Ldlt => {
                let none = LdltRegularization {
                    dynamic_regularization_signs: None,
                    dynamic_regularization_delta: 0.0,
                    dynamic_regularization_epsilon: 0.0,
                };
                let ldlt =
                    symbolic.factorize_numeric_ldlt(l, m, side, none, Par::Seq, stack, settings);
                ldlt.is_ok()
            }
            Kind::Llt => {
                let raise = LltRegularization {
                    dynamic_regularization_delta: RAISED,
                    dynamic_regularization_epsilon: BREAKDOWN,
                };
                let settings = Default::default();
                let llt =
                    symbolic.factorize_numeric_llt(l, m, side, raise, Par::Seq, stack, settings);
                llt.is_ok()
            }
        };
        factored.then_some(()).ok_or(Breakdown::NotFinite)
    }

    fn solve(&mut self, x: &mut [f64]) {
        let n = self.tight.len();
        for (x, tight) in x.iter_mut().zip(&self.tight) {
            if *tight {
                *x = 0.0;
            }
        }
        let stack = MemStack::new(self.memory.as_mut().expect("prepared"));
        let symbolic = self.symbolic.as_ref().expect("prepared");
        let x = MatMut::from_column_major_slice_mut(&mut x[..n], n, 1);
        match self.kind {
            Kind::Ldlt => LdltRef::new(symbolic, &self.l).solve_in_place_with_conj(
                Conj::No,
                x,
                Par::Seq,
                stack,
            ),
            Kind::Llt => LltRef::new(symbolic, &self.l).solve_in_place_with_conj(
                Conj::No,
                x,
                Par::Seq,
                stack,
            ),
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn extremes(&self, _tight: &[bool]) -> [f64; 2] {
        [1.0; 2]
    }

    fn each_entry(&self, _visit: &mut dyn FnMut(usize, usize, f64)) {}
}

/// A factorisation in the table: whether it takes part on large islands, and how it is made.
type Entry = (&'static str, bool, fn() -> Box<dyn Factorization>);

/// The first one is what the others are compared with.
const ENTRIES: [Entry; 7] = [
    ("sparse", true, || factorization("sparse", 1.0, 0)),
    ("skyline", true, || factorization("skyline", 0.15, 0)),
    ("faer supernodal LDLT", true, || {
        Faer::boxed(Kind::Ldlt, SupernodalThreshold::FORCE_SUPERNODAL)
    }),
    ("faer supernodal LLT", true, || {
        Faer::boxed(Kind::Llt, SupernodalThreshold::FORCE_SUPERNODAL)
    }),
    ("faer's choice LLT", true, || {
        Faer::boxed(Kind::Llt, SupernodalThreshold::AUTO)
    }),
    ("faer simplicial LDLT", false, || {
        Faer::boxed(Kind::Ldlt, SupernodalThreshold::FORCE_SIMPLICIAL)
    }),
    ("faer simplicial LLT", false, || {
        Faer::boxed(Kind::Llt, SupernodalThreshold::FORCE_SIMPLICIAL)
    }),
];

/// What one factorisation made of a record.
#[derive(Clone, Copy)]
struct Replayed {
    /// Everything (s).
    time: f64,
    /// Tight sets that it could not factor.
    broken: u32,
    /// Largest ‖A_FF x − r‖/(‖A_FF‖ ‖x‖ + ‖r‖) of a solve, in the maximum norm (-).
    error: f64,
}

/// Records a run.
fn record(run: &Run) -> Result<Vec<Vec<Event>>, String> {
    let mut scene = library::shipped(run.scene).map_err(|e| e.to_string())?;
    scene.set_all(PIVOTING).map_err(|e| e.to_string())?;
    scene.set_all(run.set).map_err(|e| e.to_string())?;
    let mut simulation = scene.simulation(1).map_err(|e| e.to_string())?;
    let config = simulation.solver_config().clone();
    let (_, parameters) = config.check().map_err(|e| e.to_string())?;
    let log = Log::default();
    let mut solver = Bpp::new(&parameters);
    let of_factors = log.clone();
    solver.factor_by(move || Box::new(Recorder::new(of_factors.clone())));
    simulation.plug_in(Box::new(solver), config.budget);
    for _ in 0..run.steps {
        simulation.step().map_err(|e| e.to_string())?;
    }
    drop(simulation);
    let mut events = log.lock().expect("no thread has panicked");
    Ok(std::mem::take(&mut *events))
}

/// Solves what was recorded. `measured`: whether errors are computed.
fn replay(
    islands: &[Vec<Event>],
    make: fn() -> Box<dyn Factorization>,
    measured: bool,
) -> Replayed {
    let mut result = Replayed {
        time: 0.0,
        broken: 0,
        error: 0.0,
    };
    for events in islands {
        let mut factor = make();
        let mut a = IslandMatrix::default();
        let (mut tight, mut x): (&[bool], Vec<f64>) = (&[], Vec::new());
        let mut is_factored = false;
        for event in events {
            match event {
                Event::Matrix(pattern, value) => {
                    a = matrix(pattern, value);
                    let start = Instant::now();
                    factor.prepare(&a);
                    result.time += start.elapsed().as_secs_f64();
                }
                Event::Tight(set) => {
                    tight = set;
                    let start = Instant::now();
                    is_factored = factor.restrict(&a, tight).is_ok();
                    result.time += start.elapsed().as_secs_f64();
                    result.broken += u32::from(!is_factored);
                }
                Event::Solve(right) if is_factored => {
                    x.clone_from(right);
                    let start = Instant::now();
                    factor.solve(&mut x);
                    result.time += start.elapsed().as_secs_f64();
                    if measured {
                        result.error = result.error.max(backward_error(&a, tight, &x, right));
                    }
                }
                Event::Solve(_) => {}
            }
        }
    }
    result
}

/// ‖A_FF x − r‖/(‖A_FF‖ ‖x‖ + ‖r‖) in the maximum norm.
fn backward_error(a: &IslandMatrix, tight: &[bool], x: &[f64], right: &[f64]) -> f64 {
    let mut rest: Vec<f64> = right[..a.n].iter().map(|r| -r).collect();
    let mut row_sum = vec![0.0; a.n];
    for k in (0..a.n).filter(|k| !tight[*k]) {
        for i in a.pattern.row[entries(&a.pattern, k)]
            .iter()
            .map(|i| *i as usize)
        {
            if tight[i] {
                continue;
            }
            let value = a.value[a.envelope.at(i, k)];
            rest[i] += value * x[k];
            row_sum[i] += value.abs();
            if i != k {
                rest[k] += value * x[i];
                row_sum[k] += value.abs();
            }
        }
    }
    let largest = |v: &[f64]| {
        let free = v.iter().zip(tight).filter(|(_, tight)| !**tight);
        free.fold(0.0f64, |most, (v, _)| most.max(v.abs()))
    };
    let size = largest(&row_sum) * largest(x) + largest(right);
    if size == 0.0 {
        0.0
    } else {
        largest(&rest) / size
    }
}

/// Compares the factorisations on the runs whose names begin as asked for; on all of them if nothing is.
///
/// # Errors
/// A scene that cannot be built or does not run.
pub fn compare(names: &[String]) -> Result<String, String> {
    let mut header: Vec<String> = ["scene", "rows", "tight sets", "sparse ms"]
        .map(String::from)
        .into();
    header.extend(ENTRIES[1..].iter().map(|e| format!("{}/sparse", e.0)));
    header.push("backward error".into());
    let wanted =
        |name: &str| names.is_empty() || names.iter().any(|n| name.starts_with(n.as_str()));
    let mut rows = Vec::new();
    for run in RUNS.iter().filter(|run| wanted(run.name)) {
        eprintln!("{}", run.name);
        rows.push(row(run)?);
    }
    let columns = header.len();
    Ok(report::table(&header, &rows, 1..columns))
}

fn row(run: &Run) -> Result<Vec<String>, String> {
    let islands = record(run)?;
    let events = || islands.iter().flatten();
    let sizes = events().map(|e| match e {
        Event::Matrix(pattern, _) => pattern.start.len() - 1,
        _ => 0,
    });
    let size = sizes.max().unwrap_or(0);
    let sets = events().filter(|e| matches!(e, Event::Tight(_))).count();
    let is_large = size > LARGE;
    let mut best = [None::<Replayed>; ENTRIES.len()];
    for round in 0..if is_large { 1 } else { ROUNDS } {
        for ((_, on_large, make), best) in ENTRIES.iter().zip(&mut best) {
            if is_large && !on_large {
                continue;
            }
            let mut now = replay(&islands, *make, round == 0);
            if let Some(best) = best {
                now.time = now.time.min(best.time);
                now.error = best.error;
            }
            *best = Some(now);
        }
    }
    let sparse = best[0].map_or(f64::NAN, |b| b.time);
    let mut row = vec![
        run.name.to_owned(),
        size.to_string(),
        sets.to_string(),
        format!("{:.3}", 1e3 * sparse),
    ];
    row.extend(best[1..].iter().map(|result| match result {
        Some(r) if r.broken > 0 => format!("{:.2} ({} broke)", r.time / sparse, r.broken),
        Some(r) => format!("{:.2}", r.time / sparse),
        None => String::new(),
    }));
    let errors = best.iter().flatten().map(|r| r.error);
    row.push(format!("{:.0e}", errors.fold(0.0, f64::max)));
    Ok(row)
}
