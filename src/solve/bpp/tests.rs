//! Mixed linear complementarity problems, solved by pivoting: against enumeration, by their optimality
//! conditions, and on those that are known to be hard for it.

use super::factor::{self, FACTORIZATIONS};
use super::friction::{Ending, Friction};
use super::island::{Island, Layout, NONE};
use super::lcp::{Lcp, Limits};
use super::tuning::Tuning;
use super::verify;
use crate::math::random::Random;

/// How a problem is solved.
#[derive(Clone, Debug)]
struct Options {
    factorization: &'static str,
    /// Compliance added to every row, as a share of the diagonal.
    compliance: f64,
    tuning: Tuning,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            factorization: FACTORIZATIONS[0],
            compliance: 0.0,
            tuning: Tuning {
                outer_iterations: 100,
                ..Tuning::default()
            },
        }
    }
}

/// What was done.
#[derive(Debug)]
struct Stats {
    /// Whether no row violates anything.
    solved: bool,
    /// Sets of free rows that were solved for.
    pivots: u32,
    /// Of these, single ones.
    single_pivots: u32,
    /// Of the last factor.
    factor_error: f64,
}

/// A dense problem.
struct Mlcp {
    a: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl Mlcp {
    fn n(&self) -> usize {
        self.b.len()
    }

    /// A = G Gᵀ of the given rank with rows scaled over some orders of magnitude, and bounds of every
    /// kind: none, one-sided, two-sided, equal ones.
    fn random(n: usize, rank: usize, spread: f64, random: &mut Random) -> Self {
        let scale: Vec<f64> = (0..n)
            .map(|_| 10f64.powf(spread * random.signed()))
            .collect();
        let g: Vec<f64> = (0..n * rank).map(|_| random.signed()).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for k in 0..n {
                let product = (0..rank).map(|c| g[i * rank + c] * g[k * rank + c]);
                a[i * n + k] = product.sum::<f64>() * scale[i] * scale[k];
            }
        }
        // b in the range of A, so that there is a solution where A is singular, plus what bounds take.
        let v: Vec<f64> = (0..rank).map(|_| 2.0 * random.signed()).collect();
        let b = (0..n)
            .map(|i| (0..rank).map(|c| g[i * rank + c] * v[c]).sum::<f64>() * scale[i])
            .collect();
        let mut lo = vec![f64::NEG_INFINITY; n];
        let mut hi = vec![f64::INFINITY; n];
        for i in 0..n {
            let size = (random.signed().abs() + 0.01) / scale[i];
            match random.below(8) {
                0 => {}
                1..=3 => lo[i] = 0.0,
                4..=5 => [lo[i], hi[i]] = [-size, size],
                6 => [lo[i], hi[i]] = [-size, 0.3 * size],
                _ => [lo[i], hi[i]] = [0.5 * size, 0.5 * size],
            }
        }
        Self { a, b, lo, hi }
    }

    /// One of the row's bounds or the middle between them; where there are none, a number of its own scale.
    fn on_a_bound(&self, i: usize, random: &mut Random) -> f64 {
        let at = [self.lo[i], self.hi[i], 0.5 * (self.lo[i] + self.hi[i])][random.below(3)];
        let own = random.signed() / self.a[i * self.n() + i].sqrt();
        if at.is_finite() {
            at
        } else {
            own.clamp(self.lo[i], self.hi[i])
        }
    }

