//! Drives that cannot have their way: which they are, and against whom (section 6 of docs/method.md).

use super::bodies::are_resolved;
use super::closing::Joints;
use super::entry::{number, row_scale};
use super::rounds::Iterate;
use super::rows::{Table, diagonal};
use super::yielding::is_unbounded;
use crate::math::Twist;
use crate::problem::Problem;
use crate::solve::SolveReport;
use crate::step::contradiction::Contradiction;
use crate::world::World;
use crate::world::joint::Target;

/// A drive pushes through contacts where these give way by more than this share of its speed, and by less than one over it, and its
/// impulse still changes by as much (-). The links of a belt on a drum contradict their drive by 1e-3 m/s without harm.
const FIGHT: f64 = 0.1;

impl Joints {
    /// Finds drives without a limit of force that cannot have their way: of islands without contacts that a solver has left above
    /// the `tolerance` (m/s), where contacts give way to them, or, if those that are not closed `count`, that rounds do not close;
    /// of these also the loops. Whether there are more than were known.
    pub fn find_fights(
        &mut self,
        world: &World,
        at: &Iterate<'_>,
        report: &SolveReport,
        tolerance: f64,
        count: bool,
    ) -> bool {
        let problem = &*at.problem;
        let slop = world.settings.stabilisation.slop();
        let first = problem.contact_rows();
        let known = (self.yielding.rows.len(), self.yielding.joints.len());
        for (k, (island, held)) in self.bodies.islands.iter().enumerate() {
            let rows = || problem.islands.rows.of(*island).iter().map(|r| *r as usize);
            let held = self.bodies.of(held);
            let is_open = count && {
                let loops = (&self.loops, self.contacts.are_held());
                let gap = (self.next).gap(problem, &self.table, loops, at.lambda, rows());
                gap.is_nan() || gap > tolerance || !are_resolved(held, problem.h, at.velocity)
            };
            if is_open {
                // What a rope or a stop catches is an impact.
                let is_giving =
                    |r: &usize| self.loops.hold[*r] > 0.0 && problem.rows.is_bilateral(*r);
                for r in rows().filter(is_giving) {
                    let (joint, _) = self.table.rows[r];
                    if !self.yielding.joints.contains(&joint) {
                        self.yielding.joints.push(joint);
                    }
                }
            }
            let is_alone = !self.contacts.islands.contains(&k);
            let all = is_open || is_alone && at.is_rough(report, *island, tolerance);
            let gives = self.gives(at, k, slop);
            for r in drives(problem, &self.table, *island) {
                let speed = along(problem, r, at.velocity).abs();
                let changes = at.lambda[first + r] - self.loops.centre(r);
                let changes = diagonal(problem, r) * changes.abs();
                let fights = all || pushes(speed, gives) && changes > FIGHT * speed;
                let row = self.table.rows[r];
                if fights && !self.yielding.rows.contains(&row) {
                    self.yielding.rows.push(row);
                }
            }
        }
        (self.yielding.rows.len(), self.yielding.joints.len()) > known
    }

    /// Whether drives push through contacts that are held.
    pub(super) fn push_through(&self, at: &Iterate<'_>, slop: f64) -> bool {
        let mut held = self.contacts.held.iter();
        held.any(|k| {
            let (island, _) = self.bodies.islands[*k];
            let gives = self.gives(at, *k, slop);
            let mut drives = drives(at.problem, &self.table, island);
            drives.any(|r| pushes(along(at.problem, r, at.velocity).abs(), gives))
        })
    }

    /// By how much held contacts give way in an island, as `HeldBodies` numbers it, where that is more than positions are left open
    /// (m/s).
    fn gives(&self, at: &Iterate<'_>, k: usize, slop: f64) -> f64 {
        if !self.contacts.held.contains(&k) {
            return 0.0;
        }
        let (island, _) = self.bodies.islands[k];
        let gives = self.contacts.apart_in(at.problem, at.lambda, island);
        if gives * at.problem.h > slop {
            gives
        } else {
            0.0
        }
    }

