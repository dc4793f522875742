//! Chapter 6 as it was built: factorized Jacobi whose workers talk to an accumulator over channels.
//!
//! *Extreme* (6.1): every contact is a task of its own, sent to a worker with what it reads and sent back with what it
//! changes. *Whole* (6.2): every worker has a range of contacts, and sends the change of its bodies when it is through.
//! *Paged* (6.2): it sends it after so many contacts each, so that the accumulator adds up while others still project.
//! The same projection as of the sequential scheme, which they are measured against, and the same impulses.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, PoisonError, RwLock};
use std::time::Instant;

use super::GRID_SETTINGS;
use crate::math::{SymMat3, Twist, Vec3};
use crate::papers::measure::table::Columns;
use crate::papers::measure::{Bench, in_turns};
use crate::papers::{Findings, Result};
use crate::problem::{Friction, Problem};

/// The thesis: time per iteration of the extreme scheme over that of the sequential one, "an order of magnitude" (6.1).
const EXTREME: f64 = 10.0;
/// Of the scheme with ranges on one core over the sequential one (6.2.1).
const WHOLE: f64 = 1.5;
/// Of well chosen pages over none: "reduced with more than 10%" (6.2.1).
const PAGED: f64 = 0.9;
/// Contacts of a page; "between 50 and 100" are good (6.2.1).
const PAGES: [usize; 4] = [25, 50, 75, 100];

/// What workers send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// None: one thread does it all.
    Sequential,
    /// One for each contact, there and back.
    Extreme,
    /// One for each range.
    Whole,
    /// One for so many contacts.
    Paged(usize),
}

/// A contact as a task reads it.
#[derive(Clone, Copy)]
struct Contact {
    bodies: [u32; 2],
    axes: [Vec3; 3],
    arms: [Vec3; 2],
    bias: [f64; 3],
    /// R_N and R_T (kg).
    r: [f64; 2],
    friction: Friction,
    /// M⁻¹ of its bodies.
    inverse: [(f64, SymMat3); 2],
}

impl Contact {
    fn new(problem: &Problem, c: usize) -> Self {
        let contacts = &problem.contacts;
        let [nn, t1t1, t2t2, ..] = problem.contact_block(c);
        Self {
            bodies: contacts.bodies[c],
            axes: contacts.frame[c].axes(),
            arms: contacts.frame[c].arms,
            bias: contacts.bias[c],
            // Nothing moves where there is no A.
            r: [nn, t1t1.max(t2t2)].map(|a| if a > 0.0 { 1.0 / a } else { 0.0 }),
            friction: contacts.friction[c],
            inverse: contacts.bodies[c].map(|b| {
                let (b, bodies) = (b as usize, &problem.bodies);
                (bodies.inverse_mass[b], bodies.inverse_inertia[b])
            }),
        }
    }

    /// Λ_k ← prox(Λ_k − R_k w_k): what it changes on both bodies.
    fn project(&self, lambda: &mut [f64; 3], u: [Twist; 2]) -> [Twist; 2] {
        let relative = u[1].at(self.arms[1]) - u[0].at(self.arms[0]);
        let [rn, rt] = self.r;
        let rows = self.axes.iter().zip(&self.bias).zip([rn, rt, rt]);
        let mut next = *lambda;
        for (x, ((axis, bias), r)) in next.iter_mut().zip(rows) {
            *x -= r * (axis.dot(&relative) + bias);
        }
        next[0] = next[0].max(0.0);
        let normal = next[0];
        self.friction.project(&mut next[1..], normal);
        let changes = next.iter().zip(&*lambda).map(|(new, old)| new - old);
        let pushes = self
            .axes
            .iter()
            .zip(changes)
            .map(|(axis, change)| axis * change);
        let push: Vec3 = pushes.sum();
        *lambda = next;
        [(0, -1.0), (1, 1.0)].map(|(side, sign)| {
            let (mass, inertia) = &self.inverse[side];
            Twist {
                linear: push * (sign * mass),
                angular: inertia.mul_vec(self.arms[side].cross(&push)) * sign,
            }
        })
    }
}

