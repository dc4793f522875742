//! The units of work of an asynchronous solve: parts with their solvers, and between them what couples the same parts.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::Scope;

use super::partition::{NO_PART, Partition};
use super::schedule::{Ended, Locks, Schedule, System, Work};
use super::slot::{Slot, Solvers};
use crate::math::Twist;
use crate::problem::islands::{Grouped, NO_ISLAND};
use crate::problem::{FrictionLaw, Problem};
use crate::solve::{Budget, Request, Status};

/// What changes a row's own velocity by less than this share of the tolerance matters to nobody (-): the others are not
/// solved again for it.
const MATTERS: f64 = 0.1;

/// Marks what is in no unit.
const NO_UNIT: u32 = NO_ISLAND;

/// Most parts that a row couples.
const MOST: usize = 4;

/// A primary: what every unit that acts on its bodies has given them.
#[derive(Debug, Default)]
pub struct Primary {
    shares: Vec<Share>,
    /// The sum of shares, by the primary's number of a body (N s, N m s).
    total: Vec<Twist>,
}

/// What one unit has given to some bodies of a primary.
#[derive(Debug, Default)]
struct Share {
    /// The primary's numbers of them.
    bodies: Vec<u32>,
    /// Jᵀ Λ (N s, N m s).
    momenta: Vec<Twist>,
}

/// A unit's contacts and rows, and where its bodies are.
struct Unit {
    slot: Slot,
    is_swept: bool,
    /// The whole's number of each body: by primary those that impulses move, then those that they do not.
    bodies: Vec<u32>,
    /// First body in each of its primaries, and one past the last.
    start: Vec<u32>,
    /// Its share in each of its primaries.
    share: Vec<u32>,
    /// What others give to its bodies (N s, N m s).
    others: Vec<Twist>,
    /// A's diagonal (1/kg).
    diagonal: Vec<f64>,
    /// Its impulses when others were last told of them (N s).
    told: Vec<f64>,
}

/// What a unit has come to, and when.
pub struct Moment {
    /// Since the solve's start (s).
    pub time: f64,
    /// The largest change of an impulse since others were last told (N s).
    pub delta: f64,
    unit: u32,
    lambda: Vec<f64>,
}

/// The units of a problem. Keeps its memory.
pub struct Units {
    solvers: Solvers,
    /// Most multiplications of a solve.
    most: f64,
    units: Vec<Mutex<Unit>>,
    /// Of each unit in use: its primaries, ascending.
    needs: Vec<Vec<u32>>,
    /// The unit of each contact and of each row.
    of_contact: Vec<u32>,
    of_row: Vec<u32>,
    /// Units that solve parts; the others couple these.
    parts: usize,
    /// Parts of bodies.
    primaries: usize,
    /// Each body's number within its part.
    within: Vec<u32>,
    /// Each body's number within the unit that is being taken.
    local: Vec<u32>,
    /// A unit whose solution panics.
    #[cfg(test)]
    pub panics: Option<usize>,
    /// The velocities that the primaries' data make, after a solve (m/s, rad/s).
    #[cfg(test)]
    pub shared: Vec<Twist>,
}

/// A solve on its way.
struct Solving<'a> {
    units: &'a [Mutex<Unit>],
    problem: &'a Problem,
    start: Instant,
    limit: Option<Duration>,
    /// Most multiplications, and how many there were.
    most: f64,
    work: AtomicU64,
    /// What changes a row's velocity by more than this is told to others (m/s).
    matters: f64,
    moments: Option<Mutex<Vec<Moment>>>,
    #[cfg(test)]
    panics: Option<usize>,
}

impl Units {
    /// Units that are solved as the parameters have it.
    pub fn new(solvers: Solvers, most: f64) -> Self {
        Self {
            solvers,
            most,
            units: Vec::new(),
            needs: Vec::new(),
            of_contact: Vec::new(),
            of_row: Vec::new(),
            parts: 0,
            primaries: 0,
            within: Vec::new(),
            local: Vec::new(),
            #[cfg(test)]
            panics: None,
            #[cfg(test)]
            shared: Vec::new(),
        }
    }

