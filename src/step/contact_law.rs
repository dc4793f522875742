//! The contact laws of docs/method.md, section 4, each a pure function: what the rows of one contact aim at.
//!
//! A bias is what a row's velocity J u is raised by to become w (m/s); signs are those of w.

use crate::math::Vec3;
use crate::world::Stabilisation;

/// A contact at the midpoint, and how its bodies approach each other there.
#[derive(Clone, Copy, Debug)]
pub struct Approach {
    /// Gap (m), negative where the bodies overlap.
    pub gap: f64,
    /// γ^S along n, t₁ and t₂ (m/s), before forces act.
    pub velocity: [f64; 3],
    /// Length of the (sub)step h (s).
    pub h: f64,
}

/// The restitution of one contact.
#[derive(Clone, Copy, Debug)]
pub struct Restitution {
    /// ε of the normal row (-).
    pub normal: f64,
    /// ε_T of the tangential rows (-).
    pub tangential: f64,
    /// Approach speed up to which ε is ignored (m/s); 0 ignores it never.
    pub threshold: f64,
}

/// Whether the bodies touch within this step: they overlap, or they bounce before it ends.
pub fn is_closed(at: &Approach, restitution: &Restitution) -> bool {
    let fast = at.velocity[0] < -restitution.threshold;
    let bounces = restitution.normal > 0.0 && fast && at.gap + at.h * at.velocity[0] < 0.0;
    at.gap <= 0.0 || bounces
}

/// Newton's impact law of a closed contact: w = γ^E + ε γ^S.
pub fn impact(at: &Approach, restitution: &Restitution) -> [f64; 3] {
    let [n, t1, t2] = at.velocity;
    let counts = n < -restitution.threshold || restitution.threshold == 0.0;
    let normal = if counts { restitution.normal * n } else { 0.0 };
    [
        normal,
        restitution.tangential * t1,
        restitution.tangential * t2,
    ]
}

/// The speculative law of an open contact: w_N = γ_N + g/h, so that the gap may close but no more.
pub fn speculative(at: &Approach) -> f64 {
    at.gap / at.h
}

/// Baumgarte's push out of an overlap: max(β(g + slop)/h, −max_speed) for g < −slop.
pub fn baumgarte(stabilisation: &Stabilisation, gap: f64, h: f64) -> f64 {
    match *stabilisation {
        Stabilisation::Baumgarte {
            beta,
            slop,
            max_speed,
        } if gap < -slop => (beta * (gap + slop) / h).max(-max_speed),
        _ => 0.0,
    }
}

/// The implicit spring of a compliant contact whose bodies overlap: w_N = γ_N + max(g/h, −C Λ_N of the
/// last step) + C Λ_N. g/h is where the spring of the last force would be, and it never pushes faster out
/// than that force lets it. `impact` is what Newton's law asks for; the faster one of both holds.
pub fn spring(at: &Approach, compliance: f64, last_normal: f64, impact: f64) -> f64 {
    impact.min((at.gap / at.h).max(-(compliance * last_normal)))
}

/// The spring of a compliant contact along one of its friction rows, w = γ + C (Λ − Λ of the last step):
/// it slides along where friction does not hold it.
pub fn friction_spring(compliance: f64, last: f64) -> f64 {
    -(compliance * last)
}

/// How two bodies turn as one (rad/s): the rotation that both of them share with the line between their
/// centres. A body that rolls on one at rest has none of it, and neither have two that roll side by side.
/// `spin` are the bodies' angular velocities (rad/s), `apart` leads from the first centre to the second (m),
/// and `speed` is its rate (m/s).
pub fn common_rotation(spin: [Vec3; 2], apart: Vec3, speed: Vec3, h: f64) -> Vec3 {
    let both = shared(spin[0], spin[1]);
    if both == Vec3::zeros() {
        return both;
    }
    // The line half a step ago: there the last step's motion along a circle was at right angles to it.
    let line = apart - speed * (0.5 * h);
    let square = line.norm_squared();
    if square == 0.0 {
        return both;
    }
    // A rotation about the line does not turn it.
    let about = line * (line.dot(&both) / square);
    about + shared(both - about, line.cross(&speed) / square)
}

/// The slower one of two rotations, as far as the faster one has it, too.
fn shared(first: Vec3, second: Vec3) -> Vec3 {
    let (slow, fast) = if first.norm_squared() <= second.norm_squared() {
        (first, second)
    } else {
        (second, first)
    };
    let square = slow.norm_squared();
    if square == 0.0 {
        return Vec3::zeros();
    }
    slow * (slow.dot(&fast) / square).clamp(0.0, 1.0)
}

