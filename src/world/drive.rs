//! Drives: what moves the motors, by a script of key frames or by somebody's hands.

use serde::{Deserialize, Serialize};

use crate::check::{Invalid, demand, finite, not_negative};

/// How a drive goes from one key frame to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Interpolation {
    /// It keeps a value until the next key frame.
    Step,
    /// In a straight line.
    #[default]
    Linear,
    /// From rest to rest, along a cubic.
    Smooth,
}

/// What of a motor a drive moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Moves {
    /// What the motor aims at: a speed or a position.
    #[default]
    Target,
    /// Its largest force or torque (N or N m), as a brake pedal does; the sign does not count.
    MaxForce,
}

/// A motor that a drive moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrivenMotor {
    /// The joint, by its index.
    pub joint: u32,
    /// The coordinate that has the motor.
    pub axis: u8,
    /// What the drive's value is multiplied with.
    pub factor: f64,
    /// What of the motor it moves.
    pub moves: Moves,
}

/// A drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// What the panel calls it.
    pub name: String,
    /// Unit of its value.
    pub unit: String,
    /// The motors that it moves.
    pub motors: Vec<DrivenMotor>,
    /// Times (s) and values, ascending in time; before the first and after the last one the value stays.
    pub keys: Vec<[f64; 2]>,
    /// What lies between them.
    pub interpolation: Interpolation,
    /// Smallest and largest value of its slider.
    pub range: [f64; 2],
    /// How fast hands change the value (1/s); 0: at once, and a key acts only as long as it is held.
    pub rate: f64,
    /// Names of the keys that lower and raise the value; empty for none.
    pub hands: [String; 2],
    /// Where somebody wants the value to be; the script no longer counts.
    pub live: Option<f64>,
    /// The value over the last (sub)step.
    pub(crate) value: f64,
}

impl Drive {
    /// The value over the last (sub)step.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Goes on to a time (s) that is `h` later than the last one, and says the value, and how fast it changes on the way
    /// from where it was so long before, and to where it will be so long after. What jumps does not move.
    pub(crate) fn advance(&mut self, time: f64, h: f64) -> (f64, [f64; 2]) {
        let [before, next] = match self.live {
            None => {
                self.value = self.scripted(time)[0];
                match self.interpolation {
                    Interpolation::Step => [self.value; 2],
                    _ => [-h, h].map(|ahead| self.scripted(time + ahead)[0]),
                }
            }
            Some(live) if self.rate > 0.0 => {
                let reached = |from: f64| live.clamp(from - self.rate * h, from + self.rate * h);
                let before = self.value;
                self.value = reached(before);
                [before, reached(self.value)]
            }
            Some(live) => {
                self.value = live;
                [live; 2]
            }
        };
        let rates = [self.value - before, next - self.value];
        (self.value, rates.map(|change| change / h))
    }

    /// The script's value and how fast it changes at a time (s).
    pub fn scripted(&self, time: f64) -> [f64; 2] {
        let next = self.keys.partition_point(|k| k[0] <= time);
        let (Some(before), Some(after)) = (next.checked_sub(1), self.keys.get(next)) else {
            let end = if next == 0 {
                self.keys.first()
            } else {
                self.keys.last()
            };
            return [end.map_or(0.0, |k| k[1]), 0.0];
        };
        let before = self.keys[before];
        let span = after[0] - before[0];
        let (s, rise) = ((time - before[0]) / span, after[1] - before[1]);
        match self.interpolation {
            Interpolation::Step => [before[1], 0.0],
            Interpolation::Linear => [before[1] + s * rise, rise / span],
            Interpolation::Smooth => [
                before[1] + s * s * (3.0 - 2.0 * s) * rise,
                6.0 * s * (1.0 - s) * rise / span,
            ],
        }
    }

    /// Checks that its motors can be there, of so many joints.
    pub(super) fn check_motors(&self, joints: usize) -> Result<(), Invalid> {
        let missing = self.motors.iter().find(|m| m.joint as usize >= joints);
        let found = missing.map_or(0, |motor| motor.joint);
        demand(missing.is_none(), "motors", "those of joints", found)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first one that cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        finite("script", self.keys.iter().flatten())?;
        if let Some([a, b]) = self.keys.array_windows().find(|[a, b]| b[0] <= a[0]) {
            let found = format!("{} after {}", b[0], a[0]);
            return Err(Invalid::new("script", "ascending in time", found));
        }
        let [lo, hi] = self.range;
        finite("range", &self.range)?;
        demand(lo < hi, "range", "ascending", format_args!("{lo} to {hi}"))?;
        not_negative("rate", self.rate)?;
        finite("factor", self.motors.iter().map(|m| &m.factor))?;
        finite("value", &self.live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_frames_are_met_and_rates_are_their_slopes() {
        let mut drive = Drive {
            name: String::new(),
            unit: String::new(),
            motors: Vec::new(),
            keys: vec![[1.0, 2.0], [3.0, 6.0], [4.0, -1.0]],
            interpolation: Interpolation::Linear,
            range: [-10.0, 10.0],
            rate: 0.0,
            hands: Default::default(),
            live: None,
            value: 0.0,
        };
        assert_eq!(drive.check(), Ok(()));
        assert_eq!(drive.scripted(0.0), [2.0, 0.0]);
        assert_eq!(drive.scripted(9.0), [-1.0, 0.0]);
        assert_eq!(drive.scripted(2.0), [4.0, 2.0]);
        for interpolation in [Interpolation::Linear, Interpolation::Smooth] {
            drive.interpolation = interpolation;
            for t in [1.3, 2.2, 3.1, 3.9] {
                let [_, rate] = drive.scripted(t);
                let slope = (drive.scripted(t + 1e-6)[0] - drive.scripted(t - 1e-6)[0]) / 2e-6;
                assert!((rate - slope).abs() < 1e-6, "{interpolation:?} at {t}");
            }
        }
        drive.interpolation = Interpolation::Step;
        assert_eq!(drive.scripted(3.99), [6.0, 0.0]);
        assert_eq!(drive.advance(2.0, 0.1), (2.0, [0.0; 2]));
        drive.live = Some(0.5);
        assert_eq!(drive.advance(2.1, 0.1), (0.5, [0.0; 2]));
        drive.rate = 2.0;
        drive.live = Some(-5.0);
        let near = |found: (f64, [f64; 2]), value: f64, rates: [f64; 2]| {
            let off = [0, 1].map(|k| (found.1[k] - rates[k]).abs());
            assert!(
                (found.0 - value).abs() < 1e-12 && off[0].max(off[1]) < 1e-9,
                "{found:?} instead of {value} and {rates:?}"
            );
        };
        near(drive.advance(2.2, 0.1), 0.3, [-2.0; 2]);
        drive.live = Some(0.0);
        near(drive.advance(2.3, 0.1), 0.1, [-2.0, -1.0]);
        // At a key frame the past and the future differ.
        drive.live = None;
        drive.interpolation = Interpolation::Linear;
        near(drive.advance(2.95, 0.1), 5.9, [2.0, -2.5]);
        drive.keys[1][0] = 1.0;
        assert!(drive.check().is_err());
    }
}
