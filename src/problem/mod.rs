//! The assembled problem of one step: find Λ in its laws' sets with w = A Λ + b.
//!
//! Nothing here is for contacts alone: a problem holds contact blocks (a normal row and the
//! friction rows that its impulse bounds) and general rows (joints, limits, motors: up to four
//! bodies, an interval of allowed impulses, a compliance). The impulse vector Λ (N s) is flat:
//! first the contacts, each with its rows in the order N, T1, T2, τ, then the general rows.
//!
//! A = J M⁻¹ Jᵀ + C is never formed unless somebody asks ([`delassus`]); J and M⁻¹ act through the
//! compact contact frames.
//!
//! A problem that comes from elsewhere may have no bodies: a [`MatrixProblem`] is A itself, or M and J. What all
//! forms have in common is [`Form`].

mod check;
pub mod delassus;
mod dictionary;
#[cfg(feature = "fclib")]
pub mod fclib;
mod form;
pub mod islands;
pub mod law;
mod masses;
mod matrix;
mod numbering;
pub mod residual;
mod stored;

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

pub use crate::linalg::csr::Sparse;
use crate::math::{SymMat3, Twist, Vec3};
pub use dictionary::DictionaryColumn;
pub use form::Form;
pub use islands::Islands;
pub use law::{Friction, FrictionLaw};
use law::{FrictionRow, Law};
pub use masses::Masses;
pub use matrix::{Laws, MatrixProblem};
pub(crate) use numbering::{Numbering, make_room, refill};
pub use stored::StoredProblem;

/// Biases of a contact: along n, t₁ and t₂, and of its couples in the order of the law's rows.
pub const BIASES: usize = 3 + law::COUPLES;

/// What is needed of the bodies: M⁻¹ and the velocities without constraint impulses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProblemBodies {
    /// 1/m per body (1/kg); zero for bodies that impulses do not move.
    pub inverse_mass: Vec<f64>,
    /// World inverse inertia per body (1/(kg m²)); zero for bodies that impulses do not move.
    pub inverse_inertia: Vec<SymMat3>,
    /// u_free = u_S + M⁻¹ h f (m/s, rad/s).
    pub free_velocity: Vec<Twist>,
    /// Numbers of the parts of machines that bodies belong to, or 0; empty where nobody names any.
    pub part: Vec<u32>,
    /// Of a part of a problem: the numbers of its bodies in the whole. Empty where they are these.
    #[serde(skip)]
    pub name: Vec<u32>,
}

impl ProblemBodies {
    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.inverse_mass.len()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.inverse_mass.is_empty()
    }

    /// What a body is called from step to step: its number in the whole problem.
    #[inline]
    pub(crate) fn name(&self, body: u32) -> u32 {
        self.name.get(body as usize).copied().unwrap_or(body)
    }

    /// Whether impulses move this body.
    #[inline]
    pub fn is_dynamic(&self, body: usize) -> bool {
        self.inverse_mass[body] > 0.0
    }
}

/// Where a contact is and how it is oriented, in the world frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContactFrame {
    /// Unit normal, from the first body to the second.
    pub normal: Vec3,
    /// First tangent, a unit vector across the normal; the second is `normal × tangent`.
    pub tangent: Vec3,
    /// Contact point relative to the first and second body's centre of mass (m).
    pub arms: [Vec3; 2],
}

impl ContactFrame {
    /// n, t₁ or t₂.
    #[inline(always)]
    pub fn axes(&self) -> [Vec3; 3] {
        [self.normal, self.tangent, self.normal.cross(&self.tangent)]
    }
}

