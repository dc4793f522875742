//! Plane linkages with one degree of freedom, in closed form (Norton, *Design of Machinery*, chapters
//! 4 and 6). The crank's pivot is the origin; angles are from the x axis, counterclockwise.

/// On which side of the line from the crank pin to the rocker's pivot the coupler closes the loop.
///
/// A linkage keeps its branch for as long as coupler and rocker do not come into line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Branch {
    /// To the left, so above it: the links do not cross while the crank points up.
    #[default]
    Open,
    /// To the right.
    Crossed,
}

/// Four bars in a loop: ground, crank, coupler and rocker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourBar {
    /// From the crank's pivot to the rocker's, along x (m).
    pub ground: f64,
    /// From its pivot to the crank pin (m).
    pub crank: f64,
    /// From the crank pin to the rocker pin (m).
    pub coupler: f64,
    /// From its pivot to the rocker pin (m).
    pub rocker: f64,
    /// Which of the two ways to close the loop.
    pub branch: Branch,
}

/// Where a four-bar linkage is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourBarPose {
    /// The joint of crank and coupler (m).
    pub crank_pin: [f64; 2],
    /// The joint of coupler and rocker (m).
    pub rocker_pin: [f64; 2],
    /// Direction from the crank pin to the rocker pin (rad).
    pub coupler_angle: f64,
    /// Direction from the rocker's pivot to the rocker pin (rad).
    pub rocker_angle: f64,
}

impl FourBar {
    /// The linkage with its crank at this angle (rad); none where the loop does not close.
    /// Where it only just closes, rounding decides.
    pub fn pose(&self, crank_angle: f64) -> Option<FourBarPose> {
        let (sin, cos) = crank_angle.sin_cos();
        let crank_pin = [self.crank * cos, self.crank * sin];
        let diagonal = [self.ground - crank_pin[0], -crank_pin[1]];
        let length = diagonal[0].hypot(diagonal[1]);
        // The rocker pin in the frame of the diagonal.
        let along =
            0.5 * (length + (self.coupler - self.rocker) * (self.coupler + self.rocker) / length);
        let height = ((self.coupler - along) * (self.coupler + along)).sqrt();
        if !height.is_finite() {
            return None;
        }
        let height = match self.branch {
            Branch::Open => height,
            Branch::Crossed => -height,
        };
        let [x, y] = diagonal.map(|d| d / length);
        let coupler = [x * along - y * height, y * along + x * height];
        let rocker_pin = [crank_pin[0] + coupler[0], crank_pin[1] + coupler[1]];
        Some(FourBarPose {
            crank_pin,
            rocker_pin,
            coupler_angle: coupler[1].atan2(coupler[0]),
            rocker_angle: rocker_pin[1].atan2(rocker_pin[0] - self.ground),
        })
    }

    /// Angular velocities of coupler and rocker (rad/s) for that of the crank; none where the loop
    /// does not close, without bound where coupler and rocker come into line.
    pub fn rates(&self, crank_angle: f64, crank_rate: f64) -> Option<[f64; 2]> {
        let FourBarPose {
            coupler_angle,
            rocker_angle,
            ..
        } = self.pose(crank_angle)?;
        let speed = self.crank * crank_rate / (rocker_angle - coupler_angle).sin();
        Some([
            -speed * (rocker_angle - crank_angle).sin() / self.coupler,
            speed * (crank_angle - coupler_angle).sin() / self.rocker,
        ])
    }
}

/// A crank that pushes a slider along a line parallel to the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliderCrank {
    /// Radius of the crank (m).
    pub crank: f64,
    /// Length of the rod (m).
    pub rod: f64,
    /// Height y of the slider's line above the crank's pivot (m).
    pub offset: f64,
}

impl SliderCrank {
    /// Position x of the slider (m), on the side of positive x of the crank pin; none where the rod is
    /// too short.
    pub fn position(&self, crank_angle: f64) -> Option<f64> {
        Some(self.crank * crank_angle.cos() + self.reach(crank_angle)?)
    }

    /// Velocity of the slider (m/s) for that of the crank (rad/s), without bound where the rod is upright.
    pub fn velocity(&self, crank_angle: f64, crank_rate: f64) -> Option<f64> {
        let (sin, cos) = crank_angle.sin_cos();
        let rise = self.offset - self.crank * sin;
        let reach = self.reach(crank_angle)?;
        Some(self.crank * crank_rate * (rise * cos / reach - sin))
    }

    /// Angle of the rod from its pin on the crank to the slider (rad).
    pub fn rod_angle(&self, crank_angle: f64) -> Option<f64> {
        let rise = self.offset - self.crank * crank_angle.sin();
        Some(rise.atan2(self.reach(crank_angle)?))
    }

    /// Angular velocity of the rod (rad/s) for that of the crank.
    pub fn rod_rate(&self, crank_angle: f64, crank_rate: f64) -> Option<f64> {
        Some(-self.crank * crank_rate * crank_angle.cos() / self.reach(crank_angle)?)
    }

    /// How far the slider is ahead of the crank pin along x (m).
    fn reach(&self, crank_angle: f64) -> Option<f64> {
        let rise = self.offset - self.crank * crank_angle.sin();
        let reach = ((self.rod - rise) * (self.rod + rise)).sqrt();
        reach.is_finite().then_some(reach)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, PI, TAU};

    use super::*;

    const RATE: f64 = 3.0;
    /// Step of the central differences (s), which leave its square.
    const H: f64 = 1e-5;

