//! Which contact of the last step a contact continues.

use crate::collide::FoundContact;
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
}

impl<'a> PairMemory<'a> {
    /// From a pair of bodies on.
    pub fn from(world: &'a World, pair: [u32; 2]) -> Self {
        let first = world.memory.partition_point(|m| m.bodies < pair);
        Self {
            memory: &world.memory[first..],
        }
    }

    /// What is remembered of the pair that contact `k` belongs to, or nothing; pairs must ascend from call
    /// to call.
    pub fn matching(&mut self, found: &'a [FoundContact], k: usize) -> Option<Matching<'a>> {
        let pair = found[k].bodies;
        let gone = self.memory.iter().take_while(|m| m.bodies < pair).count();
        self.memory = &self.memory[gone..];
        let old = self.memory.iter().take_while(|m| m.bodies == pair).count();
        (old > 0).then(|| Matching::new(&self.memory[..old], contacts_now(found, k)))
    }
}

/// One pair's remembered contacts, ready for matching.
pub struct Matching<'a> {
    old: &'a [ContactMemory],
    /// The contacts that the pair has now.
    new: &'a [FoundContact],
    /// Only where there are many.
    index: Option<Index>,
}

impl<'a> Matching<'a> {
    /// For contacts of one pair, of the last step and of this one.
    fn new(old: &'a [ContactMemory], new: &'a [FoundContact]) -> Self {
        let index = (old.len().max(new.len()) > FEW).then(|| {
            let mut by_feature: Vec<(u64, usize)> = old
                .iter()
                .enumerate()
                .map(|(k, m)| (m.feature, k))
                .collect();
            by_feature.sort_unstable();
            let mut now: Vec<u64> = new.iter().map(|c| c.feature).collect();
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
        Self { old, new, index }
    }

    /// The remembered contact that one continues: the nearest one of the same feature, else a near
    /// one whose own feature is gone.
    pub fn find(&self, world: &World, contact: &FoundContact) -> Option<&'a ContactMemory> {
        if let ([only], [now]) = (self.old, self.new)
            && only.feature == now.feature
        {
            // By far the most frequent case: one contact then, one now.
            return Some(only);
        }
        let [i, j] = contact.bodies.map(|b| b as usize);
        let bodies = &world.bodies;
        let distance = |m: &ContactMemory| {
            let local = bodies.rotation[i].inverse() * (contact.point - bodies.position[i]);
            (m.local_point - local).norm_squared()
        };
        let nearest = |candidates: &mut dyn Iterator<Item = &'a ContactMemory>| {
            candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let feature = contact.feature;
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
                let is_gone = |m: &&ContactMemory| new.iter().all(|c| c.feature != m.feature);
                nearest(&mut old.iter().filter(is_gone))
            }
            Some(Index { orphans, .. }) => nearest(&mut orphans.iter().map(|k| &old[*k])),
        };
        let size = [i, j]
            .iter()
            .filter_map(|slot| bodies.shape[*slot].as_ref())
            .map(|s| s.half_diagonal())
            .fold(f64::INFINITY, f64::min);
        orphan.filter(|m| distance(m) < (NEAR * size).powi(2))
    }
}

/// All contacts of the pair that contact `k` belongs to.
fn contacts_now(found: &[FoundContact], k: usize) -> &[FoundContact] {
    let is_same = |c: &&FoundContact| c.bodies == found[k].bodies;
    let before = found[..k].iter().rev().take_while(is_same).count();
    let after = found[k..].iter().take_while(is_same).count();
    &found[k - before..k + after]
}
