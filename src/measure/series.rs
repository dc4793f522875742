//! Summaries of series that never end, in bounded memory.

use std::collections::BTreeMap;

use super::Summary;

/// Values that are kept as they are; of longer series median and percentile are known to [`ACCURACY`] alone.
pub const EXACT: usize = 4096;

/// How far the median and the 95th percentile of a longer series are off at most, as a share of their size (-).
pub const ACCURACY: f64 = 0.005;

/// ln of the ratio of a bin's ends, 2 ln(1 + [`ACCURACY`]): the middle of them is as near to both (-).
const WIDTH: f64 = 0.009_975;

/// A series of numbers, of which a [`Summary`] can be had at any time. Mean and maximum are exact; median and 95th
/// percentile are for the first 4,096 values, and of more they are within half a percent: these are counted in bins
/// each 1 % wider than the one before (Masson, Rim and Lee 2019, DDSketch), at most 142,000 of each sign where values
/// go from the smallest to the largest number there is.
#[derive(Clone, Debug, Default)]
pub struct Series {
    count: u64,
    sum: f64,
    /// What additions to the sum have rounded off.
    rest: f64,
    max: Option<f64>,
    exact: Vec<f64>,
    bins: BTreeMap<i64, u64>,
}

impl Series {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        // Neumaier's sum: a million values are added to the last digit.
        let sum = self.sum + value;
        self.rest += match self.sum.abs() >= value.abs() {
            true => (self.sum - sum) + value,
            false => (value - sum) + self.sum,
        };
        self.sum = sum;
        let is_larger = |max: f64| value.total_cmp(&max).is_gt();
        if self.max.is_none_or(is_larger) {
            self.max = Some(value);
        }
        if self.count <= EXACT as u64 {
            self.exact.push(value);
            return;
        }
        for old in std::mem::take(&mut self.exact) {
            *self.bins.entry(bin(old)).or_default() += 1;
        }
        *self.bins.entry(bin(value)).or_default() += 1;
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Mean, median, 95th percentile and maximum; none of none.
    pub fn summary(&self) -> Option<Summary> {
        let max = self.max?;
        if self.bins.is_empty() {
            return Some(Summary::of(&self.exact));
        }
        let sum = match self.sum.is_finite() {
            true => self.sum + self.rest,
            false => self.sum,
        };
        let n = self.count;
        let middle = [(n - 1) / 2, n / 2].map(|k| self.nth(k));
        Some(Summary {
            mean: sum / n as f64,
            median: 0.5 * middle[0] + 0.5 * middle[1],
            p95: self.nth((0.95 * n as f64).ceil() as u64 - 1).min(max),
            max,
        })
    }

    /// The value at a place in ascending order, by its bin.
    fn nth(&self, k: u64) -> f64 {
        let mut before = 0;
        for (bin, count) in &self.bins {
            before += count;
            if before > k {
                return middle(*bin);
            }
        }
        f64::NAN
    }
}

/// Bins of what has no logarithm; no finite number's is so large.
const INFINITE: i64 = 1 << 20;

/// The bin of a value; bins ascend with the values, and what is no number lies at the ends.
fn bin(value: f64) -> i64 {
    let size = value.abs();
    let of_size = if size == 0.0 {
        return 0;
    } else if size.is_nan() {
        INFINITE + 1
    } else if size.is_infinite() {
        INFINITE
    } else {
        // From 1 on, for the smallest number.
        ((size.ln() - SMALLEST) / WIDTH).floor() as i64 + 1
    };
    match value.is_sign_negative() {
        true => -of_size,
        false => of_size,
    }
}

/// Below ln of the smallest positive number.
const SMALLEST: f64 = -745.0;

fn middle(bin: i64) -> f64 {
    let size = match bin.abs() {
        0 => return 0.0,
        INFINITE => f64::INFINITY,
        bin if bin > INFINITE => f64::NAN,
        bin => (SMALLEST + (bin as f64 - 0.5) * WIDTH).exp(),
    };
    if bin < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every length, in any order, over 40 powers of ten and of both signs.
    #[test]
    fn summaries_are_within_their_bounds() {
        let value = |k: u64| {
            let hash = xxhash_rust::xxh3::xxh3_64(&k.to_le_bytes());
            let size = 10f64.powf((hash % 40_000) as f64 * 1e-3 - 20.0);
            if hash >> 63 == 1 { -size } else { size }
        };
        let mut series = Series::default();
        assert!(series.is_empty() && series.summary().is_none());
        let mut all = Vec::new();
        for k in 0..20_000 {
            series.add(value(k));
            all.push(value(k));
            let n = all.len();
            if ![1, 2, 7, EXACT, EXACT + 1, 10_000, 20_000].contains(&n) {
                continue;
            }
            let (found, exact) = (series.summary().unwrap(), Summary::of(&all));
            assert_eq!(found.max, exact.max, "{n}");
            // The true value may lie between two that differ more.
            let bound = if n <= EXACT { 0.0 } else { 1.001 * ACCURACY };
            let near = |a: f64, b: f64| (a - b).abs() <= bound * b.abs();
            assert!(near(found.p95, exact.p95), "{n}: {found:?} {exact:?}");
            if n % 2 == 1 {
                assert!(near(found.median, exact.median), "{n}: {found:?} {exact:?}");
            }
            let size = all.iter().map(|v| v.abs()).sum::<f64>() / n as f64;
            assert!((found.mean - exact.mean).abs() <= 1e-12 * size, "{n}");
        }
    }

    #[test]
    fn what_is_no_number_is_told() {
        for (bad, is_it) in [
            (f64::NAN, f64::is_nan as fn(f64) -> bool),
            (f64::INFINITY, |x| x == f64::INFINITY),
        ] {
            let mut series = Series::default();
            (0..10_000).for_each(|_| series.add(1.0));
            series.add(bad);
            let found = series.summary().unwrap();
            assert!(is_it(found.max) && is_it(found.mean), "{found:?}");
            assert!((found.median - 1.0).abs() <= ACCURACY && found.p95.is_finite());
        }
        let mut series = Series::default();
        (0..10_000).for_each(|_| series.add(0.0));
        assert_eq!(series.summary(), Some(Summary::default()));
        for extreme in [f64::MIN_POSITIVE, f64::MAX, -f64::MAX] {
            let mut series = Series::default();
            (0..10_000).for_each(|_| series.add(extreme));
            let off = series.summary().unwrap().median / extreme - 1.0;
            assert!(off.abs() < 2.0 * ACCURACY, "{extreme} is off by {off}");
        }
    }
}