    /// Grashof: 0.4 + 1.2 < 1 + 0.9, so the crank turns all round.
    fn crank_rocker(branch: Branch) -> FourBar {
        FourBar {
            ground: 1.0,
            crank: 0.4,
            coupler: 1.2,
            rocker: 0.9,
            branch,
        }
    }

    fn around() -> impl Iterator<Item = f64> {
        (0..360).map(|k| TAU * f64::from(k) / 360.0)
    }

    /// Difference of two angles, without whole turns.
    fn turn(a: f64, b: f64) -> f64 {
        (a - b + PI).rem_euclid(TAU) - PI
    }

    #[test]
    fn four_bar_closes_its_loop() {
        for branch in [Branch::Open, Branch::Crossed] {
            let linkage = crank_rocker(branch);
            for angle in around() {
                let pose = linkage.pose(angle).unwrap();
                let by_coupler = [
                    linkage.crank * angle.cos() + linkage.coupler * pose.coupler_angle.cos(),
                    linkage.crank * angle.sin() + linkage.coupler * pose.coupler_angle.sin(),
                ];
                let by_rocker = [
                    linkage.ground + linkage.rocker * pose.rocker_angle.cos(),
                    linkage.rocker * pose.rocker_angle.sin(),
                ];
                for k in 0..2 {
                    assert!((by_coupler[k] - by_rocker[k]).abs() < 1e-14);
                    assert!((by_coupler[k] - pose.rocker_pin[k]).abs() < 1e-14);
                }
                let up = pose.rocker_pin[1] > 0.0;
                assert_eq!(up, branch == Branch::Open, "crank at {angle}");
            }
        }
    }

    #[test]
    fn four_bar_rates_are_derivatives() {
        for branch in [Branch::Open, Branch::Crossed] {
            let linkage = crank_rocker(branch);
            for angle in around() {
                let [coupler, rocker] = linkage.rates(angle, RATE).unwrap();
                let before = linkage.pose(angle - RATE * H).unwrap();
                let after = linkage.pose(angle + RATE * H).unwrap();
                let differences = [
                    turn(after.coupler_angle, before.coupler_angle) / (2.0 * H),
                    turn(after.rocker_angle, before.rocker_angle) / (2.0 * H),
                ];
                assert!((coupler - differences[0]).abs() < 1e-7);
                assert!((rocker - differences[1]).abs() < 1e-7);
            }
        }
    }

    /// A parallelogram carries its coupler along without turning it, and turns its rocker like its crank.
    #[test]
    fn parallelogram_translates() {
        let linkage = FourBar {
            ground: 2.0,
            crank: 0.5,
            coupler: 2.0,
            rocker: 0.5,
            branch: Branch::Open,
        };
        for angle in [0.3, 1.0, FRAC_PI_2, 2.8] {
            let pose = linkage.pose(angle).unwrap();
            let rates = linkage.rates(angle, RATE).unwrap();
            assert!(pose.coupler_angle.abs() < 1e-14);
            assert!((pose.rocker_angle - angle).abs() < 1e-14);
            assert!(rates[0].abs() < 1e-13 && (rates[1] - RATE).abs() < 1e-13);
        }
    }

    #[test]
    fn out_of_reach_is_none() {
        let linkage = FourBar {
            coupler: 0.1,
            ..crank_rocker(Branch::Open)
        };
        assert_eq!(linkage.pose(PI), None);
        assert_eq!(linkage.rates(PI, RATE), None);
        let slider = SliderCrank {
            crank: 1.0,
            rod: 0.5,
            offset: 0.0,
        };
        assert_eq!(slider.position(FRAC_PI_2), None);
        assert_eq!(slider.velocity(FRAC_PI_2, RATE), None);
    }

    #[test]
    fn slider_crank_closes_its_loop() {
        for offset in [0.0, 0.15, -0.3] {
            let linkage = SliderCrank {
                crank: 0.25,
                rod: 0.8,
                offset,
            };
            for angle in around() {
                let x = linkage.position(angle).unwrap();
                let rod = linkage.rod_angle(angle).unwrap();
                let end = [
                    linkage.crank * angle.cos() + linkage.rod * rod.cos(),
                    linkage.crank * angle.sin() + linkage.rod * rod.sin(),
                ];
                assert!((end[0] - x).abs() < 1e-14 && (end[1] - offset).abs() < 1e-14);

                let difference = |f: &dyn Fn(f64) -> Option<f64>| {
                    (f(angle + RATE * H).unwrap() - f(angle - RATE * H).unwrap()) / (2.0 * H)
                };
                let velocity = linkage.velocity(angle, RATE).unwrap();
                let rate = linkage.rod_rate(angle, RATE).unwrap();
                assert!((velocity - difference(&|a| linkage.position(a))).abs() < 1e-8);
                assert!((rate - difference(&|a| linkage.rod_angle(a))).abs() < 1e-8);
            }
        }
    }

    /// The dead centres of a slider in line with its crank: r + l and l − r, at rest.
    #[test]
    fn slider_rests_at_its_dead_centres() {
        let linkage = SliderCrank {
            crank: 0.25,
            rod: 0.75,
            offset: 0.0,
        };
        assert_eq!(linkage.position(0.0), Some(1.0));
        assert!((linkage.position(PI).unwrap() - 0.5).abs() < 1e-15);
        for angle in [0.0, PI] {
            assert!(linkage.velocity(angle, RATE).unwrap().abs() < 1e-15);
        }
    }
}
