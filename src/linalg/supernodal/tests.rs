//! The factor against dense arithmetic, and its order and speed against an envelope after reverse
//! Cuthill–McKee, on matrices J M⁻¹ Jᵀ of machines with random Jacobians.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::math::random::Random;

/// A lower triangle in compressed columns.
#[derive(Clone, Debug)]
struct Lower {
    n: usize,
    col_start: Vec<u32>,
    row: Vec<u32>,
    value: Vec<f64>,
}

impl Lower {
    fn from_map(n: usize, entries: &BTreeMap<(u32, u32), f64>) -> Self {
        let mut lower = Self {
            n,
            col_start: vec![0; n + 1],
            row: Vec::new(),
            value: Vec::new(),
        };
        for (&(j, i), v) in entries {
            lower.row.push(i);
            lower.value.push(*v);
            lower.col_start[j as usize + 1] += 1;
        }
        for j in 0..n {
            lower.col_start[j + 1] += lower.col_start[j];
        }
        lower
    }

    fn dense(&self) -> Vec<Vec<f64>> {
        let mut a = vec![vec![0.0; self.n]; self.n];
        for (j, bounds) in self.col_start.windows(2).enumerate() {
            for e in bounds[0] as usize..bounds[1] as usize {
                let i = self.row[e] as usize;
                a[i][j] = self.value[e];
                a[j][i] = self.value[e];
            }
        }
        a
    }

    /// With the rows and columns of the tight set those of the identity.
    fn restricted(&self, tight: &[bool]) -> Vec<Vec<f64>> {
        let mut a = self.dense();
        for (i, line) in a.iter_mut().enumerate() {
            for (j, v) in line.iter_mut().enumerate() {
                if tight[i] || tight[j] {
                    *v = f64::from(u8::from(i == j));
                }
            }
        }
        a
    }

    fn factor(&self, ldl: &mut SparseLdl) -> Result<(), Breakdown> {
        ldl.factor(
            self.n,
            &self.col_start,
            &self.row,
            &self.value,
            &vec![false; self.n],
        )
    }

    /// Without the tight rows, in new memory.
    fn fresh_factor(&self, tight: &[bool]) -> SparseLdl {
        let mut ldl = SparseLdl::default();
        ldl.factor(self.n, &self.col_start, &self.row, &self.value, tight)
            .expect("positive definite");
        ldl
    }
}

/// J M⁻¹ Jᵀ + 1e-9 · diagonal. A block is its rows and its bodies; body 0 is the ground. Masses span
/// `ratio`.
fn machine(blocks: &[(usize, Vec<usize>)], ratio: f64, seed: u64) -> Lower {
    let mut random = Random::new(seed);
    let mut first = Vec::new();
    let mut jacobians = Vec::new();
    let mut n = 0;
    let bodies = blocks.iter().flat_map(|b| &b.1).max().map_or(0, |b| *b) + 1;
    let mass: Vec<f64> = (0..bodies)
        .map(|_| ratio.powf(0.5 * random.signed()))
        .collect();
    let mut touch = vec![Vec::new(); bodies];
    for (b, (rows, on)) in blocks.iter().enumerate() {
        first.push(n);
        n += rows;
        jacobians.push(
            on.iter()
                .map(|_| {
                    (0..*rows)
                        .map(|_| std::array::from_fn::<f64, 6, _>(|_| random.signed()))
                        .collect::<Vec<_>>()
                })
                .collect::<Vec<_>>(),
        );
        for (side, body) in on.iter().enumerate() {
            touch[*body].push((b, side));
        }
    }
    let mut entries = BTreeMap::new();
    for i in 0..n as u32 {
        entries.insert((i, i), 0.0);
    }
    for body in 1..bodies {
        for &(b, sb) in &touch[body] {
            for &(c, sc) in &touch[body] {
                for (p, jb) in jacobians[b][sb].iter().enumerate() {
                    for (q, jc) in jacobians[c][sc].iter().enumerate() {
                        let (i, j) = (first[b] + p, first[c] + q);
                        if i >= j {
                            let v: f64 = jb.iter().zip(jc).map(|(x, y)| x * y).sum();
                            *entries.entry((j as u32, i as u32)).or_insert(0.0) += v / mass[body];
                        }
                    }
                }
            }
        }
    }
    for i in 0..n as u32 {
        *entries.get_mut(&(i, i)).expect("a diagonal") *= 1.0 + 1e-9;
    }
    Lower::from_map(n, &entries)
}

