//! `skyline` and `downdate`: one factor, from which tight rows are removed one by one (Lefebvre 2020,
//! algorithm 2.2), within the envelope that the island's matrix has.

use super::factor::{Breakdown, Counters, Factorization};
use super::island::IslandMatrix;
use super::panels::{Envelope, Panels, TILE, each_entry};

/// A factor that follows the set of tight rows in the cheapest way: rows removed from the present
/// factor or from the first one, or the columns behind the first change factored again.
#[derive(Clone, Debug, Default)]
pub struct Skyline {
    share: f64,
    base: Factored,
    work: Factored,
    sigma: Vec<f64>,
    envelope: Envelope,
    counters: Counters,
}

/// A factor and the rows that are tight in it.
#[derive(Clone, Debug, Default)]
struct Factored {
    valid: bool,
    panels: Panels,
    tight: Vec<bool>,
}

impl Skyline {
    /// Makes one. `share`: when more than this share of the rows is tight, A_FF is factored instead; with
    /// 1 never, and tight rows are always removed from the factor of the whole matrix.
    pub fn new(share: f64) -> Self {
        Self {
            share,
            ..Self::default()
        }
    }

    /// Work of removing the rows that are tight and were not; none if one was tight and is not.
    fn removal(&self, factored: &Factored, tight: &[bool]) -> Option<(u64, usize)> {
        if !factored.valid {
            return None;
        }
        let mut cost = 0;
        let mut rows = 0;
        for (i, (now, before)) in tight.iter().zip(&factored.tight).enumerate() {
            match (*now, *before) {
                (false, true) => return None,
                (true, false) => {
                    cost += self.envelope.removal_cost(i);
                    rows += 1;
                }
                _ => {}
            }
        }
        Some((cost, rows))
    }

    /// The tight rows removed from the factor of the whole matrix, whatever it costs: algorithm 2.2.
    fn remove_from_all(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        if !self.base.valid {
            self.base.panels.factor(&self.envelope, &a.value, &[], 0)?;
            self.base.valid = true;
            self.base.tight.clear();
            self.base.tight.resize(tight.len(), false);
            self.counters.refactorizations += 1;
            self.counters.raised = self.counters.raised.max(self.base.panels.raised);
        }
        self.work.panels.copy_from(&self.base.panels);
        self.work.tight.clone_from(&self.base.tight);
        self.remove(tight);
        Ok(())
    }

    fn note_tight(&mut self, tight: &[bool]) {
        self.work.valid = true;
        tight.clone_into(&mut self.work.tight);
    }

    fn remove(&mut self, tight: &[bool]) {
        for (i, now) in tight.iter().enumerate() {
            if *now && !self.work.tight[i] {
                self.work.panels.remove(&self.envelope, i, &mut self.sigma);
                self.counters.downdates += 1;
            }
        }
    }
}

impl Factorization for Skyline {
    fn prepare(&mut self, a: &IslandMatrix) {
        self.base.valid = false;
        self.work.valid = false;
        self.envelope.clone_from(&a.envelope);
        self.sigma.clear();
        self.sigma.resize(a.envelope.panels() * TILE, 0.0);
        self.counters = Counters::default();
    }

    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown> {
        let changed = if self.work.valid {
            let pairs = tight.iter().zip(&self.work.tight);
            match pairs.enumerate().find(|(_, (now, before))| now != before) {
                Some((first, _)) => first / TILE,
                None => return Ok(()),
            }
        } else {
            0
        };
        if self.share >= 1.0 {
            self.remove_from_all(a, tight)?;
            self.note_tight(tight);
            return Ok(());
        }
        let few = (self.share * a.n as f64) as usize;
        let again = self.envelope.factor_cost(changed);
        let from_work = self.removal(&self.work, tight);
        let count = tight.iter().filter(|t| **t).count();
        let copying = self.envelope.len() as u64 * 3 / 2;
        let from_base = self
            .removal(&self.base, tight)
            .map(|(cost, rows)| (cost + copying, rows));
        let pays = |way: Option<(u64, usize)>| {
            way.filter(|(cost, rows)| *rows <= few && *cost < again)
                .map_or(u64::MAX, |(cost, _)| cost)
        };
        let (work, base) = (pays(from_work), pays(from_base.filter(|_| count <= few)));
        if work == u64::MAX && base == u64::MAX {
            self.work
                .panels
                .factor(&self.envelope, &a.value, tight, changed)?;
            self.counters.refactorizations += 1;
            self.counters.raised = self.counters.raised.max(self.work.panels.raised);
            if !self.base.valid {
                self.base.valid = true;
                self.base.panels.copy_from(&self.work.panels);
                tight.clone_into(&mut self.base.tight);
            }
        } else {
            if base < work {
                self.work.panels.copy_from(&self.base.panels);
                self.work.tight.clone_from(&self.base.tight);
            }
            self.remove(tight);
        }
        self.note_tight(tight);
        Ok(())
    }

    fn solve(&mut self, x: &mut [f64]) {
        self.work.panels.solve(&self.envelope, x);
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn extremes(&self, tight: &[bool]) -> [f64; 2] {
        self.work.panels.extremes(&self.envelope, tight)
    }

    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64)) {
        each_entry(
            &self.envelope,
            &self.work.panels.value,
            &self.work.tight,
            visit,
        );
    }
}