    /// Takes the units of a problem: one of all islands that are not cut, one for each part of the others, and one for all
    /// that couples the same parts.
    pub fn take(&mut self, problem: &Problem, partition: &Partition) {
        self.assign(problem, partition);
        partition.number_within(&mut self.within);
        let count = self.needs.len();
        let (mut contacts, mut rows) = (Grouped::default(), Grouped::default());
        contacts.fill_by_key(count, &self.of_contact);
        rows.fill_by_key(count, &self.of_row);
        self.local.clear();
        self.local.resize(problem.bodies.len(), 0);
        for unit in 0..count {
            let is_chain = match self.needs[unit][..] {
                [part] => partition.is_chain(part as usize),
                _ => false,
            };
            let is_swept = is_chain && self.solvers.sweeps_segments;
            if self.units.len() == unit {
                self.units
                    .push(Mutex::new(Unit::new(&self.solvers, is_swept)));
            }
            let place = own(&mut self.units[unit]);
            if place.is_swept != is_swept {
                *place = Unit::new(&self.solvers, is_swept);
            }
            let parts = &self.needs[unit];
            let local = &mut self.local;
            place.take(
                problem,
                [contacts.of(unit), rows.of(unit)],
                (partition, parts),
                local,
            );
            if is_swept && self.solvers.have_boxes() {
                // What pivoting solves, sweeps are to solve too.
                let friction = place.slot.part.problem.contacts.friction.values_mut();
                let discs = friction.iter_mut().filter(|f| f.law == FrictionLaw::Disc);
                discs.for_each(|f| f.law = FrictionLaw::Box);
            }
        }
    }

    /// Finds the units of contacts and rows, and the primaries of units.
    fn assign(&mut self, problem: &Problem, partition: &Partition) {
        self.needs.clear();
        self.needs.push(Vec::new());
        self.primaries = partition.len();
        let mut of_part = vec![NO_UNIT; self.primaries];
        for island in (0..problem.islands.len()).filter(|island| partition.is_cut[*island]) {
            for body in problem.islands.bodies.of(island) {
                of_part[partition.of_body[*body as usize] as usize] = 0;
            }
        }
        for (unit, part) in of_part.iter_mut().zip(0..).filter(|(unit, _)| **unit == 0) {
            *unit = self.needs.len() as u32;
            self.needs.push(vec![part]);
        }
        self.parts = self.needs.len();
        let needs = &mut self.needs;
        let mut couplings: BTreeMap<[u32; MOST], u32> = BTreeMap::new();
        let mut unit = |bodies: &[u32]| {
            let mut moved = bodies.iter().copied();
            let island = |b: u32| problem.islands.of_body[b as usize];
            let Some(first) = moved.find(|b| island(*b) != NO_ISLAND) else {
                return NO_UNIT;
            };
            if !partition.is_cut[island(first) as usize] {
                return 0;
            }
            let mut parts = [NO_PART; MOST];
            for (place, body) in parts.iter_mut().zip(bodies) {
                *place = partition.of_body[*body as usize];
            }
            parts.sort_unstable();
            let mut own: Vec<u32> = parts.into_iter().filter(|p| *p != NO_PART).collect();
            own.dedup();
            if let [part] = own[..] {
                return of_part[part as usize];
            }
            let mut key = [NO_PART; MOST];
            key[..own.len()].copy_from_slice(&own);
            *couplings.entry(key).or_insert_with(|| {
                needs.push(own);
                needs.len() as u32 - 1
            })
        };
        self.of_contact.clear();
        let pairs = problem.contacts.bodies.iter();
        self.of_contact.extend(pairs.map(|pair| unit(pair)));
        self.of_row.clear();
        let rows = 0..problem.rows.len();
        self.of_row
            .extend(rows.map(|r| unit(problem.rows.bodies(r))));
    }

    /// Takes what may have changed of the problem that was taken last: biases of general rows, and free velocities.
    pub fn renew(&mut self, problem: &Problem) {
        for unit in &mut self.units[..self.needs.len()] {
            own(unit).slot.part.renew(problem);
        }
    }