fn chain(bodies: usize, rows: usize) -> Vec<(usize, Vec<usize>)> {
    (1..=bodies).map(|b| (rows, vec![b - 1, b])).collect()
}

/// `arms` chains on one free hub.
fn star(arms: usize, bodies: usize, rows: usize) -> Vec<(usize, Vec<usize>)> {
    let mut blocks = Vec::new();
    for arm in 0..arms {
        for b in 0..bodies {
            let body = 2 + arm * bodies + b;
            blocks.push((rows, vec![if b == 0 { 1 } else { body - 1 }, body]));
        }
    }
    blocks
}

/// Rods along the edges of a `side` × `side` grid, held together by spherical joints at its nodes and
/// to the ground at the corners.
fn net(side: usize) -> Vec<(usize, Vec<usize>)> {
    let mut at = vec![Vec::new(); side * side];
    let mut rod = 0;
    for y in 0..side {
        for x in 0..side {
            for (dx, dy) in [(1, 0), (0, 1)] {
                if x + dx < side && y + dy < side {
                    rod += 1;
                    at[y * side + x].push(rod);
                    at[(y + dy) * side + x + dx].push(rod);
                }
            }
        }
    }
    let mut blocks = Vec::new();
    for (node, rods) in at.iter().enumerate() {
        if [0, side - 1, side * (side - 1), side * side - 1].contains(&node) {
            blocks.push((3, vec![0, rods[0]]));
        }
        for rod in &rods[1..] {
            blocks.push((3, vec![rods[0], *rod]));
        }
    }
    blocks
}

/// Eight wheels on arms with springs' limits, axles through four differentials and a gear box to an
/// engine, and a contact of four points under each wheel.
fn vehicle() -> Vec<(usize, Vec<usize>)> {
    let chassis = 1;
    let mut blocks = Vec::new();
    let mut next = 2;
    let mut body = || {
        next += 1;
        next - 1
    };
    let engine = body();
    let gear_box = body();
    blocks.push((5, vec![chassis, engine]));
    blocks.push((5, vec![chassis, gear_box]));
    blocks.push((1, vec![engine, gear_box]));
    for _axle in 0..4 {
        let shaft = body();
        blocks.push((5, vec![chassis, shaft]));
        blocks.push((1, vec![gear_box, shaft]));
        let mut wheels = Vec::new();
        for _side in 0..2 {
            let arm = body();
            let wheel = body();
            blocks.push((5, vec![chassis, arm]));
            blocks.push((1, vec![chassis, arm]));
            blocks.push((5, vec![arm, wheel]));
            for _ in 0..2 {
                blocks.push((3, vec![0, wheel]));
            }
            wheels.push(wheel);
        }
        blocks.push((1, vec![shaft, wheels[0], wheels[1]]));
    }
    blocks
}

/// Planks joined by two hinges each, with boxes on some of them.
fn bridge(planks: usize) -> Vec<(usize, Vec<usize>)> {
    let mut blocks = Vec::new();
    for p in 1..=planks {
        blocks.push((3, vec![p - 1, p]));
        blocks.push((2, vec![p - 1, p]));
        if p % 4 == 0 {
            for _ in 0..2 {
                blocks.push((3, vec![p, planks + p / 4]));
            }
        }
    }
    blocks.push((3, vec![planks, 0]));
    blocks.push((2, vec![planks, 0]));
    blocks
}

/// A closed loop of bodies.
fn ring(bodies: usize, rows: usize) -> Vec<(usize, Vec<usize>)> {
    (1..=bodies)
        .map(|b| (rows, vec![b, b % bodies + 1]))
        .collect()
}

