//! The worlds beside the simulation's own: each lives through the same inputs with another solver.

use super::frame::{Frame, RivalSample, RivalView, isometry};
use super::verdicts;
use crate::session::{Input, Rival, Session, Spacing, distance};
use crate::solve::SolverConfig;
use crate::step::{ResidualSchedule, Simulation};
use crate::world::World;

/// Most worlds beside the simulation's own: four share a picture.
pub const MOST: usize = 3;

/// A world that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub label: String,
    pub config: SolverConfig,
    /// Its solver's colour in the panels.
    pub series: usize,
    /// Linear RGB.
    pub color: [f32; 3],
}

/// What a world is, beside what happens in it.
struct Name {
    wanted: Wanted,
    /// Never another world's.
    number: u64,
    /// Whether it was not there yet at the moment that is returned to, where it begins again.
    begins: bool,
}

/// The worlds that there are.
pub struct Worlds {
    names: Vec<Name>,
    /// In the same order.
    pub rivals: Vec<Rival>,
    last: u64,
    /// What the past of one may take (bytes).
    past: usize,
}

impl Worlds {
    /// None yet; what is past in all of them may take so many bytes.
    pub fn new(past: usize) -> Self {
        Self {
            names: Vec::new(),
            rivals: Vec::new(),
            last: 0,
            past: past / MOST,
        }
    }

    /// Wants these from now on: those that there are go on, the others begin with the present state.
    pub fn want(&mut self, wanted: Vec<Wanted>, now: &Session) -> Result<(), String> {
        let mut old: Vec<_> = self.names.drain(..).zip(self.rivals.drain(..)).collect();
        let mut result = Ok(());
        for wanted in wanted {
            let is_it = |(name, _): &(Name, Rival)| {
                (&name.wanted.label, &name.wanted.config) == (&wanted.label, &wanted.config)
            };
            match old.iter().position(is_it) {
                Some(k) => {
                    let (name, rival) = old.swap_remove(k);
                    self.names.push(Name { wanted, ..name });
                    self.rivals.push(rival);
                }
                None => result = result.and(self.add(wanted, now)),
            }
        }
        result
    }

    /// Lets all of them begin with the present state.
    pub fn begin(&mut self, now: &Session) -> Result<(), String> {
        self.begin_where(now, |_| true)
    }

    fn begin_where(&mut self, now: &Session, does: impl Fn(&Name) -> bool) -> Result<(), String> {
        let mut result = Ok(());
        let old: Vec<_> = self.names.drain(..).zip(self.rivals.drain(..)).collect();
        for (name, rival) in old {
            match does(&name) {
                true => result = result.and(self.add(name.wanted, now)),
                false => {
                    self.names.push(name);
                    self.rivals.push(rival);
                }
            }
        }
        result
    }

    /// One more, which begins with the present state. It steps on one thread: worlds are what runs at once.
    fn add(&mut self, wanted: Wanted, now: &Session) -> Result<(), String> {
        let rival = Rival::new(&wanted.label, now, wanted.config.clone(), 1);
        let mut rival = rival.map_err(|e| format!("no world for {}: {e}", wanted.label))?;
        rival.keep(self.past, Spacing::Measured);
        self.last += 1;
        self.names.push(Name {
            wanted,
            number: self.last,
            begins: false,
        });
        self.rivals.push(rival);
        Ok(())
    }

    /// Begins to return to the state after a step; whether steps are still to be taken until then. Worlds that began
    /// later, all of them where `is_replay`, begin with the simulation's own state of then, once it is there.
    pub fn seek(&mut self, step: u64, is_replay: bool) -> bool {
        let mut is_on_the_way = false;
        for (name, rival) in self.names.iter_mut().zip(&mut self.rivals) {
            name.begins = is_replay || !rival.seek(step);
            is_on_the_way |= !name.begins && rival.simulation().world().step_index < step;
        }
        is_on_the_way
    }

    /// Ends what [`Worlds::seek`] began.
    pub fn arrive(&mut self, now: &Session) -> Result<(), String> {
        self.begin_where(now, |name| name.begins)
    }

    /// Those that are on the way to where [`Worlds::seek`] goes.
    pub fn travellers(&mut self) -> Vec<&mut Rival> {
        let both = self.names.iter().zip(&mut self.rivals);
        both.filter(|(name, _)| !name.begins)
            .map(|(_, r)| r)
            .collect()
    }

    /// Does to all what is done to the simulation.
    pub fn apply(&mut self, input: &Input) {
        self.rivals.iter_mut().for_each(|rival| rival.apply(input));
    }

    /// Which steps' residuals are evaluated.
    pub fn set_residuals(&mut self, of: impl Fn(&Simulation) -> ResidualSchedule) {
        for rival in &mut self.rivals {
            let schedule = of(rival.simulation());
            rival.simulation_mut().set_residuals(schedule);
        }
    }

    /// Their last step in numbers; `first` is the simulation's own world.
    pub fn samples(&self, first: &World) -> Vec<RivalSample> {
        let of = |(name, rival): (&Name, &Rival)| {
            let simulation = rival.simulation();
            let (world, report) = (simulation.world(), simulation.report());
            RivalSample {
                world: name.number,
                energy: world.energy(),
                joint_error: report.joint_error,
                fallen: rival.fallen(),
                penetration: report.penetration,
                residual: report.residual.map(|r| r.residual),
                is_solved: verdicts::is_solved(report),
                time: report.timings.get(crate::measure::Stage::Step),
                distance: distance(world, first),
            }
        };
        // What takes no more steps has no numbers of this one.
        let both = self.names.iter().zip(&self.rivals);
        let steps = |(_, rival): &(&Name, &Rival)| {
            rival.error().is_none() && rival.simulation().world().step_index == first.step_index
        };
        both.filter(steps).map(of).collect()
    }

    /// What they are.
    pub fn views(&self) -> impl Iterator<Item = RivalView> {
        let both = self.rivals.iter().zip(&self.names);
        both.map(|(rival, name)| RivalView {
            world: name.number,
            label: rival.label.clone(),
            series: name.wanted.series,
            color: name.wanted.color,
            error: rival.error().map(str::to_owned),
        })
    }

    /// Adds their poses to those of the simulation's own world.
    pub fn fill(&self, frame: &mut Frame) {
        frame.rivals.clear();
        frame.rivals.extend(self.views());
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
