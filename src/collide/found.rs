//! What is found, in the arrays of a problem: of each contact its bodies, parts, feature, gap, normal and arms.

use std::ops::Range;

use super::FoundContact;
use crate::math::{Twist, Vec3};
use crate::problem::{ContactFrame, Contacts};
use crate::world::Bodies;

impl Contacts {
    /// Leaves none that was found.
    pub(super) fn clear_found(&mut self) {
        self.bodies.clear();
        self.parts.clear();
        self.feature.clear();
        self.gap.clear();
        self.frame.clear();
    }

    /// Makes room for so many more, and a few: contacts are most of what a large heap takes, and twice as much is too much.
    pub(super) fn reserve_found(&mut self, more: usize) {
        reserve(&mut self.bodies, more);
        reserve(&mut self.parts, more);
        reserve(&mut self.feature, more);
        reserve(&mut self.gap, more);
        reserve(&mut self.frame, more);
    }

    /// Adds what was found where the bodies are now.
    pub(super) fn extend_found(&mut self, bodies: &Bodies, found: &[FoundContact]) {
        self.bodies.extend(found.iter().map(|c| c.bodies));
        self.parts.extend(found.iter().map(|c| c.parts));
        self.feature.extend(found.iter().map(|c| c.feature));
        self.gap.extend(found.iter().map(|c| c.gap));
        self.frame.extend(found.iter().map(|c| ContactFrame {
            normal: c.normal,
            tangent: Vec3::zeros(),
            arms: (c.bodies).map(|slot| c.point - bodies.position[slot as usize]),
        }));
    }

    /// Takes some out; `dropped` ascend.
    pub(super) fn remove(&mut self, dropped: &[u32]) {
        remove(&mut self.bodies, dropped);
        remove(&mut self.parts, dropped);
        remove(&mut self.feature, dropped);
        remove(&mut self.gap, dropped);
        remove(&mut self.frame, dropped);
    }

    /// Becomes the contacts of two lists that are ordered by their bodies, those of the first one first.
    pub(super) fn merge(&mut self, first: &Self, second: &Self) {
        self.clear_found();
        self.reserve_found(first.len() + second.len());
        let (mut k, mut l) = (0, 0);
        while k < first.len() || l < second.len() {
            let is_first = match (first.bodies.get(k), second.bodies.get(l)) {
                (Some(a), Some(b)) => a <= b,
                (a, _) => a.is_some(),
            };
            let (from, at) = match is_first {
                true => (first, &mut k),
                false => (second, &mut l),
            };
            self.bodies.push(from.bodies[*at]);
            self.parts.push(from.parts[*at]);
            self.feature.push(from.feature[*at]);
            self.gap.push(from.gap[*at]);
            self.frame.push(from.frame[*at]);
            *at += 1;
        }
    }

    /// Exchanges what was found.
    pub(super) fn swap_found(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.bodies, &mut other.bodies);
        std::mem::swap(&mut self.parts, &mut other.parts);
        std::mem::swap(&mut self.feature, &mut other.feature);
        std::mem::swap(&mut self.gap, &mut other.gap);
        std::mem::swap(&mut self.frame, &mut other.frame);
    }

    /// The contacts of a pair, where all are ordered by their bodies.
    pub(super) fn of_pair(&self, pair: [u32; 2]) -> Range<usize> {
        let first = self.bodies.partition_point(|bodies| *bodies < pair);
        let own = self.bodies[first..].iter().take_while(|b| **b == pair);
        first..first + own.count()
    }

    /// How fast the two bodies of a contact part along its normal by given velocities (m/s).
    pub(crate) fn speed(&self, k: usize, velocity: &[Twist]) -> f64 {
        let frame = &self.frame[k];
        let [i, j] = self.bodies[k].map(|slot| &velocity[slot as usize]);
        frame
            .normal
            .dot(&(j.at(frame.arms[1]) - i.at(frame.arms[0])))
    }

    /// Where a contact is, half way between the two surfaces (m), while the bodies are where it was found.
    pub(super) fn point(&self, k: usize, bodies: &Bodies) -> Vec3 {
        bodies.position[self.bodies[k][0] as usize] + self.frame[k].arms[0]
    }
}

fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() < list.len() + more {
        list.reserve_exact(more + more / 8);
    }
}

/// Takes some items out of a list; `dropped` ascend, each once.
fn remove<T: Copy>(list: &mut Vec<T>, dropped: &[u32]) {
    let count = list.len();
    let mut kept = dropped.first().map_or(count, |first| *first as usize);
    let ends = dropped.iter().skip(1).map(|next| *next as usize);
    for (gone, end) in dropped.iter().zip(ends.chain([count])) {
        let run = *gone as usize + 1..end;
        let length = run.len();
        list.copy_within(run, kept);
        kept += length;
    }
    list.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::remove;

    #[test]
    fn what_is_dropped_is_gone_and_the_rest_stays_in_order() {
        for dropped in [
            vec![],
            vec![0],
            vec![9],
            vec![0, 1, 2],
            vec![2, 5, 6, 9],
            (0..10).collect(),
        ] {
            let mut list: Vec<u32> = (0..10).collect();
            let mut expected = list.clone();
            expected.retain(|k| !dropped.contains(k));
            remove(&mut list, &dropped);
            assert_eq!(list, expected, "{dropped:?}");
        }
    }
}
