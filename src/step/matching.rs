//! Which contact of the last step a contact continues.

use crate::math::Vec3;
use crate::world::{ContactMemory, World};

/// A contact without a namesake takes the impulse of one that was this near to it, as a share of
/// the smaller body's bounding radius.
const NEAR: f64 = 0.1;

/// Most remembered contacts of one pair whose own features are gone, among which a contact without a
/// namesake looks for one to continue. A body that slides over a fine mesh leaves too many to compare.
const MOST_ORPHANS: usize = 32;

/// Pairs of up to this many contacts are matched by looking at all of them, without allocating.
const FEW: usize = 16;

/// How to find one of many remembered contacts.
struct Index {
    /// Indices of the remembered contacts by feature.
    by_feature: Vec<(u64, usize)>,
    /// Indices of those whose feature is gone.
    orphans: Vec<usize>,
}

/// The remembered contacts, walked through in the order of their pairs.
pub struct PairMemory<'a> {
    memory: &'a [ContactMemory],
    /// Of the same contacts, or none.
    couples: &'a [Vec3],
}

impl<'a> PairMemory<'a> {
    /// From a pair of bodies on.
    pub fn from(world: &'a World, pair: [u32; 2]) -> Self {
        let first = world.memory.partition_point(|m| m.bodies < pair);
        Self {
            memory: &world.memory[first..],
            couples: world.couples.get(first..).unwrap_or_default(),
        }
    }

    /// What is remembered of a pair whose contacts have these features now, or nothing; pairs must ascend from call
    /// to call.
    pub fn matching(&mut self, pair: [u32; 2], features: &'a [u64]) -> Option<Matching<'a>> {
        let gone = self.memory.iter().take_while(|m| m.bodies < pair).count();
        self.memory = &self.memory[gone..];
        self.couples = self.couples.get(gone..).unwrap_or_default();
        let old = self.memory.iter().take_while(|m| m.bodies == pair).count();
        (old > 0).then(|| Matching::new(&self.memory[..old], self.couples, features))
    }
}

/// One pair's remembered contacts, ready for matching.
pub struct Matching<'a> {
    old: &'a [ContactMemory],
    couples: &'a [Vec3],
    /// The features of the contacts that the pair has now.
    new: &'a [u64],
    /// Only where there are many.
    index: Option<Index>,
}

impl<'a> Matching<'a> {
    /// For contacts of one pair, of the last step and of this one.
    fn new(old: &'a [ContactMemory], couples: &'a [Vec3], new: &'a [u64]) -> Self {
        let index = (old.len().max(new.len()) > FEW).then(|| {
            let mut by_feature: Vec<(u64, usize)> = old
                .iter()
                .enumerate()
                .map(|(k, m)| (m.feature, k))
                .collect();
            by_feature.sort_unstable();
            let mut now = new.to_vec();
            now.sort_unstable();
            let mut orphans: Vec<usize> = (0..old.len())
                .filter(|k| now.binary_search(&old[*k].feature).is_err())
                .collect();
            if orphans.len() > MOST_ORPHANS {
                orphans.clear();
            }
            Index {
                by_feature,
                orphans,
            }
        });
        Self {
            old,
            couples,
            new,
            index,
        }
    }

    /// The couple of a remembered contact that was found (N m s).
    pub fn couple(&self, of: &ContactMemory) -> Vec3 {
        if self.couples.is_empty() {
            return Vec3::zeros();
        }
        let place = self.old.iter().position(|m| std::ptr::eq(m, of));
        place.map_or_else(Vec3::zeros, |k| self.couples[k])
    }

    /// The remembered contact that one with such a feature and arms continues: the nearest one of the same feature, else a
    /// near one whose own feature is gone.
    pub fn find(
        &self,
        world: &World,
        pair: [usize; 2],
        feature: u64,
        arms: &[Vec3; 2],
    ) -> Option<&'a ContactMemory> {
        if let ([only], [now]) = (self.old, self.new)
            && only.feature == *now
        {
            // By far the most frequent case: one contact then, one now.
            return Some(only);
        }
        let bodies = &world.bodies;
        let distance = |m: &ContactMemory| {
            let local = bodies.rotation[pair[0]].inverse() * arms[0];
            (m.local_point - local).norm_squared()
        };
        let nearest = |candidates: &mut dyn Iterator<Item = &'a ContactMemory>| {
            candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let (old, new) = (self.old, self.new);
        let same = match &self.index {
            None => {
                let mut same = old.iter().filter(|m| m.feature == feature);
                match (same.next(), same.next()) {
                    (only, None) => only,
                    _ => nearest(&mut old.iter().filter(|m| m.feature == feature)),
                }
            }
            Some(Index { by_feature, .. }) => {
                let first = by_feature.partition_point(|(f, _)| *f < feature);
                let mut same = by_feature[first..]
                    .iter()
                    .take_while(|(f, _)| *f == feature)
                    .map(|(_, k)| &old[*k]);
                nearest(&mut same)
            }
        };
        if same.is_some() {
            return same;
        }
        let orphan = match &self.index {
            None => {
                let is_gone = |m: &&ContactMemory| new.iter().all(|feature| *feature != m.feature);
                nearest(&mut old.iter().filter(is_gone))
            }
            Some(Index { orphans, .. }) => nearest(&mut orphans.iter().map(|k| &old[*k])),
        };
        let size = pair
            .iter()
            .filter_map(|slot| bodies.shape[*slot].as_ref())
            .map(|s| s.half_diagonal())
            .fold(f64::INFINITY, f64::min);
        orphan.filter(|m| distance(m) < (NEAR * size).powi(2))
    }
}
