//! `block-sor`: Nützi's SOR Prox with full dependencies, in blocks of contacts. Step A sweeps a
//! diagonal block of A exactly, step B propagates what that changed to all other rows as a product of
//! A's columns with ΔΛ. The iterates are those of Gauss–Seidel in the same order.
//!
//! Rows of a product are independent of each other, so that step B is parallel wherever a group is
//! large enough to be worth it.

use crate::problem::delassus::Delassus;
use crate::problem::{FrictionLaw, Problem};
use crate::solve::sweeps::block::{Change, Sweep};
use crate::solve::sweeps::by_island::{IslandView, Method, Prepare, by_island};
use crate::solve::sweeps::matrix::Matrix;
use crate::solve::sweeps::pack::{Block, Packed};
use crate::solve::sweeps::parameters::{ALPHA, BLOCK, Packing, Scheme, r_factors_by_degree};
use crate::solve::{Parameter, ParameterKind, Parameters, SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "block-sor",
    summary: "SOR Prox with full dependencies: diagonal blocks of A swept exactly, the rest as a product",
    source: "Nützi 2011, 5.3.1",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        Parameter {
            name: "size",
            unit: "-",
            summary: "contacts of a diagonal block; does not change the iterates",
            source: "Nützi 2011, 5.3.1",
            kind: ParameterKind::Integer {
                default: 16,
                range: [1, 1_000_000_000],
            },
        },
        r_factors_by_degree("local"),
        BLOCK,
        ALPHA,
    ],
    make: |parameters| by_island(&INFO, BlockSor::new(parameters)),
};

/// Rows of A from which on step B is shared among threads.
const PARALLEL: usize = 512;

/// What the solver does to an island.
#[derive(Default)]
pub struct BlockSor {
    packing: Packing,
    size: usize,
    matrix: Matrix,
    /// The groups of all islands in the order of the sweep; first group of each island.
    groups: Vec<Group>,
    island_start: Vec<usize>,
    pieces: Vec<Piece>,
}

/// A run of blocks of A, either general rows or contacts.
#[derive(Clone, Copy, Debug)]
struct Group {
    blocks: [usize; 2],
    /// The pieces of the group's columns: first those in its own rows, then the others, each ascending.
    pieces: [usize; 3],
}

/// The entries of one block row in the columns of a group.
#[derive(Clone, Copy, Debug)]
struct Piece {
    row: usize,
    first_entry: usize,
    entry_end: usize,
    /// Where their values begin.
    value: usize,
}

/// An island's velocities.
#[derive(Default)]
pub struct Velocities {
    /// w = A Λ + b at the newest Λ (m/s).
    w: Vec<f64>,
    /// What the group that is being swept has changed so far (N s); zero elsewhere.
    delta: Vec<f64>,
}

impl BlockSor {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            packing: Packing::new(parameters),
            size: parameters.integer("size") as usize,
            ..Self::default()
        }
    }

    fn find_groups(&mut self, packed: &Packed) {
        self.groups.clear();
        self.island_start.clear();
        self.island_start.push(0);
        self.pieces.clear();
        let a = &self.matrix.a;
        let mut others = Vec::new();
        for island in 0..packed.islands() {
            let [first, last] = [island, island + 1].map(|i| a.island_start[i] as usize);
            let rows = last - (packed.row_start[island + 1] - packed.row_start[island]) as usize;
            // The order of a sweep: general rows come first.
            for span in [rows..last, first..rows] {
                for begin in span.clone().step_by(self.size) {
                    let end = begin.saturating_add(self.size).min(span.end);
                    let first = self.pieces.len();
                    self.pieces
                        .extend((begin..end).map(|row| piece(a, row, begin, end)));
                    let middle = self.pieces.len();
                    // A is symmetric: the other rows with entries in the group's columns are the
                    // columns of the group's rows.
                    others.clear();
                    others.extend_from_slice(&a.column[a.start[begin]..a.start[end]]);
                    others.sort_unstable();
                    others.dedup();
                    let outside = |row: &usize| *row < begin || *row >= end;
                    let others = others.iter().map(|row| *row as usize).filter(outside);
                    self.pieces
                        .extend(others.map(|row| piece(a, row, begin, end)));
                    self.groups.push(Group {
                        blocks: [begin, end],
                        pieces: [first, middle, self.pieces.len()],
                    });
                }
            }
            self.island_start.push(self.groups.len());
        }
    }
}

