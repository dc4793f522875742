//! Dense random matrices: figure 2.4, and our Cholesky factorisation beside nalgebra's.

use std::time::Instant;

use moreau::measure::Summary;
use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::scene::random::Random;
use moreau::solve::bpp::factor::{Envelope, Panels, TILE};
use nalgebra::{Cholesky, DMatrix};

use super::super::measure::Bench;
use super::super::{Failure, Findings, paper};

/// Shares of tight rows (%).
const SHARES: [u32; 6] = [1, 5, 10, 15, 20, 30];

/// Runs both.
pub fn run(bench: &Bench, findings: &mut Findings) -> Result<(), Failure> {
    downdating(bench, findings)?;
    cholesky(bench, findings)
}

/// A dense positive definite matrix with unit diagonal, in panels.
struct Dense {
    n: usize,
    envelope: Envelope,
    value: Vec<f64>,
}

impl Dense {
    /// The entry of row `i` and column `k` ≤ `i` is `entry(i, k)`.
    fn new(n: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut envelope = Envelope::default();
        envelope.set(n, |_| n - 1);
        let mut value = vec![0.0; envelope.len()];
        for k in 0..n {
            for i in k..n {
                value[envelope.at(i, k)] = entry(i, k);
            }
        }
        for i in n..envelope.panels() * TILE {
            value[envelope.at(i, i)] = 1.0;
        }
        Self { n, envelope, value }
    }

    /// Random off the diagonal, and small enough to stay positive definite.
    fn random(n: usize) -> Self {
        let mut random = Random::new(n as u64);
        let size = 0.4 / (n as f64).sqrt();
        Self::new(n, |i, k| match i == k {
            true => 1.0,
            false => random.range(-size, size),
        })
    }

    fn at(&self, i: usize, k: usize) -> f64 {
        self.value[self.envelope.at(i.max(k), i.min(k))]
    }

    fn factor(&self, out: &mut Panels) -> Result<(), Failure> {
        let done = out.factor(&self.envelope, &self.value, &[], 0);
        done.map_err(|e| Failure::Work(e.to_string()))
    }
}

/// Which of `n` rows are tight: so many, drawn at random.
fn draw(n: usize, count: usize) -> Vec<bool> {
    let mut random = Random::new((n * 1000 + count) as u64);
    let mut tight = vec![false; n];
    let mut left = count;
    while left > 0 {
        let row = (random.unit() * n as f64) as usize % n;
        left -= usize::from(!std::mem::replace(&mut tight[row], true));
    }
    tight
}

/// Times of gathering and factoring A_FF, and of copying L and removing the tight rows (s).
fn race(bench: &Bench, a: &Dense, tight: &[bool]) -> Result<[f64; 2], Failure> {
    let n = a.n;
    let (mut whole, mut work, mut again) =
        (Panels::default(), Panels::default(), Panels::default());
    a.factor(&mut whole)?;
    let mut sigma = vec![0.0; a.envelope.panels() * TILE];
    let free: Vec<usize> = (0..n).filter(|i| !tight[*i]).collect();
    let mut times = [Vec::new(), Vec::new()];
    let (fewest, seconds) = bench.either((3, 0.004), (15, 0.1));
    let start = Instant::now();
    while times[0].len() <= fewest || start.elapsed().as_secs_f64() < seconds {
        let lap = Instant::now();
        Dense::new(free.len(), |i, k| a.at(free[i], free[k])).factor(&mut again)?;
        times[0].push(lap.elapsed().as_secs_f64());
        let lap = Instant::now();
        work.copy_from(&whole);
        for row in (0..n).filter(|i| tight[*i]) {
            work.remove(&a.envelope, row, &mut sigma);
        }
        times[1].push(lap.elapsed().as_secs_f64());
    }
    Ok(times.map(|t| Summary::of(&t[1..]).median))
}

