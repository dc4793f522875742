//! One island as a mixed linear complementarity problem: rows ordered for a small envelope, scaled to a
//! unit diagonal, and the lower triangle of A in panels.
//!
//! Scaled quantities: x_i = Λ_i/s_i and ŵ_i = s_i w_i with s_i = 1/√A_ii, so that masses from grams to
//! ships give entries of A of the order of one.

use super::operator::{Operator, dot};
use super::order::{Blocks, Order};
use super::panels::{Envelope, TILE};
use crate::problem::Problem;
use crate::problem::delassus::{block_bodies, block_rows};
use crate::solve::island::SIDE_BY_SIDE;

/// Bytes of a megabyte.
pub const MEGABYTE: f64 = 1e6;

/// Marks a row whose bounds are its own.
pub const NONE: u32 = u32::MAX;

/// A_ε = A + ε in panels, scaled to a unit diagonal; A's own diagonal is 1.
#[derive(Clone, Debug, Default)]
pub struct IslandMatrix {
    /// Number of rows.
    pub n: usize,
    /// Shape of the lower triangle.
    pub envelope: Envelope,
    /// The values; rows beyond `n` are those of the unit matrix.
    pub value: Vec<f64>,
    /// Which entries may be other than zero; only where the layout asks for it.
    pub pattern: Pattern,
}

/// The entries of a lower triangle, diagonal included, in compressed columns with ascending rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// First entry of each column, and one past the last.
    pub start: Vec<u32>,
    /// Row of each entry.
    pub row: Vec<u32>,
}

/// How an island's matrix is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Rows in the problem's order, the whole lower triangle.
    Dense,
    /// Rows by reverse Cuthill–McKee, the envelope only.
    Skyline,
    /// The same, and which of its entries there are.
    Sparse,
}

/// What an island is set up with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How its matrix is laid out.
    pub layout: Layout,
    /// What is added to contact rows, as a share of the diagonal (-).
    pub compliance: f64,
    /// What is added to the compliance of contacts' second tangents, by contact; nothing beyond its end (1/kg).
    pub transverse_compliance: &'a [f64],
    /// Most bytes of the matrix.
    pub most: usize,
}

/// Why an island cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A number is not finite.
    #[error("the problem holds a number that is not finite")]
    NotFinite,
    /// The matrix would need more memory than the parameter allows.
    #[error(
        "the matrix of an island of {rows} rows takes {:.0} MB, more than the {:.0} MB that \
         the parameter memory allows",
        *bytes as f64 / MEGABYTE,
        *most as f64 / MEGABYTE
    )]
    TooLarge {
        /// Its rows.
        rows: usize,
        /// Its bytes.
        bytes: usize,
        /// Most bytes.
        most: usize,
    },
}

/// One island. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Island {
    /// A with what was added to its diagonal.
    pub matrix: IslandMatrix,
    /// s_i.
    pub scale: Vec<f64>,
    /// Scaled b.
    pub b: Vec<f64>,
    /// Scaled own bounds; those of friction rows follow their normal row.
    pub bounds: Vec<[f64; 2]>,
    /// The normal row of each friction row, else [`NONE`].
    pub normal_row: Vec<u32>,
    /// Bound of each friction row by its normal impulse, both scaled.
    pub friction_coefficient: Vec<f64>,
    /// ε_i: what was added to the unit diagonal.
    pub epsilon: Vec<f64>,
    /// Row of the problem's Λ.
    pub problem_row: Vec<u32>,
    pub operator: Operator,
    order: Order,
    /// The contact of each block, or, after those, the joint's row.
    pub(super) block_source: Vec<u32>,
    block_start: Vec<u32>,
    block_body: Vec<u32>,
    pub(super) block_rows: Vec<u32>,
    pub(super) block_order: Vec<u32>,
    /// What the order and the pattern were found for.
    known: Structure,
    body_start: Vec<u32>,
    body_entry: Vec<[u32; 2]>,
    last_row: Vec<u32>,
    marked: Vec<u32>,
}

/// What couples with what.
#[derive(Clone, Debug, Default)]
struct Structure {
    /// None until order and pattern are there.
    layout: Option<Layout>,
    bodies: usize,
    start: Vec<u32>,
    body: Vec<u32>,
    rows: Vec<u32>,
}

impl Structure {
    fn is(&self, layout: Layout, blocks: &Blocks<'_>) -> bool {
        self.layout == Some(layout)
            && self.bodies == blocks.bodies
            && self.start == blocks.start
            && self.body == blocks.body
            && self.rows == blocks.rows
    }

    fn set(&mut self, blocks: &Blocks<'_>) {
        self.bodies = blocks.bodies;
        let known = [&mut self.start, &mut self.body, &mut self.rows];
        for (known, now) in known
            .into_iter()
            .zip([blocks.start, blocks.body, blocks.rows])
        {
            now.clone_into(known);
        }
    }
}