/// The entries of block row `row` in the columns `begin..end`.
fn piece(a: &Delassus, row: usize, begin: usize, end: usize) -> Piece {
    let columns = &a.column[a.start[row]..a.start[row + 1]];
    let from = columns.partition_point(|c| (*c as usize) < begin);
    let to = columns.partition_point(|c| (*c as usize) < end);
    let skipped: usize = columns[..from]
        .iter()
        .map(|c| a.rows(*c as usize).len())
        .sum();
    Piece {
        row,
        first_entry: a.start[row] + from,
        entry_end: a.start[row] + to,
        value: a.value_start[row] + a.rows(row).len() * skipped,
    }
}

impl Prepare for BlockSor {
    fn prepare(&mut self, problem: &Problem, packed: &mut Packed) {
        self.packing.pack(problem, packed, usize::MAX);
        self.matrix.refill(problem, packed, Scheme::Delassus);
        self.find_groups(packed);
    }
}

impl Method for BlockSor {
    type State = Velocities;

    fn rebuild(&self, packed: &Packed, island: usize, view: &mut IslandView<Velocities>) {
        // w = A Λ + b.
        let a = &self.matrix.a;
        let first = packed.lambda_start[island] as usize;
        let Velocities { w, delta } = view.state;
        w.clear();
        w.resize(view.lambda.len(), 0.0);
        delta.clear();
        delta.resize(view.lambda.len(), 0.0);
        for block in a.island_start[island] as usize..a.island_start[island + 1] as usize {
            let rows = a.rows(block).start - first..a.rows(block).end - first;
            self.matrix
                .multiply(packed, island, block, view.lambda, &mut w[rows]);
        }
    }

    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<Velocities>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let a = &self.matrix.a;
        let first = packed.lambda_start[island] as usize;
        let Velocities { w, delta } = view.state;
        for group in &self.groups[self.island_start[island]..self.island_start[island + 1]] {
            let [own, others, end] = group.pieces;
            // Step A: sweep the diagonal block; every contact sees those before it.
            for (k, piece) in self.pieces[own..others].iter().enumerate() {
                let block = group.blocks[0] + k;
                let rows = a.rows(block).start - first..a.rows(block).end - first;
                // w of this block as the sweep so far has left it.
                let mut seen = [0.0; FrictionLaw::MAX_ROWS];
                let seen = &mut seen[..rows.len()];
                seen.copy_from_slice(&w[rows.clone()]);
                propagate(a, piece, delta, first, seen);
                let (lambda, step) = (&mut view.lambda[rows.clone()], &mut delta[rows]);
                match packed.block_of(island, block) {
                    Block::Contact(c) => {
                        let sweep = packed.contact_sweep(c, sweep);
                        packed.prox(c, seen, lambda, step, &sweep, change);
                    }
                    Block::Row(r) => {
                        let sweep = packed.row_sweep(r, sweep);
                        step[0] = packed.rows[r].step(seen[0], &mut lambda[0], &sweep, change);
                    }
                }
            }
            // Step B: w ← w + A ΔΛ, for the rows of the block itself and for all others.
            for pieces in [&self.pieces[own..others], &self.pieces[others..end]] {
                propagate_all(a, pieces, delta, first, w, first);
            }
            let [begin, end] = group.blocks;
            delta[a.rows(begin).start - first..a.rows(end - 1).end - first].fill(0.0);
        }
    }
}

/// w ← w + A ΔΛ over the entries of one piece; `delta` begins with row `first`.
#[inline(always)]
fn propagate(a: &Delassus, piece: &Piece, delta: &[f64], first: usize, w: &mut [f64]) {
    let entries = piece.first_entry..piece.entry_end;
    a.add_product(piece.row, entries, piece.value, delta, first, w);
}

/// The same for pieces of ascending rows, in parallel where they are many; `w` begins with row `base`.
fn propagate_all(
    a: &Delassus,
    pieces: &[Piece],
    delta: &[f64],
    first: usize,
    w: &mut [f64],
    base: usize,
) {
    if pieces.len() > PARALLEL {
        let (left, right) = pieces.split_at(pieces.len() / 2);
        let middle = a.rows(right[0].row).start;
        let (w0, w1) = w.split_at_mut(middle - base);
        rayon::join(
            || propagate_all(a, left, delta, first, w0, base),
            || propagate_all(a, right, delta, first, w1, middle),
        );
        return;
    }
    for piece in pieces {
        let rows = a.rows(piece.row);
        let w = &mut w[rows.start - base..rows.end - base];
        propagate(a, piece, delta, first, w);
    }
}