    /// Changes b so that half of the rows on a bound have w = 0 there, and the others push against it; again
    /// where that leaves nothing of b but rounding errors.
    fn degenerate(&mut self, random: &mut Random) {
        let n = self.n();
        let scale = |p: &Self, i: usize| p.a[i * n + i].sqrt();
        loop {
            let x: Vec<f64> = (0..n).map(|i| self.on_a_bound(i, random)).collect();
            for (i, at) in x.iter().enumerate() {
                let half = random.below(2) as f64;
                let push = half * random.unit() * scale(self, i);
                let w = match () {
                    () if *at == self.lo[i] => push,
                    () if *at == self.hi[i] => -push,
                    () => 0.0,
                };
                self.b[i] = w - (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>();
            }
            if (0..n).any(|i| self.b[i].abs() > 1e-3 * scale(self, i)) {
                return;
            }
        }
    }

    /// The solution x of lo ≤ x ≤ hi ⟂ w = A x + b.
    fn solve(&self, options: &Options) -> (Vec<f64>, Stats) {
        let mut lcp = Lcp::new(factor::make(options.factorization, 0.15, 1 << 28));
        self.pack(&mut lcp.island, options);
        lcp.factor.prepare(&lcp.island.matrix);
        lcp.reset(Limits::NONE);
        lcp.guess_sets(false);
        let ending = Friction::default()
            .solve(&mut lcp, &options.tuning)
            .expect("finite numbers");
        lcp.project();
        let [factor_error, _] =
            verify::compare(&lcp.island.matrix, lcp.factor.as_ref(), &lcp.tight);
        let scaled = lcp.x.iter().zip(&lcp.island.scale);
        let x = scaled.map(|(x, s)| x * s).collect();
        let stats = Stats {
            solved: ending == Ending::Settled,
            pivots: lcp.tally.pivots,
            single_pivots: lcp.tally.single,
            factor_error,
        };
        (x, stats)
    }

    /// An island of this matrix, scaled to a unit diagonal: each velocity of its bodies is a row's w − b, so
    /// that J picks one and M⁻¹ Jᵀ is a column of A.
    fn pack(&self, island: &mut Island, options: &Options) {
        let n = self.n();
        let scale: Vec<f64> = (0..n).map(|i| 1.0 / self.a[i * n + i].sqrt()).collect();
        let bodies = n.div_ceil(6);
        let operator = &mut island.operator;
        operator.clear();
        for i in 0..n {
            for body in 0..bodies {
                let at = |c: usize| 6 * body + c;
                let unit = std::array::from_fn(|c| f64::from(u8::from(at(c) == i)));
                let column = std::array::from_fn(|c| match at(c) {
                    k if k < n => self.a[i * n + k] * scale[i] * scale[k],
                    _ => 0.0,
                });
                operator.body.push(body as u32);
                operator.jacobian.push(unit);
                operator.response.push(column);
            }
            operator.start.push(operator.body.len() as u32);
            operator.compliance.push(0.0);
        }
        island.matrix.n = n;
        island.b = self.b.iter().zip(&scale).map(|(b, s)| b * s).collect();
        let bounds = self.lo.iter().zip(&self.hi).zip(&scale);
        island.bounds = bounds.map(|((lo, hi), s)| [lo / s, hi / s]).collect();
        island.scale = scale;
        island.normal_row = vec![NONE; n];
        island.friction_coefficient = vec![0.0; n];
        island.epsilon = vec![options.compliance; n];
        island
            .lay_out(bodies, Layout::Dense, usize::MAX)
            .expect("enough memory");
        island.find_pattern();
    }

    /// Largest natural residual |x − clamp(x − w/A_ii)| A_ii, as a share of the largest |b_i| or
    /// A_ii |x_i|, row by row in the rows' own scale.
    fn error(&self, x: &[f64]) -> f64 {
        let n = self.n();
        let (mut error, mut size) = (0.0f64, 0.0f64);
        for i in 0..n {
            let d = self.a[i * n + i];
            let w: f64 = (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>() + self.b[i];
            let moved = (x[i] - w / d).max(self.lo[i]).min(self.hi[i]);
            error = error.max((x[i] - moved).abs() * d.sqrt());
            size = size
                .max(self.b[i].abs() / d.sqrt())
                .max(x[i].abs() * d.sqrt());
        }
        error / size.max(1e-300)
    }

    /// How far `x` is from `truth`, row by row in the rows' own scale, as a share of the largest entry: of x
    /// itself, or, where A is singular and only A x is unique, of w.
    fn distance(&self, x: &[f64], truth: &[f64], singular: bool) -> f64 {
        let n = self.n();
        let of = |x: &[f64], i: usize| {
            let d = self.a[i * n + i];
            if singular {
                (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>() / d.sqrt()
            } else {
                x[i] * d.sqrt()
            }
        };
        let (mut apart, mut size) = (0.0f64, 1e-300f64);
        for i in 0..n {
            apart = apart.max((of(x, i) - of(truth, i)).abs());
            size = size.max(of(truth, i).abs());
            size = size.max(self.b[i].abs() / self.a[i * n + i].sqrt());
        }
        apart / size
    }

    /// The solution by trying every index set: each row free, or on one of its bounds.
    fn enumerate(&self) -> Vec<f64> {
        let n = self.n();
        let states: Vec<Vec<Option<f64>>> = (0..n)
            .map(|i| {
                let [lo, hi] = [self.lo[i], self.hi[i]];
                let free = (lo < hi).then_some(None);
                let bounds = [lo, hi].into_iter().take(if lo < hi { 2 } else { 1 });
                let tight = bounds.filter(|x| x.is_finite()).map(Some);
                free.into_iter().chain(tight).collect()
            })
            .collect();
        let mut best = (f64::INFINITY, Vec::new());
        for code in 0..states.iter().map(Vec::len).product() {
            let mut rest: usize = code;
            let set = states.iter().map(|states| {
                let digit = rest % states.len();
                rest /= states.len();
                states[digit]
            });
            let Some(x) = self.solve_set(&set.collect::<Vec<_>>()) else {
                continue;
            };
            let error = self.error(&x);
            if error < best.0 {
                best = (error, x);
            }
        }
        best.1
    }

    /// x where the rows of an index set that are free have w = 0, if it is within the bounds.
    fn solve_set(&self, set: &[Option<f64>]) -> Option<Vec<f64>> {
        let n = self.n();
        let mut x: Vec<f64> = set.iter().map(|x| x.unwrap_or(0.0)).collect();
        let free: Vec<usize> = (0..n).filter(|i| set[*i].is_none()).collect();
        let m = free.len();
        let scale = |i: usize| self.a[i * n + i].sqrt();
        let a = nalgebra::DMatrix::from_fn(m, m, |r, c| {
            self.a[free[r] * n + free[c]] / (scale(free[r]) * scale(free[c]))
        });
        let b = nalgebra::DVector::from_fn(m, |r, _| {
            let i = free[r];
            (-self.b[i] - (0..n).map(|k| self.a[i * n + k] * x[k]).sum::<f64>()) / scale(i)
        });
        if m > 0 {
            // The smallest of all solutions where there are many.
            let solution = match a.clone().cholesky() {
                Some(l) if l.l_dirty().diagonal().min() > 1e-6 => l.solve(&b),
                _ => a.svd(true, true).solve(&b, 1e-11).ok()?,
            };
            for (i, value) in free.iter().zip(solution.iter()) {
                x[*i] = *value / scale(*i);
            }
        }
        let inside = (0..n).all(|i| (self.lo[i]..=self.hi[i]).contains(&x[i]));
        inside.then_some(x)
    }
}

/// What is hard about a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A is regular, and rows are free, limited or between two bounds, which may be equal.
    Bounded,
    /// The same, and about half of the rows that are on a bound have w = 0 there.
    Degenerate,
    /// A is singular, with b in its range; half of the rows are bounded.
    Singular,
    /// A is singular, and rows on their bounds have w = 0.
    SingularDegenerate,
}

const KINDS: [Kind; 4] = [
    Kind::Bounded,
    Kind::Degenerate,
    Kind::Singular,
    Kind::SingularDegenerate,
];

impl Kind {
    fn is_singular(self) -> bool {
        matches!(self, Self::Singular | Self::SingularDegenerate)
    }

    fn draw(self, n: usize, spread: f64, random: &mut Random) -> Mlcp {
        let rank = match self.is_singular() {
            true => 1 + random.below(n.max(2) - 1),
            false => n + 1 + random.below(4),
        };
        let mut p = Mlcp::random(n, rank, spread, random);
        if matches!(self, Self::Degenerate | Self::SingularDegenerate) {
            p.degenerate(random);
        }
        p
    }

    /// Largest error of a solution and of its factor. Proximal steps end when the compliance no longer shows
    /// beside the largest velocity of all rows, so that a row with a very small A_ii keeps all of its 1e-9; and
    /// where A is singular the factor's least pivots are as small.
    fn accuracies(self) -> [f64; 2] {
        match self.is_singular() {
            true => [2e-9, 1e-11],
            false => [1e-10, 1e-13],
        }
    }

    /// A singular A needs a compliance to be factored; proximal steps take it out again.
    fn options(self, factorization: &'static str) -> Options {
        Options {
            factorization,
            compliance: if self.is_singular() { 1e-9 } else { 0.0 },
            ..Options::default()
        }
    }
}

/// Problems of `rows` rows, of all kinds in turn, have the solution of the index set that fits, found by
/// trying all of them.
fn compare_with_enumeration(count: usize, seed: u64, mut rows: impl FnMut(&mut Random) -> usize) {
    let mut random = Random::new(seed);
    let mut worst = [(0.0f64, String::new()), (0.0, String::new())];
    for case in 0..count {
        let kind = KINDS[case % KINDS.len()];
        let n = rows(&mut random);
        let p = kind.draw(n, 1.0, &mut random);
        let truth = p.enumerate();
        assert!(!truth.is_empty(), "case {case}: {kind:?}, no set fits");
        for factorization in FACTORIZATIONS {
            let (x, stats) = p.solve(&kind.options(factorization));
            let what = format!("case {case}: {kind:?}, {n} rows, {factorization}, {stats:?}");
            assert!(stats.solved, "{what}");
            let apart = p.distance(&x, &truth, kind.is_singular());
            let worst = &mut worst[usize::from(kind.is_singular())];
            if apart >= worst.0 {
                *worst = (apart, what);
            }
        }
    }
    println!("{worst:?}");
    let [(regular, what), (singular, which)] = worst;
    assert!(regular <= 1e-6, "{regular:e} apart, {what}");
    // With ½‖x − x*‖²_A below the error in the objective, w is only known to the root of 1e-9.
    assert!(singular <= 3e-5, "{singular:e} apart, {which}");
}

#[test]
fn pivoting_finds_what_enumeration_finds() {
    compare_with_enumeration(10_000, 1, |random| 1 + random.below(6));
}

/// Up to half a million index sets each.
#[test]
fn pivoting_finds_what_enumeration_finds_in_twelve_rows() {
    compare_with_enumeration(20, 9, |_| 12);
}

/// Bounds that are met exactly: b such that solutions lie on their bounds with w = 0.
#[test]
fn degenerate_problems_are_solved() {
    let mut random = Random::new(2);
    for case in 0..2000 {
        let n = 2 + random.below(11);
        let mut p = Mlcp::random(n, n + 2, 1.0, &mut random);
        let x: Vec<f64> = (0..n).map(|i| p.on_a_bound(i, &mut random)).collect();
        for i in 0..n {
            p.b[i] = -(0..n).map(|k| p.a[i * n + k] * x[k]).sum::<f64>();
        }
        let (found, stats) = p.solve(&Options::default());
        assert!(stats.solved, "case {case}: {stats:?}");
        assert!(
            p.error(&found) < 1e-11,
            "case {case}: {:e}",
            p.error(&found)
        );
    }
}

/// Singular matrices with compliance: complementarity holds for A itself after the proximal steps.
#[test]
fn singular_problems_are_solved_without_their_compliance() {
    let mut random = Random::new(3);
    let mut worst: f64 = 0.0;
    for case in 0..2000 {
        let n = 3 + random.below(10);
        let rank = 1 + random.below(n - 1);
        let p = Mlcp::random(n, rank, 1.0, &mut random);
        let (x, stats) = p.solve(&Kind::Singular.options("skyline"));
        assert!(stats.solved, "case {case}: {stats:?}");
        worst = worst.max(p.error(&x));
        assert!(
            p.error(&x) < 1e-10,
            "case {case}, rank {rank} of {n}: {:e}",
            p.error(&x)
        );
    }
    assert!(worst > 0.0);
}

/// Fathi's matrices, on which Murty's rule takes 2ⁿ pivots: blocks do not.
#[test]
fn murty_s_worst_case_is_easy_for_blocks() {
    for n in 2..13 {
        // M: ones on the diagonal, twos below; A = M Mᵀ, b = −1 (Fathi 1979).
        let m = |i: usize, k: usize| match i.cmp(&k) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => 2.0,
        };
        let a: Vec<f64> = (0..n * n)
            .map(|at| (0..n).map(|c| m(at / n, c) * m(at % n, c)).sum())
            .collect();
        let p = Mlcp {
            a,
            b: vec![-1.0; n],
            lo: vec![0.0; n],
            hi: vec![f64::INFINITY; n],
        };
        let (x, stats) = p.solve(&Options::default());
        assert!(stats.solved && p.error(&x) < 1e-12, "{n}: {stats:?}");
        assert!(stats.pivots < 40, "{n}: {stats:?}");
    }
}

/// Blocks alone go round in circles on some positive definite matrices; with Murty's rule to fall back
/// on, never.
#[test]
fn the_safeguard_ends_cycles() {
    let mut random = Random::new(4);
    let mut cycles = 0;
    for case in 0..30_000 {
        let n = 3 + random.below(10);
        let mut p = Mlcp::random(n, n, 0.0, &mut random);
        for i in 0..n {
            [p.lo[i], p.hi[i]] = [0.0, f64::INFINITY];
        }
        let mut blocks_only = Options::default();
        blocks_only.tuning.pivots = 500;
        blocks_only.tuning.patience = u32::MAX;
        blocks_only.tuning.single_pivots = 0;
        let (_, stats) = p.solve(&blocks_only);
        if stats.solved {
            continue;
        }
        cycles += 1;
        let (x, stats) = p.solve(&Options::default());
        assert!(
            stats.solved && stats.single_pivots > 0,
            "case {case}: {stats:?}"
        );
        assert!(p.error(&x) < 1e-7, "case {case}: {:e}", p.error(&x));
    }
    assert!(cycles > 5, "only {cycles} cycles: the test shows nothing");
}

/// No cycles, no NaN, every row complementary, over many random problems of every kind.
fn many(count: u64, seed: u64) {
    let mut random = Random::new(seed);
    let mut worst = KINDS.map(|kind| (0.0f64, format!("{kind:?}")));
    for case in 0..count {
        let at = case as usize % KINDS.len();
        let kind = KINDS[at];
        let [_, factor_accuracy] = kind.accuracies();
        let n = 1 + random.below(12);
        let p = kind.draw(n, 1.5, &mut random);
        let factorization = FACTORIZATIONS[(case as usize / KINDS.len()) % FACTORIZATIONS.len()];
        let (x, stats) = p.solve(&kind.options(factorization));
        let what = format!("case {case}: {kind:?}, {factorization}, {n} rows, {stats:?}");
        assert!(stats.solved, "{what}");
        assert!(stats.factor_error < factor_accuracy, "{what}");
        let error = p.error(&x);
        if error.is_nan() || error > worst[at].0 {
            worst[at] = (error, what);
        }
    }
    for (kind, (error, what)) in KINDS.into_iter().zip(worst) {
        println!("{error:e}, {what}");
        let [accuracy, _] = kind.accuracies();
        assert!(error < accuracy, "{error:e}, {what}");
    }
}

#[test]
fn twenty_thousand_random_problems() {
    many(20_000, 5);
}

#[test]
#[ignore = "a million problems: half a minute; run in release"]
fn a_million_random_problems() {
    many(1_000_000, 6);
}

/// Every factorisation gives the same impulses, and downdated factors are as good as fresh ones.
#[test]
fn factorizations_agree() {
    let mut random = Random::new(7);
    for case in 0..60 {
        let n = 20 + random.below(60);
        let p = Mlcp::random(n, n + 10, 1.0, &mut random);
        let (truth, ..) = p.solve(&Options {
            factorization: "full",
            ..Options::default()
        });
        let size = truth
            .iter()
            .enumerate()
            .map(|(i, x)| x.abs() * p.a[i * n + i].sqrt())
            .fold(0.0, f64::max);
        for factorization in FACTORIZATIONS {
            let (x, stats) = p.solve(&Options {
                factorization,
                ..Options::default()
            });
            assert!(
                stats.factor_error <= 1e-13,
                "case {case}, {factorization}: {stats:?}"
            );
            for i in 0..n {
                let apart = (x[i] - truth[i]).abs() * p.a[i * n + i].sqrt();
                assert!(
                    apart <= 1e-9 * size,
                    "case {case}, {factorization}, row {i}: {apart:e}"
                );
            }
        }
    }
}
