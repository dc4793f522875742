//! One value per contact, of which few differ.

use std::ops::Index;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many of the values that came last are looked through for an equal one: a few pairs of materials take turns, and where
/// all values differ the search must cost little.
const SEARCHED: usize = 16;

/// A list whose values are kept once, and which of them each entry is. Stored as a list.
#[derive(Clone, Debug)]
pub struct DictionaryColumn<T> {
    values: Vec<T>,
    of: Vec<u32>,
}

impl<T> Default for DictionaryColumn<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            of: Vec::new(),
        }
    }
}

impl<T: Copy + PartialEq> DictionaryColumn<T> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Takes all entries out and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.of.clear();
    }

    /// The entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        self.of.iter().map(|k| &self.values[*k as usize])
    }

    /// An entry, if there is one.
    pub fn get(&self, k: usize) -> Option<&T> {
        self.of.get(k).map(|k| &self.values[*k as usize])
    }

    /// Adds an entry.
    pub fn push(&mut self, value: T) {
        let place = self.place(value);
        self.of.push(place);
    }

    /// Adds the last entry once more; nothing where there is none.
    pub fn push_again(&mut self) {
        self.of.extend(self.of.last().copied());
    }

    /// Changes an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn set(&mut self, k: usize, value: T) {
        self.of[k] = self.place(value);
    }

    /// Makes all entries the same, of which there are so many then.
    pub fn fill(&mut self, count: usize, value: T) {
        self.clear();
        self.values.push(value);
        self.of.resize(count, 0);
    }

    /// The values.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values, to change all entries that have them.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Where a value is.
    fn place(&mut self, value: T) -> u32 {
        let last = self.values.len().saturating_sub(SEARCHED);
        let known = self.values[last..].iter().rposition(|v| *v == value);
        let place = known.map_or(self.values.len(), |k| last + k);
        if known.is_none() {
            self.values.push(value);
        }
        place as u32
    }
}

impl<T> Index<usize> for DictionaryColumn<T> {
    type Output = T;

    #[inline]
    fn index(&self, k: usize) -> &T {
        debug_assert!(k < self.of.len());
        match self.values.as_slice() {
            // As in most problems: one load less.
            [only] => only,
            values => &values[self.of[k] as usize],
        }
    }
}

impl<T: Copy + PartialEq> PartialEq for DictionaryColumn<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Copy + PartialEq> FromIterator<T> for DictionaryColumn<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut out = Self::default();
        values.into_iter().for_each(|value| out.push(value));
        out
    }
}

impl<T: Copy + PartialEq + Serialize> Serialize for DictionaryColumn<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Copy + PartialEq + Deserialize<'de>> Deserialize<'de> for DictionaryColumn<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::DictionaryColumn;

    #[test]
    fn entries_are_those_of_a_list_whatever_is_equal() {
        let mut list: Vec<u32> = (0..200).map(|k| k * k % 37).collect();
        let mut column: DictionaryColumn<u32> = list.iter().copied().collect();
        assert!(column.iter().eq(&list));
        for k in [0, 3, 199] {
            list[k] = 1000 + k as u32;
            column.set(k, list[k]);
        }
        list.push(list[199]);
        column.push_again();
        assert!(column.iter().eq(&list));
        assert_eq!(column, list.iter().copied().collect());
        assert_eq!((column[3], column.get(201)), (1003, None));
        column.values_mut().iter_mut().for_each(|v| *v += 1);
        assert!(column.iter().copied().eq(list.iter().map(|v| v + 1)));
        column.fill(3, 7);
        assert!(column.iter().eq(&[7, 7, 7]));
    }
}