/// The contacts, one array per quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contacts {
    /// First and second body.
    pub bodies: Vec<[u32; 2]>,
    /// Frames.
    pub frame: Vec<ContactFrame>,
    /// Friction laws.
    pub friction: DictionaryColumn<Friction>,
    /// Bias along N, T1 and T2 (m/s).
    pub bias: Vec<[f64; 3]>,
    /// Bias of up to two couples, in the order of the law's rows (m/s); empty where all are zero.
    pub couple_bias: Vec<[f64; law::COUPLES]>,
    /// Compliance C of the normal row and of the friction rows (1/kg).
    pub compliance: DictionaryColumn<[f64; 2]>,
    /// Gap at the midpoint (m); negative when the bodies overlap.
    pub gap: Vec<f64>,
    /// Parts of the bodies: of a compound, triangles of a mesh or a height field, else 0. Only where contacts were found.
    #[serde(skip)]
    pub parts: Vec<[u32; 2]>,
    /// Which features touch, the same from step to step. Only where contacts were found.
    #[serde(skip)]
    pub feature: Vec<u64>,
    /// First row of each contact in Λ, and one past the last: `len + 1` entries.
    #[serde(skip)]
    pub row_start: Vec<u32>,
}

impl Contacts {
    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Whether there is no contact.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Whether some contact has couples.
    pub fn have_couples(&self) -> bool {
        let is_turn = |row: &FrictionRow| matches!(row, FrictionRow::Turn { .. });
        let mut laws = self.friction.values().iter().map(|f| f.law.rows());
        laws.any(|rows| rows.iter().any(is_turn))
    }

    /// All biases of contact `c`, as [`NewContact`] has them (m/s).
    pub fn biases(&self, c: usize) -> [f64; BIASES] {
        let ([normal, t1, t2], [first, second]) = (self.bias[c], self.couple_bias(c));
        [normal, t1, t2, first, second]
    }

    /// The biases of the couples of contact `c` (m/s).
    #[inline]
    pub fn couple_bias(&self, c: usize) -> [f64; law::COUPLES] {
        self.couple_bias.get(c).copied().unwrap_or_default()
    }

    /// Whether contact `c` is a disc without compliance, as nearly all are.
    #[inline]
    pub fn is_plain(&self, c: usize) -> bool {
        self.friction[c].law == FrictionLaw::Disc && self.compliance[c] == [0.0; 2]
    }

    /// Whether every contact is a disc without compliance.
    pub fn are_plain(&self) -> bool {
        (0..self.len()).all(|c| self.is_plain(c))
    }

    /// Whether some contact has polyhedral friction.
    pub fn have_polyhedra(&self) -> bool {
        self.friction.iter().any(|f| f.law.is_polyhedral())
    }

    /// Whether no contact has friction or compliance: then the normal rows are the whole problem.
    pub fn are_frictionless(&self) -> bool {
        self.are_plain() && self.friction.iter().all(|f| f.mu == [0.0; 2])
    }

    /// The rows of contact `c` in Λ.
    #[inline]
    pub fn rows(&self, c: usize) -> std::ops::Range<usize> {
        islands::span(&self.row_start, c)
    }
}

/// The general rows, one array per quantity; the bodies of a row in compressed form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// First entry of each row in `body` and `jacobian`, and one past the last.
    pub start: Vec<u32>,
    /// Body of each entry; at most four per row.
    pub body: Vec<u32>,
    /// Jacobian of each entry: `linear · v + angular · ω` is its share of the row's velocity.
    pub jacobian: Vec<Twist>,
    /// Interval [lo, hi] of Λ (N s): (−∞, ∞) is bilateral, (0, ∞) a limit, (−a, a) a motor or friction.
    pub bounds: Vec<[f64; 2]>,
    /// Bias (m/s).
    pub bias: Vec<f64>,
    /// Compliance C (1/kg).
    pub compliance: Vec<f64>,
    /// Position error φ (m), angles times the row's declared length: of limits the distance left, of
    /// rows that hold no position zero.
    pub position_error: Vec<f64>,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Takes all rows out and keeps the memory.
    pub fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.body.clear();
        self.jacobian.clear();
        self.bounds.clear();
        self.bias.clear();
        self.compliance.clear();
        self.position_error.clear();
    }

    /// The bodies of row `r`.
    #[inline]
    pub fn bodies(&self, r: usize) -> &[u32] {
        &self.body[islands::span(&self.start, r)]
    }

    /// The entries (body, Jacobian) of row `r`.
    #[inline]
    pub fn entries(&self, r: usize) -> impl Iterator<Item = (usize, &Twist)> {
        self.entries_along(r, &self.jacobian)
    }

    /// The same of other Jacobians, which are given per entry.
    #[inline]
    pub(crate) fn entries_along<'a>(
        &'a self,
        r: usize,
        jacobian: &'a [Twist],
    ) -> impl Iterator<Item = (usize, &'a Twist)> {
        let span = islands::span(&self.start, r);
        self.body[span.clone()]
            .iter()
            .map(|b| *b as usize)
            .zip(&jacobian[span])
    }

    /// Whether the row is bilateral: any impulse is allowed.
    #[inline]
    pub fn is_bilateral(&self, r: usize) -> bool {
        self.bounds[r] == [f64::NEG_INFINITY, f64::INFINITY]
    }
}

