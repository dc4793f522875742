//! Dense random matrices: figure 2.4, and our Cholesky factorisation beside nalgebra's.

use std::time::Instant;

use nalgebra::{Cholesky, DMatrix};

use super::figures::DOWNDATING_PAYS;
use crate::math::random::Random;
use crate::measure::plot::{Axis, Mark, Plot};
use crate::papers::measure::table::Columns;
use crate::papers::measure::{Bench, in_turns};
use crate::papers::{Findings, Result};
use crate::solve::bpp::panels::{Envelope, Panels, TILE};

/// Shares of tight rows (%).
const SHARES: [u32; 6] = [1, 5, 10, 15, 20, 30];

/// Adds both.
pub fn report(bench: &Bench, findings: &mut Findings) -> Result<()> {
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
            false => size * random.signed(),
        })
    }

    fn at(&self, i: usize, k: usize) -> f64 {
        self.value[self.envelope.at(i.max(k), i.min(k))]
    }

    fn factor(&self, out: &mut Panels) -> Result<()> {
        Ok(out.factor(&self.envelope, &self.value, &[], 0)?)
    }
}

/// Which of `n` rows are tight: so many, drawn at random.
fn draw(n: usize, count: usize) -> Vec<bool> {
    let mut random = Random::new((n * 1000 + count) as u64);
    let mut tight = vec![false; n];
    let mut left = count;
    while left > 0 {
        let row = random.below(n);
        left -= usize::from(!std::mem::replace(&mut tight[row], true));
    }
    tight
}

/// Times of gathering and factoring A_FF, and of copying L and removing the tight rows (s).
fn race(bench: &Bench, a: &Dense, tight: &[bool]) -> Result<[f64; 2]> {
    let n = a.n;
    let (mut whole, mut work, mut again) =
        (Panels::default(), Panels::default(), Panels::default());
    a.factor(&mut whole)?;
    let mut sigma = vec![0.0; a.envelope.panels() * TILE];
    let free: Vec<usize> = (0..n).filter(|i| !tight[*i]).collect();
    in_turns(bench.either((3, 0.004), (15, 0.1)), |which| {
        let lap = Instant::now();
        if which == 0 {
            Dense::new(free.len(), |i, k| a.at(free[i], free[k])).factor(&mut again)?;
        } else {
            work.copy_from(&whole);
            for row in (0..n).filter(|i| tight[*i]) {
                work.remove(&a.envelope, row, &mut sigma);
            }
        }
        Ok(lap.elapsed().as_secs_f64())
    })
}

/// Figure 2.4.
fn downdating(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let sizes: &[usize] = bench.either(&[50, 100, 200], &[50, 100, 200, 400, 800]);
    let mut rows = Vec::new();
    for n in sizes {
        bench.say(format!("random matrices of {n} rows"));
        let a = Dense::random(*n);
        for share in SHARES {
            let count = (n * share as usize).div_ceil(100);
            rows.push((*n, share, race(bench, &a, &draw(*n, count))?));
        }
    }
    let faster = |[again, downdate]: [f64; 2]| again / downdate;
    let title = "Downdating against factoring A_FF anew: random dense matrices";
    let source = "Lefebvre 2020, figure 2.4";
    findings.table(
        Columns::new("lefebvre-figure-2.4", title, source, &rows)
            .key("rows", |(n, ..)| n)
            .key("tight", |(_, share, _)| format!("{share} %"))
            .column("factoring A_FF [ms]", |(.., times)| 1e3 * times[0])
            .column("downdating [ms]", |(.., times)| 1e3 * times[1])
            .column("speed-up", |(.., times)| faster(*times))
            .note(
                "Gathering A_FF, and copying L, are counted. Ours factors in tiles, near the processor's speed, while \
                 a removal is bound by memory.",
            ),
    );
    let sizes = rows.chunk_by(|a, b| a.0 == b.0).map(|own| {
        let found = own.iter().map(|row| [f64::from(row.1), faster(row.2)]);
        let found: Vec<[f64; 2]> = found.collect();
        let remark = match break_even(&found) {
            Some(_) => "",
            None if found[0][1] < 1.0 => "it never paid",
            None => "it always paid",
        };
        (own[0].0, break_even(&found), remark)
    });
    let sizes: Vec<_> = sizes.collect();
    let title = "Where downdating stops to pay";
    findings.table(
        Columns::new("break-even", title, "Lefebvre 2020, 2.2.2", &sizes)
            .key("rows", |(n, ..)| n)
            .column("downdating pays below [% tight]", |(_, here, _)| {
                (DOWNDATING_PAYS, *here)
            })
            .remark(|(.., remark)| *remark),
    );
    let mut plot = Plot::new(
        "Speed-up of downdating over factoring A_FF, dense",
        Axis::Log("rows"),
        Axis::Log("speed-up"),
    );
    for share in SHARES {
        let line = rows.iter().filter(|row| row.1 == share);
        let line = line.map(|(n, _, times)| [*n as f64, faster(*times)]);
        plot.add(format!("{share} % tight"), line, Mark::Line);
    }
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
fn cholesky(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let mut rows = Vec::new();
    for n in [100, 200, 400, 800] {
        bench.say(format!("Cholesky of {n} rows"));
        let a = Dense::random(n);
        let other = DMatrix::from_fn(n, n, |i, k| a.at(i, k));
        let mut panels = Panels::default();
        let times: [f64; 2] = in_turns(bench.either((2, 0.05), (9, 1.0)), |which| {
            let copy = (which == 1).then(|| other.clone());
            let lap = Instant::now();
            match copy {
                None => a.factor(&mut panels)?,
                Some(copy) => drop(std::hint::black_box(Cholesky::new(copy))),
            }
            Ok(lap.elapsed().as_secs_f64())
        })?;
        let work = (n as f64).powi(3) / 3.0;
        rows.push((n, times.map(|t| 1e-9 * work / t)));
    }
    let title = "Dense Cholesky factorisation, as in full, on one thread: n³/3 operations";
    findings.table(
        Columns::new("cholesky", title, "", &rows)
            .key("rows", |(n, _)| n)
            .column("ours [GFlop/s]", |(_, [ours, _])| *ours)
            .column("nalgebra [GFlop/s]", |(_, [_, other])| *other)
            .column("ratio", |(_, [ours, other])| ours / other),
    );
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