fn systems() -> Vec<(&'static str, Lower)> {
    vec![
        ("chain 50 × 6", machine(&chain(50, 6), 1e2, 1)),
        ("chain 60 × 5", machine(&chain(60, 5), 1e2, 2)),
        ("star 4 × 15 × 5", machine(&star(4, 15, 5), 1e2, 3)),
        ("net 8 × 8", machine(&net(8), 1e2, 4)),
        ("net 16 × 16", machine(&net(16), 1e2, 4)),
        ("vehicle", machine(&vehicle(), 1e3, 5)),
        ("bridge 40", machine(&bridge(40), 1e2, 6)),
        ("ring 40 × 5", machine(&ring(40, 5), 1e2, 7)),
    ]
}

/// Random blocks on random bodies: 1 to 6 rows each.
fn random_machine(blocks: usize, bodies: usize, seed: u64) -> Lower {
    let mut random = Random::new(seed);
    let blocks: Vec<_> = (0..blocks)
        .map(|_| {
            let a = random.below(bodies + 1);
            let b = random.below(bodies) + 1;
            let on = if a == b { vec![b] } else { vec![a, b] };
            (1 + random.below(6), on)
        })
        .collect();
    let mut lower = machine(&blocks, 1e2, seed);
    // Too many rows on a body leave A singular; a compliance of a tenth makes up for it.
    for j in 0..lower.n {
        lower.value[lower.col_start[j] as usize] *= 1.1;
    }
    lower
}

/// Scalar rows with a strong diagonal.
fn random_scalar(n: usize, density: f64, seed: u64) -> Lower {
    let mut random = Random::new(seed);
    let mut entries = BTreeMap::new();
    let mut sum = vec![0.1; n];
    for j in 0..n {
        for i in j + 1..n {
            if random.signed() < 2.0 * density - 1.0 {
                let v = random.signed();
                entries.insert((j as u32, i as u32), v);
                sum[i] += v.abs();
                sum[j] += v.abs();
            }
        }
    }
    for (i, s) in sum.iter().enumerate() {
        entries.insert((i as u32, i as u32), *s);
    }
    Lower::from_map(n, &entries)
}

fn norm(a: &[Vec<f64>]) -> f64 {
    a.iter()
        .flatten()
        .fold(0.0, |m: f64, x| m.max(x.abs()))
        .max(f64::MIN_POSITIVE)
}

/// L with its unit diagonal, dense, and D, by position.
fn dense_factor(ldl: &SparseLdl) -> (Vec<Vec<f64>>, Vec<f64>) {
    let n = ldl.rows;
    let symbolic = &ldl.symbolic;
    let mut l = vec![vec![0.0; n]; n];
    for s in 0..symbolic.nodes() {
        let stride = 8 * symbolic.stride[s] as usize;
        let panel = numbers(&ldl.numeric.l[symbolic.octets(s)]);
        for (k, column) in symbolic.columns(s).enumerate() {
            for (r, row) in symbolic.rows(s).iter().enumerate() {
                let v = panel[k * stride + r];
                if *row as usize <= column {
                    assert_eq!(v, 0.0, "above the diagonal");
                } else {
                    l[*row as usize][column] = v;
                }
            }
            for r in symbolic.rows(s).len()..stride {
                assert_eq!(panel[k * stride + r], 0.0, "padding");
            }
            l[column][column] = 1.0;
        }
    }
    (l, ldl.numeric.d.clone())
}

/// max |L D Lᵀ − P A Pᵀ| / max |A|.
fn backward_error(ldl: &SparseLdl, a: &[Vec<f64>]) -> f64 {
    let n = ldl.rows;
    let (l, d) = dense_factor(ldl);
    let order = &ldl.symbolic.order;
    let mut worst: f64 = 0.0;
    for i in 0..n {
        for j in 0..=i {
            let product: f64 = (0..=j).map(|k| l[i][k] * d[k] * l[j][k]).sum();
            worst = worst.max((product - a[order[i] as usize][order[j] as usize]).abs());
        }
    }
    worst / norm(a)
}

