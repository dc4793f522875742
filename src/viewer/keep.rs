//! What the physics thread keeps in files, and takes from them: recordings, states, edited scenes.

use std::path::{Path, PathBuf};

use crate::file::{self, Content};
use crate::scene::Scene;
use crate::session::{Divergence, Recording, Replayed, Session};
use crate::solve::SolverConfig;
use crate::step::{Simulation, Snapshot};
use crate::world::Settings;

/// What is asked of the physics thread about the past, and about files.
pub enum Keep {
    /// Go back by so many steps, and stay there.
    StepBack(u64),
    /// Go to the state after a step, and stay there. Of many such wishes the newest one counts.
    ScrubTo(u64),
    /// Record from now on, into a file that is written when the recording ends; `origin` says of what.
    Record {
        origin: String,
        path: PathBuf,
    },
    StopRecording,
    SaveState(PathBuf),
    /// Save the scene with the edits of this run, the solver and the settings of now.
    SaveScene {
        scene: Box<Scene>,
        path: PathBuf,
    },
    /// Open the state that was saved last.
    OpenSaved {
        threads: usize,
    },
    /// Open a recording or a state.
    Open {
        path: PathBuf,
        threads: usize,
    },
}

/// Something that was done, or that failed; shown once.
pub type News = Result<String, String>;

/// Extensions of the files that [`Keep::Open`] opens.
pub const RECORDING: &str = "rec";
pub const STATE: &str = "snap";

/// Whether a path names a recording or a state, and not a scene.
pub fn is_kept(path: &Path) -> bool {
    [RECORDING, STATE]
        .iter()
        .any(|kind| has_extension(path, kind))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

/// A path as messages show it: from the root.
pub fn full(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// The first free name of the kind moreau-0001.png in the working directory.
pub fn free_name(extension: &str) -> Option<PathBuf> {
    (1..10_000)
        .map(|k| PathBuf::from(format!("moreau-{k:04}.{extension}")))
        .find(|path| !path.exists())
}

pub fn write(what: &str, path: &Path, bytes: &[u8]) -> News {
    match file::save(path, bytes) {
        Ok(()) => Ok(format!("saved {what}: {}", full(path))),
        Err(error) => Err(format!("{} cannot be written: {error}", full(path))),
    }
}

pub fn save_recording(recording: &Recording, path: &Path) -> News {
    if recording.is_empty() {
        return Err("nothing is saved: no step was taken while it was recorded".into());
    }
    let what = format!("a recording of {} steps", recording.len());
    write(&what, path, &recording.to_bytes())
}

pub fn save_state(simulation: &Simulation, path: &Path) -> News {
    let what = format!("the state after step {}", simulation.world().step_index);
    write(&what, path, &simulation.snapshot().to_bytes())
}

/// Saves a scene with the edits of a session, once it is sure that the file can be loaded again.
pub fn save_scene(mut scene: Scene, session: &Session, path: &Path) -> News {
    let simulation = session.simulation();
    scene.edits.extend(session.edits().cloned());
    scene.solver = simulation.solver_config().clone();
    scene.settings = simulation.world().settings;
    let text = scene.to_ron();
    let loads = Scene::parse(&text, &full(path));
    loads.map_err(|error| format!("the scene is not saved: {error}"))?;
    let saved = write(
        "the scene as it begins, with its edits (states go into .snap files)",
        path,
        text.as_bytes(),
    )?;
    // Meshes are looked for beside the file, where they may not be.
    match Scene::load(path).and_then(|scene| scene.build()) {
        Ok(_) => Ok(saved),
        Err(error) => Err(format!("{saved}; but it does not open there: {error}")),
    }
}

/// Opens a recording, to be replayed, or a state.
pub fn open(path: &Path, threads: usize, solver: Option<SolverConfig>) -> Result<Session, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", full(path));
    let is_recording = has_extension(path, RECORDING);
    let content = match is_recording {
        true => Content::Recording,
        false => Content::State,
    };
    let bytes = content
        .read(path)
        .map_err(|e| format!("{} cannot be read: {e}", full(path)))?;
    if is_recording {
        let recording = Recording::from_bytes(&bytes).map_err(|e| named(&e))?;
        return Session::replay(recording, threads).map_err(|e| named(&e));
    }
    let snapshot = Snapshot::from_bytes(&bytes).map_err(|e| named(&e))?;
    let mut solver = solver.unwrap_or_default();
    if solver.name != snapshot.solver_name() {
        solver.switch(snapshot.solver_name());
    }
    let mut simulation =
        Simulation::new(snapshot.world().clone(), solver, threads).map_err(|e| named(&e))?;
    simulation.restore(&snapshot);
    Ok(Session::new(simulation))
}

/// What there is to say about a replay that has just compared a step.
pub fn news_of(before: Option<Replayed>, after: Option<Replayed>) -> Option<News> {
    let now = after?;
    let is_done = |r: Replayed| r.compared == r.steps[1];
    if before.is_some_and(is_done) || before.is_none() {
        return None;
    }
    let was: Option<Divergence> = before.and_then(|r| r.divergence);
    match (was, now.divergence) {
        (None, Some(divergence)) => Some(Err(format!("the replay {divergence}"))),
        (_, None) if is_done(now) => {
            let steps = now.steps[1] - now.steps[0];
            Some(Ok(format!(
                "replayed {steps} steps: the same as recorded, bit for bit"
            )))
        }
        _ => None,
    }
}

/// The solver and the settings in charge, where the physics thread has brought others back than those that the
/// window has chosen.
#[derive(Debug, Default)]
pub struct Charge {
    /// Counts how often that has happened.
    pub number: u64,
    pub solver: SolverConfig,
    pub settings: Settings,
}

impl Charge {
    pub fn of(simulation: &Simulation, number: u64) -> Self {
        Self {
            number,
            solver: simulation.solver_config().clone(),
            settings: simulation.world().settings,
        }
    }

    pub fn fits(&self, simulation: &Simulation) -> bool {
        self.solver == *simulation.solver_config() && self.settings == simulation.world().settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_is_judged_once() {
        let at = |compared, divergence| {
            Some(Replayed {
                steps: [5, 9],
                compared,
                divergence,
            })
        };
        let divergence = Some(Divergence {
            step: 8,
            recorded: 1,
            found: 2,
        });
        assert_eq!(news_of(None, at(9, None)), None, "it was not replayed");
        assert_eq!(news_of(at(6, None), at(7, None)), None);
        let same = news_of(at(8, None), at(9, None)).expect("the end");
        assert_eq!(
            same,
            Ok("replayed 4 steps: the same as recorded, bit for bit".into())
        );
        assert_eq!(news_of(at(9, None), at(9, None)), None, "it was said");
        let other = news_of(at(7, None), at(8, divergence)).expect("it differs");
        assert!(
            other
                .expect_err("bad news")
                .starts_with("the replay diverged at step 8")
        );
        assert_eq!(
            news_of(at(8, divergence), at(9, divergence)),
            None,
            "it was said"
        );
    }

    #[test]
    fn scenes_are_told_from_what_is_kept() {
        for (path, kept) in [
            ("a.rec", true),
            ("b/a.SNAP", true),
            ("a.ron", false),
            ("rec", false),
        ] {
            assert_eq!(is_kept(Path::new(path)), kept, "{path}");
        }
    }
}
