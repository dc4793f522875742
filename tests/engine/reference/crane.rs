//! The simple crane: a load on a light cable, 571 times as heavy as one of its links.
//!
//! From the pin down, spherical joints throughout:
//!
//! | body | mass | shape | joints |
//! |---|---|---|---|
//! | 20 links of the cable | 3.5 kg each | solid cylinder, 0.5 m long, radius 0.017 m (steel) | centres of its ends |
//! | hook | 70 kg | solid cuboid 0.2 × 0.3 × 0.2 m | centres of its upper and lower faces |
//! | load | 2,000 kg | solid cuboid 0.9 × 1 × 0.9 m (concrete) | centre of its upper face |
//!
//! All heights are along the chain. It is let go at rest as a straight line, 10° out.

use super::chain::{Link, PlanarChain};

/// Links of the cable.
pub const CABLE_LINKS: usize = 20;
/// Mass of a link of the cable (kg).
pub const CABLE_MASS: f64 = 3.5;
/// Length of a link of the cable (m).
pub const LINK_LENGTH: f64 = 0.5;
/// Length of the cable (m).
pub const CABLE_LENGTH: f64 = CABLE_LINKS as f64 * LINK_LENGTH;
/// Radius of the cable (m).
pub const CABLE_RADIUS: f64 = 0.017;
/// Mass of the hook (kg).
pub const HOOK_MASS: f64 = 70.0;
/// Edges of the hook: across, along and across the chain (m).
pub const HOOK_SIZE: [f64; 3] = [0.2, 0.3, 0.2];
/// Mass of the load (kg).
pub const LOAD_MASS: f64 = 2000.0;
/// Edges of the load: across, along and across the chain (m).
pub const LOAD_SIZE: [f64; 3] = [0.9, 1.0, 0.9];
/// Angle from the downward vertical at which it is let go (rad): 10°.
pub const ANGLE: f64 = 10.0 * std::f64::consts::PI / 180.0;
/// Gravity (m/s²).
pub const GRAVITY: f64 = 9.81;
/// Index of the hook in the chain.
pub const HOOK: usize = CABLE_LINKS;
/// Index of the load in the chain.
pub const LOAD: usize = CABLE_LINKS + 1;

impl PlanarChain {
    /// The simple crane, about to be let go: see [`crane`](super::crane).
    pub fn simple_crane() -> Self {
        let mut links = vec![Link::cylinder(CABLE_MASS, LINK_LENGTH, CABLE_RADIUS); CABLE_LINKS];
        links.push(Link::cuboid(HOOK_MASS, HOOK_SIZE[1], HOOK_SIZE[0]));
        links.push(Link::cuboid(LOAD_MASS, LOAD_SIZE[1], LOAD_SIZE[0]));
        let mut chain = Self::new(&links, GRAVITY);
        chain.set_state(&vec![ANGLE; links.len()], &vec![0.0; links.len()]);
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::Method;
    use super::*;
    use moreau::math::Vec3;
    use moreau::world::{Geometry, Shape};

    /// Nothing dissipates: at 6 kHz the method loses next to nothing in the fast modes of the cable,
    /// which a straight release hardly excites.
    #[test]
    fn energy_is_conserved() {
        for method in [Method::Cholesky, Method::Recursion] {
            let mut chain = PlanarChain::simple_crane().with_method(method);
            let before = chain.energy();
            for frame in 1..=600 {
                chain.advance(1.0 / 60.0);
                let change = chain.energy() / before - 1.0;
                assert!(
                    change.abs() < 1e-11,
                    "{method:?}, frame {frame}: the energy changed by {change:e} of itself"
                );
            }
        }
    }

    /// Against half the step the load stays within 1e-11 m, and every link within 1e-9 m, over 10 s.
    #[test]
    fn six_kilohertz_are_enough() {
        let mut chain = PlanarChain::simple_crane().with_method(Method::Recursion);
        let mut fine = chain.clone();
        for frame in 1..=600 {
            chain.advance(1.0 / 60.0);
            for _ in 0..200 {
                fine.step(0.5 * PlanarChain::STEP);
            }
            for k in 0..=LOAD {
                let ([x, y], [fine_x, fine_y]) = (chain.center(k), fine.center(k));
                let error = (x - fine_x).hypot(y - fine_y);
                let tolerance = if k == LOAD { 1e-11 } else { 1e-9 };
                assert!(
                    error < tolerance,
                    "frame {frame}, link {k}: off by {error:e} m"
                );
            }
        }
    }

    /// The links are as inert as the engine's bodies of the same shapes.
    #[test]
    fn links_are_solid_shapes() {
        let cuboid = |size: [f64; 3]| Geometry::Cuboid {
            half_extents: Vec3::from(size) / 2.0,
        };
        let cable = Geometry::Cylinder {
            half_height: LINK_LENGTH / 2.0,
            radius: CABLE_RADIUS,
        };
        let chain = PlanarChain::simple_crane();
        for (k, geometry) in [
            (0, cable),
            (HOOK, cuboid(HOOK_SIZE)),
            (LOAD, cuboid(LOAD_SIZE)),
        ] {
            let link = chain.links()[k];
            let solid = Shape::new(geometry).unwrap().mass_properties(1.0);
            let inertia = solid.inertia.zz * link.mass / solid.mass;
            assert!(
                (inertia / link.inertia - 1.0).abs() < 1e-14,
                "link {k}: {inertia}, not {} kg m²",
                link.inertia
            );
        }
    }
}