fn same_bits(a: &SparseLdl, b: &SparseLdl) -> bool {
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    bits(numbers(&a.numeric.l)) == bits(numbers(&b.numeric.l))
        && bits(&a.numeric.d) == bits(&b.numeric.d)
        && bits(&a.numeric.inverse) == bits(&b.numeric.inverse)
}

/// ‖A x − r‖ / (‖A‖ ‖x‖ + ‖r‖) over the free rows, all in the largest entry; checks that others stay.
fn solve_error(ldl: &mut SparseLdl, a: &[Vec<f64>], tight: &[bool]) -> f64 {
    let n = ldl.rows;
    let mut random = Random::new(99);
    let r: Vec<f64> = (0..n)
        .map(|i| if tight[i] { f64::NAN } else { random.signed() })
        .collect();
    let mut x = r.clone();
    ldl.solve(&mut x);
    let mut worst: f64 = 0.0;
    let mut size: f64 = 1.0;
    for i in 0..n {
        if tight[i] {
            assert!(x[i].is_nan(), "a tight row was changed");
            continue;
        }
        size = size.max(norm(a) * x[i].abs());
        let product: f64 = (0..n).filter(|j| !tight[*j]).map(|j| a[i][j] * x[j]).sum();
        worst = worst.max((product - r[i]).abs());
    }
    worst / size
}

fn check_factor(lower: &Lower) {
    let mut ldl = SparseLdl::default();
    lower.factor(&mut ldl).expect("positive definite");
    let mut seen = vec![false; lower.n];
    for i in ldl.order() {
        assert!(!std::mem::replace(&mut seen[*i as usize], true));
    }
    assert!(seen.iter().all(|s| *s), "the order is a permutation");
    let a = lower.dense();
    let error = backward_error(&ldl, &a);
    assert!(error <= 1e-15 * (10.0 + lower.n as f64), "{error:e}");
    let free = vec![false; lower.n];
    let error = solve_error(&mut ldl, &a, &free);
    assert!(error <= 1e-14 * (10.0 + lower.n as f64), "{error:e}");
    assert!(ldl.numeric.dense.iter().all(|x| *x == 0.0));
}

#[test]
fn machines_are_factored() {
    for (name, lower) in systems() {
        if lower.n < 1000 {
            println!("{name}");
            check_factor(&lower);
        }
    }
}

