//! The worlds beside the simulation's own: each lives through the same inputs with another solver.

use super::frame::{Frame, ParallelSample, ParallelView, isometry};
use super::verdicts;
use crate::session::{Input, ParallelWorld, Session, Spacing, distance};
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
    pub parallel_worlds: Vec<ParallelWorld>,
    last: u64,
    /// What the past of one may take (bytes).
    past: usize,
}

impl Worlds {
    /// None yet; what is past in all of them may take so many bytes.
    pub fn new(past: usize) -> Self {
        Self {
            names: Vec::new(),
            parallel_worlds: Vec::new(),
            last: 0,
            past: past / MOST,
        }
    }

    /// Wants these from now on: those that there are go on, the others begin with the present state.
    pub fn want(&mut self, wanted: Vec<Wanted>, now: &Session) -> Result<(), String> {
        let mut old: Vec<_> = self
            .names
            .drain(..)
            .zip(self.parallel_worlds.drain(..))
            .collect();
        let mut result = Ok(());
        for wanted in wanted {
            let is_it = |(name, _): &(Name, ParallelWorld)| {
                (&name.wanted.label, &name.wanted.config) == (&wanted.label, &wanted.config)
            };
            match old.iter().position(is_it) {
                Some(k) => {
                    let (name, parallel) = old.swap_remove(k);
                    self.names.push(Name { wanted, ..name });
                    self.parallel_worlds.push(parallel);
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
        let old: Vec<_> = self
            .names
            .drain(..)
            .zip(self.parallel_worlds.drain(..))
            .collect();
        for (name, parallel) in old {
            match does(&name) {
                true => result = result.and(self.add(name.wanted, now)),
                false => {
                    self.names.push(name);
                    self.parallel_worlds.push(parallel);
                }
            }
        }
        result
    }

    /// One more, which begins with the present state. It steps on one thread: worlds are what runs at once.
    fn add(&mut self, wanted: Wanted, now: &Session) -> Result<(), String> {
        let parallel = ParallelWorld::new(&wanted.label, now, wanted.config.clone(), 1);
        let mut parallel = parallel.map_err(|e| format!("no world for {}: {e}", wanted.label))?;
        parallel.keep(self.past, Spacing::Measured);
        self.last += 1;
        self.names.push(Name {
            wanted,
            number: self.last,
            begins: false,
        });
        self.parallel_worlds.push(parallel);
        Ok(())
    }

    /// Begins to return to the state after a step; whether steps are still to be taken until then. Worlds that began
    /// later, all of them where `is_replay`, begin with the simulation's own state of then, once it is there.
    pub fn seek(&mut self, step: u64, is_replay: bool) -> bool {
        let mut is_on_the_way = false;
        for (name, parallel) in self.names.iter_mut().zip(&mut self.parallel_worlds) {
            name.begins = is_replay || !parallel.seek(step);
            is_on_the_way |= !name.begins && parallel.simulation().world().step_index < step;
        }
        is_on_the_way
    }

    /// Ends what [`Worlds::seek`] began.
    pub fn arrive(&mut self, now: &Session) -> Result<(), String> {
        self.begin_where(now, |name| name.begins)
    }

    /// Those that are on the way to where [`Worlds::seek`] goes.
    pub fn travellers(&mut self) -> Vec<&mut ParallelWorld> {
        let both = self.names.iter().zip(&mut self.parallel_worlds);
        both.filter(|(name, _)| !name.begins)
            .map(|(_, r)| r)
            .collect()
    }

    /// Does to all what is done to the simulation.
    pub fn apply(&mut self, input: &Input) {
        self.parallel_worlds
            .iter_mut()
            .for_each(|parallel| parallel.apply(input));
    }

    /// Which steps' residuals are evaluated.
    pub fn set_residuals(&mut self, of: impl Fn(&Simulation) -> ResidualSchedule) {
        for parallel in &mut self.parallel_worlds {
            let schedule = of(parallel.simulation());
            parallel.simulation_mut().set_residuals(schedule);
        }
    }

    /// Their last step in numbers; `first` is the simulation's own world.
    pub fn samples(&self, first: &World) -> Vec<ParallelSample> {
        let of = |(name, parallel): (&Name, &ParallelWorld)| {
            let simulation = parallel.simulation();
            let (world, report) = (simulation.world(), simulation.report());
            ParallelSample {
                world: name.number,
                energy: world.energy(),
                joint_error: report.joint_error,
                fallen: parallel.fallen(),
                penetration: report.penetration,
                residual: report.residual.map(|r| r.residual),
                is_solved: verdicts::is_solved(report),
                time: report.timings.get(crate::measure::Stage::Step),
                distance: distance(world, first),
            }
        };
        // What takes no more steps has no numbers of this one.
        let both = self.names.iter().zip(&self.parallel_worlds);
        let steps = |(_, parallel): &(&Name, &ParallelWorld)| {
            parallel.error().is_none()
                && parallel.simulation().world().step_index == first.step_index
        };
        both.filter(steps).map(of).collect()
    }

    /// What they are.
    pub fn views(&self) -> impl Iterator<Item = ParallelView> {
        let both = self.parallel_worlds.iter().zip(&self.names);
        both.map(|(parallel, name)| ParallelView {
            world: name.number,
            label: parallel.label.clone(),
            series: name.wanted.series,
            color: name.wanted.color,
            error: parallel.error().map(str::to_owned),
        })
    }

    /// Adds their poses to those of the simulation's own world.
    pub fn fill(&self, frame: &mut Frame) {
        frame.parallel_worlds.clear();
        frame.parallel_worlds.extend(self.views());
        let slots = frame.poses.len();
        for parallel in &self.parallel_worlds {
            let bodies = &parallel.simulation().world().bodies;
            let poses = (0..bodies.slots()).map(|slot| isometry(&bodies.pose(slot)));
            // One that has stopped may lack what came since.
            let missing = slots.saturating_sub(bodies.slots());
            let nowhere = std::iter::repeat_n(bevy::math::Isometry3d::IDENTITY, missing);
            frame.poses.extend(poses.chain(nowhere).take(slots));
        }
    }
}