/// Contacts whose changes are sent together: their range, and their bodies, each once.
struct Page {
    contacts: Range<usize>,
    bodies: Vec<u32>,
    /// The bodies of each contact among these.
    place: Vec<[u32; 2]>,
}

impl Page {
    fn new(contacts: &[Contact], range: Range<usize>) -> Self {
        let own = &contacts[range.clone()];
        let mut bodies: Vec<u32> = own.iter().flat_map(|c| c.bodies).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let place = |b: u32| bodies.partition_point(|own| *own < b) as u32;
        Self {
            place: own.iter().map(|c| c.bodies.map(place)).collect(),
            contacts: range,
            bodies,
        }
    }
}

/// What a worker gets.
enum Task {
    /// A contact, its impulses, and the velocities of its bodies.
    One(usize, [f64; 3], [Twist; 2]),
    /// All its pages.
    Iterate,
}

/// What the accumulator gets.
enum Done {
    One(usize, [f64; 3], [Twist; 2]),
    /// A page, and the changes of its bodies.
    Page(usize, Vec<Twist>),
    /// A range of contacts and its impulses, when all is done.
    Impulses(usize, Vec<[f64; 3]>),
}

fn add(to: &mut Twist, change: &Twist) {
    to.linear += change.linear;
    to.angular += change.angular;
}

/// Factorized Jacobi iterations of a problem with disc contacts from Λ = 0: the impulses, and the time of all (s).
pub fn iterate(
    problem: &Problem,
    messages: Messages,
    workers: usize,
    iterations: u32,
) -> (Vec<[f64; 3]>, f64) {
    let contacts: Vec<Contact> = (0..problem.contacts.len())
        .map(|c| Contact::new(problem, c))
        .collect();
    let free = &problem.bodies.free_velocity;
    let size = match messages {
        Messages::Sequential => return sequential(&contacts, free, iterations),
        Messages::Extreme => 1,
        Messages::Whole => usize::MAX,
        Messages::Paged(size) => size,
    };
    let (pages, pages_of) = divide(&contacts, size, workers);
    let u = RwLock::new(free.clone());
    let mut lambda = vec![[0.0; 3]; contacts.len()];
    let mut seconds = 0.0;
    let ready = Barrier::new(workers + 1);
    std::thread::scope(|scope| {
        let (results, accumulator) = channel();
        let starts: Vec<Sender<Task>> = pages_of
            .iter()
            .enumerate()
            .map(|(worker, own)| {
                let (start, tasks) = channel();
                let of = Worker {
                    worker,
                    contacts: &contacts,
                    pages: &pages,
                    own: own.clone(),
                    u: &u,
                };
                let (results, ready) = (results.clone(), &ready);
                scope.spawn(move || {
                    ready.wait();
                    of.run(&tasks, &results);
                });
                start
            })
            .collect();
        drop(results);
        ready.wait();
        let begin = Instant::now();
        for _ in 0..iterations {
            let change = match messages {
                Messages::Extreme => extreme(&contacts, &mut lambda, &u, &starts, &accumulator),
                _ => paged(&pages, &u, &starts, &accumulator),
            };
            let mut u = u.write().unwrap_or_else(PoisonError::into_inner);
            for (u, change) in u.iter_mut().zip(&change) {
                add(u, change);
            }
        }
        seconds = begin.elapsed().as_secs_f64();
        // Closed channels end the workers, which then send what they have.
        drop(starts);
        let ranges = accumulator.iter().filter(|_| messages != Messages::Extreme);
        for done in ranges {
            if let Done::Impulses(worker, own) = done {
                let first = contacts.len() * worker / workers;
                lambda[first..first + own.len()].copy_from_slice(&own);
            }
        }
    });
    (lambda, seconds)
}

/// The range of each worker in pages of so many contacts: all pages, and those of each. Single contacts are none.
fn divide(contacts: &[Contact], size: usize, workers: usize) -> (Vec<Page>, Vec<Range<usize>>) {
    let mut pages: Vec<Page> = Vec::new();
    let mut pages_of = Vec::new();
    for worker in 0..workers {
        let bound = |k: usize| contacts.len() * k / workers;
        let (mut at, end, first) = (bound(worker), bound(worker + 1), pages.len());
        while at < end && size > 1 {
            let last = end.min(at.saturating_add(size));
            pages.push(Page::new(contacts, at..last));
            at = last;
        }
        pages_of.push(first..pages.len());
    }
    (pages, pages_of)
}

