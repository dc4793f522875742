//! Where the energy of a step goes: what is put in, what dissipates, and what the rule of stepping loses.
//!
//! Over a (sub)step a row's impulse Λ does the work Λ J ū on its bodies, ū = ½(u_S + u_E). With m (v_E − v_S) = p the linear
//! kinetic energy changes by p·v̄ exactly, and gravity's by −h m g·v̄; so these works are all there is, but for what
//! turning adds (see [`Flow::Rotation`]).

use rayon::prelude::*;

use super::context::Context;
use super::joints::RowKind;
use crate::math::{Quat, Twist, Vec3};
use crate::measure::energy::{Balance, Flow};
use crate::world::{BodyKind, Energy, World};

/// Keeps the balance of a step. Reuses its memory.
#[derive(Default)]
pub struct EnergyAccount {
    balance: Balance,
    /// Energy at the last step's end, if it was kept.
    last: Option<Energy>,
    /// What was stored when the step began, and when it was looked at last.
    first: Stored,
    stored: Stored,
    /// Of each body, when it was looked at last: kinetic energy (J) and place (m).
    kinetic: Vec<f64>,
    place: Vec<Vec3>,
    /// The work of contacts along normals and across, by units of parallel work (J).
    contacts: Vec<[f64; 2]>,
}

/// Contacts per unit of parallel work.
const CHUNK: usize = 1024;

/// What a world stores (J).
#[derive(Clone, Copy, Default)]
struct Stored {
    kinetic: f64,
    gravity: f64,
    springs: f64,
    /// Of compliant contacts, along normals and across.
    contacts: [f64; 2],
}

impl Stored {
    fn energy(&self) -> Energy {
        Energy {
            kinetic: self.kinetic,
            gravity: self.gravity,
            springs: self.springs,
            contacts: self.contacts.iter().sum(),
        }
    }
}

/// ū = ½(u_S + u_E) of a body, before the world has u_E.
fn mean_velocity(world: &World, c: &Context, slot: usize) -> Twist {
    let (s, e) = (&world.bodies.velocity[slot], &c.velocity[slot]);
    match world.bodies.kind[slot] {
        BodyKind::Dynamic => Twist::new((s.linear + e.linear) * 0.5, (s.angular + e.angular) * 0.5),
        _ => *s,
    }
}

impl EnergyAccount {
    /// Forgets the last step, as where another state is returned to.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Begins a step.
    pub fn begin(&mut self, world: &World) {
        self.look(world);
        self.first = self.stored;
        self.start();
    }

    /// Begins the step again, from the same state: drives have moved their targets by now.
    pub fn begin_again(&mut self, world: &World) {
        self.look(world);
        self.stored = self.first;
        self.start();
    }

    fn start(&mut self) {
        let now = self.stored.energy();
        let before = self.last.unwrap_or(now);
        self.balance = Balance::new(before, now);
        self.balance[Flow::Edits] = now.total() - before.total();
    }

    /// Counts what drives do to springs where they do not go where they were expected.
    pub fn add_drives(&mut self, world: &World) {
        let springs = world.spring_energy_with_new_targets();
        let change = springs - self.stored.springs;
        self.stored.springs = springs;
        let now = self.stored.energy();
        self.balance.go_on(now, &[0.0, 0.0, change, 0.0]);
        self.balance[Flow::Drives] += change;
    }

    /// Counts the work of a solved (sub)step, whose velocities the world does not have yet.
    pub fn add_work(&mut self, world: &World, c: &mut Context) {
        // The residual has been judged: its memory serves.
        let mut momentum = std::mem::take(c.residual_workspace.velocities_mut());
        let directions = c.joints.directions(&c.problem);
        (c.problem).momenta_along(directions, &c.lambda, &mut momentum);
        self.balance[Flow::Impact] += c.struck;
        self.add_rows(world, c, directions);
        self.add_contacts(world, c);
        self.add_bodies(world, c, &momentum);
        *c.residual_workspace.velocities_mut() = momentum;
    }

    fn add_rows(&mut self, world: &World, c: &Context, directions: &[Twist]) {
        let (problem, b) = (&c.problem, &mut self.balance);
        let first = problem.contact_rows();
        for r in 0..problem.rows.len() {
            let lambda = c.lambda[first + r];
            let entries = problem.rows.entries_along(r, directions);
            let rates = entries.map(|(body, j)| {
                let mean = mean_velocity(world, c, body);
                j.linear.dot(&mean.linear) + j.angular.dot(&mean.angular)
            });
            let rate = rates.sum::<f64>();
            let work = lambda * rate;
            match c.joints.kind(problem, r, lambda) {
                RowKind::Rigid => b[Flow::RigidJoints] += work,
                RowKind::Stop => b[Flow::Impact] += work,
                RowKind::Friction => b[Flow::Friction] += work,
                RowKind::Motor => b[Flow::Drives] += work,
                RowKind::Spring { damper, target } => {
                    // The drive moves the far end of a servo's spring.
                    let drive = lambda * target;
                    let damped = damper * (rate - target);
                    b[Flow::Drives] += drive;
                    b[Flow::Dampers] += damped;
                    b[Flow::SpringRule] += work - drive - damped;
                }
            }
        }
    }