/// One contact to add by hand; the engine itself fills the arrays in parallel.
#[derive(Clone, Copy, Debug)]
pub struct NewContact {
    /// First and second body.
    pub bodies: [u32; 2],
    /// Its frame.
    pub frame: ContactFrame,
    /// Its friction.
    pub friction: Friction,
    /// Bias along N, T1 and T2 and of up to two couples (m/s).
    pub bias: [f64; BIASES],
    /// Compliance of the normal and the friction rows (1/kg).
    pub compliance: [f64; 2],
    /// Gap (m).
    pub gap: f64,
}

/// One step's problem. Reused from step to step: clearing keeps the memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Problem {
    /// Length of the (sub)step h (s).
    pub h: f64,
    /// The bodies.
    pub bodies: ProblemBodies,
    /// The contacts.
    pub contacts: Contacts,
    /// The general rows.
    pub rows: Rows,
    /// Connected components; filled by [`Problem::finish`].
    #[serde(skip)]
    pub islands: Islands,
}

impl Problem {
    /// Empties the problem and keeps its memory.
    pub fn clear(&mut self) {
        self.bodies.inverse_mass.clear();
        self.bodies.inverse_inertia.clear();
        self.bodies.free_velocity.clear();
        self.bodies.name.clear();
        let c = &mut self.contacts;
        c.bodies.clear();
        c.frame.clear();
        c.friction.clear();
        c.bias.clear();
        c.couple_bias.clear();
        c.compliance.clear();
        c.gap.clear();
        c.parts.clear();
        c.feature.clear();
        c.row_start.clear();
        self.rows.clear();
    }

    /// Adds a body and returns its index.
    pub fn push_body(&mut self, inverse_mass: f64, inverse_inertia: SymMat3, free: Twist) -> u32 {
        self.bodies.inverse_mass.push(inverse_mass);
        self.bodies.inverse_inertia.push(inverse_inertia);
        self.bodies.free_velocity.push(free);
        self.bodies.len() as u32 - 1
    }

    /// Adds a contact.
    pub fn push_contact(&mut self, contact: NewContact) {
        let c = &mut self.contacts;
        c.bodies.push(contact.bodies);
        c.frame.push(contact.frame);
        c.friction.push(contact.friction);
        let [normal, t1, t2, couples @ ..] = contact.bias;
        let others = c.bias.len();
        c.bias.push([normal, t1, t2]);
        if !c.couple_bias.is_empty() || couples != [0.0; law::COUPLES] {
            c.couple_bias.resize(others, [0.0; law::COUPLES]);
            c.couple_bias.push(couples);
        }
        c.compliance.push(contact.compliance);
        c.gap.push(contact.gap);
    }

    /// Adds a general row.
    pub fn push_row(
        &mut self,
        entries: impl IntoIterator<Item = impl Borrow<(u32, Twist)>>,
        bounds: [f64; 2],
        bias: f64,
        compliance: f64,
        position_error: f64,
    ) {
        let r = &mut self.rows;
        if r.start.is_empty() {
            r.start.push(0);
        }
        let first = r.body.len();
        for entry in entries {
            let (body, jacobian) = entry.borrow();
            r.body.push(*body);
            r.jacobian.push(*jacobian);
        }
        assert!(r.body.len() <= first + 4, "a row couples up to four bodies");
        r.start.push(r.body.len() as u32);
        r.bounds.push(bounds);
        r.bias.push(bias);
        r.compliance.push(compliance);
        r.position_error.push(position_error);
    }

