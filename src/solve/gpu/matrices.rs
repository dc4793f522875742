//! T = 1 − R A and d = −R b as the kernels read them, in segments that bindings have room for.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::real::Real;
use crate::solve::sweeps::matrix::Matrix;

/// Where a block row of T begins.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BlockRow {
    /// Its first value, within its segment.
    pub value: u32,
    /// Its first block column.
    pub column: u32,
    /// Its first row.
    pub row: u32,
    pub spare: u32,
}

/// T = 1 − R A in block rows (Nützi 2011, 5.4), cut where a binding would become too large.
#[derive(Default)]
pub struct Sparse<R: Real> {
    /// Row-major blocks, one after the other.
    pub value: Vec<R>,
    pub column: Vec<u32>,
    /// One past the last block row, too.
    pub rows: Vec<BlockRow>,
    /// d = −R b.
    pub offset: Vec<R>,
    /// Each segment's block rows, and where its values lie.
    pub segments: Vec<(Range<u32>, Range<usize>)>,
}

impl<R: Real> Sparse<R> {
    /// Forgets T; its memory stays.
    pub fn clear(&mut self) {
        self.value.clear();
        self.offset.clear();
        self.segments.clear();
    }

    /// T and d from the matrix that was packed for the same problem, in segments of at most `most` values.
    pub fn take(&mut self, matrix: &Matrix, most: usize) {
        let a = &matrix.a;
        let sparse = self;
        sparse.value.clear();
        sparse.value.extend(a.value.iter().map(|x| R::of(*x)));
        sparse.column.clear();
        sparse.column.extend_from_slice(&a.column);
        sparse.offset.clear();
        sparse
            .offset
            .extend(matrix.offset().iter().map(|x| R::of(-*x)));
        sparse.rows.clear();
        sparse.segments.clear();
        let (mut row, mut value) = (0, 0);
        for b in 0..a.blocks() {
            let end = a.value_start[b + 1];
            if end - value > most && b as u32 > row {
                sparse
                    .segments
                    .push((row..b as u32, value..a.value_start[b]));
                (row, value) = (b as u32, a.value_start[b]);
            }
            sparse.rows.push(BlockRow {
                value: (a.value_start[b] - value) as u32,
                column: a.start[b] as u32,
                row: a.block_row[b],
                spare: 0,
            });
        }
        let blocks = a.blocks() as u32;
        sparse.segments.push((row..blocks, value..a.value.len()));
        sparse.rows.push(BlockRow {
            value: (a.value.len() - value) as u32,
            column: a.column.len() as u32,
            row: a.block_row.last().copied().unwrap_or(0),
            spare: 0,
        });
    }
}

/// T as a whole (Nützi 2011, 5.2.1).
#[derive(Default)]
pub struct Dense<R: Real> {
    /// Column by column within each segment, whose rows lie side by side; or row by row.
    pub value: Vec<R>,
    /// Whether it lies row by row, each of whole vectors of four.
    pub by_rows: bool,
    /// Columns with those that fill the last vector of a row.
    width: usize,
    /// d = −R b.
    pub offset: Vec<R>,
    /// The first column that a sweep takes after each row has been swept: for the friction rows of a contact its first one.
    pub column: Vec<u32>,
    /// Each segment's rows, and where its values lie.
    pub segments: Vec<(Range<u32>, Range<usize>)>,
}

impl<R: Real> Dense<R> {
    /// Forgets T; its memory stays.
    pub fn clear(&mut self) {
        self.value.clear();
        self.offset.clear();
        self.segments.clear();
    }

    /// Whole rows of T in segments of at most `most` values; `cuts` are the rows where a segment may end.
    pub fn take(
        &mut self,
        matrix: &Matrix,
        most: usize,
        by_rows: bool,
        cuts: impl Iterator<Item = u32>,
    ) {
        let a = &matrix.a;
        let n = a.block_row.last().copied().unwrap_or(0);
        self.offset.clear();
        self.offset
            .extend(matrix.offset().iter().map(|x| R::of(-*x)));
        self.segments.clear();
        self.by_rows = by_rows;
        self.width = match by_rows {
            true => (n as usize).next_multiple_of(4),
            false => n as usize,
        };
        let (mut first, mut last) = (0, 0);
        for cut in cuts {
            let rows = (cut - first) as usize;
            if rows * self.width > most && last > first {
                self.push_segment(first..last);
                first = last;
            }
            last = cut;
        }
        self.push_segment(first..n);
        self.value.clear();
        self.value.resize(n as usize * self.width, R::ZERO);
        self.column.clear();
        for b in 0..a.blocks() {
            let rows = a.rows(b);
            let begin = rows.start as u32;
            for k in 0..rows.len() as u32 {
                self.column.push(begin + k.min(1));
            }
            let mut values = &a.value[a.value_start[b]..];
            for c in &a.column[a.start[b]..a.start[b + 1]] {
                let columns = a.rows(*c as usize);
                let (block, rest) = values.split_at(rows.len() * columns.len());
                values = rest;
                for (row, line) in rows.clone().zip(block.chunks_exact(columns.len())) {
                    for (column, v) in columns.clone().zip(line) {
                        let at = self.at(row as u32, column);
                        self.value[at] = R::of(*v);
                    }
                }
            }
        }
    }

    fn push_segment(&mut self, rows: Range<u32>) {
        let begin = self.segments.last().map_or(0, |(_, values)| values.end);
        let count = rows.len() * self.width;
        self.segments.push((rows, begin..begin + count));
    }

    /// The segment of a row.
    pub fn segment_of(&self, row: u32) -> u32 {
        self.segments.partition_point(|(rows, _)| rows.end <= row) as u32
    }

    /// Where an element of T lies.
    pub fn at(&self, row: u32, column: usize) -> usize {
        let (rows, values) = &self.segments[self.segment_of(row) as usize];
        let row = (row - rows.start) as usize;
        values.start
            + match self.by_rows {
                true => row * self.width + column,
                false => column * rows.len() + row,
            }
    }
}
