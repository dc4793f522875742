//! Which unit of work is solved next, on several threads at once (Lacoursière 2007, section 5).
//!
//! Units wait in a queue, those with the fewest iterations first. Each reads and writes the data of some primaries, the
//! locks of which it takes in ascending order; a unit whose locks others hold waits behind those that can go on. Every
//! primary has a time stamp, and a unit is left alone until one of its stamps is newer than what it has seen. What it does
//! depends on the order, and so on time; the order in which units have finished is kept.
//!
//! Threads that find nothing to do leave and are called back, so that nobody waits on a thread of a pool whose work
//! somebody else may have on the same stack.

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks of a kind.
pub trait Locks {
    /// A lock with what it guards.
    type Lock<T: Send>: Send + Sync;
    /// What holds a lock.
    type Guard<'a, T: Send + 'a>: DerefMut<Target = T>;
    /// A lock.
    fn guard<T: Send>(value: T) -> Self::Lock<T>;
    /// Takes a lock.
    fn take<T: Send>(lock: &Self::Lock<T>) -> Self::Guard<'_, T>;
}

/// Those of the standard library. What a panic has left in them may be read: the solve has failed then.
pub struct System;

impl Locks for System {
    type Lock<T: Send> = Mutex<T>;
    type Guard<'a, T: Send + 'a> = MutexGuard<'a, T>;

    fn guard<T: Send>(value: T) -> Mutex<T> {
        Mutex::new(value)
    }

    fn take<T: Send>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What units do.
pub trait Work: Sync {
    /// What a primary's lock guards.
    type Data: Send;

    /// Solves a unit under the data of its primaries, and writes there what it makes of them. Whether it has changed
    /// anything that matters to others; why it fails, where it does.
    fn solve<'a>(
        &self,
        unit: usize,
        data: &mut [impl DerefMut<Target = Self::Data> + 'a],
    ) -> Result<bool, String>
    where
        Self::Data: 'a;

    /// Whether the time is over.
    fn is_over(&self) -> bool;
}

/// A unit in the queue.
#[derive(Clone, Debug, Default)]
struct Ticket {
    iterations: u32,
    /// The stamps that it has seen of its primaries; none yet where it is empty.
    seen: Vec<u64>,
}

/// What the queue's lock guards.
#[derive(Debug, Default)]
struct Queue {
    tickets: Vec<Ticket>,
    /// Of each primary.
    stamps: Vec<u64>,
    is_held: Vec<bool>,
    working: Vec<bool>,
    /// Units that are not being solved, may be, and have something new to see, by their iterations.
    open: BTreeSet<(u32, u32)>,
    /// Threads that may be called.
    idle: usize,
    order: Vec<u32>,
    failure: Option<String>,
}

/// The units, their queue and the primaries' data.
pub struct Schedule<L: Locks, D: Send> {
    /// Of each unit: its primaries, ascending.
    needs: Vec<Vec<u32>>,
    /// Of each primary: the units that need it.
    users: Vec<Vec<u32>>,
    /// Most iterations of a unit.
    cap: u32,
    primaries: Vec<L::Lock<D>>,
    queue: L::Lock<Queue>,
}

/// What became of the units.
#[derive(Debug)]
pub struct Ended {
    /// The units in the order in which they have finished.
    pub order: Vec<u32>,
    /// Iterations of each.
    pub iterations: Vec<u32>,
    /// Units that rest, since nothing that they depend on is newer than what they have seen.
    pub resting: usize,
    /// Why the solve has failed, if it has.
    pub failure: Option<String>,
}

impl<L: Locks, D: Send> Schedule<L, D> {
    /// Units with the primaries that each needs, ascending, the data of all primaries, the most iterations of a unit, and
    /// the threads that may work, one of which will begin.
    pub fn new(needs: Vec<Vec<u32>>, data: Vec<D>, cap: u32, threads: usize) -> Self {
        let mut users = vec![Vec::new(); data.len()];
        for (own, unit) in needs.iter().zip(0..) {
            own.iter().for_each(|p| users[*p as usize].push(unit));
        }
        let units = (0..needs.len() as u32).filter(|_| cap > 0);
        let queue = Queue {
            open: units.map(|unit| (0, unit)).collect(),
            tickets: vec![Ticket::default(); needs.len()],
            stamps: vec![0; data.len()],
            is_held: vec![false; data.len()],
            working: vec![false; needs.len()],
            idle: threads.saturating_sub(1),
            order: Vec::new(),
            failure: None,
        };
        Self {
            needs,
            users,
            cap,
            primaries: data.into_iter().map(L::guard).collect(),
            queue: L::guard(queue),
        }
    }

    /// Solves units as long as there are some that can be solved; `call` has another thread do the same.
    pub fn work(&self, work: &impl Work<Data = D>, call: &impl Fn()) {
        let mut finished = None;
        loop {
            let Some((unit, is_another)) = self.next(finished, work.is_over()) else {
                return;
            };
            if is_another {
                call();
            }
            let outcome = self.solve(unit, work);
            finished = Some((unit, outcome));
        }
    }