    /// Numbers the rows and finds the islands; call it once everything is pushed.
    pub fn finish(&mut self) {
        self.number_rows();
        self.find_islands(false);
    }

    /// Finds the islands, where the rows of contacts are numbered already, and their bodies may be those of the last time.
    pub(crate) fn find_islands(&mut self, are_same_pairs: bool) {
        let (bodies, contacts, rows) = (&self.bodies, &self.contacts, &self.rows);
        match are_same_pairs {
            true => self.islands.renew(bodies, contacts, rows),
            false => self.islands.find(bodies, contacts, rows),
        }
    }

    fn number_rows(&mut self) {
        let c = &mut self.contacts;
        c.row_start.clear();
        c.row_start.reserve(c.bodies.len() + 1);
        let mut row = 0u32;
        c.row_start.push(0);
        for f in c.friction.iter() {
            row += f.law.row_count() as u32;
            c.row_start.push(row);
        }
        if self.rows.start.is_empty() {
            self.rows.start.push(0);
        }
    }

    /// Numbers the rows, and takes the islands of a problem with the same bodies, contacts and rows.
    pub(crate) fn finish_like(&mut self, other: &Self) {
        self.number_rows();
        self.islands.copy_from(&other.islands);
    }

    /// Number of contact rows, which is where the general rows begin in Λ.
    pub fn contact_rows(&self) -> usize {
        self.contacts.row_start.last().map_or(0, |r| *r as usize)
    }

    /// Length of Λ.
    pub fn row_count(&self) -> usize {
        self.contact_rows() + self.rows.len()
    }

    /// u = u_free + M⁻¹ Jᵀ Λ, for all bodies. `u` is overwritten.
    pub fn velocities(&self, lambda: &[f64], u: &mut Vec<Twist>) {
        self.momenta(lambda, u);
        for (body, u) in u.iter_mut().enumerate() {
            *u = self.velocity_after(body, u);
        }
    }

    /// Jᵀ Λ, for all bodies (N s, N m s). `u` is overwritten.
    pub fn momenta(&self, lambda: &[f64], u: &mut Vec<Twist>) {
        self.momenta_along(&self.rows.jacobian, lambda, u);
    }

    /// The same with other Jacobians of the general rows, per entry.
    pub(crate) fn momenta_along(&self, jacobian: &[Twist], lambda: &[f64], u: &mut Vec<Twist>) {
        u.clear();
        u.resize(self.bodies.len(), Twist::ZERO);
        for c in 0..self.contacts.len() {
            let block = &lambda[self.contacts.rows(c)];
            let impulse = self.contact_impulse(c, block);
            for side in 0..2 {
                let body = self.contacts.bodies[c][side] as usize;
                self.add_contact_momentum(c, side, &impulse, &mut u[body]);
            }
        }
        let first = self.contact_rows();
        for r in 0..self.rows.len() {
            for (body, jacobian) in self.rows.entries_along(r, jacobian) {
                u[body].linear += jacobian.linear * lambda[first + r];
                u[body].angular += jacobian.angular * lambda[first + r];
            }
        }
    }

    /// u_free + M⁻¹ times a momentum (N s, N m s) of one body.
    #[inline]
    pub fn velocity_after(&self, body: usize, momentum: &Twist) -> Twist {
        let free = &self.bodies.free_velocity[body];
        let turn = self.bodies.inverse_inertia[body].mul_vec(momentum.angular);
        Twist {
            linear: free.linear + momentum.linear * self.bodies.inverse_mass[body],
            angular: free.angular + turn,
        }
    }