    /// Solves from these impulses, which become the result, on this pool's threads: units at most as often as the request
    /// has iterations, and until nothing that matters to the tolerance is news to anybody. With what every unit has come to
    /// each time, where a history is asked for.
    pub fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
    ) -> (Ended, Vec<Moment>) {
        let primaries = self.load(problem, lambda, &request.budget);
        let budget = &request.budget;
        let threads = rayon::current_num_threads();
        let schedule: Schedule<System, Primary> =
            Schedule::new(self.needs.clone(), primaries, budget.iterations, threads);
        let work = Solving {
            units: &self.units,
            problem,
            start: Instant::now(),
            limit: budget.time_limit(),
            most: self.most,
            work: AtomicU64::new(0),
            matters: MATTERS * budget.tolerance,
            moments: request.history.then(Mutex::default),
            #[cfg(test)]
            panics: self.panics,
        };
        rayon::scope(|scope| run(scope, &schedule, &work));
        let moments = work.moments.map(Mutex::into_inner);
        let moments = moments.and_then(Result::ok).unwrap_or_default();
        #[cfg(test)]
        {
            self.shared = self.find_shared(problem, &schedule);
        }
        self.store(problem, lambda);
        (schedule.end(), moments)
    }

    #[cfg(test)]
    fn find_shared(&self, problem: &Problem, schedule: &Schedule<System, Primary>) -> Vec<Twist> {
        let mut momenta = vec![Twist::ZERO; problem.bodies.len()];
        for (unit, needs) in self.units.iter().zip(&self.needs) {
            let unit = System::take(unit);
            for (k, part) in needs.iter().enumerate() {
                let primary = schedule.data(*part as usize);
                let own = primary.shares[unit.share[k] as usize].momenta.iter();
                for (momentum, body) in own.zip(&unit.bodies[unit.start[k] as usize..]) {
                    momenta[*body as usize].linear += momentum.linear;
                    momenta[*body as usize].angular += momentum.angular;
                }
            }
        }
        let pairs = momenta.iter().enumerate();
        pairs
            .map(|(body, momentum)| problem.velocity_after(body, momentum))
            .collect()
    }

    /// Solves units in the order in which an earlier solve from the same impulses has.
    #[cfg(test)]
    pub fn replay(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        order: &[u32],
    ) -> Result<(), String> {
        let primaries = self.load(problem, lambda, &Budget::default());
        let schedule: Schedule<System, Primary> =
            Schedule::new(self.needs.clone(), primaries, u32::MAX, 1);
        let work = Solving {
            units: &self.units,
            problem,
            start: Instant::now(),
            limit: None,
            most: f64::INFINITY,
            work: AtomicU64::new(0),
            matters: 0.0,
            moments: None,
            panics: None,
        };
        let replayed = schedule.replay(order, &work);
        self.store(problem, lambda);
        replayed
    }

    /// Takes impulses, and returns what they give to the primaries.
    fn load(&mut self, problem: &Problem, lambda: &[f64], budget: &Budget) -> Vec<Primary> {
        let mut primaries = Vec::with_capacity(self.primaries);
        primaries.resize_with(self.primaries, Primary::default);
        for (unit, needs) in self.units.iter_mut().zip(&self.needs) {
            let unit = own(unit);
            unit.slot.load(problem, lambda, budget);
            unit.slot.find_momenta();
            unit.told.clone_from(&unit.slot.part.lambda);
            // What time is too short for is not solved.
            unit.slot.status = match unit.slot.part.is_empty() {
                true => Status::Converged,
                false => Status::Budget,
            };
            unit.share.clear();
            for (k, part) in needs.iter().enumerate() {
                let primary = &mut primaries[*part as usize];
                let span = unit.start[k] as usize..unit.start[k + 1] as usize;
                let numbers = unit.bodies[span.clone()].iter();
                let share = Share {
                    bodies: numbers.map(|b| self.within[*b as usize]).collect(),
                    momenta: unit.slot.momenta[span].to_vec(),
                };
                let most = share.bodies.iter().max().map_or(0, |b| *b as usize + 1);
                if primary.total.len() < most {
                    primary.total.resize(most, Twist::ZERO);
                }
                unit.share.push(primary.shares.len() as u32);
                primary.shares.push(share);
            }
        }
        primaries
    }

    /// Writes impulses to their places in the whole.
    pub fn store(&mut self, problem: &Problem, lambda: &mut [f64]) {
        for unit in &mut self.units[..self.needs.len()] {
            own(unit).slot.part.store(problem, lambda);
        }
    }

    /// Writes what a unit had come to.
    pub fn store_moment(&mut self, moment: &Moment, problem: &Problem, lambda: &mut [f64]) {
        let part = &mut own(&mut self.units[moment.unit as usize]).slot.part;
        part.lambda.copy_from_slice(&moment.lambda);
        part.store(problem, lambda);
    }

    /// How the last solve of every unit has ended, where nothing couples them; else that it is not known whether they fit.
    pub fn status(&mut self) -> Status {
        if self.needs.len() > self.parts {
            return Status::Budget;
        }
        let units = self.units.iter_mut().take(self.needs.len());
        let of = units.map(|unit| own(unit).slot.status.clone());
        of.fold(Status::Converged, Status::or_worse)
    }

    /// Units that solve parts, and those that couple parts.
    pub fn counts(&self) -> [usize; 2] {
        [self.parts, self.needs.len() - self.parts]
    }

    /// The parts that a unit solves or couples; none for that of the islands that are not cut.
    pub fn parts_of(&self, unit: usize) -> &[u32] {
        &self.needs[unit]
    }

    /// What solving all of them took (multiplications).
    pub fn work(&self) -> f64 {
        let units = self.units.iter().take(self.needs.len());
        units.map(|unit| System::take(unit).slot.work).sum()
    }

    /// What solving each unit took (s).
    pub fn unit_times(&self) -> impl Iterator<Item = f64> {
        let units = self.units.iter().take(self.needs.len());
        units.map(|unit| System::take(unit).slot.time)
    }

    /// What solving the parts, and what couples them, took in all (s).
    pub fn times(&self) -> [f64; 2] {
        let times: Vec<f64> = self.unit_times().collect();
        let (parts, couplings) = times.split_at(self.parts.min(times.len()));
        [parts.iter().sum(), couplings.iter().sum()]
    }

    /// Forgets everything, where a panic may have left something half done.
    pub fn forget(&mut self) {
        self.units.clear();
        self.needs.clear();
        (self.parts, self.primaries) = (0, 0);
    }

    /// Whether there is nothing to solve again.
    pub fn are_forgotten(&self) -> bool {
        self.needs.is_empty()
    }
}

