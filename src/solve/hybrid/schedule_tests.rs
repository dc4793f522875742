//! Every interleaving of two threads that solve three units: two primaries, and what couples them.

use std::ops::DerefMut;

use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

use super::schedule::{Locks, Schedule, Work};

/// Loom's locks, every use of which is a point where threads may change.
struct Loom;

impl Locks for Loom {
    type Lock<T: Send> = Mutex<T>;
    type Guard<'a, T: Send + 'a> = MutexGuard<'a, T>;

    fn guard<T: Send>(value: T) -> Mutex<T> {
        Mutex::new(value)
    }

    fn take<T: Send>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
        lock.lock().expect("a lock that no panic has passed")
    }
}

/// Units that raise a number of each of their primaries until it is so large; one of them may fail or panic.
#[derive(Clone, Copy)]
struct Raising {
    most: u32,
    spoiled: Option<Spoiled>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spoiled {
    Fails(usize),
    Panics(usize),
}

impl Work for Raising {
    type Data = u32;

    fn solve<'a>(
        &self,
        unit: usize,
        data: &mut [impl DerefMut<Target = u32> + 'a],
    ) -> Result<bool, String> {
        match self.spoiled {
            Some(Spoiled::Fails(one)) if one == unit => return Err("spoiled".into()),
            Some(Spoiled::Panics(one)) if one == unit => {
                std::panic::resume_unwind(Box::new("spoiled"))
            }
            _ => {}
        }
        let mut has_changed = false;
        for number in data {
            has_changed |= **number < self.most;
            **number = (**number + 1).min(self.most);
        }
        Ok(has_changed)
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// A pool of two threads with a queue of calls, as rayon's is, and the schedule.
struct Pool {
    schedule: Schedule<Loom, u32>,
    calls: Mutex<usize>,
}

fn serve(pool: &Pool, work: Raising) {
    loop {
        let is_called = {
            let mut calls = Loom::take(&pool.calls);
            let is_called = *calls > 0;
            *calls -= usize::from(is_called);
            is_called
        };
        if is_called {
            pool.schedule.work(&work, &|| *Loom::take(&pool.calls) += 1);
        } else if pool.schedule.is_done() {
            return;
        } else {
            thread::yield_now();
        }
    }
}

/// Solves with two threads in every order that there is; how many there were, and `check` on the end of each.
fn explore(cap: u32, work: Raising, check: fn(&Schedule<Loom, u32>, u32, Raising)) {
    loom::model(move || {
        let needs = vec![vec![0], vec![1], vec![0, 1]];
        let pool = Arc::new(Pool {
            schedule: Schedule::new(needs, vec![0, 0], cap, 2),
            calls: Mutex::new(1),
        });
        let other = Arc::clone(&pool);
        let helper = thread::spawn(move || serve(&other, work));
        serve(&pool, work);
        helper.join().expect("the other thread");
        check(&pool.schedule, cap, work);
    });
}

#[test]
fn no_order_of_threads_leaves_work_undone() {
    leave_nothing_undone(&[(1, 10), (2, 1)]);
}

#[test]
#[ignore = "minutes"]
fn no_order_of_threads_leaves_more_work_undone() {
    leave_nothing_undone(&[(2, 10), (3, 2)]);
}

/// With these caps, and numbers that units raise so far.
fn leave_nothing_undone(cases: &[(u32, u32)]) {
    for (cap, most) in cases.iter().copied() {
        let work = Raising {
            most,
            spoiled: None,
        };
        explore(cap, work, |schedule, cap, work| {
            let ended = schedule.end();
            assert_eq!(ended.failure, None);
            // Every change has been seen by all whom it concerns, or they have been solved as often as may be.
            let spent = ended.iterations.iter().filter(|n| **n == cap).count();
            assert!(ended.resting + spent >= 3, "{ended:?}");
            assert!(
                (ended.iterations.iter()).all(|n| (1..=cap).contains(n)),
                "{ended:?}"
            );
            let total: u32 = ended.iterations.iter().sum();
            assert_eq!(ended.order.len(), total as usize);
            for unit in 0..3 {
                let own = ended.order.iter().filter(|u| **u == unit).count();
                assert_eq!(own, ended.iterations[unit as usize] as usize);
            }
            // Nothing is lost: each primary is raised by its own unit and by the coupling.
            for primary in 0..2 {
                let raised = ended.iterations[primary] + ended.iterations[2];
                assert_eq!(*schedule.data(primary), raised.min(work.most));
            }
        });
    }
}

#[test]
fn a_unit_that_fails_or_panics_ends_the_solve_in_every_order() {
    for spoiled in [0, 2]
        .into_iter()
        .flat_map(|u| [Spoiled::Fails(u), Spoiled::Panics(u)])
    {
        let work = Raising {
            most: 10,
            spoiled: Some(spoiled),
        };
        explore(2, work, |schedule, _, work| {
            let failure = schedule.end().failure.expect("a failure");
            let is_panic = matches!(work.spoiled, Some(Spoiled::Panics(_)));
            assert_eq!(failure.contains("panicked"), is_panic, "{failure}");
            assert!(failure.contains("spoiled"), "{failure}");
        });
    }
}