impl Island {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.matrix.n
    }

    /// Multiplications of a pivot, about: a factorisation, and the entries of the envelope read in a solve, a product, and
    /// GMRES' three or four solves (winch: 40 in 14 pivots).
    pub fn work_of_a_pivot(&self) -> f64 {
        const SOLVES: f64 = 6.0;
        let envelope = &self.matrix.envelope;
        SIDE_BY_SIDE * envelope.factor_cost(0) as f64 + SOLVES * envelope.len() as f64
    }

    /// Packs and assembles an island of a finished problem. `local` numbers the bodies within their
    /// islands.
    ///
    /// # Errors
    /// Numbers that are not finite, or a matrix that is too large.
    pub fn assemble(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        setup: &Setup<'_>,
    ) -> Result<(), Refusal> {
        let layout = setup.layout;
        let is_known = self.find_order(problem, island, local, layout);
        self.known.layout = None;
        self.pack_rows(problem, local, setup)?;
        self.lay_out(problem.islands.bodies.of(island).len(), layout, setup.most)?;
        if layout == Layout::Sparse && !is_known {
            self.find_pattern();
        }
        self.known.layout = Some(layout);
        Ok(())
    }

    /// The matrix of the rows that are packed, on so many bodies.
    ///
    /// # Errors
    /// A matrix of more than `most` bytes.
    pub fn lay_out(&mut self, bodies: usize, layout: Layout, most: usize) -> Result<(), Refusal> {
        self.group_by_body(bodies);
        self.shape(layout);
        let bytes = self.matrix.envelope.len() * size_of::<f64>();
        if bytes > most {
            return Err(Refusal::TooLarge {
                rows: self.n(),
                bytes,
                most,
            });
        }
        self.fill();
        Ok(())
    }

    /// Rows couple where they touch the same body.
    pub fn find_pattern(&mut self) {
        let n = self.matrix.n;
        let pattern = &mut self.matrix.pattern;
        pattern.start.clear();
        pattern.start.push(0);
        pattern.row.clear();
        // The column that a row was last found in.
        self.marked.clear();
        self.marked.resize(n, NONE);
        for column in 0..n {
            let begin = pattern.row.len();
            self.marked[column] = column as u32;
            pattern.row.push(column as u32);
            for entry in self.operator.start[column]..self.operator.start[column + 1] {
                let body = self.operator.body[entry as usize] as usize;
                let touch = self.body_start[body] as usize..self.body_start[body + 1] as usize;
                // Ascending: those behind the column stand at the end.
                for [row, _] in self.body_entry[touch].iter().rev() {
                    let row = *row as usize;
                    if row <= column {
                        break;
                    }
                    if self.marked[row] != column as u32 {
                        self.marked[row] = column as u32;
                        pattern.row.push(row as u32);
                    }
                }
            }
            pattern.row[begin..].sort_unstable();
            pattern.start.push(pattern.row.len() as u32);
        }
    }

    /// Orders the blocks. Returns whether the island couples as it did the last time, so that the order
    /// and the pattern are still there.
    fn find_order(
        &mut self,
        problem: &Problem,
        island: usize,
        local: &[u32],
        layout: Layout,
    ) -> bool {
        let contacts = problem.contacts.len() as u32;
        let own_contacts = problem.islands.contacts.of(island).iter().copied();
        let own_rows = problem.islands.rows.of(island).iter();
        self.block_source.clear();
        self.block_source
            .extend(own_contacts.chain(own_rows.map(|r| contacts + *r)));
        self.block_start.clear();
        self.block_start.push(0);
        self.block_body.clear();
        self.block_rows.clear();
        for source in &self.block_source {
            let bodies = block_bodies(problem, *source as usize);
            self.block_body.extend(bodies.map(|b| local[b as usize]));
            self.block_start.push(self.block_body.len() as u32);
            self.block_rows
                .push(block_rows(problem, *source as usize) as u32);
        }
        let blocks = Blocks {
            bodies: problem.islands.bodies.of(island).len(),
            start: &self.block_start,
            body: &self.block_body,
            rows: &self.block_rows,
        };
        if self.known.is(layout, &blocks) {
            return true;
        }
        self.known.set(&blocks);
        match layout {
            Layout::Dense => {
                self.block_order.clear();
                self.block_order.extend(0..self.block_rows.len() as u32);
            }
            Layout::Skyline | Layout::Sparse => self.order.find(blocks, &mut self.block_order),
        }
        false
    }

    fn group_by_body(&mut self, bodies: usize) {
        let operator = &mut self.operator;
        operator.velocity.clear();
        operator.velocity.resize(bodies, [0.0; 6]);
        self.body_start.clear();
        self.body_start.resize(bodies + 2, 0);
        for body in &operator.body {
            self.body_start[*body as usize + 2] += 1;
        }
        for b in 2..self.body_start.len() {
            self.body_start[b] += self.body_start[b - 1];
        }
        self.body_entry.clear();
        self.body_entry.resize(operator.body.len(), [0; 2]);
        for row in 0..self.matrix.n {
            for entry in operator.start[row]..operator.start[row + 1] {
                let slot = &mut self.body_start[operator.body[entry as usize] as usize + 1];
                self.body_entry[*slot as usize] = [row as u32, entry];
                *slot += 1;
            }
        }
        self.body_start.pop();
    }

    fn shape(&mut self, layout: Layout) {
        let n = self.matrix.n;
        let operator = &self.operator;
        self.last_row.clear();
        self.last_row.extend(self.body_start.windows(2).map(|s| {
            match &self.body_entry[s[0] as usize..s[1] as usize] {
                [.., last] => last[0],
                [] => 0,
            }
        }));
        let last_row = &self.last_row;
        self.matrix.envelope.set(n, |row| match layout {
            Layout::Dense => n - 1,
            Layout::Skyline | Layout::Sparse => {
                let entries = operator.start[row] as usize..operator.start[row + 1] as usize;
                let reach = operator.body[entries].iter();
                reach
                    .map(|b| last_row[*b as usize] as usize)
                    .fold(row, usize::max)
            }
        });
    }

    fn fill(&mut self) {
        let matrix = &mut self.matrix;
        let operator = &self.operator;
        matrix.value.clear();
        matrix.value.resize(matrix.envelope.len(), 0.0);
        for span in self.body_start.windows(2) {
            let touch = &self.body_entry[span[0] as usize..span[1] as usize];
            for (k, [column, entry]) in touch.iter().enumerate() {
                let response = &operator.response[*entry as usize];
                let skip = *column as usize - *column as usize % TILE;
                let values = &mut matrix.value[matrix.envelope.column(*column as usize)];
                for [row, entry] in &touch[k..] {
                    let jacobian = &operator.jacobian[*entry as usize];
                    values[*row as usize - skip] += dot(response, jacobian);
                }
            }
        }
        for row in 0..matrix.n {
            let at = matrix.envelope.at(row, row);
            matrix.value[at] += operator.compliance[row] + self.epsilon[row];
        }
        matrix.envelope.pad(matrix.n, &mut matrix.value);
    }

    /// ε of the rows with bounds becomes this share of the diagonal.
    pub fn set_proximal_weight(&mut self, weight: f64) {
        for row in 0..self.matrix.n {
            let [lo, hi] = self.bounds[row];
            if self.normal_row[row] != NONE || lo.is_finite() || hi.is_finite() {
                self.change_epsilon(row, weight);
            }
        }
    }

    /// Makes ε something else.
    pub fn set_epsilon(&mut self, epsilon: &[f64]) {
        for (row, epsilon) in epsilon.iter().enumerate() {
            self.change_epsilon(row, *epsilon);
        }
    }

    fn change_epsilon(&mut self, row: usize, epsilon: f64) {
        let at = self.matrix.envelope.at(row, row);
        self.matrix.value[at] += epsilon - self.epsilon[row];
        self.epsilon[row] = epsilon;
    }

    /// w = A x without ε, scaled.
    pub fn product(&mut self, x: &[f64], w: &mut [f64]) {
        let n = self.matrix.n;
        let operator = &mut self.operator;
        operator.set_velocities(x);
        for row in 0..n {
            w[row] = operator.compliance[row] * x[row] + operator.velocity_of(row);
        }
    }

    /// The rows whose bounds follow a normal row.
    pub fn friction_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.n()).filter(|i| self.normal_row[*i] != NONE)
    }

    /// The bounds of row `i` at the impulses `x`: its own, or those that its normal impulse gives.
    #[inline(always)]
    pub fn bounds_at(&self, i: usize, x: &[f64]) -> [f64; 2] {
        match self.normal_row[i] {
            NONE => self.bounds[i],
            normal => {
                let bound = self.friction_coefficient[i] * x[normal as usize].max(0.0);
                [-bound, bound]
            }
        }
    }

    /// Sweeps of projected Gauss–Seidel over all rows, whose friction bounds follow the normal impulses.
    pub fn sweep(&mut self, x: &mut [f64], count: u32) {
        self.operator.set_velocities(x);
        for _ in 0..count {
            for row in 0..x.len() {
                if self.scale[row] == 0.0 {
                    continue;
                }
                let [lo, hi] = self.bounds_at(row, x);
                let operator = &mut self.operator;
                let w = operator.compliance[row] * x[row] + operator.velocity_of(row) + self.b[row];
                let change = (x[row] - w).max(lo).min(hi) - x[row];
                if change != 0.0 {
                    x[row] += change;
                    operator.add_impulse(row, change);
                }
            }
        }
    }

    /// Whether rows `i` and `k` of A are coupled: they share a body.
    pub fn couples(&self, i: usize, k: usize) -> bool {
        let operator = &self.operator;
        let bodies = |row: usize| {
            &operator.body[operator.start[row] as usize..operator.start[row + 1] as usize]
        };
        i == k || bodies(i).iter().any(|b| bodies(k).contains(b))
    }
}