fn sequential(contacts: &[Contact], free: &[Twist], iterations: u32) -> (Vec<[f64; 3]>, f64) {
    let mut u = free.to_vec();
    let mut change = vec![Twist::ZERO; u.len()];
    let mut lambda = vec![[0.0; 3]; contacts.len()];
    let begin = Instant::now();
    for _ in 0..iterations {
        change.fill(Twist::ZERO);
        for (contact, lambda) in contacts.iter().zip(&mut lambda) {
            let pushes = contact.project(lambda, contact.bodies.map(|b| u[b as usize]));
            for (b, push) in contact.bodies.iter().zip(&pushes) {
                add(&mut change[*b as usize], push);
            }
        }
        for (u, change) in u.iter_mut().zip(&change) {
            add(u, change);
        }
    }
    (lambda, begin.elapsed().as_secs_f64())
}

/// One iteration, a task for each contact: dispatcher and accumulator are one thread, with which it scaled best.
fn extreme(
    contacts: &[Contact],
    lambda: &mut [[f64; 3]],
    u: &RwLock<Vec<Twist>>,
    starts: &[Sender<Task>],
    accumulator: &Receiver<Done>,
) -> Vec<Twist> {
    let u = u.read().unwrap_or_else(PoisonError::into_inner);
    let mut change = vec![Twist::ZERO; u.len()];
    for (c, contact) in contacts.iter().enumerate() {
        let task = Task::One(c, lambda[c], contact.bodies.map(|b| u[b as usize]));
        // Workers are there until their channels are closed.
        let _ = starts[c % starts.len()].send(task);
    }
    for done in accumulator.iter().take(contacts.len()) {
        if let Done::One(c, new, pushes) = done {
            lambda[c] = new;
            for (b, push) in contacts[c].bodies.iter().zip(&pushes) {
                add(&mut change[*b as usize], push);
            }
        }
    }
    change
}

/// One iteration over ranges of contacts.
fn paged(
    pages: &[Page],
    u: &RwLock<Vec<Twist>>,
    starts: &[Sender<Task>],
    accumulator: &Receiver<Done>,
) -> Vec<Twist> {
    for start in starts {
        let _ = start.send(Task::Iterate);
    }
    let bodies = u.read().unwrap_or_else(PoisonError::into_inner).len();
    let mut change = vec![Twist::ZERO; bodies];
    for done in accumulator.iter().take(pages.len()) {
        if let Done::Page(page, pushes) = done {
            for (b, push) in pages[page].bodies.iter().zip(&pushes) {
                add(&mut change[*b as usize], push);
            }
        }
    }
    change
}

/// What a worker was initialised with.
struct Worker<'a> {
    worker: usize,
    contacts: &'a [Contact],
    pages: &'a [Page],
    own: Range<usize>,
    u: &'a RwLock<Vec<Twist>>,
}

impl Worker<'_> {
    fn run(&self, tasks: &Receiver<Task>, results: &Sender<Done>) {
        let pages = &self.pages[self.own.clone()];
        let first = pages.first().map_or(0, |page| page.contacts.start);
        let end = pages.last().map_or(0, |page| page.contacts.end);
        let mut lambda = vec![[0.0; 3]; end - first];
        for task in tasks {
            match task {
                Task::One(c, mut block, u) => {
                    let pushes = self.contacts[c].project(&mut block, u);
                    let _ = results.send(Done::One(c, block, pushes));
                }
                Task::Iterate => {
                    let u = self.u.read().unwrap_or_else(PoisonError::into_inner);
                    for (k, page) in pages.iter().enumerate() {
                        let mut change = vec![Twist::ZERO; page.bodies.len()];
                        for (c, place) in page.contacts.clone().zip(&page.place) {
                            let contact = &self.contacts[c];
                            let of_bodies = contact.bodies.map(|b| u[b as usize]);
                            let pushes = contact.project(&mut lambda[c - first], of_bodies);
                            for (at, push) in place.iter().zip(&pushes) {
                                add(&mut change[*at as usize], push);
                            }
                        }
                        let _ = results.send(Done::Page(self.own.start + k, change));
                    }
                }
            }
        }
        let _ = results.send(Done::Impulses(self.worker, lambda));
    }
}

