//! What becomes of worlds: when each of them first misses something.

use super::frame::ParallelSample;
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
    /// Bodies have fallen from where they rested.
    Fell,
    /// Its solver has not met its tolerance.
    Tolerance,
}

impl Miss {
    pub const ALL: [Self; 4] = [Self::Stopped, Self::Apart, Self::Fell, Self::Tolerance];
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
            Miss::Fell => "something fell",
            Miss::Tolerance => "tolerance missed",
        };
        format!(
            "{}: {what}, {:.2} s (step {})",
            self.name, self.time, self.step
        )
    }
}

/// A world that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// Its number; none for the simulation's own.
    pub world: Option<u64>,
    /// The solver's name, and its colour in the panels.
    pub name: &'a str,
    pub series: Option<usize>,
    /// Whether it takes no more steps.
    pub has_stopped: bool,
    /// Its step in numbers, if it took that.
    pub sample: Option<ParallelSample>,
}

impl Judged<'_> {
    /// In the order of [`Miss::ALL`].
    fn misses(&self) -> [bool; 4] {
        let of = |misses: fn(&ParallelSample) -> bool| self.sample.as_ref().is_some_and(misses);
        [
            self.has_stopped,
            of(|s| are_apart(s.joint_error)),
            of(|s| s.fallen > 0),
            of(|s| !s.is_solved),
        ]
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
    /// Notes a step of a world, and its time (s).
    pub fn note(&mut self, (step, time): (u64, f64), judged: &Judged<'_>) {
        let misses = Miss::ALL.into_iter().zip(judged.misses());
        for (miss, _) in misses.filter(|(_, is)| *is) {
            let mark = Mark {
                world: judged.world,
                name: judged.name.to_owned(),
                series: judged.series,
                miss,
                step,
                time,
            };
            let is_it = |m: &&mut Mark| (m.world, m.miss) == (judged.world, miss);
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

/// What is no number is not whole either.
pub fn are_apart(joint_error: f64) -> bool {
    joint_error.is_nan() || joint_error > APART
}

/// What is known of how a world stands after a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    pub step: u64,
    /// (m)
    pub joint_error: Option<f64>,
    /// Bodies that have fallen, of so many that move.
    pub fallen: usize,
    pub bodies: usize,
}

/// The first step up to now at which a world missed this.
pub fn first(marks: &[Mark], world: Option<u64>, miss: Miss, step: u64) -> Option<&Mark> {
    let is_it = |m: &&Mark| m.world == world && m.miss == miss && m.step <= step;
    marks.iter().find(is_it)
}

/// How a world stands after a step, in words, and what that is at worst: what is now first, then what was.
pub fn verdict(
    marks: &[Mark],
    world: Option<u64>,
    now: Now,
    length: impl Fn(f64) -> String,
) -> (String, Option<Miss>) {
    let own = |miss| first(marks, world, miss, now.step);
    if let Some(mark) = own(Miss::Stopped) {
        return (
            format!("stopped at {:.1} s", mark.time),
            Some(Miss::Stopped),
        );
    }
    if let Some(mark) = own(Miss::Apart) {
        let text = match now.joint_error {
            Some(error) if are_apart(error) => {
                format!("joints {} apart since {:.1} s", length(error), mark.time)
            }
            _ => format!("joints were apart at {:.1} s", mark.time),
        };
        return (text, Some(Miss::Apart));
    }
    if let Some(mark) = own(Miss::Fell) {
        let text = match now.fallen {
            0 => format!("something fell at {:.1} s", mark.time),
            fallen => format!("{fallen} of {} fell since {:.1} s", now.bodies, mark.time),
        };
        return (text, Some(Miss::Fell));
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

    fn sample(joint_error: f64, fallen: usize, is_solved: bool) -> ParallelSample {
        ParallelSample {
            joint_error,
            fallen,
            is_solved,
            ..ParallelSample::default()
        }
    }

    fn judged(world: Option<u64>, sample: Option<ParallelSample>) -> Judged<'static> {
        Judged {
            world,
            name: "bpp",
            series: None,
            has_stopped: sample.is_none(),
            sample,
        }
    }

    /// A step of the simulation's own world.
    fn note(verdicts: &mut Verdicts, step: u64, sample: ParallelSample) {
        verdicts.note((step, step as f64 / 60.0), &judged(None, Some(sample)));
    }

    #[test]
    fn first_misses_are_found_and_another_future_has_its_own() {
        let mut verdicts = Verdicts::default();
        note(&mut verdicts, 1, sample(1e-4, 0, true));
        assert!(verdicts.marks.is_empty());
        note(&mut verdicts, 60, sample(1e-4, 0, false));
        note(&mut verdicts, 120, sample(1.4, 0, false));
        note(&mut verdicts, 180, sample(f64::NAN, 0, false));
        let steps: Vec<_> = verdicts.marks.iter().map(|m| (m.miss, m.step)).collect();
        assert_eq!(steps, [(Miss::Tolerance, 60), (Miss::Apart, 120)]);
        let said = |step, error| {
            let now = Now {
                step,
                joint_error: Some(error),
                ..Now::default()
            };
            verdict(&verdicts.marks, None, now, |error| format!("{error} m")).0
        };
        assert_eq!(said(30, 0.0), "holds");
        assert_eq!(said(90, 0.0), "holds; tolerance missed since 1.0 s");
        assert_eq!(said(120, 1.4), "joints 1.4 m apart since 2.0 s");
        assert_eq!(said(200, 1e-4), "joints were apart at 2.0 s");
        verdicts.forget_after(90);
        assert_eq!(verdicts.marks.len(), 1);
        // Somebody went back, and it came earlier.
        note(&mut verdicts, 20, sample(1e-4, 0, false));
        assert_eq!(verdicts.marks[0].step, 20);
    }

    #[test]
    fn what_fell_is_counted() {
        let mut verdicts = Verdicts::default();
        note(&mut verdicts, 90, sample(0.0, 3, true));
        let said = |fallen| {
            let now = Now {
                step: 200,
                fallen,
                bodies: 36,
                ..Now::default()
            };
            verdict(&verdicts.marks, None, now, |error| error.to_string())
        };
        let fell = Some(Miss::Fell);
        assert_eq!(said(12), ("12 of 36 fell since 1.5 s".to_owned(), fell));
        assert_eq!(said(0), ("something fell at 1.5 s".to_owned(), fell));
    }

    #[test]
    fn worlds_that_go_take_their_marks_along() {
        let mut verdicts = Verdicts::default();
        let apart = judged(Some(1), Some(sample(0.2, 0, true)));
        verdicts.note((7, 0.1), &apart);
        verdicts.note((7, 0.1), &judged(Some(2), None));
        let found: Vec<_> = verdicts.marks.iter().map(|m| (m.world, m.miss)).collect();
        assert_eq!(found, [(Some(1), Miss::Apart), (Some(2), Miss::Stopped)]);
        verdicts.keep(|world| world == 2);
        assert_eq!(verdicts.marks.len(), 1);
        assert!(
            verdicts.marks[0]
                .text()
                .starts_with("bpp: takes no more steps")
        );
    }
}
