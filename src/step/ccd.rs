//! Continuous collision detection, so that nothing passes: what is fast does not skip what lies on its way through a
//! half step, and who was struck in a step meets in it what its free velocity did not lead to.

use super::integrate;
use super::pace::Pace;
use crate::collide::{Ahead, Collider};
use crate::math::{Twist, Vec3, rotate_by};
use crate::problem::{Problem, ProblemBodies};
use crate::world::{Bodies, BodyKind, Geometry, Shape, World};

/// Bodies may overlap by so much of the thinner one's half thickness (-) without being caught: the next step still knows
/// which way is out, and what is slower needs no second look.
const OVERLAP: f64 = 0.3;
/// Times that a fast body's way is looked at in a half step; what is left of it then is not gone.
const MOST_LOOKS: u32 = 16;
/// By how much a body may turn between two looks (rad): then its contacts still say something.
const MOST_TURN: f64 = 0.5;
/// Times that a step is solved anew for those that were struck. Each time those are found whom the last ones struck.
pub const MOST_STRIKES: u32 = 8;

/// Reusable memory.
#[derive(Default)]
pub struct Ccd {
    /// The velocities that all contacts were found by, where joints make the problem's free velocities others.
    found: Vec<Twist>,
    /// Those by which contacts of each body were last looked for, once somebody was struck.
    seen: Vec<Twist>,
    /// Who is looked at.
    asks: Vec<bool>,
    /// What is left of a half step (-).
    left: Vec<f64>,
    limit: Vec<f64>,
    bodies: ProblemBodies,
}

impl Ccd {
    /// Takes the bodies half a step on. Those that would go by more than half their own thickness go no farther than where
    /// they touch something.
    pub fn half_step(&mut self, world: &mut World, collider: &mut Collider, pace: &Pace) {
        let h = pace.h;
        let looks_ahead = world.settings.prediction > 0.0;
        if !looks_ahead || !self.find_fast(world, 0.5 * h) {
            integrate::half_step(world, h);
            return;
        }
        let share = 0.5 * h / pace.horizon;
        for _ in 0..MOST_LOOKS {
            let b = &world.bodies;
            self.bodies.free_velocity.clear();
            self.bodies.free_velocity.extend((0..b.slots()).map(|slot| {
                let left = if self.asks[slot] {
                    self.left[slot]
                } else {
                    1.0
                };
                let (u, share) = (b.velocity[slot], share * left);
                Twist::new(u.linear * share, u.angular * share)
            }));
            let (asks, u) = (&self.asks, &self.bodies.free_velocity);
            let ahead = Ahead {
                free: &self.bodies,
                horizon: pace.horizon,
            };
            collider.look(world, ahead, |pair| {
                pair.into_iter().any(|slot| asks[slot as usize])
                    && pace.horizon * approach(world, pair, |slot| u[slot]) > allowed(world, pair)
            });
            if !self.go_on(world, collider, pace) {
                break;
            }
        }
        // The others.
        let asks = &self.asks;
        integrate::half_step_of(world, h, |slot| !asks[slot]);
    }

    /// Marks who goes by more than half its thickness in a time (s); false if nobody does.
    fn find_fast(&mut self, world: &World, time: f64) -> bool {
        let b = &world.bodies;
        self.asks.clear();
        self.asks.extend((0..b.slots()).map(|slot| {
            let way = speed(b, slot, &b.velocity[slot]) * time;
            b.kind[slot] == BodyKind::Dynamic && way > 0.5 * half_thickness(world, slot)
        }));
        // Who is joined to others goes with them.
        for slot in world.joints().iter().flat_map(|joint| joint.bodies) {
            if let Some(asks) = self.asks.get_mut(slot as usize) {
                *asks = false;
            }
        }
        if !self.asks.contains(&true) {
            return false;
        }
        self.left.clear();
        self.left.resize(b.slots(), 1.0);
        true
    }

    /// Moves the fast bodies as far as what was seen allows; false if they are all there, or stopped.
    fn go_on(&mut self, world: &mut World, collider: &Collider, pace: &Pace) -> bool {
        self.limit.clear();
        self.limit.resize(self.left.len(), 1.0);
        let (h, horizon) = (pace.h, pace.horizon);
        let seen = collider.seen();
        for k in 0..seen.len() {
            let way = -seen.speed(k, &self.bodies.free_velocity) * horizon;
            let gap = seen.gap[k].max(0.0);
            if way <= gap + allowed(world, seen.bodies[k]) {
                continue;
            }
            for slot in seen.bodies[k].map(|b| b as usize) {
                self.limit[slot] = self.limit[slot].min(gap / way);
            }
        }
        let b = &mut world.bodies;
        let mut goes_on = false;
        for slot in (0..b.slots()).filter(|slot| self.asks[*slot]) {
            let u = b.velocity[slot];
            let turn = u.angular.norm() * 0.5 * h * self.left[slot];
            if turn > MOST_TURN && !is_ball(b, slot) {
                self.limit[slot] = self.limit[slot].min(MOST_TURN / turn);
            }
            let time = 0.5 * h * self.left[slot] * self.limit[slot];
            b.position[slot] += u.linear * time;
            b.rotation[slot] = rotate_by(&b.rotation[slot], u.angular, time);
            self.left[slot] *= 1.0 - self.limit[slot];
            if speed(b, slot, &u) * time <= world.settings.prediction {
                self.left[slot] = 0.0;
            }
            goes_on |= self.left[slot] > 0.0;
        }
        goes_on
    }
}

