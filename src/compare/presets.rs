//! Two ways to put a comparison into one sentence: the time to equal quality, and the quality in equal time.

use super::Outcome;
use crate::solve::HistoryPoint;

/// How soon a solver reaches a residual.
#[derive(Clone, Debug, PartialEq)]
pub struct EqualQuality {
    /// How it is called.
    pub label: String,
    /// Preparation and iterations until then (s); none if it does not reach it.
    pub time: Option<f64>,
    /// Iterations until then.
    pub iterations: Option<u32>,
}

/// What a solver reaches within a time.
#[derive(Clone, Debug, PartialEq)]
pub struct EqualTime {
    /// How it is called.
    pub label: String,
    /// Its last residual by then (m/s); none if it is not through with its first iteration.
    pub residual: Option<f64>,
    /// Iterations until then.
    pub iterations: u32,
}

/// When each solver's recorded residual is first at most `residual` (m/s); the fastest first, those that never
/// reach it last.
pub fn equal_quality(outcomes: &[Outcome], residual: f64) -> Vec<EqualQuality> {
    let of = |outcome: &Outcome| {
        let mut history = outcome.report.history.iter();
        let reached = history.find(|point| point.residual <= residual);
        EqualQuality {
            label: outcome.label.clone(),
            time: reached.map(|point| outcome.report.prepare_time + point.time),
            iterations: reached.map(|point| point.iteration),
        }
    };
    let mut all: Vec<EqualQuality> = outcomes.iter().map(of).collect();
    let key = |e: &EqualQuality| e.time.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all
}

/// What each solver's recorded residual is after `time` (s), preparation included; the best first.
pub fn equal_time(outcomes: &[Outcome], time: f64) -> Vec<EqualTime> {
    let of = |outcome: &Outcome| {
        let by_then = |p: &&HistoryPoint| outcome.report.prepare_time + p.time <= time;
        let last = outcome.report.history.iter().take_while(by_then).last();
        EqualTime {
            label: outcome.label.clone(),
            residual: last.map(|point| point.residual),
            iterations: last.map_or(0, |point| point.iteration),
        }
    };
    let mut all: Vec<EqualTime> = outcomes.iter().map(of).collect();
    let key = |e: &EqualTime| e.residual.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all
}

/// Milliseconds in three digits.
fn milliseconds(time: f64) -> String {
    match 1e3 * time {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.3} ms"),
    }
}

/// "12 times", in two digits.
fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 1000.0 => format!("{r:.0e} times"),
        r if r >= 10.0 => format!("{r:.0} times"),
        r => format!("{r:.1} times"),
    }
}

/// The ratio spelled out: "nncg reaches 1e-6 m/s in 0.9 ms, colored-gs in 11 ms (12 times)".
pub fn quality_sentence(ranking: &[EqualQuality], residual: f64) -> String {
    let Some((first, rest)) = ranking.split_first() else {
        return String::new();
    };
    let Some(best) = first.time else {
        return format!("None reaches {residual:e} m/s.");
    };
    let mut sentence = format!(
        "{} reaches {residual:e} m/s in {}",
        first.label,
        milliseconds(best)
    );
    for other in rest {
        sentence += &match other.time {
            Some(time) => format!(
                ", {} in {} ({})",
                other.label,
                milliseconds(time),
                times(time / best)
            ),
            None => format!(", {} never", other.label),
        };
    }
    sentence + "."
}

/// The ratio spelled out: "In 1 ms nncg gets to 1e-7 m/s, colored-gs to 3e-5 m/s (300 times)".
pub fn time_sentence(ranking: &[EqualTime], time: f64) -> String {
    let Some((first, rest)) = ranking.split_first() else {
        return String::new();
    };
    let Some(best) = first.residual else {
        return format!(
            "None is through with an iteration in {}.",
            milliseconds(time)
        );
    };
    let mut sentence = format!(
        "In {} {} gets to {best:.1e} m/s",
        milliseconds(time),
        first.label
    );
    for other in rest {
        sentence += &match other.residual {
            Some(r) if best > 0.0 => {
                format!(", {} to {r:.1e} m/s ({})", other.label, times(r / best))
            }
            Some(r) => format!(", {} to {r:.1e} m/s", other.label),
            None => format!(", {} nowhere", other.label),
        };
    }
    sentence + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::residual::JudgedLaw;
    use crate::solve::SolveReport;

    fn outcome(label: &str, prepare_time: f64, points: &[(f64, f64)]) -> Outcome {
        let point = |(k, (time, residual)): (usize, &(f64, f64))| HistoryPoint {
            iteration: k as u32 + 1,
            time: *time,
            residual: *residual,
            delta: 0.0,
        };
        Outcome {
            label: label.into(),
            solver: "gauss-seidel",
            report: SolveReport {
                prepare_time,
                history: points.iter().enumerate().map(point).collect(),
                ..SolveReport::default()
            },
            lambda: Vec::new(),
            velocity: Vec::new(),
            residual: None,
            law: JudgedLaw::Own,
            residual_coulomb: None,
            error: 0.0,
            distance: None,
            velocity_error: None,
            velocity_estimate: None,
        }
    }

    fn three() -> [Outcome; 3] {
        [
            outcome("slow", 0.001, &[(0.001, 1e-2), (0.010, 1e-6)]),
            outcome("fast", 0.0, &[(0.0005, 1e-4), (0.0009, 1e-7)]),
            outcome("never", 0.0, &[(0.001, 1.0)]),
        ]
    }

    #[test]
    fn the_ranking_is_by_time_and_spelled_out() {
        let ranking = equal_quality(&three(), 1e-6);
        let labels: Vec<&str> = ranking.iter().map(|e| e.label.as_str()).collect();
        assert_eq!(labels, ["fast", "slow", "never"]);
        assert_eq!(
            quality_sentence(&ranking, 1e-6),
            "fast reaches 1e-6 m/s in 0.900 ms, slow in 11.0 ms (12 times), never never."
        );
        let none = equal_quality(&three(), 1e-12);
        assert_eq!(quality_sentence(&none, 1e-12), "None reaches 1e-12 m/s.");
    }

    #[test]
    fn equal_time_counts_the_preparation() {
        let ranking = equal_time(&three(), 0.0019);
        let found: Vec<_> = ranking
            .iter()
            .map(|e| (e.label.as_str(), e.residual))
            .collect();
        let expected = [("fast", Some(1e-7)), ("never", Some(1.0)), ("slow", None)];
        assert_eq!(found, expected);
        assert_eq!(
            time_sentence(&ranking, 0.0019),
            "In 1.900 ms fast gets to 1.0e-7 m/s, never to 1.0e0 m/s (1e7 times), slow nowhere."
        );
    }
}
