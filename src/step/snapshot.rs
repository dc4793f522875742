//! States to return to.

use super::Simulation;
use crate::file::{FileError, FileKind};
use crate::solve::find;
use crate::world::World;
use crate::world::snapshot::SNAPSHOT_VERSION;

/// A state as a file.
const KIND: FileKind = FileKind {
    name: "snapshot",
    magic: b"MOREAUSS",
    version: SNAPSHOT_VERSION,
};

/// A state to return to: the world and what the solver carries.
#[derive(Clone, Debug)]
pub struct Snapshot {
    world: World,
    solver_name: &'static str,
    solver_state: Vec<u8>,
}

impl Snapshot {
    /// The world as it was.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Name of the solver that was in charge.
    pub fn solver_name(&self) -> &'static str {
        self.solver_name
    }

    /// Memory that it takes (bytes), but for geometries, which are shared.
    pub fn memory(&self) -> usize {
        self.world.memory() + self.solver_state.len()
    }

    /// Writes the snapshot as bytes: magic, version, length, checksum, data.
    pub fn to_bytes(&self) -> Vec<u8> {
        KIND.write(&(&self.world.to_bytes(), self.solver_name, &self.solver_state))
    }

    /// Reads a snapshot written by [`Snapshot::to_bytes`].
    ///
    /// # Errors
    /// Bytes of another kind or version, damaged ones, or a solver that is not there.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let (world, name, solver_state): (Vec<u8>, String, Vec<u8>) = KIND.read(bytes)?;
        let missing = || KIND.damaged(format!("it names a solver \"{name}\", which is not there"));
        let solver = find(&name).ok_or_else(missing)?;
        Ok(Self {
            world: World::from_bytes(&world)?,
            solver_name: solver.name,
            solver_state,
        })
    }
}

impl Simulation {
    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        let solver = self.solvers.chosen();
        Snapshot {
            world: self.world.clone(),
            solver_name: solver.info().name,
            solver_state: solver.state(),
        }
    }

    /// Returns to a snapshot. What a solver carried is restored if it is still the same solver.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.repeats.end();
        let revision = self.world.revision.max(snapshot.world.revision);
        self.world.clone_from(&snapshot.world);
        self.world.revision = revision + 1;
        if let Some(energy) = &mut self.energy {
            energy.forget();
        }
        let solver = self.solvers.chosen_mut();
        if solver.info().name == snapshot.solver_name {
            solver.set_state(&snapshot.solver_state);
        } else {
            solver.set_state(&[]);
        }
    }
}
