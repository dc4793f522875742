//! Where the energy of a step goes: what is put in, what dissipates, and what the rule of stepping loses.
//!
//! Over a (sub)step a row's impulse Λ does the work Λ J ū on its bodies, ū = ½(u_S + u_E). With m (v_E − v_S) = p the linear
//! kinetic energy changes by p·v̄ exactly, and gravity's by −h m g·v̄; so these works are all there is, but for what
//! turning adds (see [`Balance::rotation`]).

use serde::Serialize;

use super::context::Context;
use super::joints::RowKind;
use crate::math::{Quat, Twist};
use crate::world::{BodyKind, Energy, World};

/// The energy of a step (J): `after − before` is what was put in, less what dissipated, less what the rule lost, and the
/// remainder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Balance {
    /// At the step's begin.
    pub before: Energy,
    /// At the step's end.
    pub after: Energy,
    /// Put in since the last step's end, by who changed the world.
    pub edits: f64,
    /// Put in by motors, by drives that move the targets of servos, and by bodies that move by themselves.
    pub drives: f64,
    /// Put in by external forces.
    pub forces: f64,
    /// Dissipated by dampers of joints and servos.
    pub dampers: f64,
    /// Dissipated by friction, in contacts and joints.
    pub friction: f64,
    /// Dissipated along the normals of contacts, and by rigid limits.
    pub impact: f64,
    /// Lost by the rule in rigid joints, which should do no work.
    pub joints: f64,
    /// Lost by the rule in springs: what neither is stored nor went into their dampers.
    pub springs: f64,
    /// Lost by the rule as bodies turn: ½(ω_S·L_E − ω_E·L_S) where joints hold them, with the angular momenta at the ends.
    pub rotation: f64,
    /// Lost where the velocities are not exactly those of the impulses.
    pub rounds: f64,
    /// Lost as positions were corrected.
    pub projection: f64,
}

impl Balance {
    /// What the terms do not account for (J).
    pub fn remainder(&self) -> f64 {
        let put_in = self.drives + self.forces;
        let lost = self.joints + self.springs + self.rotation + self.rounds + self.projection;
        let dissipated = self.dampers + self.friction + self.impact;
        self.after.total() - self.before.total() - put_in + dissipated + lost
    }

    /// How much energy was moved (J): the sizes of all terms and of all changes.
    pub fn throughput(&self) -> f64 {
        let (a, b) = (&self.after, &self.before);
        let changes = [
            a.kinetic - b.kinetic,
            a.gravity - b.gravity,
            a.springs - b.springs,
            a.contacts - b.contacts,
        ];
        let flows = [
            self.drives,
            self.forces,
            self.dampers,
            self.friction,
            self.impact,
            self.joints,
            self.springs,
            self.rotation,
            self.rounds,
            self.projection,
        ];
        changes.iter().chain(&flows).map(|x| x.abs()).sum()
    }
}

/// Keeps the balance of a step. Reuses its memory.
#[derive(Default)]
pub struct Book {
    balance: Balance,
    /// Total energy at the last step's end (J), if it was kept.
    last: Option<f64>,
    /// Energies before the step, and before the present substep.
    first: (Energy, [f64; 2]),
    begin: Energy,
    contacts: [f64; 2],
    mean: Vec<Twist>,
    momentum: Vec<Twist>,
}

impl Book {
    /// Forgets the last step, as where another state is returned to.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Begins a step.
    pub fn begin(&mut self, world: &World) {
        self.first = (world.energy(), world.contact_energies());
        self.begin_again();
    }

    /// Begins the step again, from the same state: drives have moved their targets by now.
    pub fn begin_again(&mut self) {
        let (before, contacts) = self.first;
        (self.begin, self.contacts) = (before, contacts);
        self.balance = Balance {
            before,
            after: before,
            edits: self.last.map_or(0.0, |last| before.total() - last),
            ..Balance::default()
        };
    }

    /// Counts the work of a solved (sub)step, whose velocities the world does not have yet. `are_closed`: the rounds ended
    /// along the directions of the last linearisation.
    pub fn add_work(&mut self, world: &World, c: &mut Context, are_closed: bool) {
        let before = &world.bodies.velocity;
        self.mean.clear();
        let both = before.iter().zip(&c.velocity).enumerate();
        self.mean
            .extend(both.map(|(slot, (s, e))| match world.bodies.kind[slot] {
                BodyKind::Dynamic => {
                    Twist::new((s.linear + e.linear) * 0.5, (s.angular + e.angular) * 0.5)
                }
                _ => *s,
            }));
        if are_closed {
            c.joints.exchange_directions(&mut c.problem);
        }
        c.problem.momenta(&c.lambda, &mut self.momentum);
        self.add_rows(c);
        if are_closed {
            c.joints.exchange_directions(&mut c.problem);
        }
        self.add_contacts(c);
        self.add_bodies(world, c);
    }

