//! Gauss–Seidel sweeps over contacts and bounded rows, for where Newton's method leads nowhere: friction that is not
//! associated is no obstacle to them. Islands with bilateral rows are not swept. w follows the velocities, and sweeps there
//! and back are accelerated as in [`nncg`](crate::solve::sweeps::nncg).

use super::{Limits, State};
use crate::linalg::small::eliminate;
use crate::math::SymMat3;
use crate::problem::law::Law;
use crate::problem::{Friction, FrictionLaw};
use crate::solve::island::bodies::Bodies;
use crate::solve::island::packed::{Contacts, DOF, Island, NONE, Row, add, dot, multiply, of};
use crate::solve::island::{Block, Set};
use crate::solve::sweeps::contact_block::solve_contact;

const N: usize = FrictionLaw::MAX_ROWS;
/// Most projections of a contact whose law has no solution in closed form, and the change that ends them, as a share
/// of the one before (-).
const MOST_PROJECTIONS: usize = 30;
const SETTLED: f64 = 1e-3;
/// A change that does not fall to this share halves the steps (-).
const FALL: f64 = 0.9;
/// Multiplications of a row's turn, there and back and once more after the acceleration.
pub(in crate::solve) const WORK_PER_SWEPT_ROW: f64 = 90.0;

/// The swept rows, and memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct ConjugateSweeps {
    /// M⁻¹ Jᵀ of each contact row, and of each entry of the bounded rows.
    response: Vec<[Row; 2]>,
    bounded_response: Vec<Row>,
    /// Each contact's own block of A, and where it begins.
    block: Vec<f64>,
    block_start: Vec<u32>,
    /// The impulses: contacts' rows and then bounded rows.
    lambda: Vec<f64>,
    /// u − u_free.
    v: Vec<f64>,
    /// Λ before an iteration, the direction p, and ‖∇f‖² of the iteration before.
    before: Vec<f64>,
    p: Vec<f64>,
    square: f64,
}

/// The product of a body's inverse mass matrix with a row.
fn respond(island: &Island, body: u32, j: &Row) -> Row {
    let mut out = [0.0; DOF];
    multiply(&island.inverse_mass[body as usize..][..1], j, &mut out);
    out
}

impl ConjugateSweeps {
    /// Whether sweeps may lead on: they leave rows that no bound holds to other methods.
    pub fn can_sweep(bodies: &Bodies) -> bool {
        !bodies.island.blocks.iter().any(Block::is_bilateral)
    }

    /// Prepares sweeps from the impulses in `x`.
    pub fn prepare(&mut self, bodies: &Bodies, state: &State) {
        self.lambda.clone_from(&state.x);
        self.find_responses(&bodies.island);
        self.find_blocks(&bodies.island);
    }

    /// Sweeps there and back: at least the first number, at most the second, and no more in between than what doubles
    /// the work. `x` becomes their impulses; returns the residual (m/s).
    pub fn run(
        &mut self,
        bodies: &mut Bodies,
        state: &mut State,
        [least, most]: [usize; 2],
        limits: &Limits,
    ) -> f64 {
        self.begin();
        let enough = 2.0 * state.tally.work;
        for sweep in 0..most {
            if (sweep >= least && state.tally.work >= enough) || state.is_out_of_time(limits) {
                break;
            }
            state.tally.work += self.iterate(&bodies.island);
        }
        state.tally.steps += 1;
        state.x.copy_from_slice(&self.lambda);
        state.record(limits);
        state.measure(bodies)
    }

    fn find_responses(&mut self, island: &Island) {
        self.response.clear();
        let contacts = &island.contacts;
        for (c, pair) in contacts.bodies.iter().enumerate() {
            for row in contacts.rows(c) {
                let mut sides = [[0.0; DOF]; 2];
                let jacobian = contacts.jacobian(c, row);
                for ((side, body), j) in sides.iter_mut().zip(pair).zip(&jacobian) {
                    if *body != NONE {
                        *side = respond(island, *body, j);
                    }
                }
                self.response.push(sides);
            }
        }
        self.bounded_response.clear();
        for r in 0..island.rows.len() {
            let entries = island.rows.entries(r);
            let responses = entries.map(|(body, j)| respond(island, body, j));
            self.bounded_response.extend(responses);
        }
    }