    /// Solves units in this order, whatever the stamps say.
    #[cfg(test)]
    pub fn replay(&self, order: &[u32], work: &impl Work<Data = D>) -> Result<(), String> {
        (order.iter()).try_for_each(|unit| self.solve(*unit as usize, work).map(|_| ()))
    }

    /// Solves a unit with its locks held. What is computed beside it from the same bodies' velocities would not know of
    /// it, and both together could add more energy than they take.
    fn solve(&self, unit: usize, work: &impl Work<Data = D>) -> Result<bool, String> {
        let locks = self.needs[unit].iter();
        let mut data: Vec<_> = locks
            .map(|p| L::take(&self.primaries[*p as usize]))
            .collect();
        let solved = catch_unwind(AssertUnwindSafe(|| work.solve(unit, &mut data)));
        solved.unwrap_or_else(|panic| Err(format!("a worker panicked: {}", words(&*panic))))
    }

    /// Books what a thread has finished, and gives it the unit that is solved next: of those that can be the first one with
    /// the fewest iterations. Also whether another thread is to be called. None where the thread leaves.
    fn next(
        &self,
        finished: Option<(usize, Result<bool, String>)>,
        is_over: bool,
    ) -> Option<(usize, bool)> {
        let mut queue = L::take(&self.queue);
        if let Some((unit, outcome)) = finished {
            queue.book(unit, &self.needs[unit], outcome);
            self.open_users(&mut queue, unit);
        }
        let is_ended = is_over || queue.failure.is_some();
        let first = (!is_ended).then(|| self.first(&queue)).flatten();
        let Some(unit) = first else {
            queue.idle += 1;
            return None;
        };
        queue.hold(unit, &self.needs[unit]);
        let is_another = queue.idle > 0 && self.first(&queue).is_some();
        queue.idle -= usize::from(is_another);
        Some((unit, is_another))
    }

    fn first(&self, queue: &Queue) -> Option<usize> {
        let is_held = |p: &u32| queue.is_held[*p as usize];
        let can_go = |unit: &usize| !self.needs[*unit].iter().any(is_held);
        let mut units = queue.open.iter().map(|(_, unit)| *unit as usize);
        units.find(can_go)
    }

    /// Opens the units that have something new to see of what a unit has just written.
    fn open_users(&self, queue: &mut Queue, unit: usize) {
        let users = self.needs[unit].iter().map(|p| &self.users[*p as usize]);
        for user in users.flatten().map(|user| *user as usize) {
            let ticket = &queue.tickets[user];
            let iterations = ticket.iterations;
            let is_open = iterations < self.cap && queue.is_newer(ticket, &self.needs[user]);
            if is_open && !queue.working[user] {
                queue.open.insert((iterations, user as u32));
            }
        }
    }

    /// Whether no unit is being solved, and none can be.
    #[cfg(test)]
    pub fn is_done(&self) -> bool {
        let queue = L::take(&self.queue);
        let is_ended = queue.failure.is_some() || self.first(&queue).is_none();
        is_ended && !queue.working.contains(&true)
    }

    /// What became of the units, once no thread works any more.
    pub fn end(&self) -> Ended {
        let mut queue = L::take(&self.queue);
        let pairs = queue.tickets.iter().zip(&self.needs);
        Ended {
            iterations: queue.tickets.iter().map(|t| t.iterations).collect(),
            resting: pairs.filter(|(t, needs)| !queue.is_newer(t, needs)).count(),
            failure: queue.failure.clone(),
            order: std::mem::take(&mut queue.order),
        }
    }

    /// The data of a primary.
    #[cfg(test)]
    pub fn data(&self, primary: usize) -> L::Guard<'_, D> {
        L::take(&self.primaries[primary])
    }
}

impl Queue {
    fn hold(&mut self, unit: usize, needs: &[u32]) {
        self.working[unit] = true;
        self.open
            .remove(&(self.tickets[unit].iterations, unit as u32));
        for primary in needs {
            self.is_held[*primary as usize] = true;
        }
    }

    fn book(&mut self, unit: usize, needs: &[u32], outcome: Result<bool, String>) {
        self.working[unit] = false;
        let has_changed = outcome == Ok(true);
        let ticket = &mut self.tickets[unit];
        ticket.iterations += 1;
        ticket.seen.clear();
        for primary in needs {
            let p = *primary as usize;
            self.is_held[p] = false;
            self.stamps[p] += u64::from(has_changed);
            ticket.seen.push(self.stamps[p]);
        }
        match outcome {
            Ok(_) => self.order.push(unit as u32),
            Err(why) => self.failure = self.failure.take().or(Some(why)),
        }
    }

    /// Whether a primary's stamp is newer than what the unit has seen.
    fn is_newer(&self, ticket: &Ticket, needs: &[u32]) -> bool {
        let mut stamps = needs.iter().map(|p| self.stamps[*p as usize]);
        ticket.iterations == 0 || !stamps.by_ref().eq(ticket.seen.iter().copied())
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let fixed = panic.downcast_ref::<&str>().copied();
    owned.or(fixed).unwrap_or("without a word")
}