    /// What gives way in this (sub)step, with impulses `lambda` (N s), and to whom.
    pub fn contradictions(
        &self,
        world: &World,
        problem: &Problem,
        lambda: &[f64],
    ) -> Vec<Contradiction> {
        let (table, first) = (&self.table, problem.contact_rows());
        let mut all = Vec::new();
        if self.yielding.rows.is_empty() && self.yielding.joints.is_empty() {
            return all;
        }
        for (island, _) in &self.bodies.islands {
            let rows = || problem.islands.rows.of(*island).iter().map(|r| *r as usize);
            let size = |r: &usize| lambda[first + r].abs();
            let largest = |a: &usize, b: &usize| size(a).total_cmp(&size(b));
            let giving = rows().filter(|r| self.loops.give.get(*r) == Some(&true));
            let loops = giving.max_by(largest).into_iter();
            let drives = rows().filter(|r| self.yielding.rows.contains(&table.rows[*r]));
            for r in drives.chain(loops).filter(|r| size(r) > 0.0) {
                let (index, number) = table.rows[r];
                let joint = &world.joints[index as usize];
                let is_drive = self.yielding.rows.contains(&table.rows[r]);
                let k = number % 6;
                let scale = match is_drive {
                    true => row_scale(joint, k.into()),
                    false => 1.0,
                };
                all.push(Contradiction {
                    joint: index,
                    drive: is_drive.then_some(k),
                    what: self.name(world, r),
                    against: self.against(world, problem, lambda, *island, r),
                    force: lambda[first + r] * scale / problem.h,
                });
            }
        }
        all
    }

    /// What bears most in an island of what a row is pushed against: a contact, a stop, or another drive.
    fn against(
        &self,
        world: &World,
        problem: &Problem,
        lambda: &[f64],
        island: usize,
        row: usize,
    ) -> String {
        let contacts = problem.islands.contacts.of(island).iter();
        let contacts = contacts.map(|c| {
            let normal = problem.contacts.rows(*c as usize).start;
            (lambda[normal].abs(), Ok(*c as usize))
        });
        let rows = problem.islands.rows.of(island).iter();
        let bears = |r: &usize| {
            let (_, number) = self.table.rows[*r];
            *r != row && (number::LOWER..number::FRICTION).contains(&number)
        };
        let rows = rows.map(|r| *r as usize).filter(bears);
        let first = problem.contact_rows();
        let rows = rows.map(|r| (lambda[first + r].abs(), Err(r)));
        let most = contacts.chain(rows).max_by(|a, b| a.0.total_cmp(&b.0));
        match most.filter(|(size, _)| *size > 0.0) {
            Some((_, Ok(contact))) => {
                let [a, b] = problem.contacts.bodies[contact].map(|slot| slot as usize);
                let (a, b) = (world.bodies.label(a), world.bodies.label(b));
                format!("the contact of {a} and {b}")
            }
            Some((_, Err(r))) => self.name(world, r),
            None => String::new(),
        }
    }

    /// What a row is, by name.
    fn name(&self, world: &World, r: usize) -> String {
        let (index, number) = self.table.rows[r];
        let joint = &world.joints[index as usize];
        let label = joint.label(index as usize);
        let k = usize::from(number % 6);
        match number {
            ..number::LOWER => label,
            number::LOWER..number::MOTOR => format!("a limit of {label}"),
            _ => match joint.axes[k].motor.map(|motor| motor.target) {
                Some(Target::Position { .. }) => format!("the servo of {label}"),
                _ => format!("the motor of {label}"),
            },
        }
    }
}

/// The rows of drives without a limit of force in an island.
fn drives<'a>(
    problem: &'a Problem,
    table: &'a Table,
    island: usize,
) -> impl Iterator<Item = usize> + 'a {
    let rows = problem.islands.rows.of(island).iter().map(|r| *r as usize);
    rows.filter(|r| is_unbounded(problem, table, *r))
}

/// Whether a drive of this speed pushes through contacts that give way by so much (m/s).
fn pushes(speed: f64, gives: f64) -> bool {
    gives > FIGHT * speed && speed > FIGHT * gives
}

fn along(problem: &Problem, r: usize, velocity: &[Twist]) -> f64 {
    let rates = problem.rows.entries(r).map(|(slot, j)| {
        let u = &velocity[slot];
        j.linear.dot(&u.linear) + j.angular.dot(&u.angular)
    });
    rates.sum()
}