#[test]
fn small_and_extreme_patterns_are_factored() {
    for n in [0, 1, 2, 7, 8, 9, 60] {
        check_factor(&random_scalar(n, 0.0, 1));
        check_factor(&random_scalar(n, 1.0, 2));
        check_factor(&random_scalar(n, 0.1, 3));
    }
    let mut empty = SparseLdl::default();
    empty.factor(0, &[0], &[], &[], &[]).expect("no pivots");
    empty.solve(&mut []);
    empty.restrict(&[]).expect("nothing to do");
    assert_eq!(fill(&empty), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_matrices_are_factored(blocks in 1usize..40, bodies in 1usize..30, seed: u64) {
        check_factor(&random_machine(blocks, bodies, seed));
    }

    #[test]
    fn random_scalar_matrices_are_factored(n in 1usize..90, density in 0.0..0.3, seed: u64) {
        check_factor(&random_scalar(n, density, seed));
    }

    #[test]
    fn any_sequence_of_tight_sets_gives_the_fresh_factor(
        blocks in 2usize..40, bodies in 1usize..30, seed: u64, scalar: bool,
    ) {
        let lower = if scalar {
            random_scalar(3 * blocks, 0.1, seed)
        } else {
            random_machine(blocks, bodies, seed)
        };
        check_restrictions(&lower, seed, 12);
    }
}

/// Entries of L below the diagonal, with the zeros that supernodes store.
fn fill(ldl: &SparseLdl) -> usize {
    let symbolic = &ldl.symbolic;
    let column = |s: usize, k: usize| symbolic.rows(s).len() - (k - symbolic.columns(s).start) - 1;
    (0..ldl.rows)
        .map(|k| column(symbolic.node[k] as usize, k))
        .sum()
}

/// Random tight sets one after the other, near each other and far, each against a fresh factor. Whether
/// some supernodes were kept while others were factored anew.
fn check_restrictions(lower: &Lower, seed: u64, rounds: usize) -> bool {
    let n = lower.n;
    let mut random = Random::new(seed);
    let mut ldl = SparseLdl::default();
    lower.factor(&mut ldl).expect("positive definite");
    let mut tight = vec![false; n];
    let mut some_stayed = false;
    for round in 0..rounds {
        let flips = [1, 1, 2, n / 10, n / 3][random.below(5)];
        for _ in 0..flips {
            let i = random.below(n);
            tight[i] = random.signed() < 0.0;
        }
        if random.below(8) == 0 {
            tight.fill(false);
        }
        ldl.restrict(&tight).expect("positive definite");
        some_stayed |= ldl.affected.contains(&true) && ldl.affected.contains(&false);
        assert!(ldl.numeric.dense.iter().all(|x| *x == 0.0));
        let fresh = lower.fresh_factor(&tight);
        let a = lower.restricted(&tight);
        let error = backward_error(&ldl, &a);
        assert!(error <= 1e-13, "round {round}: backward {error:e}");
        assert!(same_bits(&ldl, &fresh), "round {round}: history shows");
        let error = solve_error(&mut ldl, &a, &tight);
        assert!(error <= 1e-12, "round {round}: solve {error:e}");
    }
    some_stayed
}

/// Every row alone taken out and put back, against fresh factors.
#[test]
fn single_rows_are_taken_out_and_put_back() {
    for lower in [
        machine(&chain(6, 5), 1e2, 1),
        machine(&net(4), 1e2, 4),
        random_scalar(40, 0.1, 5),
    ] {
        let mut tight = vec![false; lower.n];
        let whole = lower.fresh_factor(&tight);
        let mut ldl = whole.clone();
        for i in 0..lower.n {
            tight[i] = true;
            ldl.restrict(&tight).expect("positive definite");
            assert!(same_bits(&ldl, &lower.fresh_factor(&tight)), "without {i}");
            tight[i] = false;
            ldl.restrict(&tight).expect("positive definite");
            assert!(same_bits(&ldl, &whole), "with {i} again");
        }
    }
}

#[test]
fn machines_are_restricted() {
    for (name, lower) in systems() {
        if lower.n < 600 {
            println!("{name}");
            assert!(check_restrictions(&lower, 11, 40), "all is factored anew");
        }
    }
}

#[test]
fn the_same_calls_give_the_same_bits() {
    for (_, lower) in systems() {
        let run = || {
            let mut ldl = SparseLdl::default();
            lower.factor(&mut ldl).expect("positive definite");
            let mut random = Random::new(7);
            let mut tight = vec![false; lower.n];
            for _ in 0..10 {
                for _ in 0..4 {
                    tight[random.below(lower.n)] ^= true;
                }
                ldl.restrict(&tight).expect("positive definite");
            }
            ldl
        };
        let (mut a, b) = (run(), run());
        assert!(same_bits(&a, &b));
        // And a factor in used memory is that in new memory.
        lower.factor(&mut a).expect("positive definite");
        let mut fresh = SparseLdl::default();
        lower.factor(&mut fresh).expect("positive definite");
        assert!(same_bits(&a, &fresh));
    }
}

#[test]
fn every_processor_computes_the_same() {
    let lower = machine(&net(6), 1e2, 1);
    let mut ldl = SparseLdl::default();
    lower.factor(&mut ldl).expect("positive definite");
    let mut scalar = ldl.clone();
    let mut tight = vec![false; lower.n];
    for i in [3, 50, 100] {
        factor_scalar(&mut scalar);
        assert!(same_bits(&ldl, &scalar));
        tight[i] = true;
        ldl.restrict(&tight).expect("positive definite");
        scalar.numeric.tight.clone_from(&ldl.numeric.tight);
        scalar.affected.clone_from(&ldl.affected);
    }
    factor_scalar(&mut scalar);
    assert!(same_bits(&ldl, &scalar));
    let n = lower.n;
    let mut x: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
    for (k, i) in scalar.symbolic.order.iter().enumerate() {
        scalar.numeric.dense[k] = if scalar.numeric.tight[k] {
            0.0
        } else {
            x[*i as usize]
        };
    }
    ldl.solve(&mut x);
    pulp::WithSimd::with_simd(
        Solve {
            symbolic: &scalar.symbolic,
            numeric: &mut scalar.numeric,
        },
        pulp::Scalar,
    );
    for (k, i) in scalar.symbolic.order.iter().enumerate() {
        if !scalar.numeric.tight[k] {
            assert_eq!(scalar.numeric.dense[k].to_bits(), x[*i as usize].to_bits());
        }
    }
}

/// Factors what is affected without registers.
fn factor_scalar(ldl: &mut SparseLdl) {
    let factor = Factor {
        symbolic: &ldl.symbolic,
        numeric: &mut ldl.numeric,
        wanted: &ldl.affected,
        deadline: None,
    };
    pulp::WithSimd::with_simd(factor, pulp::Scalar).expect("positive definite");
}

#[test]
fn what_is_not_positive_definite_breaks_down() {
    let matrix = |entries: &[(u32, u32, f64)], n| {
        Lower::from_map(n, &entries.iter().map(|(i, j, v)| ((*j, *i), *v)).collect())
    };
    let mut ldl = SparseLdl::default();
    let indefinite = matrix(&[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)], 2);
    let error = indefinite.factor(&mut ldl).expect_err("indefinite");
    let is_it = matches!(
        error,
        Breakdown::Pivot {
            row: 0 | 1,
            pivot: -3.0
        }
    );
    assert!(is_it, "{error}");
    let singular = matrix(&[(0, 0, 1.0), (1, 0, 1.0), (1, 1, 1.0)], 2);
    singular.factor(&mut ldl).expect_err("singular");
    // What is left of a singular matrix may be regular.
    ldl.restrict(&[true, false]).expect("1 is positive");
    let mut x = [7.0, 3.0];
    ldl.solve(&mut x);
    assert_eq!(x, [7.0, 3.0]);
    ldl.restrict(&[false, false]).expect_err("singular again");
    ldl.restrict(&[false, true]).expect("1 is positive");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in 0..3 {
            let mut a = matrix(&[(0, 0, 2.0), (1, 0, 1.0), (1, 1, 2.0)], 2);
            a.value[place] = bad;
            a.factor(&mut ldl).expect_err("no number");
        }
    }
    matrix(&[(0, 0, 0.0)], 1)
        .factor(&mut ldl)
        .expect_err("zero");
    // A hyperstatic machine: more rows than its bodies have freedoms.
    let over = machine(&[(6, vec![0, 1]), (6, vec![0, 1])], 1.0, 1);
    over.factor(&mut ldl)
        .expect("the compliance of 1e-9 makes it regular");
    let mut over = over;
    for j in 0..over.n {
        over.value[over.col_start[j] as usize] /= 1.0 + 1e-9;
    }
    over.factor(&mut ldl).expect_err("singular");
    let half: Vec<bool> = (0..12).map(|i| i >= 6).collect();
    ldl.restrict(&half).expect("six rows on six freedoms");
    let error = backward_error(&ldl, &over.restricted(&half));
    assert!(error <= 1e-14, "{error:e}");
}

