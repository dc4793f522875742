use super::*;

fields! {
    /// A masonry arch: equal wedge-shaped stones along a circle, each with its faces on those of its
    /// neighbours, between two fixed abutments. It stands in the plane z = 0 and needs no mortar: a half
    /// circle carries itself from a thickness of 0.107 of its mean radius on (Milankovitch 1907).
    ///
    /// The abutments come first, "left abutment" and "right abutment"; the stones follow from left to right.
    pub struct Arch {
        /// Number of stones.
        pub stones: u32 = 15 => at_least(2),
        /// Distance between the abutments (m).
        pub span: f64 = 4.0 => positive,
        /// Height of the underside of the crown above the springing (m); half of the span for a half circle,
        /// and not more.
        pub rise: f64 = 2.0 => positive,
        /// Thickness of the ring of stones, along its radius (m).
        pub thickness: f64 = 0.6 => positive,
        /// Extent along z (m).
        pub depth: f64 = 1.0 => positive,
        /// Height of the springing, where the lowest stones begin, above the ground (m).
        pub springing: f64 = 0.5 => positive,
        /// Middle between the abutments, on the ground (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours go from stone to stone, the abutments have the first one.
        pub style: Style = Style::default(),
    }
}

impl Arch {
    /// Radius of the underside, and half of the angle that the ring goes through:
    /// R = (s²/4 + r²)/(2r), cos φ = (R − r)/R.
    fn circle(&self) -> (f64, f64) {
        let (half, rise) = (0.5 * self.span, self.rise);
        let radius = (half * half + rise * rise) / (2.0 * rise);
        (radius, half.atan2(radius - rise))
    }

    /// A prism along z with these corners.
    fn prism(&self, corners: &[[f64; 2]]) -> Geometry {
        let z = 0.5 * self.depth;
        let sides = |[x, y]: &[f64; 2]| [Vec3::new(*x, *y, -z), Vec3::new(*x, *y, z)];
        Geometry::ConvexHull {
            points: corners.iter().flat_map(sides).collect(),
        }
    }
}

impl Generate for Arch {
    fn count(&self) -> u64 {
        u64::from(self.stones) + 2
    }

    fn check(&self) -> Check {
        if self.rise > 0.5 * self.span {
            let message = format!("rise must be at most half of the span, not {}", self.rise);
            return Err(FieldError::new("rise", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let (inner, half_angle) = self.circle();
        let (t, foot) = (self.thickness, -self.springing);
        for (name, side) in [("left abutment", -1.0), ("right abutment", 1.0)] {
            // From the springing line out along the radius, and down to the ground.
            let (x, out) = (0.5 * self.span, 0.5 * self.span + t * half_angle.sin());
            let top = t * half_angle.cos();
            let corners = [
                [x, foot],
                [x, 0.0],
                [out, top],
                [out + t, top],
                [out + t, foot],
            ];
            let corners = corners.map(|[x, y]| [side * x, y]);
            let mut abutment = build.template(&self.style, None, self.prism(&corners))?;
            abutment.name = name.into();
            abutment.kind = BodyKind::Fixed;
            let pose = at(self.at, Vec3::new(0.0, self.springing, 0.0));
            build.place(&abutment, pose, self.style.color(0))?;
        }

        // A stone around the middle of its ring, upright as a keystone.
        let angle = 2.0 * half_angle / f64::from(self.stones);
        let middle = inner + 0.5 * t;
        let (sin, cos) = (0.5 * angle).sin_cos();
        let corner = |side: f64, r: f64| [side * r * sin, r * cos - middle];
        let outer = inner + t;
        let corners = [
            corner(-1.0, inner),
            corner(-1.0, outer),
            corner(1.0, outer),
            corner(1.0, inner),
        ];
        let stone = build.template(&self.style, None, self.prism(&corners))?;
        let center = Vec3::new(0.0, self.springing - inner * half_angle.cos(), 0.0);
        for k in 0..self.stones {
            // From the vertical, clockwise as seen from +z.
            let theta = (f64::from(k) + 0.5) * angle - half_angle;
            let (sin, cos) = theta.sin_cos();
            let mut pose = at(self.at, center + Vec3::new(sin, cos, 0.0) * middle);
            pose.rotation = Quat::from_axis_angle(&Vec3::z_axis(), -theta);
            build.place(&stone, pose, self.style.color(k as usize))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::math::Vec3;
    use crate::scene::Scene;
    use crate::world::{Geometry, World};

    fn world(arch: &str) -> World {
        let ground = "(kind: Fixed, shape: HalfSpace())";
        let text = format!("(bodies: [{ground}], generators: [Arch({arch})])");
        Scene::parse(&text, "arch").unwrap().build().unwrap()
    }

    /// The corners of a body in the world.
    fn corners(world: &World, slot: usize) -> Vec<Vec3> {
        let pose = world.bodies.shape_pose(slot);
        match world.bodies.shape[slot].as_ref().unwrap().geometry() {
            Geometry::ConvexHull { points } => {
                points.iter().map(|p| pose.transform_point(*p)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Every two neighbours, abutments among them, share the four corners of a face to rounding.
    #[test]
    fn stones_touch_without_gaps() {
        for arch in [
            "",
            "stones: 2, rise: 1",
            "stones: 8, span: 10, rise: 1.5, springing: 2",
        ] {
            let world = world(arch);
            let slots = world.bodies.slots();
            // The ground and the abutments are 0, 1 and 2.
            let order: Vec<usize> = [1].into_iter().chain(3..slots).chain([2]).collect();
            for pair in order.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|slot| corners(&world, slot));
                let is_shared = |p: &&Vec3| b.iter().any(|q| (*p - q).norm() < 1e-12);
                assert_eq!(a.iter().filter(is_shared).count(), 4, "{arch}: {pair:?}");
            }
        }
    }
}
