//! Springs and dampers, at any stiffness of second order and without gain (section 6 of docs/method.md).
//!
//! A row of stiffness k and damping c asks for k φ + c φ̇ + F = 0 with its force F. Of three midpoints, with p from ½ to 1,
//! r = 1 − p, and this and the last step's impulses Λ and Λ₋,
//!
//! ```text
//! 2p Λ + (1 − 2p) Λ₋ + h k (p² φ₊ + 2pr φ + r² φ₋) + c ((2p − ½) φ₊ + (2 − 4p) φ + (2p − 3/2) φ₋) = 0.
//! ```
//!
//! With p = ½ it is Newmark's rule (β = ¼), which keeps energy; with p = 1 Houbolt's, φ₊ + (2Λ − Λ₋)/(hk) = 0, which tends
//! to the rigid row φ₊ = 0. For every p between it is of second order, and stable joined to whatever keeps energy.

/// Of rows whose impulses have no bounds, the part of X = h²kA + (hcA)²/4 up to which p is ½ (-): the step resolves such an
/// oscillation by twelve steps a turn or more.
const RESOLVED: f64 = 0.25;
/// X beyond it at which p is ¾ (-): springs are damped where a step does not resolve them at all.
const FREE_SCALE: f64 = 300.0;
/// X at which p is ¾ where impulses have bounds (-), so that nothing leaves a stop faster than it came: by 0.5 % at most
/// (`moreau verify rebound`). Larger scales let it.
const BOUNDED_SCALE: f64 = 1.5;

/// A spring and a damper along a row, as lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Stiffness k (N/m).
    pub stiffness: f64,
    /// Damping c (N s/m).
    pub damping: f64,
}

/// What a row was like, and how easily it moves.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Length of the (sub)step (s).
    pub h: f64,
    /// J M⁻¹ Jᵀ along the row at the midpoint (1/kg).
    pub inverse_mass: f64,
    /// Whether its impulse has bounds.
    pub is_bounded: bool,
    /// φ at this midpoint and the last one (m).
    pub errors: [f64; 2],
    /// Λ₋ of the whole row and of its damper, of this length of step (N s); none of a row that is new, whose force is taken
    /// to have been the same.
    pub last: Option<[f64; 2]>,
}

/// The row w = (φ₊ + lag)/h + C Λ that the rule makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lagged {
    /// C (1/kg).
    pub compliance: f64,
    /// What φ₊ is compared with, from before (m).
    pub lag: f64,
    /// The damper's share of Λ is `damper[0] − damper[1] φ₊` (N s, N s/m).
    pub damper: [f64; 2],
    /// 2p − 1: 0 of what the step resolves, 1 of what is rigid to it.
    pub rigidity: f64,
}

impl Default for Lagged {
    /// A rigid row.
    fn default() -> Self {
        Self {
            compliance: 0.0,
            lag: 0.0,
            damper: [0.0; 2],
            rigidity: 1.0,
        }
    }
}

impl Spring {
    /// The rule's row.
    pub fn row(&self, at: &At) -> Lagged {
        let p = self.p(at);
        let r = 1.0 - p;
        let (hk, c) = (at.h * self.stiffness, self.damping);
        let whole = hk * p * p + c * (2.0 * p - 0.5);
        if !whole.is_finite() {
            return Lagged::default();
        }
        let [here, behind] = at.errors;
        let sprung = 2.0 * p * r * hk * here + r * r * hk * behind;
        let damped = c * ((2.0 - 4.0 * p) * here + (2.0 * p - 1.5) * behind);
        let (share, last) = match at.last {
            Some(last) => (2.0 * p, last.map(|last| (2.0 * p - 1.0) * last)),
            None => (1.0, [0.0; 2]),
        };
        Lagged {
            compliance: share / (whole * at.h),
            lag: (sprung + damped - last[0]) / whole,
            damper: [(last[1] - damped) / share, c * (2.0 * p - 0.5) / share],
            rigidity: 2.0 * p - 1.0,
        }
    }

    /// From ½ of what a step resolves to 1 of what is rigid to it.
    fn p(&self, at: &At) -> f64 {
        let damped = at.h * self.damping * at.inverse_mass;
        let size = at.h * at.h * self.stiffness * at.inverse_mass + 0.25 * damped * damped;
        let (beyond, scale) = match at.is_bounded {
            true => (size, BOUNDED_SCALE),
            false => ((size - RESOLVED).max(0.0), FREE_SCALE),
        };
        match beyond.is_finite() {
            true => 0.5 + 0.5 * beyond / (beyond + scale),
            false => 1.0,
        }
    }
}