    fn add_rows(&mut self, c: &Context) {
        let (problem, b) = (&c.problem, &mut self.balance);
        let first = problem.contact_rows();
        for r in 0..problem.rows.len() {
            let lambda = c.lambda[first + r];
            let rate = problem.row_jacobian_velocity(r, &self.mean);
            let work = lambda * rate;
            match c.joints.kind(problem, r, lambda) {
                RowKind::Rigid => b.joints -= work,
                RowKind::Stop => b.impact -= work,
                RowKind::Friction => b.friction -= work,
                RowKind::Motor => b.drives += work,
                RowKind::Spring { damper, target } => {
                    // The drive moves the far end of a servo's spring.
                    let drive = lambda * target;
                    let damped = -damper * (rate - target);
                    b.drives += drive;
                    b.dampers += damped;
                    b.springs -= work - drive + damped;
                }
            }
        }
    }

    fn add_contacts(&mut self, c: &Context) {
        let problem = &c.problem;
        let contacts = &problem.contacts;
        for k in 0..contacts.len() {
            let block = &c.lambda[contacts.rows(k)];
            let (force, couple) = problem.contact_impulse(k, block);
            let frame = &contacts.frame[k];
            let [i, j] = contacts.bodies[k].map(|slot| &self.mean[slot as usize]);
            let relative = j.at(frame.arms[1]) - i.at(frame.arms[0]);
            let normal = block[0] * frame.normal.dot(&relative);
            let all = force.dot(&relative) + couple.dot(&(j.angular - i.angular));
            self.balance.impact -= normal;
            self.balance.friction -= all - normal;
        }
    }

    fn add_bodies(&mut self, world: &World, c: &Context) {
        let (b, h) = (&world.bodies, c.problem.h);
        for slot in b.iter() {
            let (mean, p) = (&self.mean[slot], &self.momentum[slot]);
            let gained = |p: &Twist| p.linear.dot(&mean.linear) + p.angular.dot(&mean.angular);
            if b.kind[slot] != BodyKind::Dynamic {
                self.balance.drives -= gained(p);
                continue;
            }
            let pushed = Twist::new(b.force[slot].linear * h, b.force[slot].angular * h);
            self.balance.forces += gained(&pushed);
            let (s, e) = (&b.velocity[slot], &c.velocity[slot]);
            let mass = 1.0 / b.inverse_mass[slot];
            let fell = world.settings.gravity * (mass * h);
            let lacks = (e.linear - s.linear) * mass - fell - pushed.linear - p.linear;
            let inertia = b.inertia[slot].rotated(&b.rotation[slot]);
            let [spin_s, spin_e] = [s, e].map(|u| inertia.mul_vec(u.angular));
            let change = 0.5 * (e.angular.dot(&spin_e) - s.angular.dot(&spin_s));
            let known = (p.angular + pushed.angular).dot(&mean.angular);
            let mut rotation = known - change;
            self.balance.rounds -= lacks.dot(&mean.linear);
            if c.rounds.holds(slot) {
                let ends = [
                    Quat::from_scaled_axis(s.angular * (-0.5 * h)) * spin_s,
                    Quat::from_scaled_axis(e.angular * (0.5 * h)) * spin_e,
                ];
                let turned = 0.5 * (s.angular.dot(&ends[1]) - e.angular.dot(&ends[0]));
                self.balance.rounds += rotation - turned;
                rotation = turned;
            }
            self.balance.rotation += rotation;
        }
    }

    /// Counts what a (sub)step's end has stored in springs, before positions are corrected.
    pub fn add_end(&mut self, world: &World) {
        let now = world.energy();
        self.balance.springs -= now.springs - self.begin.springs;
        let contacts = world.contact_energies();
        self.balance.impact -= contacts[0] - self.contacts[0];
        self.balance.friction -= contacts[1] - self.contacts[1];
        self.contacts = contacts;
        self.begin = now;
    }

    /// Counts what the correction of positions has changed.
    pub fn add_projection(&mut self, world: &World) {
        let now = world.energy();
        self.balance.projection -= now.total() - self.begin.total();
        self.begin = now;
    }

    /// The balance of the step.
    pub fn end(&mut self) -> Balance {
        self.balance.after = self.begin;
        self.last = Some(self.begin.total());
        self.balance
    }
}
