//! Which of the bodies that stood have fallen.

use crate::math::Vec3;
use crate::step::Simulation;
use crate::step::motion::REST_HEIGHT;
use crate::world::{BodyId, Shape, World};

/// The height that a body has fallen by, as a share of its bounding radius (-): dominoes that lean on each other lose 0.45
/// of it, cards 0.75; a wall that few sweeps let shiver 0.19.
const FALL: f64 = 0.3;

/// A body that stood, and how high (m).
type Stood = (BodyId, f64);

/// What stood when somebody began to watch.
#[derive(Debug)]
pub(super) struct Falls {
    /// Before the first step all that lie still.
    stood: Vec<Stood>,
    /// Whether a step has told which of them touch something.
    is_told: bool,
}

/// The way that things do not fall. Machines lower what they carry: with joints nothing counts as a fall.
fn up(world: &World) -> Option<Vec3> {
    let up = (-world.settings.gravity).try_normalize(0.0);
    up.filter(|_| world.joints.is_empty())
}

impl Falls {
    /// Begins to watch.
    pub fn of(world: &World) -> Self {
        let (bodies, gravity) = (&world.bodies, world.settings.gravity.norm());
        let reach = bodies.reach();
        let stood = up(world).map_or_else(Vec::new, |up| {
            let still = (0..bodies.slots()).filter(|slot| {
                let energy = bodies.kinetic_energy_of(*slot) * bodies.inverse_mass[*slot];
                bodies.is_dynamic(*slot) && energy <= gravity * REST_HEIGHT * reach[*slot]
            });
            let of = |slot: usize| Some((bodies.id(slot)?, bodies.position[slot].dot(&up)));
            still.filter_map(of).collect()
        });
        Self {
            stood,
            is_told: false,
        }
    }

    /// After a step: what touched nothing in the first one did not stand.
    pub fn note(&mut self, simulation: &Simulation) {
        if self.is_told {
            return;
        }
        self.is_told = true;
        let mut touches = vec![false; simulation.world().bodies.slots()];
        for contact in simulation.contacts().filter(|c| c.normal_impulse > 0.0) {
            for slot in contact.bodies {
                touches[slot as usize] = true;
            }
        }
        self.stood.retain(|(id, _)| touches[id.index()]);
    }

    /// How many of them have fallen.
    pub fn count(&self, world: &World) -> usize {
        let Some(up) = up(world) else {
            return 0;
        };
        let bodies = &world.bodies;
        let has_fallen = |(id, height): &&Stood| {
            let slot = id.index();
            let radius = || {
                bodies.shape[slot]
                    .as_ref()
                    .map_or(0.0, Shape::bounding_radius)
            };
            let lost = || height - bodies.position[slot].dot(&up);
            bodies.id(slot) == Some(*id) && lost() > FALL * radius()
        };
        self.stood.iter().filter(has_fallen).count()
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::library;
    use crate::session::{Session, Spacing};

    fn watched(scene: &str) -> Session {
        let scene = library::shipped(scene).unwrap();
        let mut session = Session::new(scene.simulation(1).unwrap());
        session.keep(1 << 28, Spacing::Steps(40));
        session.watch_falls();
        session
    }

    /// The spiral topples one domino after the other; what has not happened yet in the past is not counted there.
    #[test]
    fn dominoes_fall_and_stand_again_in_the_past() {
        let mut session = watched("domino_spiral");
        let mut counts = vec![0];
        for _ in 0..240 {
            session.step().unwrap();
            counts.push(session.fallen());
        }
        assert_eq!(counts[10], 0);
        let is_more = |pair: &[usize]| pair[0] < pair[1];
        assert!(
            counts[100] > 3 && counts.windows(2).filter(|p| is_more(p)).count() > 10,
            "{counts:?}"
        );
        for step in [130, 12] {
            session.go_to(step).unwrap();
            assert_eq!(session.fallen(), counts[step as usize], "step {step}");
        }
    }

    #[test]
    fn what_stands_has_not_fallen() {
        for scene in ["wall", "heavy_stack", "arch"] {
            let mut session = watched(scene);
            for _ in 0..60 {
                session.step().unwrap();
            }
            assert_eq!(session.fallen(), 0, "{scene}");
        }
    }
}
