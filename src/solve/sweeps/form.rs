//! How the prox solvers take in a problem of either form: with bodies, or as the matrix A alone.

use super::block::{PackedContact, Span};
use super::lanczos::{Spectrum, island_operator, spectrum};
use super::matrix::Matrix;
use super::pack::Packed;
use super::parameters::{Scheme, SchemeChoice};
use super::r_factors::{use_degree, use_degree_of_matrix};
use super::row::PackedRow;
use super::shorten;
use crate::math::{SymMat3, Twist};
use crate::problem::{ContactFrame, Form, MatrixProblem, Problem};

/// A form of problem that sweeps can be packed from.
pub trait Packs: Form {
    /// Packs it by islands with R = α/diagonal, ω = 1.
    fn pack(&self, packed: &mut Packed, alpha: f64);

    /// The scheme that is chosen, as far as the form allows it.
    fn scheme(&self, choice: &mut SchemeChoice) -> Scheme;

    /// Stores A, or T, for what is packed.
    fn refill(&self, matrix: &mut Matrix, packed: &Packed, scheme: Scheme);

    /// The ends of the spectrum of one island's A; none where it is zero.
    fn spectrum(&self, packed: &Packed, island: usize) -> Option<Spectrum>;

    /// ω = 1/max(1, adjacent blocks), in groups of `size` blocks.
    fn use_degree(&self, packed: &mut Packed, size: usize);

    /// Finds A_kk of every disc contact, for its exact solution.
    fn find_contact_blocks(&self, packed: &mut Packed);

    /// u = u_free + M⁻¹ Jᵀ Λ of the bodies, where there are any.
    fn body_velocities(&self, lambda: &[f64], u: &mut Vec<Twist>);

    /// Shortens impulses that are on their way to infinity; whether any were.
    fn shorten(&self, lambda: &mut [f64], u: &[Twist]) -> bool;
}

impl Packs for Problem {
    fn pack(&self, packed: &mut Packed, alpha: f64) {
        packed.pack(self, alpha);
    }

    fn scheme(&self, choice: &mut SchemeChoice) -> Scheme {
        choice.decide(self)
    }

    fn refill(&self, matrix: &mut Matrix, packed: &Packed, scheme: Scheme) {
        matrix.refill(self, packed, scheme);
    }

    fn spectrum(&self, packed: &Packed, island: usize) -> Option<Spectrum> {
        spectrum(
            packed.impulses(island).len(),
            island_operator(packed, island),
        )
    }

    fn use_degree(&self, packed: &mut Packed, size: usize) {
        use_degree(packed, size);
    }

    fn find_contact_blocks(&self, packed: &mut Packed) {
        packed.find_contact_blocks(self);
    }

    fn body_velocities(&self, lambda: &[f64], u: &mut Vec<Twist>) {
        self.velocities(lambda, u);
    }

    fn shorten(&self, lambda: &mut [f64], u: &[Twist]) -> bool {
        shorten(self, lambda, u)
    }
}

/// R and 1/R for an entry of the diagonal; 0 where no impulse moves anything.
fn r_factor(alpha: f64, diagonal: f64) -> [f64; 2] {
    if diagonal > 0.0 {
        [alpha / diagonal, diagonal / alpha]
    } else {
        [0.0; 2]
    }
}

impl Packs for MatrixProblem {
    fn pack(&self, packed: &mut Packed, alpha: f64) {
        let (contacts, a) = (self.contact_count(), self.a());
        packed.begin_matrix(a, contacts);
        for (k, source) in a.source.iter().enumerate() {
            let (own, b) = (
                a.own(k),
                &self.offset()[self.rows_of_block(*source as usize)],
            );
            match (*source as usize).checked_sub(contacts) {
                None => {
                    let [rn, inverse_n] = r_factor(alpha, own[0]);
                    let [rt, inverse_t] = r_factor(alpha, own[4].max(own[8]));
                    packed.contacts.push(PackedContact {
                        bodies: [0; 2],
                        frame: ContactFrame::default(),
                        bias: [b[0], b[1], b[2]],
                        r: [rn, rt],
                        inverse_r: [inverse_n, inverse_t],
                        coupling: [own[3], own[6]],
                        mu: self.mu()[*source as usize],
                    });
                }
                Some(r) => {
                    let [r_factor, inverse_r] = r_factor(alpha, own[0]);
                    packed.rows.push(PackedRow {
                        entries: Span::default(),
                        bounds: self.bounds_of(r),
                        bias: b[0],
                        compliance: 0.0,
                        r: r_factor,
                        inverse_r,
                    });
                }
            }
        }
    }

    fn scheme(&self, choice: &mut SchemeChoice) -> Scheme {
        choice.stored()
    }

    fn refill(&self, matrix: &mut Matrix, packed: &Packed, scheme: Scheme) {
        matrix.copy(self, packed, scheme);
    }

    fn spectrum(&self, packed: &Packed, island: usize) -> Option<Spectrum> {
        let a = self.a();
        let blocks = a.island_start[island] as usize..a.island_start[island + 1] as usize;
        let first = packed.lambda_start[island] as usize;
        spectrum(packed.impulses(island).len(), move |x, y| {
            for b in blocks.clone() {
                let rows = a.rows(b);
                a.multiply_row(b, x, first, &mut y[rows.start - first..rows.end - first]);
            }
        })
    }

    fn use_degree(&self, packed: &mut Packed, _size: usize) {
        use_degree_of_matrix(packed, self.a(), self.contact_count());
    }

    /// Of a block that is not symmetric its symmetric part: where the sweep stops, w is that of A itself.
    fn find_contact_blocks(&self, packed: &mut Packed) {
        let a = self.a();
        let blocks = (0..a.blocks()).filter(|b| (a.source[*b] as usize) < self.contact_count());
        packed.contact_blocks.extend(blocks.map(|b| {
            let own = a.own(b);
            SymMat3 {
                xx: own[0],
                xy: 0.5 * (own[1] + own[3]),
                xz: 0.5 * (own[2] + own[6]),
                yy: own[4],
                yz: 0.5 * (own[5] + own[7]),
                zz: own[8],
            }
        }));
    }

    fn body_velocities(&self, _lambda: &[f64], _u: &mut Vec<Twist>) {}

    /// No step follows that could gain energy from them.
    fn shorten(&self, _lambda: &mut [f64], _u: &[Twist]) -> bool {
        false
    }
}