#[test]
fn a_pattern_is_analysed_once() {
    let (a, b) = (
        machine(&chain(20, 5), 1e2, 1),
        machine(&chain(20, 5), 1e4, 2),
    );
    let c = machine(&net(4), 1e2, 3);
    let mut ldl = SparseLdl::default();
    for (lower, analyses) in [(&a, 1), (&b, 1), (&c, 2), (&a, 3)] {
        lower.factor(&mut ldl).expect("positive definite");
        assert_eq!(ldl.analyses, analyses);
        assert!(backward_error(&ldl, &lower.dense()) <= 1e-13);
    }
}

#[test]
#[should_panic(expected = "its diagonal and then ascending rows")]
fn a_column_without_its_diagonal_is_refused() {
    let _ = SparseLdl::default().factor(2, &[0, 1, 2], &[1, 1], &[1.0, 1.0], &[false; 2]);
}

/// Entries below the diagonal of L with the same order and no stored zeros, by elimination on sets.
fn exact_fill(lower: &Lower, order: &[u32]) -> usize {
    let mut place = vec![0; lower.n];
    for (k, i) in order.iter().enumerate() {
        place[*i as usize] = k;
    }
    let mut below = vec![BTreeSet::new(); lower.n];
    for j in 0..lower.n {
        for e in lower.col_start[j] as usize + 1..lower.col_start[j + 1] as usize {
            let (p, q) = (place[j], place[lower.row[e] as usize]);
            below[p.min(q)].insert(p.max(q));
        }
    }
    let mut fill = 0;
    for k in 0..lower.n {
        let rows = std::mem::take(&mut below[k]);
        fill += rows.len();
        if let Some(parent) = rows.first() {
            below[*parent].extend(rows.iter().filter(|r| *r > parent));
        }
    }
    fill
}