impl Ccd {
    /// Notes by which velocities contacts were looked for.
    pub fn note_seen(&mut self, world: &World, free: &[Twist]) {
        self.seen.clear();
        self.found.clear();
        if !world.joints().is_empty() {
            self.found.extend_from_slice(free);
        }
    }

    /// Whether bodies whose velocities the solver changed would run into others that they have no contact with; there are
    /// contacts for these then. `velocity` is what the solver made of the problem's free velocities.
    pub fn find_struck(
        &mut self,
        world: &World,
        horizon: f64,
        collider: &mut Collider,
        problem: &mut Problem,
        velocity: &[Twist],
    ) -> bool {
        let settings = &world.settings;
        if settings.prediction <= 0.0 {
            return false;
        }
        let b = &world.bodies;
        let found: &[Twist] = match self.found.is_empty() {
            true => &problem.bodies.free_velocity,
            false => &self.found,
        };
        self.asks.clear();
        let mut asks_any = false;
        for (slot, (now, found)) in velocity.iter().zip(found).enumerate() {
            let way = |u: &Twist| speed(b, slot, u) * horizon;
            let seen = self.seen.get(slot).unwrap_or(found);
            let least = 0.5 * (settings.prediction + OVERLAP * half_thickness(world, slot));
            let change = *now - *seen;
            let asks =
                b.kind[slot] == BodyKind::Dynamic && way(now) > least && way(&change) > least;
            self.asks.push(asks);
            asks_any |= asks;
        }
        if !asks_any {
            return false;
        }
        self.bodies.free_velocity.clear();
        self.bodies.free_velocity.extend_from_slice(velocity);
        let is_new = |bodies: [u32; 2], way: f64| way > allowed(world, bodies);
        let now = velocity;
        let asks = |pair: [u32; 2]| {
            let change = |slot: usize| now[slot] - found[slot];
            pair.into_iter().any(|slot| self.asks[slot as usize])
                && horizon * approach(world, pair, change)
                    > settings.prediction + allowed(world, pair)
        };
        let contacts = &mut problem.contacts;
        let ahead = Ahead {
            free: &self.bodies,
            horizon,
        };
        let is_found = collider.add_struck(world, ahead, contacts, asks, is_new);
        if self.seen.is_empty() {
            self.seen.extend_from_slice(found);
        }
        let seen = self.seen.iter_mut().zip(now).zip(&self.asks);
        for ((seen, now), _) in seen.filter(|(_, asks)| **asks) {
            *seen = *now;
        }
        is_found
    }
}

/// How fast a point of a body moves at most (m/s).
fn speed(bodies: &Bodies, slot: usize, u: &Twist) -> f64 {
    u.linear.norm() + turning(bodies, slot, u)
}

/// How fast a point of a body moves about its centre of mass at most (m/s). That a ball turns about its own moves nothing.
fn turning(bodies: &Bodies, slot: usize, u: &Twist) -> f64 {
    let shape = bodies.shape[slot].as_ref();
    if shape.is_none() || u.angular == Vec3::zeros() {
        return 0.0;
    }
    let size = shape.map_or(0.0, Shape::bounding_radius);
    let arm = if is_ball(bodies, slot) { 0.0 } else { size };
    u.angular.norm() * (arm + bodies.shape_offset[slot].norm())
}

/// How fast two bodies come nearer to each other at most (m/s).
fn approach(world: &World, pair: [u32; 2], velocity: impl Fn(usize) -> Twist) -> f64 {
    let [i, j] = pair.map(|slot| slot as usize);
    let (b, u, w) = (&world.bodies, velocity(i), velocity(j));
    (u.linear - w.linear).norm() + turning(b, i, &u) + turning(b, j, &w)
}

fn is_ball(bodies: &Bodies, slot: usize) -> bool {
    let shape = bodies.shape[slot].as_ref();
    shape.is_some_and(|shape| matches!(shape.geometry(), Geometry::Ball { .. }))
}

/// By how much two bodies may overlap without being caught (m).
fn allowed(world: &World, bodies: [u32; 2]) -> f64 {
    let [a, b] = bodies.map(|slot| half_thickness(world, slot as usize));
    world.settings.prediction + OVERLAP * a.min(b)
}

/// Half the least extent of a body that moves freely (m); of others it does not matter.
fn half_thickness(world: &World, slot: usize) -> f64 {
    let b = &world.bodies;
    match (&b.shape[slot], b.kind[slot]) {
        (Some(shape), BodyKind::Dynamic) => shape.half_thickness(),
        _ => f64::INFINITY,
    }
}
