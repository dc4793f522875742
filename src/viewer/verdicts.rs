//! What becomes of worlds: when each of them first misses something.

use super::frame::{RivalSample, RivalView};
use crate::solve::Status;
use crate::step::StepReport;

/// Joints that are further apart than this do not hold (m).
pub const APART: f64 = 5e-3;

/// What a world can miss, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// It takes no more steps.
    Stopped,
    /// Its joints are apart.
    Apart,
    /// Its solver has not met its tolerance.
    Tolerance,
}

impl Miss {
    pub const ALL: [Self; 3] = [Self::Stopped, Self::Apart, Self::Tolerance];
}

/// The first step at which a world misses something.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The world's number; none for the simulation's own.
    pub world: Option<u64>,
    /// The solver's name, and its colour in the panels; none in the simulation's own world.
    pub name: String,
    pub series: Option<usize>,
    pub miss: Miss,
    pub step: u64,
    /// Simulated time (s).
    pub time: f64,
}

impl Mark {
    /// In words.
    pub fn text(&self) -> String {
        let what = match self.miss {
            Miss::Stopped => "takes no more steps",
            Miss::Apart => "joints are apart",
            Miss::Tolerance => "tolerance missed",
        };
        format!(
            "{}: {what}, {:.2} s (step {})",
            self.name, self.time, self.step
        )
    }
}

/// All that worlds have missed first.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    pub marks: Vec<Mark>,
}

/// Whether a solver has met its tolerance.
pub fn is_solved(report: &StepReport) -> bool {
    report.solve.status == Status::Converged
}

impl Verdicts {
    /// Notes a step of the simulation's own world.
    pub fn note(&mut self, report: &StepReport, solver: &str) {
        let missed = missed(report.joint_error, is_solved(report), false);
        self.add((report.step, report.time), missed, (None, solver, None));
    }

    /// Notes the same step of the worlds beside it.
    pub fn note_rivals(
        &mut self,
        report: &StepReport,
        views: &[RivalView],
        samples: &[RivalSample],
    ) {
        for view in views {
            let sample = samples.iter().find(|s| s.world == view.world);
            let (error, solved) = sample.map_or((0.0, true), |s| (s.joint_error, s.is_solved));
            let missed = missed(error, solved, view.error.is_some());
            let who = (Some(view.world), view.label.as_str(), Some(view.series));
            self.add((report.step, report.time), missed, who);
        }
    }

    fn add(
        &mut self,
        (step, time): (u64, f64),
        missed: [bool; 3],
        (world, name, series): (Option<u64>, &str, Option<usize>),
    ) {
        for miss in Miss::ALL.into_iter().zip(missed).filter(|(_, is)| *is) {
            let miss = miss.0;
            let mark = Mark {
                world,
                name: name.to_owned(),
                series,
                miss,
                step,
                time,
            };
            let is_it = |m: &&mut Mark| (m.world, m.miss) == (world, miss);
            match self.marks.iter_mut().find(is_it) {
                Some(old) if old.step <= step => {}
                Some(old) => *old = mark,
                None => self.marks.push(mark),
            }
        }
    }

    /// Forgets what comes after a step, where another future begins.
    pub fn forget_after(&mut self, step: u64) {
        self.marks.retain(|mark| mark.step <= step);
    }

    /// Forgets worlds that there are no more.
    pub fn keep(&mut self, is_there: impl Fn(u64) -> bool) {
        self.marks.retain(|mark| mark.world.is_none_or(&is_there));
    }
}

/// In the order of [`Miss::ALL`].
fn missed(joint_error: f64, is_solved: bool, has_stopped: bool) -> [bool; 3] {
    [has_stopped, are_apart(joint_error), !is_solved]
}

/// What is no number is not whole either.
fn are_apart(joint_error: f64) -> bool {
    joint_error.is_nan() || joint_error > APART
}