#[test]
fn the_order_fills_no_more_than_reverse_cuthill_mckee() {
    for (name, lower) in systems() {
        let mut ldl = SparseLdl::default();
        lower.factor(&mut ldl).expect("positive definite");
        let ours = exact_fill(&lower, ldl.order());
        let banded = exact_fill(&lower, &reverse_cuthill_mckee(&lower));
        println!(
            "{name}: {ours} entries, {banded} after RCM, {} stored",
            fill(&ldl)
        );
        assert!(ours <= banded, "{name}: {ours} against {banded}");
        assert!(fill(&ldl) >= ours);
    }
}

/// Exact minimum degree, one row at a time on explicit sets; the first row of a degree goes first.
fn exact_minimum_degree(lower: &Lower) -> Vec<u32> {
    let mut adjacent = vec![BTreeSet::new(); lower.n];
    for j in 0..lower.n {
        for e in lower.col_start[j] as usize + 1..lower.col_start[j + 1] as usize {
            adjacent[j].insert(lower.row[e] as usize);
            adjacent[lower.row[e] as usize].insert(j);
        }
    }
    let mut left: BTreeSet<usize> = (0..lower.n).collect();
    let mut order = Vec::new();
    while let Some(&pivot) = left.iter().min_by_key(|i| adjacent[**i].len()) {
        left.remove(&pivot);
        order.push(pivot as u32);
        let around = std::mem::take(&mut adjacent[pivot]);
        for i in &around {
            adjacent[*i].remove(&pivot);
            adjacent[*i].extend(around.iter().filter(|j| *j != i));
        }
    }
    order
}

/// No fill on a tree, and about that of exact minimum degree elsewhere: ties alone make some percent.
#[test]
fn the_order_is_as_good_as_exact_minimum_degree() {
    let mut random = Random::new(3);
    let mut entries = BTreeMap::new();
    let n = 200;
    for i in 0..n as u32 {
        entries.insert((i, i), 10.0);
        if i > 0 {
            entries.insert((random.below(i as usize) as u32, i), 0.1);
        }
    }
    let tree = Lower::from_map(n, &entries);
    let mut ldl = SparseLdl::default();
    tree.factor(&mut ldl).expect("positive definite");
    assert_eq!(exact_fill(&tree, ldl.order()), n - 1);
    let side = 20;
    let mut entries = BTreeMap::new();
    for i in 0..side * side {
        entries.insert((i, i), 5.0);
        if i % side > 0 {
            entries.insert((i - 1, i), -1.0);
        }
        if i >= side {
            entries.insert((i - side, i), -1.0);
        }
    }
    let grid = Lower::from_map((side * side) as usize, &entries);
    let mut cases = systems();
    cases.push(("five-point grid 20 × 20", grid));
    for (name, lower) in cases {
        if lower.n > 600 {
            continue;
        }
        lower.factor(&mut ldl).expect("positive definite");
        let ours = exact_fill(&lower, ldl.order());
        let exact = exact_fill(&lower, &exact_minimum_degree(&lower));
        println!("{name}: {ours} entries, {exact} by exact minimum degree");
        assert!(ours as f64 <= 1.1 * exact as f64, "{name}");
    }
}