/// How fast two bodies that turn as one part within a step (m/s), because their centres move along
/// tangents and they themselves along circles: R/h with apart + θ × apart = exp(θ) apart + R, θ = h ω.
/// Without this term friction would hold on to what is not there, and a chain wound on a drum would
/// tighten from step to step.
pub fn drift(common: Vec3, apart: Vec3, h: f64) -> Vec3 {
    if common == Vec3::zeros() {
        return common;
    }
    let turn = common * h;
    let square = turn.norm_squared();
    let angle = square.sqrt();
    // 1 − sin θ/θ and (1 − cos θ)/θ².
    let (along, across) = if angle < 1e-2 {
        (
            square / 6.0 * (1.0 - square / 20.0),
            0.5 * (1.0 - square / 12.0),
        )
    } else {
        (1.0 - angle.sin() / angle, (1.0 - angle.cos()) / square)
    };
    let once = turn.cross(&apart);
    (once * along - turn.cross(&once) * across) / h
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;

    const H: f64 = 0.01;

    fn approach(gap: f64, normal: f64) -> Approach {
        Approach {
            gap,
            velocity: [normal, 0.5, -0.25],
            h: H,
        }
    }

    const BOUNCY: Restitution = Restitution {
        normal: 0.5,
        tangential: 0.1,
        threshold: 0.2,
    };

    #[test]
    fn a_contact_is_closed_where_it_overlaps_or_bounces_within_the_step() {
        assert!(is_closed(&approach(0.0, 3.0), &BOUNCY));
        assert!(is_closed(&approach(0.005, -1.0), &BOUNCY));
        // Too far, too slow, and without restitution there is nothing to bounce.
        assert!(!is_closed(&approach(0.02, -1.0), &BOUNCY));
        assert!(!is_closed(&approach(0.001, -0.15), &BOUNCY));
        let dull = Restitution {
            normal: 0.0,
            ..BOUNCY
        };
        assert!(!is_closed(&approach(0.005, -1.0), &dull));
    }

    #[test]
    fn an_impact_returns_a_share_of_the_speed() {
        assert_eq!(impact(&approach(-0.1, -2.0), &BOUNCY), [-1.0, 0.05, -0.025]);
        // Below the threshold the normal speed is lost.
        assert_eq!(impact(&approach(-0.1, -0.1), &BOUNCY)[0], 0.0);
        let always = Restitution {
            threshold: 0.0,
            ..BOUNCY
        };
        assert_eq!(impact(&approach(-0.1, -0.1), &always)[0], -0.05);
    }

    #[test]
    fn an_open_contact_may_close_its_gap_within_the_step() {
        // w = γ + g/h = 0 at the speed that closes the gap in just h.
        let at = approach(0.02, -2.0);
        assert_eq!(at.velocity[0] + speculative(&at), 0.0);
    }

    #[test]
    fn baumgarte_pushes_beyond_the_slop_up_to_its_speed() {
        let rule = Stabilisation::Baumgarte {
            beta: 0.2,
            slop: 0.001,
            max_speed: 0.5,
        };
        assert_eq!(baumgarte(&rule, -0.001, H), 0.0);
        assert!((baumgarte(&rule, -0.011, H) + 0.2).abs() < 1e-15);
        assert_eq!(baumgarte(&rule, -1.0, H), -0.5);
        assert_eq!(baumgarte(&Stabilisation::None, -1.0, H), 0.0);
    }

    #[test]
    fn a_spring_balances_at_its_depth() {
        // Λ = −g/(h C) keeps w = 0 at rest, and a spring without a last force does not push.
        let (gap, compliance) = (-1e-4, 0.02);
        let at = approach(gap, 0.0);
        let impulse = -gap / (H * compliance);
        let bias = spring(&at, compliance, impulse, 0.0);
        assert!((bias + compliance * impulse).abs() < 1e-15);
        assert_eq!(spring(&at, compliance, 0.0, 0.0), 0.0);
        // A bounce faster than the spring's own push stands.
        assert_eq!(spring(&at, compliance, impulse, -3.0), -3.0);
        assert_eq!(friction_spring(0.5, 3.0), -1.5);
    }

    #[test]
    fn bodies_on_one_turntable_turn_as_one() {
        let spin = Vec3::y() * 2.0;
        let apart = Vec3::new(0.4, 0.1, 0.0);
        // The second centre moves along a circle: half a step ago its velocity was ω × line.
        let line = apart;
        let speed = spin.cross(&line);
        let common = common_rotation([spin, spin], line + speed * (0.5 * H), speed, H);
        assert!((common - spin).norm() < 1e-12);
        // Rolling on something at rest, or side by side, is no common rotation.
        let zero = Vec3::zeros();
        assert_eq!(common_rotation([zero, spin], apart, speed, H), zero);
        let across = Vec3::x();
        assert_eq!(common_rotation([spin, spin], across, zero, H), zero);
    }

    #[test]
    fn the_drift_is_what_a_tangent_misses_of_a_circle() {
        let apart = Vec3::new(0.3, -0.2, 0.5);
        for rate in [1e-3, 0.5, 40.0] {
            let common = Vec3::new(1.0, 2.0, -0.5) * rate;
            let turn = common * H;
            let tangent = apart + turn.cross(&apart);
            let circle = Quat::from_scaled_axis(turn) * apart;
            let error = drift(common, apart, H) * H - (tangent - circle);
            assert!(error.norm() < 1e-14, "{rate}: {error:?}");
        }
    }
}