    fn add_contacts(&mut self, world: &World, c: &Context) {
        let problem = &c.problem;
        let contacts = &problem.contacts;
        let work = |k: usize| {
            let block = &c.lambda[contacts.rows(k)];
            let (force, couple) = problem.contact_impulse(k, block);
            let frame = &contacts.frame[k];
            let [i, j] = contacts.bodies[k].map(|slot| mean_velocity(world, c, slot as usize));
            let relative = j.at(frame.arms[1]) - i.at(frame.arms[0]);
            let normal = block[0] * frame.normal.dot(&relative);
            let all = force.dot(&relative) + couple.dot(&(j.angular - i.angular));
            [normal, all - normal]
        };
        let chunk = |k: usize| {
            let of = k * CHUNK..contacts.len().min((k + 1) * CHUNK);
            of.map(work).fold([0.0; 2], |[a, b], [n, t]| [a + n, b + t])
        };
        let chunks = (0..contacts.len().div_ceil(CHUNK)).into_par_iter();
        chunks.map(chunk).collect_into_vec(&mut self.contacts);
        for [normal, friction] in &self.contacts {
            self.balance[Flow::Impact] += normal;
            self.balance[Flow::Friction] += friction;
        }
    }

    fn add_bodies(&mut self, world: &World, c: &Context, momentum: &[Twist]) {
        let (b, h) = (&world.bodies, c.problem.h);
        for slot in b.iter() {
            let (mean, p) = (mean_velocity(world, c, slot), &momentum[slot]);
            let gained = |p: &Twist| p.linear.dot(&mean.linear) + p.angular.dot(&mean.angular);
            if b.kind[slot] != BodyKind::Dynamic {
                self.balance[Flow::Drives] -= gained(p);
                continue;
            }
            let force = b.force(slot);
            let pushed = Twist::new(force.linear * h, force.angular * h);
            self.balance[Flow::Forces] += gained(&pushed);
            let (s, e) = (&b.velocity[slot], &c.velocity[slot]);
            let mass = 1.0 / b.inverse_mass[slot];
            let fell = world.settings.gravity * (mass * h);
            let lacks = (e.linear - s.linear) * mass - fell - pushed.linear - p.linear;
            let inertia = b.inertia[slot].rotated(&b.rotation[slot]);
            let [spin_s, spin_e] = [s, e].map(|u| inertia.mul_vec(u.angular));
            let change = 0.5 * (e.angular.dot(&spin_e) - s.angular.dot(&spin_s));
            let known = (p.angular + pushed.angular).dot(&mean.angular);
            let mut rotation = change - known;
            self.balance[Flow::Rounds] += lacks.dot(&mean.linear);
            if c.joints.holds(slot) {
                let ends = [
                    Quat::from_scaled_axis(s.angular * (-0.5 * h)) * spin_s,
                    Quat::from_scaled_axis(e.angular * (0.5 * h)) * spin_e,
                ];
                let turned = 0.5 * (e.angular.dot(&ends[0]) - s.angular.dot(&ends[1]));
                self.balance[Flow::Rounds] += rotation - turned;
                rotation = turned;
            }
            self.balance[Flow::Rotation] += rotation;
        }
    }

    /// Counts what a (sub)step's end has stored in springs, before positions are corrected.
    pub fn add_end(&mut self, world: &World) {
        let change = self.look(world);
        self.balance[Flow::SpringRule] += change.springs;
        self.balance[Flow::Impact] += change.contacts[0];
        self.balance[Flow::Friction] += change.contacts[1];
    }

    /// Counts what the correction of positions has changed.
    pub fn add_projection(&mut self, world: &World) {
        let change = self.look(world);
        self.balance[Flow::Projection] += change.energy().total();
    }

    /// Looks at what is stored now, and returns how it has changed since it was looked at last. Heights may be large and
    /// change by little: one body after the other loses no digits to that.
    fn look(&mut self, world: &World) -> Stored {
        let (b, gravity) = (&world.bodies, world.settings.gravity);
        self.kinetic.resize(b.slots(), 0.0);
        self.place.resize(b.slots(), Vec3::zeros());
        let mut now = Stored {
            springs: world.spring_energy(),
            contacts: world.contact_energies(),
            ..Stored::default()
        };
        let mut change = Stored {
            springs: now.springs - self.stored.springs,
            contacts: [0, 1].map(|k| now.contacts[k] - self.stored.contacts[k]),
            ..Stored::default()
        };
        for slot in b.iter().filter(|slot| b.is_dynamic(*slot)) {
            let (kinetic, place) = (b.kinetic_energy_of(slot), b.position[slot]);
            let weight = gravity / b.inverse_mass[slot];
            now.kinetic += kinetic;
            now.gravity -= weight.dot(&place);
            change.kinetic += kinetic - self.kinetic[slot];
            change.gravity -= weight.dot(&(place - self.place[slot]));
            (self.kinetic[slot], self.place[slot]) = (kinetic, place);
        }
        self.stored = now;
        self.balance.go_on(now.energy(), &change.energy().values());
        change
    }

    /// The balance of the step.
    pub fn end(&mut self) -> Balance {
        self.last = Some(self.stored.energy());
        self.balance
    }
}
