//! The worlds beside the simulation's own: each lives through the same inputs with another solver.

use super::frame::{Frame, RivalSample, RivalView, isometry};
use crate::session::{Input, Rival, Session, distance};
use crate::solve::SolverConfig;
use crate::step::ResidualSchedule;
use crate::world::World;

/// Most worlds beside the simulation's own: four share a picture.
pub const MOST: usize = 3;

/// A world that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub label: String,
    pub config: SolverConfig,
    /// Its solver's number among all.
    pub number: usize,
    /// Linear RGB.
    pub color: [f32; 3],
}

/// The worlds that there are.
#[derive(Default)]
pub struct Worlds {
    wanted: Vec<Wanted>,
    pub rivals: Vec<Rival>,
}

impl Worlds {
    /// Wants these from now on; they begin with the present state.
    pub fn want(&mut self, wanted: Vec<Wanted>, now: &Session) -> Result<(), String> {
        self.wanted = wanted;
        self.begin(now)
    }

    /// Lets all of them begin with the present state.
    pub fn begin(&mut self, now: &Session) -> Result<(), String> {
        self.rivals.clear();
        if self.wanted.is_empty() {
            return Ok(());
        }
        for wanted in &self.wanted {
            let rival = Rival::new(&wanted.label, now, wanted.config.clone(), 1);
            let rival = rival.map_err(|e| format!("no world for {}: {e}", wanted.label))?;
            self.rivals.push(rival);
        }
        Ok(())
    }

    /// Does to all what is done to the simulation.
    pub fn apply(&mut self, input: &Input) {
        self.rivals.iter_mut().for_each(|rival| rival.apply(input));
    }

    pub fn set_residuals(&mut self, schedule: ResidualSchedule) {
        for rival in &mut self.rivals {
            rival.simulation_mut().set_residuals(schedule);
        }
    }

    /// Their last step in numbers; `first` is the simulation's own world.
    pub fn samples(&self, first: &World) -> Vec<RivalSample> {
        let of = |rival: &Rival| {
            let simulation = rival.simulation();
            let (world, report) = (simulation.world(), simulation.report());
            RivalSample {
                energy: world.energy(),
                joint_error: report.joint_error,
                penetration: report.penetration,
                residual: report.residual.map(|r| r.residual),
                time: report.timings.get(crate::measure::Stage::Step),
                distance: distance(world, first),
            }
        };
        self.rivals.iter().map(of).collect()
    }

    /// Adds their poses to those of the simulation's own world.
    pub fn fill(&self, frame: &mut Frame) {
        let view = |(rival, wanted): (&Rival, &Wanted)| RivalView {
            label: rival.label.clone(),
            number: wanted.number,
            color: wanted.color,
            error: rival.error().map(str::to_owned),
        };
        let both = self.rivals.iter().zip(&self.wanted);
        frame.rivals.clear();
        frame.rivals.extend(both.map(view));
        let slots = frame.poses.len();
        for rival in &self.rivals {
            let bodies = &rival.simulation().world().bodies;
            let poses = (0..bodies.slots()).map(|slot| isometry(&bodies.pose(slot)));
            // One that has stopped may lack what came since.
            let missing = slots.saturating_sub(bodies.slots());
            let nowhere = std::iter::repeat_n(bevy::math::Isometry3d::IDENTITY, missing);
            frame.poses.extend(poses.chain(nowhere).take(slots));
        }
    }
}