    /// The impulse of contact `c` on its second body in the world frame: force (N s) and couple
    /// (N m s). The first body gets the opposite.
    #[inline(always)]
    pub fn contact_impulse(&self, c: usize, block: &[f64]) -> (Vec3, Vec3) {
        let [n, t1, t2] = self.contacts.frame[c].axes();
        // Two friction rows act along the tangents, whatever the law.
        if let [normal, f1, f2] = *block {
            return (n * normal + t1 * f1 + t2 * f2, Vec3::zeros());
        }
        let ([f1, f2], [m0, m1, m2]) = self.contacts.friction[c].impulse(&block[1..]);
        (n * block[0] + t1 * f1 + t2 * f2, n * m0 + t1 * m1 + t2 * m2)
    }

    /// Adds the impulse of contact `c`, as [`Problem::contact_impulse`] gives it, to the momentum of
    /// its first or second body (`side` 0 or 1).
    #[inline]
    pub fn add_contact_momentum(
        &self,
        c: usize,
        side: usize,
        (force, couple): &(Vec3, Vec3),
        momentum: &mut Twist,
    ) {
        let frame = &self.contacts.frame[c];
        let sign = if side == 0 { -1.0 } else { 1.0 };
        let p = force * sign;
        momentum.linear += p;
        momentum.angular += frame.arms[side].cross(&p);
        if *couple != Vec3::zeros() {
            momentum.angular += couple * sign;
        }
    }

    /// w of contact `c`: its rows of J u + C Λ + bias (m/s), written to `w`.
    #[inline]
    pub fn contact_velocity(&self, c: usize, u: &[Twist], block: &[f64], w: &mut [f64]) {
        let frame = &self.contacts.frame[c];
        let [b0, b1, b2] = self.contacts.bias[c];
        let [cn, ct] = self.contacts.compliance[c];
        let [i, j] = self.contacts.bodies[c].map(|b| b as usize);
        let relative = u[j].at(frame.arms[1]) - u[i].at(frame.arms[0]);
        let axes = frame.axes();
        let [n, t1, t2] = axes.map(|e| e.dot(&relative));
        w[0] = n + cn * block[0] + b0;
        let w = &mut w[1..block.len()];
        let tangential = [t1 + b1, t2 + b2];
        // Two friction rows act along the tangents, whatever the law.
        if let [w1, w2] = w {
            [*w1, *w2] = tangential;
        } else {
            let turning = axes.map(|e| e.dot(&(u[j].angular - u[i].angular)));
            let couples = self.contacts.couple_bias(c);
            self.contacts.friction[c].velocities(tangential, turning, couples, w);
        }
        for (w, x) in w.iter_mut().zip(&block[1..]) {
            *w += ct * x;
        }
    }

    /// γ of general row `r`: J u (m/s).
    #[inline]
    pub fn row_jacobian_velocity(&self, r: usize, u: &[Twist]) -> f64 {
        self.rows
            .entries(r)
            .map(|(body, j)| j.linear.dot(&u[body].linear) + j.angular.dot(&u[body].angular))
            .sum()
    }

    /// w of general row `r`: J u + C Λ + bias (m/s).
    #[inline]
    pub fn row_velocity(&self, r: usize, u: &[Twist], lambda: f64) -> f64 {
        self.row_jacobian_velocity(r, u) + self.rows.compliance[r] * lambda + self.rows.bias[r]
    }

    /// The diagonal of A over the rows of contact `c` (1/kg), written to `diagonal`.
    pub fn contact_diagonal(&self, c: usize, diagonal: &mut [f64]) {
        let friction = &self.contacts.friction[c];
        let [cn, ct] = self.contacts.compliance[c];
        let axes = self.contacts.frame[c].axes();
        let mobility = self.contact_mobility(c);
        let [nn, t1t1, t2t2] = axes.map(|e| e.dot(&mobility.mul_vec(e)));
        diagonal[0] = nn + cn;
        let rows = friction.law.rows();
        if rows.len() == 2 {
            diagonal[1..3].copy_from_slice(&[t1t1 + ct, t2t2 + ct]);
            return;
        }
        for (d, row) in diagonal[1..].iter_mut().zip(rows) {
            let inertial = match row {
                FrictionRow::Slide { direction: [x, y] } => {
                    let e = axes[1] * *x + axes[2] * *y;
                    self.contact_coupling(c, e, e)
                }
                FrictionRow::Turn { axis } => {
                    let e = axes[*axis];
                    let turned = |b: &u32| self.bodies.inverse_inertia[*b as usize].mul_vec(e);
                    let pair = self.contacts.bodies[c].iter();
                    let spin: f64 = pair.map(|b| e.dot(&turned(b))).sum();
                    spin * friction.length * friction.length
                }
            };
            *d = inertial + ct;
        }
    }