fn reverse_cuthill_mckee(lower: &Lower) -> Vec<u32> {
    let n = lower.n;
    let mut adjacent = vec![Vec::new(); n];
    for j in 0..n {
        for e in lower.col_start[j] as usize + 1..lower.col_start[j + 1] as usize {
            let i = lower.row[e] as usize;
            adjacent[i].push(j);
            adjacent[j].push(i);
        }
    }
    let sweep = |root: usize, done: &[bool]| {
        let mut level = vec![usize::MAX; n];
        let mut order = Vec::new();
        let mut queue = VecDeque::from([root]);
        level[root] = 0;
        while let Some(i) = queue.pop_front() {
            order.push(i);
            let mut next: Vec<_> = adjacent[i]
                .iter()
                .copied()
                .filter(|j| level[*j] == usize::MAX && !done[*j])
                .collect();
            next.sort_by_key(|j| (adjacent[*j].len(), *j));
            for j in next {
                level[j] = level[i] + 1;
                queue.push_back(j);
            }
        }
        (order, level)
    };
    let mut done = vec![false; n];
    let mut all = Vec::new();
    for seed in 0..n {
        if done[seed] {
            continue;
        }
        // A root far from the others (George & Liu).
        let mut root = seed;
        let mut height = 0;
        loop {
            let (order, level) = sweep(root, &done);
            let last = level[order[order.len() - 1]];
            if last <= height && height > 0 || last == 0 {
                break;
            }
            height = last;
            root = order
                .iter()
                .copied()
                .filter(|i| level[*i] == last)
                .min_by_key(|i| adjacent[*i].len())
                .expect("the last level");
        }
        let (order, _) = sweep(root, &done);
        for i in order {
            done[i] = true;
            all.push(i as u32);
        }
    }
    all.reverse();
    all
}

#[test]
fn a_factorisation_is_given_up_at_the_deadline_and_can_be_made_later() {
    let lower = machine(&net(8), 100.0, 5);
    let mut ldl = SparseLdl::default();
    ldl.set_deadline(Some(Instant::now()));
    assert_eq!(lower.factor(&mut ldl), Err(Breakdown::Late));
    ldl.set_deadline(None);
    lower.factor(&mut ldl).expect("positive definite");
    assert!(same_bits(&ldl, &lower.fresh_factor(&vec![false; lower.n])));
}

#[test]
fn the_analysis_of_too_large_a_factor_ends_and_leaves_room_for_the_next() {
    let lower = machine(&net(8), 1.0, 5);
    let (start, row) = (&*lower.col_start, &*lower.row);
    let entries = {
        let mut ldl = SparseLdl::default();
        ldl.analyse(lower.n, lower.n, start, row);
        ldl.cost()[0]
    };
    let mut symbolic = Symbolic::default();
    for share in [0.01, 0.3] {
        let most = (share * entries) as u64;
        assert!(
            !symbolic.analyse(lower.n, lower.n, start, row, most),
            "{share}"
        );
    }
    assert!(symbolic.analyse(lower.n, lower.n, start, row, 2 * entries as u64));
    let mut fresh = Symbolic::default();
    assert!(fresh.analyse(lower.n, lower.n, start, row, MOST_ENTRIES));
    assert_eq!(symbolic.order, fresh.order);
    assert_eq!(symbolic.panel, fresh.panel);
    assert_eq!(symbolic.target, fresh.target);
}
