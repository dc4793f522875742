//! What counts as being at rest, rolling, in the air or moving otherwise: the one definition, for tests and benches.
//!
//! It looks at a state and at the contacts of the last (sub)step. A contact touches where it carries a normal impulse:
//! one that is merely near holds nothing.

use super::Simulation;

/// How a dynamic body moves after a step; the first of these that holds. Joints are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// No contact touches.
    Airborne,
    /// It touches, and its kinetic energy, linear and angular, is at most that of a fall from [`REST_HEIGHT`] of its
    /// bounding radius.
    Rest,
    /// It touches and moves, and nothing but bodies that no force moves carries it: contacts with dynamic bodies are at
    /// its side. Nothing stops rolling, so that it may go on for ever; what slides, rocks or lands there is counted
    /// with it for as long as it does.
    Rolling,
    /// It touches and moves otherwise: within a heap.
    Moving,
}

/// The fall whose energy still counts as rest, as a share of the body's bounding radius (-). With a radius of 1 m and
/// Earth's gravity that is 10 µm, or 14 mm/s: far more than a solved step leaves in what lies still, and far less than
/// takes a body over an edge of its own. Without gravity, or without a shape, only what stands still is at rest.
pub const REST_HEIGHT: f64 = 1e-5;

/// The largest |cos| of the angle between a contact's normal and gravity that counts as being at a body's side (-):
/// logs that roll one beside the other touch along a nearly horizontal normal, whatever their thickness.
pub const SIDE: f64 = 0.3;

/// The motion of each slot's body after the last step; none where there is no dynamic body.
pub fn motions(simulation: &Simulation) -> Vec<Option<Motion>> {
    let world = simulation.world();
    let bodies = &world.bodies;
    let gravity = world.settings.gravity;
    let up = gravity.try_normalize(0.0);
    let mut touches = vec![false; bodies.slots()];
    let mut leans = touches.clone();
    for contact in simulation.contacts().filter(|c| c.normal_impulse > 0.0) {
        let slots = contact.bodies.map(|slot| slot as usize);
        let both_move = slots.iter().all(|slot| bodies.is_dynamic(*slot));
        // Without gravity nothing says what carries what.
        let is_beside = up.is_some_and(|up| contact.normal.dot(&up).abs() <= SIDE);
        for slot in slots {
            touches[slot] = true;
            leans[slot] |= (both_move || up.is_none()) && !is_beside;
        }
    }
    let rest = bodies.reach().into_iter();
    let rest = rest.map(|reach| gravity.norm() * REST_HEIGHT * reach);
    rest.enumerate()
        .map(|(slot, rest)| {
            if !bodies.is_dynamic(slot) {
                return None;
            }
            let energy = bodies.kinetic_energy_of(slot) * bodies.inverse_mass[slot];
            Some(match (touches[slot], leans[slot]) {
                (false, _) => Motion::Airborne,
                _ if energy <= rest => Motion::Rest,
                (_, false) => Motion::Rolling,
                (_, true) => Motion::Moving,
            })
        })
        .collect()
}

/// How many dynamic bodies move in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Census {
    /// Bodies in the air.
    pub airborne: usize,
    /// Bodies at rest.
    pub rest: usize,
    /// Bodies that roll on what no force moves.
    pub rolling: usize,
    /// Bodies that move otherwise.
    pub moving: usize,
    /// Kinetic energy of what neither rolls nor is in the air (J): what a heap has left.
    pub left: f64,
}

impl Census {
    /// Counts after the last step.
    pub fn of(simulation: &Simulation) -> Self {
        let bodies = &simulation.world().bodies;
        let mut census = Self::default();
        for (slot, motion) in motions(simulation).into_iter().enumerate() {
            match motion {
                None => {}
                Some(Motion::Airborne) => census.airborne += 1,
                Some(Motion::Rolling) => census.rolling += 1,
                Some(Motion::Rest) => {
                    census.rest += 1;
                    census.left += bodies.kinetic_energy_of(slot);
                }
                Some(Motion::Moving) => {
                    census.moving += 1;
                    census.left += bodies.kinetic_energy_of(slot);
                }
            }
        }
        census
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    const SCENE: &str = r#"(name: "motions", materials: {"default": (friction: 0.5)}, bodies: [
        (kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))),
        (name: "lies", shape: Ball(radius: 0.5), position: (0, 0.5, 0)),
        (name: "creeps", shape: Ball(radius: 0.5), position: (5, 0.5, 0),
            velocity: (1e-3, 0, 0), angular_velocity: (0, 0, -2e-3)),
        (name: "rolls", shape: Ball(radius: 0.5), position: (10, 0.5, 0),
            velocity: (1, 0, 0), angular_velocity: (0, 0, -2)),
        (name: "rolls beside it", shape: Ball(radius: 0.5), position: (10, 0.5, 1),
            velocity: (1, 0, 0), angular_velocity: (0, 0, -2)),
        (name: "falls", shape: Ball(radius: 0.5), position: (15, 5, 0)),
        (name: "carries", shape: Cuboid(half_extents: (2, 0.25, 2)), position: (20, 0.25, 0)),
        (name: "rolls on it", shape: Ball(radius: 0.5), position: (20, 1, 0),
            velocity: (1, 0, 0), angular_velocity: (0, 0, -2)),
    ])"#;

    #[test]
    fn bodies_are_told_apart_by_their_motion() {
        let scene = Scene::parse(SCENE, "motions.ron").unwrap_or_else(|e| panic!("{e}"));
        let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..10 {
            s.step().unwrap_or_else(|e| panic!("{e}"));
        }
        let names = &s.world().bodies.name;
        let motions = motions(&s);
        let found: Vec<_> = names.iter().map(String::as_str).zip(motions).collect();
        let expected = [
            ("", None),
            ("lies", Some(Motion::Rest)),
            ("creeps", Some(Motion::Rest)),
            ("rolls", Some(Motion::Rolling)),
            ("rolls beside it", Some(Motion::Rolling)),
            ("falls", Some(Motion::Airborne)),
            ("carries", Some(Motion::Rest)),
            ("rolls on it", Some(Motion::Moving)),
        ];
        assert_eq!(found, expected);
        let census = Census::of(&s);
        let counts = [census.airborne, census.rest, census.rolling, census.moving];
        assert_eq!(counts, [1, 3, 2, 1]);
        let bodies = &s.world().bodies;
        let left: f64 = [1, 2, 6, 7]
            .map(|k| bodies.kinetic_energy_of(k))
            .iter()
            .sum();
        assert!((census.left - left).abs() < 1e-9 * left, "{}", census.left);
    }
}