    /// a · (J M⁻¹ Jᵀ) b for two directions at the point of contact `c` (1/kg): how much velocity
    /// along `a` a unit impulse along `b` makes.
    #[inline]
    pub fn contact_coupling(&self, c: usize, a: Vec3, b: Vec3) -> f64 {
        let frame = &self.contacts.frame[c];
        let mut sum = 0.0;
        for (body, arm) in self.contacts.bodies[c].iter().zip(&frame.arms) {
            let body = *body as usize;
            let turned = self.bodies.inverse_inertia[body].mul_vec(arm.cross(&b));
            sum += self.bodies.inverse_mass[body] * a.dot(&b) + arm.cross(&a).dot(&turned);
        }
        sum
    }

    /// The velocity that a unit impulse gives to the point of contact `c`, on the second body less on the first, in the
    /// world frame (1/kg): the sum of 1/m + [r]ᵀ I⁻¹ [r], r× being [r], over both bodies.
    fn contact_mobility(&self, c: usize) -> SymMat3 {
        let mut sum = SymMat3::ZERO;
        let arms = self.contacts.frame[c].arms;
        for (body, arm) in self.contacts.bodies[c].iter().zip(&arms) {
            let m = self.bodies.inverse_mass[*body as usize];
            let inertia = &self.bodies.inverse_inertia[*body as usize];
            let [x, y, z] = [arm.x, arm.y, arm.z];
            // I⁻¹ times the columns of [r].
            let first = inertia.mul_vec(Vec3::new(0.0, z, -y));
            let second = inertia.mul_vec(Vec3::new(-z, 0.0, x));
            let third = inertia.mul_vec(Vec3::new(y, -x, 0.0));
            sum.xx += m + z * first.y - y * first.z;
            sum.xy += z * second.y - y * second.z;
            sum.yy += m + x * second.z - z * second.x;
            sum.xz += z * third.y - y * third.z;
            sum.yz += x * third.z - z * third.x;
            sum.zz += m + y * third.x - x * third.y;
        }
        sum
    }

    /// A of contact `c` over its N, T1 and T2 rows without compliance (1/kg): NN, T1T1, T2T2, T1N, T2N.
    pub fn contact_block(&self, c: usize) -> [f64; 5] {
        let frame = &self.contacts.frame[c];
        let axes = frame.axes();
        let mut sum = [0.0; 5];
        for (body, arm) in self.contacts.bodies[c].iter().zip(&frame.arms) {
            let body = *body as usize;
            let m = self.bodies.inverse_mass[body];
            let turn = axes.map(|e| arm.cross(&e));
            let turned = turn.map(|t| self.bodies.inverse_inertia[body].mul_vec(t));
            for k in 0..3 {
                sum[k] += m * axes[k].dot(&axes[k]) + turn[k].dot(&turned[k]);
            }
            sum[3] += m * axes[1].dot(&axes[0]) + turn[1].dot(&turned[0]);
            sum[4] += m * axes[2].dot(&axes[0]) + turn[2].dot(&turned[0]);
        }
        sum
    }

    /// The diagonal entry of A for general row `r` (1/kg).
    pub fn row_diagonal(&self, r: usize) -> f64 {
        let inertial: f64 = self
            .rows
            .entries(r)
            .map(|(body, j)| {
                self.bodies.inverse_mass[body] * j.linear.norm_squared()
                    + j.angular
                        .dot(&self.bodies.inverse_inertia[body].mul_vec(j.angular))
            })
            .sum();
        inertial + self.rows.compliance[r]
    }
}