/// Times per iteration, beside the sequential one.
///
/// # Errors
/// A scene that cannot be used.
pub fn report(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let mut rows = Vec::new();
    let scenes = bench.either(&["ball_grid_8"][..], &["ball_grid_8", "ball_grid_40"][..]);
    for scene in scenes.iter().filter(|scene| bench.wants(scene)) {
        let problem = bench.case(scene, &GRID_SETTINGS)?.problem;
        let iterations = if problem.contacts.len() < 10_000 {
            50
        } else {
            5
        };
        let mut kinds = vec![Messages::Sequential, Messages::Extreme, Messages::Whole];
        kinds.extend(PAGES.map(Messages::Paged));
        for workers in &bench.threads {
            bench.say(format!("{scene}: channels, workers: {workers}"));
            let times: [f64; 7] = in_turns(bench.either((3, 0.5), (7, 4.0)), |k| {
                let (_, seconds) = iterate(&problem, kinds[k], *workers, iterations);
                Ok(seconds / f64::from(iterations))
            })?;
            let [sequential, _, whole, ..] = times;
            for (kind, time) in kinds.iter().zip(times) {
                let name = match kind {
                    Messages::Sequential => "sequential".to_owned(),
                    Messages::Extreme => "extreme: one contact a task".to_owned(),
                    Messages::Whole => "a range a worker".to_owned(),
                    Messages::Paged(size) => format!("pages of {size} contacts"),
                };
                let over_sequential = match kind {
                    Messages::Extreme => Some(EXTREME),
                    Messages::Whole if *workers == 1 => Some(WHOLE),
                    _ => None,
                };
                let over_whole = match kind {
                    Messages::Paged(50..=100) => Some(PAGED),
                    _ => None,
                };
                let numbers = [
                    (None, 1e3 * time),
                    (over_sequential, time / sequential),
                    (over_whole, time / whole),
                ];
                rows.push((*scene, name, *workers, numbers));
            }
        }
    }
    let names = [
        "iteration [ms]",
        "over sequential",
        "over ranges without pages",
    ];
    findings.table(
        Columns::new("poulsen-6.1-6.2", "Factorized Jacobi over channels", "Poulsen 2010, 6.1 and 6.2.1", &rows)
            .key("problem", |(problem, ..)| problem)
            .key("messages", |(_, name, ..)| name)
            .key("workers", |(_, _, workers, _)| workers)
            .columns(names, |(.., numbers)| *numbers)
            .note(
                "The accumulator is a thread besides the workers. \"Over sequential\" is there an order of magnitude for the \
                 extreme scheme, and 1.5 on one core for ranges; pages save more than a tenth there.",
            ),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_sending_makes_the_same_impulses() {
        let bench = Bench::new(true, 1).expect("a thread");
        let size = [("generators.0.size", "4"), ("settings.step", "0.01")];
        let problem = bench.case("ball_grid_8", &size).expect("a scene").problem;
        let (expected, _) = iterate(&problem, Messages::Sequential, 1, 20);
        assert!(expected.iter().any(|block| block[0] > 0.0));
        let kinds = [Messages::Extreme, Messages::Whole, Messages::Paged(7)];
        for (kind, workers) in kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 3)]) {
            let (found, _) = iterate(&problem, kind, workers, 20);
            let apart = found.iter().zip(&expected).flat_map(|(a, b)| {
                let rows = a.iter().zip(b);
                rows.map(|(x, y)| (x - y).abs()).collect::<Vec<f64>>()
            });
            let worst = apart.fold(0.0, f64::max);
            assert!(worst < 1e-12, "{kind:?}, {workers} workers: {worst}");
        }
    }
}