    /// Each contact's own block.
    fn find_blocks(&mut self, island: &Island) {
        let contacts = &island.contacts;
        self.block.clear();
        self.block_start.clear();
        for c in 0..contacts.len() {
            self.block_start.push(self.block.len() as u32);
            for i in contacts.rows(c) {
                for j in contacts.rows(c) {
                    let own = if i == j { island.compliance[i] } else { 0.0 };
                    let jacobian = contacts.jacobian(c, i);
                    let [a, b] = [0, 1].map(|s| dot(&jacobian[s], &self.response[j][s]));
                    self.block.push(own + a + b);
                }
            }
        }
    }

    fn begin(&mut self) {
        self.square = 0.0;
        self.p.clear();
        self.p.resize(self.lambda.len(), 0.0);
    }

    /// A sweep there and one back, and what leads to the next one. Returns the multiplications.
    fn iterate(&mut self, island: &Island) -> f64 {
        self.find_velocities(island);
        self.before.clone_from(&self.lambda);
        let (contacts, bounded) = (island.contacts.len(), island.rows.len());
        for c in 0..contacts {
            self.relax_contact(island, c);
        }
        for k in (0..bounded).chain((0..bounded).rev()) {
            self.relax_row(island, k);
        }
        for c in (0..contacts).rev() {
            self.relax_contact(island, c);
        }
        self.accelerate();
        for block in &island.blocks {
            let x = &mut self.lambda[block.span()];
            match &block.set {
                Set::Cone(friction) => {
                    x[0] = x[0].max(0.0);
                    let normal = x[0];
                    friction.project(&mut x[1..], normal);
                }
                Set::Interval([lo, hi]) => x[0] = x[0].max(*lo).min(*hi),
            }
        }
        WORK_PER_SWEPT_ROW * self.lambda.len() as f64
    }

    /// Velocities of the present impulses.
    fn find_velocities(&mut self, island: &Island) {
        self.v.clear();
        self.v.resize(island.velocities(), 0.0);
        let first = island.contact_rows();
        for c in 0..island.contacts.len() {
            for row in island.contacts.rows(c) {
                self.push(&island.contacts, c, row, self.lambda[row]);
            }
        }
        for r in 0..island.rows.len() {
            self.push_bounded(island, r, self.lambda[first + r]);
        }
    }

    fn push(&mut self, contacts: &Contacts, c: usize, row: usize, by: f64) {
        for (body, response) in contacts.bodies[c].iter().zip(&self.response[row]) {
            if *body != NONE {
                add(*body, &mut self.v, response, by);
            }
        }
    }

    fn push_bounded(&mut self, island: &Island, r: usize, by: f64) {
        let span = island.rows.start[r] as usize..island.rows.start[r + 1] as usize;
        for e in span {
            add(
                island.rows.body[e],
                &mut self.v,
                &self.bounded_response[e],
                by,
            );
        }
    }

    fn relax_contact(&mut self, island: &Island, c: usize) {
        let contacts = &island.contacts;
        let rows = contacts.rows(c);
        let n = rows.len();
        let own = &self.block[self.block_start[c] as usize..][..n * n];
        let Set::Cone(friction) = &island.blocks[c].set else {
            return;
        };
        let mut w = [0.0; N];
        contacts.contact_product(c, &self.v, &mut w[..n]);
        for (w, row) in w.iter_mut().zip(rows.clone()) {
            *w += island.free[row] + island.compliance[row] * self.lambda[row];
        }
        let mut x = [0.0; N];
        x[..n].copy_from_slice(&self.lambda[rows.clone()]);
        let disc = (friction.law == FrictionLaw::Disc)
            .then(|| solve_disc(own, &w, &x, friction))
            .flatten();
        match disc {
            Some(found) => x[..3].copy_from_slice(&found),
            None => solve_block(own, &w, &mut x, n, friction),
        }
        for (row, x) in rows.zip(x) {
            let step = x - self.lambda[row];
            self.lambda[row] = x;
            if step != 0.0 {
                self.push(contacts, c, row, step);
            }
        }
    }

    fn relax_row(&mut self, island: &Island, r: usize) {
        let rows = &island.rows;
        let row = island.contact_rows() + r;
        let x = self.lambda[row];
        let entries = rows.entries(r).map(|(body, j)| dot(j, of(body, &self.v)));
        let w = entries.sum::<f64>() + island.free[row] + island.compliance[row] * x;
        let [lo, hi] = island.row(r).bounds();
        self.lambda[row] = (x - w / island.diagonal[row]).max(lo).min(hi);
        self.push_bounded(island, r, self.lambda[row] - x);
    }

