//! Sparse matrices in compressed rows.

use std::ops::Range;

use crate::check::{Invalid, demand, finite};

/// A sparse matrix in compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// Number of columns.
    pub columns: usize,
    /// First entry of each row in `column` and `value`, and one past the last: one more than there are rows.
    pub start: Vec<usize>,
    /// Column of each entry, ascending within a row, each once.
    pub column: Vec<u32>,
    /// The values.
    pub value: Vec<f64>,
}

impl Sparse {
    /// A matrix of `rows` × `columns` from entries (row, column, value) in any order; those of the same place
    /// add up.
    ///
    /// # Panics
    /// If an entry lies outside.
    pub fn from_triplets(rows: usize, columns: usize, triplets: &[(u32, u32, f64)]) -> Self {
        let mut start = vec![0; rows + 1];
        for &(r, c, _) in triplets {
            assert!((c as usize) < columns, "column {c} of {columns}");
            start[r as usize + 1] += 1;
        }
        for r in 0..rows {
            start[r + 1] += start[r];
        }
        let mut sorted = vec![(0, 0.0); triplets.len()];
        let mut next = start.clone();
        for &(r, c, v) in triplets {
            sorted[next[r as usize]] = (c, v);
            next[r as usize] += 1;
        }
        let mut out = Self::empty(columns);
        for r in 0..rows {
            let row = &mut sorted[start[r]..start[r + 1]];
            row.sort_by_key(|(c, _)| *c);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                out.column.push(same[0].0);
                out.value.push(same.iter().map(|(_, v)| v).sum());
            }
            out.start.push(out.column.len());
        }
        out
    }

    /// A matrix without rows; each row is pushed behind the last.
    pub(crate) fn empty(columns: usize) -> Self {
        Self {
            columns,
            start: vec![0],
            ..Self::default()
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.start.len() - 1
    }

    /// Where the entries of row `r` stand.
    #[inline]
    pub fn span(&self, r: usize) -> Range<usize> {
        self.start[r]..self.start[r + 1]
    }

    /// The entries (column, value) of row `r`, columns ascending.
    #[inline]
    pub fn row(&self, r: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let columns = self.column[self.span(r)].iter();
        let values = self.value[self.span(r)].iter().copied();
        columns.map(|c| *c as usize).zip(values)
    }

    /// The entry of a place; zero where there is none.
    pub fn at(&self, r: usize, c: usize) -> f64 {
        let columns = &self.column[self.span(r)];
        let found = columns.binary_search(&(c as u32));
        found.map_or(0.0, |k| self.value[self.start[r] + k])
    }

    /// The entries (row, column, value) of the whole matrix.
    pub fn triplets(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..self.rows()).flat_map(|r| self.row(r).map(move |(c, v)| (r as u32, c as u32, v)))
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> Self {
        let flipped: Vec<_> = self.triplets().map(|(r, c, v)| (c, r, v)).collect();
        Self::from_triplets(self.columns, self.rows(), &flipped)
    }

    /// Row `r` times x.
    #[inline]
    pub fn times(&self, r: usize, x: &[f64]) -> f64 {
        self.row(r).map(|(c, v)| v * x[c]).sum()
    }

    /// Refuses indices that are out of order or out of range, and values that are not finite.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let entries = self.column.len();
        let is_run = self.start.first() == Some(&0)
            && self.start.is_sorted()
            && self.start.last() == Some(&entries)
            && self.value.len() == entries;
        demand(is_run, "start", "ascending to the number of entries", "not")?;
        for r in 0..self.rows() {
            let columns = &self.column[self.span(r)];
            let is_row = columns.is_sorted_by(|a, b| a < b)
                && columns.last().is_none_or(|c| (*c as usize) < self.columns);
            let expected = format!("ascending and below {}", self.columns);
            demand(
                is_row,
                &format!("row {r}"),
                &expected,
                format_args!("{columns:?}"),
            )?;
        }
        finite("value", &self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_same_place_add_up_and_rows_ascend() {
        let triplets = [
            (1, 2, 1.0),
            (0, 1, 2.0),
            (1, 0, 3.0),
            (1, 2, 0.5),
            (0, 1, -2.0),
        ];
        let a = Sparse::from_triplets(3, 4, &triplets);
        assert_eq!(a.start, [0, 1, 3, 3]);
        assert_eq!(
            (&a.column[..], &a.value[..]),
            (&[1, 0, 2][..], &[0.0, 3.0, 1.5][..])
        );
        assert_eq!((a.at(1, 2), a.at(1, 1), a.rows()), (1.5, 0.0, 3));
        assert_eq!(a.times(1, &[1.0, 9.0, 2.0, 9.0]), 6.0);
        assert_eq!(a.transposed().transposed(), a);
        assert_eq!(a.transposed().at(2, 1), 1.5);
        assert!(a.check().is_ok());
        let mut bad = a.clone();
        bad.column[1] = 7;
        assert!(bad.check().is_err());
    }
}
