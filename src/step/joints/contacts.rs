//! Contacts of islands that joints hold, by proximal points (Rockafellar 1976; section 6 of docs/method.md).

use super::bodies::HeldBodies;
use crate::problem::law::Law;
use crate::problem::{BIASES, FrictionLaw, Problem};

/// What holds a contact's impulses to the centre, as a share of A_NN (-): with less steps take more work, and with more chains
/// overlap deeper (table in section 6 of docs/method.md).
const SHARE: f64 = 3e-2;

/// What is left of that (-) where contacts would give way by more than positions are left open, and as often at most. Impacts
/// that drives make of light and heavy bodies need impulses far away (section 6 of docs/method.md, what cannot be).
const TIGHTER: f64 = 0.125;
const MOST_TIGHTENED: u32 = 2;

/// What holds a contact's impulses.
struct Hold {
    contact: usize,
    /// C along the normal and the friction rows (1/kg).
    compliance: [f64; 2],
    /// The biases without it (m/s).
    bias: [f64; BIASES],
}

impl Hold {
    /// That of contact `c`; none where it has a compliance of its own, or nothing moves it.
    fn of(problem: &Problem, c: usize) -> Option<Self> {
        let contacts = &problem.contacts;
        let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
        problem.contact_diagonal(c, &mut diagonal);
        if contacts.compliance[c] != [0.0; 2] || diagonal[0] <= 0.0 {
            return None;
        }
        // A power of two, so that few values differ.
        let normal = (SHARE * diagonal[0]).log2().round().exp2();
        // The rows of a polyhedron are more than the biases that could hold them.
        let is_polyhedral = contacts.friction[c].law.is_polyhedral();
        let friction = if is_polyhedral { 0.0 } else { normal };
        Some(Self {
            contact: c,
            compliance: [normal, friction],
            bias: contacts.biases(c),
        })
    }
}

/// Contacts and rigid joints together leave impulses, and at times velocities, undetermined. Where that is in the way,
/// those of islands whose bodies joints hold are given a compliance, C (Λ − Λ_c): towards the centre Λ_c, which is at first
/// what the (sub)step starts from, and then what was found with it. Keeps its memory.
#[derive(Default)]
pub struct HeldContacts {
    /// The islands with contacts that could be held, as `HeldBodies` numbers them; that are held; and those that
    /// are to be held next.
    pub islands: Vec<usize>,
    pub held: Vec<usize>,
    pub wanted: Vec<usize>,
    /// Those that were held, and then no longer.
    pub released: Vec<usize>,
    holds: Vec<Hold>,
    /// How often these are tightened.
    tightened: u32,
    /// Λ_c, per row of the problem's contacts (N s).
    centre: Vec<f64>,
}

impl HeldContacts {
    /// Finds the islands that have contacts without a compliance of their own, and holds those of the islands that are wanted
    /// to the impulses `start`.
    pub fn begin(&mut self, problem: &mut Problem, bodies: &HeldBodies, start: &[f64]) {
        self.tightened = 0;
        self.holds.clear();
        self.islands.clear();
        self.held.clear();
        for (k, (island, _)) in bodies.islands.iter().enumerate() {
            let contacts = problem.islands.contacts.of(*island).iter();
            let contacts = contacts.map(|c| *c as usize);
            let is_rigid = |c| problem.contacts.compliance[c] == [0.0; 2];
            if !contacts.clone().any(is_rigid) {
                continue;
            }
            self.islands.push(k);
            if self.wanted.contains(&k) {
                self.held.push(k);
                let holds = contacts.filter_map(|c| Hold::of(problem, c));
                self.holds.extend(holds);
            }
        }
        self.wanted.clear();
        let contacts = &mut problem.contacts;
        for hold in &self.holds {
            contacts.compliance.set(hold.contact, hold.compliance);
        }
        if self.are_held() {
            self.recentre(problem, start);
        }
    }

    /// Holds none of those that are held next.
    pub fn release(&mut self) {
        self.wanted.clear();
        self.released.clone_from(&self.held);
    }

    /// Holds those again next.
    pub fn hold_released(&mut self) {
        self.wanted.clone_from(&self.released);
    }

    /// There are none in this (sub)step.
    pub fn clear(&mut self) {
        self.holds.clear();
        self.islands.clear();
        self.held.clear();
        self.wanted.clear();
    }

    /// Whether any are held.
    pub fn are_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Those of more islands are to be held next, and those that are.
    pub fn want(&mut self, is_open: impl Fn(usize) -> bool) {
        let (held, islands) = (&self.held, self.islands.iter());
        let more = islands.filter(|k| !held.contains(k) && is_open(**k));
        self.wanted.clear();
        self.wanted.extend(more);
        if !self.wanted.is_empty() {
            self.wanted.extend(&self.held);
        }
    }

    /// Makes impulses the centre.
    pub fn recentre(&mut self, problem: &mut Problem, lambda: &[f64]) {
        let rows = problem.contact_rows();
        self.centre.clear();
        self.centre.extend_from_slice(&lambda[..rows]);
        let contacts = &mut problem.contacts;
        for hold in &self.holds {
            let c = hold.contact;
            let mut bias = hold.bias;
            let [normal, friction] = hold.compliance;
            let rows = contacts.rows(c);
            for (k, (bias, centre)) in bias.iter_mut().zip(&self.centre[rows]).enumerate() {
                *bias -= if k == 0 { normal } else { friction } * centre;
            }
            let [n, t1, t2, couples @ ..] = bias;
            contacts.bias[c] = [n, t1, t2];
            if let Some(bias) = contacts.couple_bias.get_mut(c) {
                *bias = couples;
            }
        }
    }

    /// Holds them less, so that fewer centres lead farther; false where they are held by next to nothing already.
    pub fn tighten(&mut self, problem: &mut Problem) -> bool {
        if self.tightened >= MOST_TIGHTENED {
            return false;
        }
        self.tightened += 1;
        for hold in &mut self.holds {
            for compliance in &mut hold.compliance {
                *compliance *= TIGHTER;
            }
            problem
                .contacts
                .compliance
                .set(hold.contact, hold.compliance);
        }
        true
    }

    /// The largest C |Λ − Λ_c| of a row (m/s).
    pub fn apart(&self, problem: &Problem, lambda: &[f64]) -> f64 {
        self.apart_of(problem, lambda, |_| true)
    }

    /// The same of an island.
    pub fn apart_in(&self, problem: &Problem, lambda: &[f64], island: usize) -> f64 {
        let of_body = &problem.islands.of_body;
        let is_in = |slot: &u32| of_body[*slot as usize] as usize == island;
        let counts = |c: usize| problem.contacts.bodies[c].iter().any(is_in);
        self.apart_of(problem, lambda, counts)
    }

    fn apart_of(&self, problem: &Problem, lambda: &[f64], counts: impl Fn(usize) -> bool) -> f64 {
        let of = |hold: &Hold| {
            let rows = problem.contacts.rows(hold.contact);
            let [normal, friction] = hold.compliance;
            let pairs = lambda[rows.clone()].iter().zip(&self.centre[rows]);
            let each = pairs.enumerate().map(|(k, (x, centre))| {
                let compliance = if k == 0 { normal } else { friction };
                compliance * (x - centre).abs()
            });
            each.fold(0.0, f64::max)
        };
        let holds = self.holds.iter().filter(|hold| counts(hold.contact));
        holds.map(of).fold(0.0, f64::max)
    }
}
