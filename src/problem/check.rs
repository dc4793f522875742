//! Whether a problem that comes from outside is one: every number finite where it must be, every range the right
//! way round, every index there.

use super::law::Law;
use super::{ContactFrame, Contacts, Friction, Problem, ProblemBodies, Rows};
use crate::check::{Invalid, demand, finite, not_negative};
use crate::math::{SymMat3, Vec3};

/// How far axes may be from unit length, and from right angles (-): a file rounds nothing, so that only somebody
/// else's rounding must pass.
const SKEW: f64 = 1e-6;
/// How negative an eigenvalue of an inverse inertia may be, as a share of the largest one (-): rounding.
const NEGATIVE: f64 = 1e-9;
/// Most bodies of a general row.
const MOST_BODIES: usize = 4;

impl Problem {
    /// Checks everything that was pushed, or read; what [`Problem::finish`] finds is not looked at.
    ///
    /// # Errors
    /// The first value that cannot be, with its place.
    pub fn check(&self) -> Result<(), Invalid> {
        let is_length = self.h.is_finite() && self.h > 0.0;
        demand(is_length, "h", "above 0 and finite", self.h)?;
        let bodies = &self.bodies;
        bodies.check().map_err(|e| e.inside("bodies"))?;
        let contacts = self.contacts.check(bodies.len());
        contacts.map_err(|e| e.inside("contacts"))?;
        let rows = self.rows.check(bodies.len());
        rows.map_err(|e| e.inside("rows"))
    }
}

/// Refuses arrays of different lengths.
pub(super) fn as_long(field: &str, length: usize, expected: usize) -> Result<(), Invalid> {
    let expected_text = format!("{expected} entries");
    demand(length == expected, field, &expected_text, length)
}

/// Refuses a body that is not there.
fn is_there(body: u32, bodies: usize) -> Result<(), Invalid> {
    let expected = format!("one of {bodies} bodies");
    demand((body as usize) < bodies, "body", &expected, body)
}

/// Checks every entry, and says which one is wrong.
fn each(count: usize, check: impl Fn(usize) -> Result<(), Invalid>) -> Result<(), Invalid> {
    (0..count).try_for_each(|k| check(k).map_err(|e| e.inside(k)))
}

impl ProblemBodies {
    fn check(&self) -> Result<(), Invalid> {
        let n = self.len();
        as_long("inverse_inertia", self.inverse_inertia.len(), n)?;
        as_long("free_velocity", self.free_velocity.len(), n)?;
        if !self.part.is_empty() {
            as_long("part", self.part.len(), n)?;
        }
        each(n, |k| {
            not_negative("inverse_mass", self.inverse_mass[k])?;
            check_inertia(&self.inverse_inertia[k])?;
            let free = &self.free_velocity[k];
            finite("free_velocity.linear", free.linear.iter())?;
            finite("free_velocity.angular", free.angular.iter())
        })
    }
}

fn check_inertia(inverse: &SymMat3) -> Result<(), Invalid> {
    let m = inverse;
    finite("inverse_inertia", &[m.xx, m.xy, m.xz, m.yy, m.yz, m.zz])?;
    let eigenvalues = m.to_matrix().symmetric_eigenvalues();
    let least = eigenvalues.min();
    let is_fine = least >= -NEGATIVE * eigenvalues.amax();
    let expected = "without a negative eigenvalue";
    demand(is_fine, "inverse_inertia", expected, least)
}

impl Contacts {
    fn check(&self, bodies: usize) -> Result<(), Invalid> {
        let n = self.len();
        as_long("frame", self.frame.len(), n)?;
        as_long("friction", self.friction.len(), n)?;
        as_long("bias", self.bias.len(), n)?;
        if !self.couple_bias.is_empty() {
            as_long("couple_bias", self.couple_bias.len(), n)?;
        }
        as_long("compliance", self.compliance.len(), n)?;
        as_long("gap", self.gap.len(), n)?;
        each(n, |k| {
            let [first, second] = self.bodies[k];
            is_there(first, bodies)?;
            is_there(second, bodies)?;
            demand(
                first != second,
                "bodies",
                "two bodies",
                format_args!("{first} twice"),
            )?;
            check_frame(&self.frame[k])?;
            check_friction(&self.friction[k])?;
            finite("bias", &self.bias[k])?;
            finite("couple_bias", &self.couple_bias(k))?;
            let compliance = self.compliance[k].iter();
            compliance
                .copied()
                .try_for_each(|c| not_negative("compliance", c))?;
            finite("gap", [&self.gap[k]])
        })
    }
}

fn check_frame(frame: &ContactFrame) -> Result<(), Invalid> {
    let unit = |field: &str, v: &Vec3| {
        let is_unit = (v.norm() - 1.0).abs() <= SKEW;
        let found = format_args!("({}, {}, {})", v.x, v.y, v.z);
        demand(is_unit, field, "a unit vector", found)
    };
    unit("normal", &frame.normal)?;
    unit("tangent", &frame.tangent)?;
    let skew = frame.normal.dot(&frame.tangent);
    demand(
        skew.abs() <= SKEW,
        "tangent",
        "at right angles to the normal",
        skew,
    )?;
    finite("arms", frame.arms.iter().flat_map(|arm| arm.iter()))
}

fn check_friction(friction: &Friction) -> Result<(), Invalid> {
    friction.law.check()?;
    not_negative("friction.mu", friction.mu[0])?;
    not_negative("friction.mu", friction.mu[1])?;
    not_negative("friction.length", friction.length)
}

impl Rows {
    fn check(&self, bodies: usize) -> Result<(), Invalid> {
        let n = self.len();
        // A problem without rows may not have been numbered yet.
        if n > 0 || !self.start.is_empty() {
            as_long("start", self.start.len(), n + 1)?;
            let is_first = self.start.first() == Some(&0);
            demand(is_first, "start", "0 at first", self.start[0])?;
        }
        let entries = self.start.last().map_or(0, |e| *e as usize);
        as_long("body", self.body.len(), entries)?;
        as_long("jacobian", self.jacobian.len(), entries)?;
        as_long("bias", self.bias.len(), n)?;
        as_long("compliance", self.compliance.len(), n)?;
        as_long("position_error", self.position_error.len(), n)?;
        for body in &self.body {
            is_there(*body, bodies)?;
        }
        // All of them before anything is looked up.
        each(n, |k| {
            let [from, to] = [self.start[k], self.start[k + 1]];
            let is_span = from <= to && (to - from) as usize <= MOST_BODIES;
            let span = format_args!("{from} to {to}");
            demand(is_span, "start", "ascending, 4 bodies at most", span)
        })?;
        each(n, |k| {
            let [lo, hi] = self.bounds[k];
            let is_range = lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY;
            let range = format!("({lo}, {hi})");
            demand(is_range, "bounds", "an interval with a number in it", range)?;
            finite("bias", [&self.bias[k]])?;
            not_negative("compliance", self.compliance[k])?;
            finite("position_error", [&self.position_error[k]])?;
            let jacobians = self.entries(k).map(|(_, jacobian)| jacobian);
            let numbers = jacobians.flat_map(|j| j.linear.iter().chain(j.angular.iter()));
            finite("jacobian", numbers)
        })
    }
}