/// Figure 2.4.
fn downdating(bench: &Bench, findings: &mut Findings) -> Result<(), Failure> {
    let sizes: &[usize] = bench.either(&[50, 100, 200], &[50, 100, 200, 400, 800]);
    let keys = ["rows", "tight"];
    let quantities = [
        ("factoring A_FF", "ms"),
        ("downdating", "ms"),
        ("speed-up", "-"),
    ];
    let mut table = Table::new("lefebvre-figure-2.4", Layout::Columns, &keys, &quantities).titled(
        "Downdating against factoring A_FF anew: random dense matrices",
        "Lefebvre 2020, figure 2.4",
    );
    let mut even = Table::new(
        "break-even",
        Layout::Beside,
        &["rows"],
        &[("downdating pays below", "% tight")],
    )
    .titled("Where downdating stops to pay", "Lefebvre 2020, 2.2.2");
    let mut plot = Plot {
        title: "Speed-up of downdating over factoring A_FF, dense".into(),
        x: Axis::log("rows", "-"),
        y: Axis::log("speed-up", "-"),
        ..Plot::default()
    };
    let mut lines = vec![Vec::new(); SHARES.len()];
    for n in sizes {
        bench.say(format!("random matrices of {n} rows"));
        let a = Dense::random(*n);
        let mut found = Vec::new();
        for (share, line) in SHARES.into_iter().zip(&mut lines) {
            let count = (n * share as usize).div_ceil(100);
            let [again, downdate] = race(bench, &a, &draw(*n, count))?;
            let faster = again / downdate;
            table.row(
                [n.to_string(), format!("{share} %")],
                [1e3 * again, 1e3 * downdate, faster].map(Pair::here),
                "",
            );
            line.push([*n as f64, faster]);
            found.push([f64::from(share), faster]);
        }
        let (here, remark) = match break_even(&found) {
            Some(share) => (Some(share), ""),
            None if found[0][1] < 1.0 => (None, "it never paid"),
            None => (None, "it always paid"),
        };
        let pair = Pair {
            paper: Some(paper::DOWNDATING_PAYS),
            here,
        };
        even.row([n.to_string()], [pair], remark);
    }
    for (share, line) in SHARES.into_iter().zip(lines) {
        plot.add(format!("{share} % tight"), line, Mark::Line);
    }
    table.notes.push(
        "Gathering A_FF, and copying L, are counted. Ours factors in tiles, near the processor's speed, while a removal is bound by memory."
            .to_owned(),
    );
    findings.table(table);
    findings.table(even);
    findings.plot("downdating-random", plot);
    Ok(())
}

/// Share at which a falling speed-up passes 1, along straight lines.
fn break_even(found: &[[f64; 2]]) -> Option<f64> {
    let pair = found.windows(2).find(|p| p[0][1] >= 1.0 && p[1][1] < 1.0)?;
    let ([x0, y0], [x1, y1]) = (pair[0], pair[1]);
    Some(x0 + (x1 - x0) * (y0 - 1.0) / (y0 - y1))
}

/// `full` against nalgebra's Cholesky, in turns.
fn cholesky(bench: &Bench, findings: &mut Findings) -> Result<(), Failure> {
    let quantities = [("ours", "GFlop/s"), ("nalgebra", "GFlop/s"), ("ratio", "-")];
    let mut table = Table::new("cholesky", Layout::Columns, &["rows"], &quantities).titled(
        "Dense Cholesky factorisation, as in full, on one thread: n³/3 operations",
        "",
    );
    for n in [100, 200, 400, 800] {
        bench.say(format!("Cholesky of {n} rows"));
        let a = Dense::random(n);
        let other = DMatrix::from_fn(n, n, |i, k| a.at(i, k));
        let mut panels = Panels::default();
        let mut times = [Vec::new(), Vec::new()];
        let (fewest, seconds) = bench.either((2, 0.05), (9, 1.0));
        let start = Instant::now();
        while times[0].len() <= fewest || start.elapsed().as_secs_f64() < seconds {
            let lap = Instant::now();
            a.factor(&mut panels)?;
            times[0].push(lap.elapsed().as_secs_f64());
            let copy = other.clone();
            let lap = Instant::now();
            let factor = Cholesky::new(copy);
            times[1].push(lap.elapsed().as_secs_f64());
            if factor.is_none() {
                return Err(Failure::Work("a random matrix was not definite".into()));
            }
        }
        let work = (n as f64).powi(3) / 3.0;
        let [ours, nalgebra] = times.map(|t| 1e-9 * work / Summary::of(&t[1..]).median);
        table.row(
            [n.to_string()],
            [ours, nalgebra, ours / nalgebra].map(Pair::here),
            "",
        );
    }
    findings.table(table);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_rows_leave_the_factor_of_the_rest() {
        let a = Dense::random(30);
        let tight = draw(30, 6);
        assert_eq!(tight.iter().filter(|t| **t).count(), 6);
        let mut l = Panels::default();
        assert!(a.factor(&mut l).is_ok());
        let mut sigma = vec![0.0; a.envelope.panels() * TILE];
        for row in (0..30).filter(|i| tight[*i]) {
            l.remove(&a.envelope, row, &mut sigma);
        }
        let free: Vec<usize> = (0..30).filter(|i| !tight[*i]).collect();
        let mut fresh = Panels::default();
        let rest = Dense::new(free.len(), |i, k| a.at(free[i], free[k]));
        assert!(rest.factor(&mut fresh).is_ok());
        for (to, k) in free.iter().enumerate() {
            let ours = l.diagonal(&a.envelope, *k);
            assert!((ours - fresh.diagonal(&rest.envelope, to)).abs() < 1e-14);
        }
    }

    #[test]
    fn the_break_even_lies_between_its_neighbours() {
        assert_eq!(
            break_even(&[[1.0, 3.0], [5.0, 1.5], [10.0, 0.5]]),
            Some(7.5)
        );
        assert_eq!(break_even(&[[1.0, 3.0], [5.0, 1.5]]), None);
    }
}