/// Works on a thread of the pool, and has others do so.
fn run<'s>(scope: &Scope<'s>, schedule: &'s Schedule<System, Primary>, work: &'s Solving<'s>) {
    schedule.work(work, &|| {
        scope.spawn(move |scope| run(scope, schedule, work))
    });
}

/// What a lock guards that nobody else can hold.
fn own(unit: &mut Mutex<Unit>) -> &mut Unit {
    unit.get_mut()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Unit {
    fn new(solvers: &Solvers, is_swept: bool) -> Self {
        Self {
            slot: solvers.slot(is_swept),
            is_swept,
            bodies: Vec::new(),
            start: Vec::new(),
            share: Vec::new(),
            others: Vec::new(),
            diagonal: Vec::new(),
            told: Vec::new(),
        }
    }

    fn take(
        &mut self,
        problem: &Problem,
        [contacts, rows]: [&[u32]; 2],
        (partition, parts): (&Partition, &[u32]),
        local: &mut [u32],
    ) {
        self.bodies.clear();
        let pairs = contacts
            .iter()
            .map(|c| &problem.contacts.bodies[*c as usize]);
        self.bodies.extend(pairs.flatten());
        for r in rows {
            self.bodies.extend(problem.rows.bodies(*r as usize));
        }
        // Those that impulses do not move are in no part, and so the last.
        let part = |body: u32| partition.of_body[body as usize];
        self.bodies.sort_unstable_by_key(|b| (part(*b), *b));
        self.bodies.dedup();
        self.start.clear();
        let first = |part: u32| {
            self.bodies
                .partition_point(|b| partition.of_body[*b as usize] < part)
        };
        self.start.extend(parts.iter().map(|p| first(*p) as u32));
        self.start.push(first(NO_PART) as u32);
        for (k, body) in self.bodies.iter().enumerate() {
            local[*body as usize] = k as u32;
        }
        let part = &mut self.slot.part;
        part.take_between(problem, [contacts, rows], &self.bodies, local);
        self.slot.is_known = false;
        self.find_diagonal();
    }

    fn find_diagonal(&mut self) {
        let own = &self.slot.part.problem;
        self.diagonal.clear();
        self.diagonal.resize(own.row_count(), 0.0);
        for c in 0..own.contacts.len() {
            own.contact_diagonal(c, &mut self.diagonal[own.contacts.rows(c)]);
        }
        for (d, r) in self.diagonal[own.contact_rows()..].iter_mut().zip(0..) {
            *d = own.row_diagonal(r);
        }
    }
}

impl Primary {
    /// What all but one unit have given to the bodies of that one.
    fn read(&mut self, share: usize, others: &mut Vec<Twist>) {
        self.total.fill(Twist::ZERO);
        for (_, other) in self.shares.iter().enumerate().filter(|(k, _)| *k != share) {
            for (body, momentum) in other.bodies.iter().zip(&other.momenta) {
                let total = &mut self.total[*body as usize];
                total.linear += momentum.linear;
                total.angular += momentum.angular;
            }
        }
        let own = self.shares[share].bodies.iter();
        others.extend(own.map(|b| self.total[*b as usize]));
    }
}

impl Work for Solving<'_> {
    type Data = Primary;

    fn solve<'a>(
        &self,
        unit: usize,
        data: &mut [impl DerefMut<Target = Primary> + 'a],
    ) -> Result<bool, String> {
        #[cfg(test)]
        if self.panics == Some(unit) {
            std::panic::resume_unwind(Box::new("as it was asked to"));
        }
        let mut unit_lock = System::take(&self.units[unit]);
        let own = &mut *unit_lock;
        own.others.clear();
        for (primary, share) in data.iter_mut().zip(&own.share) {
            primary.read(*share as usize, &mut own.others);
        }
        let (bodies, others) = (&own.bodies, &own.others);
        let before = own.slot.work;
        own.slot.solve(|body| {
            let momentum = others.get(body).copied().unwrap_or(Twist::ZERO);
            self.problem
                .velocity_after(bodies[body] as usize, &momentum)
        })?;
        let work = (own.slot.work - before) as u64;
        self.work.fetch_add(work, Ordering::Relaxed);
        for ((primary, share), k) in data.iter_mut().zip(&own.share).zip(0..) {
            let span = own.start[k] as usize..own.start[k + 1] as usize;
            let momenta = &mut primary.shares[*share as usize].momenta;
            momenta.copy_from_slice(&own.slot.momenta[span]);
        }
        let lambda = &own.slot.part.lambda;
        if let Some(moments) = &self.moments {
            let changes = own.told.iter().zip(lambda).map(|(a, b)| (b - a).abs());
            System::take(moments).push(Moment {
                time: self.start.elapsed().as_secs_f64(),
                delta: changes.fold(0.0, f64::max),
                unit: unit as u32,
                lambda: lambda.clone(),
            });
        }
        let pairs = own.told.iter().zip(lambda).zip(&own.diagonal);
        let change = pairs.map(|((before, now), d)| (now - before).abs() * d);
        let change = change.fold(
            0.0,
            |most: f64, c| if c > most || c.is_nan() { c } else { most },
        );
        if !change.is_finite() {
            return Err("a number that is not finite".into());
        }
        // Small changes add up until they matter.
        let is_news = change > self.matters;
        if is_news {
            own.told.clone_from(lambda);
        }
        Ok(is_news)
    }

    fn is_over(&self) -> bool {
        self.work.load(Ordering::Relaxed) as f64 >= self.most
            || (self.limit).is_some_and(|limit| self.start.elapsed() >= limit)
    }
}