    /// Fletcher and Reeves' conjugate directions, anew where the gradient grows.
    fn accelerate(&mut self) {
        let pairs = self.before.iter().zip(&self.lambda);
        let squared: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
        let beta = squared / self.square;
        self.square = squared;
        let goes_on = beta <= 1.0;
        for ((p, x), before) in self.p.iter_mut().zip(&mut self.lambda).zip(&self.before) {
            let step = *x - before;
            if goes_on {
                let along = beta * *p;
                *p = along + step;
                *x += along;
            } else {
                *p = step;
            }
        }
    }
}

/// A disc contact by itself, in closed form; `own` is its block of A, and `w` is at `x`.
fn solve_disc(own: &[f64], w: &[f64; N], x: &[f64; N], friction: &Friction) -> Option<[f64; 3]> {
    let k = SymMat3 {
        xx: own[0],
        xy: own[3],
        yy: own[4],
        xz: own[6],
        yz: own[7],
        zz: own[8],
    };
    let [x, y, z] = [x[0], x[1], x[2]];
    let b = [
        w[0] - (k.xx * x + k.xy * y + k.xz * z),
        w[1] - (k.xy * x + k.yy * y + k.yz * z),
        w[2] - (k.xz * x + k.yz * y + k.zz * z),
    ];
    solve_contact(&k, b, friction.mu[0], [x, y, z])
}

/// A contact by itself, as projections find it; `own` is its block of A, and `w` is at `x`.
fn solve_block(own: &[f64], w: &[f64; N], x: &mut [f64; N], n: usize, friction: &Friction) {
    let mut block = [[0.0; N]; N];
    let mut b = *w;
    for (i, own) in own.chunks_exact(n).enumerate() {
        block[i][..n].copy_from_slice(own);
        b[i] -= own.iter().zip(&*x).map(|(a, x)| a * x).sum::<f64>();
    }
    if b[0] >= 0.0 {
        x.fill(0.0);
        return;
    }
    // More directions than a plane has are redundant: none of them is moved without the others.
    let by_rows = friction.law.is_redundant();
    if !by_rows && let Some(stick) = stick(&block, &b, n, friction) {
        *x = stick;
        return;
    }
    let rho_t = 1.0 / (1..n).map(|k| block[k][k]).fold(0.0, f64::max);
    let w = |x: &[f64; N], i: usize| {
        let row = block[i][..n].iter().zip(x);
        b[i] + row.map(|(a, x)| a * x).sum::<f64>()
    };
    let mut share = 1.0;
    let mut last = f64::INFINITY;
    for _ in 0..MOST_PROJECTIONS {
        let old = *x;
        x[0] = (x[0] - share * w(x, 0) / block[0][0]).max(0.0);
        if by_rows {
            for i in 1..n {
                let bound = friction.law.row_bound(i - 1, friction.mu) * x[0];
                x[i] = (x[i] - share * w(x, i) / block[i][i]).clamp(-bound, bound);
            }
        } else {
            let after: [f64; N] = std::array::from_fn(|i| if i < n { w(x, i) } else { 0.0 });
            for (x, w) in x[1..n].iter_mut().zip(&after[1..n]) {
                *x -= share * rho_t * w;
            }
            let normal = x[0];
            friction.project(&mut x[1..n], normal);
        }
        let change = x[..n].iter().zip(&old);
        let change = change.fold(0.0, |a: f64, (x, o)| a.max((x - o).abs()));
        if change <= SETTLED * last.min(x[0]) {
            break;
        }
        if change > FALL * last {
            share *= 0.5;
        }
        last = change;
    }
}

/// Λ = −W⁻¹ b, if that is within the friction set.
fn stick(block: &[[f64; N]; N], b: &[f64; N], n: usize, friction: &Friction) -> Option<[f64; N]> {
    let mut left = *block;
    let mut right = [[0.0; N + 1]; N];
    for (right, b) in right[..n].iter_mut().zip(b) {
        right[n] = -b;
    }
    eliminate(&mut left, &mut right, n, n + 1);
    let mut x = [0.0; N];
    for (x, right) in x.iter_mut().zip(&right[..n]) {
        *x = right[n];
    }
    let mut inside = x;
    friction.project(&mut inside[1..n], x[0].max(0.0));
    (x[0] > 0.0 && inside == x).then_some(x)
}
