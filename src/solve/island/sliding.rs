//! What σ inside adds to the matrix K of a Newton step: per sliding contact a matrix of rank one, since σ pulls its
//! impulse along one direction and follows w_T along another.
//!
//! With q = ∇σᵀ J dv per sliding contact the step is d₀ + K⁻¹ Jᵀ p q, where p = −ρ ∂P/∂z_N and d₀ = K⁻¹ r. So q solves
//! q − ∇σᵀ J K⁻¹ Jᵀ p q = ∇σᵀ J d₀, which GMRES does in the few dimensions of the sliding contacts, one solve with the
//! factor of K per direction.

use super::Tally;
use super::packed::Contacts;
use super::system::System;
use crate::linalg::gmres::Gmres;
use crate::problem::FrictionLaw;
use crate::problem::law::Slope;

/// Most directions.
const DIRECTIONS: usize = 30;
/// The accuracy of q (-).
const ACCURACY: f64 = 1e-3;

/// The sliding contacts, and memory.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Sliding {
    contact: Vec<u32>,
    /// p and ∇σ, row by row of these contacts.
    pull: Vec<f64>,
    gradient: Vec<f64>,
    gmres: Gmres,
    /// A response of v and of the general rows, and Jᵀ's argument.
    response: [Vec<f64>; 2],
    x: Vec<f64>,
}

impl Sliding {
    pub fn clear(&mut self) {
        self.contact.clear();
        self.pull.clear();
        self.gradient.clear();
    }

    /// Notes contact `c` of `n` rows, whose impulse changes by −`slope` w, if it slides.
    pub fn note(
        &mut self,
        c: usize,
        n: usize,
        slope: &Slope,
        gradient: Option<&[f64; FrictionLaw::MAX_ROWS]>,
    ) {
        if let Some(gradient) = gradient {
            self.contact.push(c as u32);
            self.gradient.extend_from_slice(&gradient[..n]);
            self.pull.extend(slope[..n].iter().map(|row| -row[0]));
        }
    }

    /// Turns the step d₀ in `dv` and `dy` into the one with σ inside.
    pub fn correct(
        &mut self,
        contacts: &Contacts,
        system: &mut System,
        [dv, dy]: [&mut [f64]; 2],
        tally: &mut Tally,
    ) {
        let n = self.contact.len();
        if n == 0 {
            return;
        }
        let mut gmres = std::mem::take(&mut self.gmres);
        let [mut v, mut y] = std::mem::take(&mut self.response);
        v.resize(dv.len(), 0.0);
        y.resize(dy.len(), 0.0);
        gmres.reset(n, DIRECTIONS);
        self.follow(contacts, dv, &mut gmres.residual);
        let square: f64 = gmres.residual.iter().map(|x| x * x).sum();
        let tolerance = ACCURACY * square.sqrt();
        if gmres.begin(tolerance) {
            loop {
                let (direction, image) = gmres.direction_and_image();
                let direction = &direction[..n];
                self.respond(contacts, system, direction, [&mut v, &mut y]);
                system.count_solve(tally);
                self.follow(contacts, &v, image);
                for (image, d) in image.iter_mut().zip(direction) {
                    *image = d - *image;
                }
                if !gmres.extend(tolerance) {
                    break;
                }
            }
            if gmres.finish() {
                self.respond(contacts, system, &gmres.step, [&mut v, &mut y]);
                system.count_solve(tally);
                dv.iter_mut().zip(&v).for_each(|(dv, v)| *dv += v);
                dy.iter_mut().zip(&y).for_each(|(dy, y)| *dy += y);
            }
        }
        self.gmres = gmres;
        self.response = [v, y];
    }

    /// K⁻¹ Jᵀ p q.
    fn respond(
        &mut self,
        contacts: &Contacts,
        system: &mut System,
        q: &[f64],
        [v, y]: [&mut [f64]; 2],
    ) {
        self.x.clear();
        self.x.resize(contacts.row_count(), 0.0);
        let mut pull = self.pull.iter();
        for (c, q) in self.contact.iter().zip(q) {
            for (row, p) in contacts.rows(*c as usize).zip(&mut pull) {
                self.x[row] = p * q;
            }
        }
        v.fill(0.0);
        y.fill(0.0);
        contacts.add_transposed(&self.x, v);
        system.solve(v, y);
    }

    /// ∇σᵀ J v of every sliding contact.
    fn follow(&self, contacts: &Contacts, v: &[f64], out: &mut [f64]) {
        let mut gradient = self.gradient.iter();
        for (c, out) in self.contact.iter().zip(out) {
            let c = *c as usize;
            let rows = contacts.rows(c).zip(&mut gradient);
            *out = rows
                .map(|(row, g)| g * contacts.row_product(c, row, v))
                .sum();
        }
    }
}