/// How a world stands after a step, in words, and what that is at worst: what is now first, then what was.
pub fn verdict(
    marks: &[Mark],
    world: Option<u64>,
    (step, joint_error): (u64, Option<f64>),
    length: impl Fn(f64) -> String,
) -> (String, Option<Miss>) {
    let own = |miss: Miss| {
        let is_it = |m: &&Mark| m.world == world && m.miss == miss && m.step <= step;
        marks.iter().find(is_it)
    };
    if let Some(mark) = own(Miss::Stopped) {
        return (
            format!("stopped at {:.1} s", mark.time),
            Some(Miss::Stopped),
        );
    }
    if let Some(mark) = own(Miss::Apart) {
        let text = match joint_error {
            Some(error) if are_apart(error) => {
                format!("joints {} apart since {:.1} s", length(error), mark.time)
            }
            _ => format!("joints were apart at {:.1} s", mark.time),
        };
        return (text, Some(Miss::Apart));
    }
    match own(Miss::Tolerance) {
        Some(mark) => {
            let text = format!("holds; tolerance missed since {:.1} s", mark.time);
            (text, Some(Miss::Tolerance))
        }
        None => ("holds".to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(step: u64, joint_error: f64, status: Status) -> StepReport {
        let mut report = StepReport {
            step,
            time: step as f64 / 60.0,
            joint_error,
            ..StepReport::default()
        };
        report.solve.status = status;
        report
    }

    #[test]
    fn first_misses_are_found_and_another_future_has_its_own() {
        let mut verdicts = Verdicts::default();
        verdicts.note(&report(1, 1e-4, Status::Converged), "bpp");
        assert!(verdicts.marks.is_empty());
        verdicts.note(&report(60, 1e-4, Status::Budget), "bpp");
        verdicts.note(&report(120, 1.4, Status::Budget), "bpp");
        verdicts.note(&report(180, f64::NAN, Status::Budget), "bpp");
        let steps: Vec<_> = verdicts.marks.iter().map(|m| (m.miss, m.step)).collect();
        assert_eq!(steps, [(Miss::Tolerance, 60), (Miss::Apart, 120)]);
        let said = |step, error| {
            let length = |error| format!("{error} m");
            verdict(&verdicts.marks, None, (step, Some(error)), length).0
        };
        assert_eq!(said(30, 0.0), "holds");
        assert_eq!(said(90, 0.0), "holds; tolerance missed since 1.0 s");
        assert_eq!(said(120, 1.4), "joints 1.4 m apart since 2.0 s");
        assert_eq!(said(200, 1e-4), "joints were apart at 2.0 s");
        verdicts.forget_after(90);
        assert_eq!(verdicts.marks.len(), 1);
        // Somebody went back, and it came earlier.
        verdicts.note(&report(20, 1e-4, Status::Budget), "bpp");
        assert_eq!(verdicts.marks[0].step, 20);
    }

    #[test]
    fn worlds_that_go_take_their_marks_along() {
        let view = |world: u64, error: Option<&str>| RivalView {
            world,
            label: format!("world {world}"),
            error: error.map(str::to_owned),
            ..RivalView::default()
        };
        let sample = RivalSample {
            world: 1,
            joint_error: 0.2,
            is_solved: true,
            ..RivalSample::default()
        };
        let mut verdicts = Verdicts::default();
        let report = report(7, 0.0, Status::Converged);
        verdicts.note_rivals(
            &report,
            &[view(1, None), view(2, Some("broken"))],
            &[sample],
        );
        let found: Vec<_> = verdicts.marks.iter().map(|m| (m.world, m.miss)).collect();
        assert_eq!(found, [(Some(1), Miss::Apart), (Some(2), Miss::Stopped)]);
        verdicts.keep(|world| world == 2);
        assert_eq!(verdicts.marks.len(), 1);
        assert!(
            verdicts.marks[0]
                .text()
                .starts_with("world 2: takes no more steps")
        );
    }
}
