use super::*;

fields! {
    /// Planar discs in a triangle (Munksgaard & Kaiser).
    ///
    /// The discs are spheres in the plane z = 0 with the inertia ½ m r² of a disc, so that every pair
    /// touches in one point and nothing leaves the plane. With n layers there are 3n/2·(n − 1) contacts
    /// between discs. Bodies follow each other layer by layer from below, and along x.
    pub struct DiscPyramid {
        /// Number of layers.
        pub layers: u32 = 10 => at_least(1),
        /// Radius (m).
        pub radius: f64 = 1.0 => positive,
        /// Mass of a disc (kg).
        pub mass: f64 = 1.0 => positive,
        /// Constant force that pushes the top disc down (N).
        pub load: f64 = 0.0 => finite,
        /// Whether a fixed stop on either side touches the outer discs of the lowest layer. Discs roll,
        /// and more than a few layers would push them apart. The stops come first.
        pub stops: bool = true,
        /// Middle of the underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the layers.
        pub style: Style = Style::default(),
    }
}

impl Generate for DiscPyramid {
    fn count(&self) -> u64 {
        triangular(u64::from(self.layers)).saturating_add(if self.stops { 2 } else { 0 })
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let radius = self.radius;
        if self.stops {
            let half_extents = Vec3::new(0.25 * radius, 0.6 * radius, radius);
            let mut stop = build.template(&self.style, None, Geometry::Cuboid { half_extents })?;
            stop.kind = BodyKind::Fixed;
            for side in [-1.0, 1.0] {
                let x = side * (f64::from(self.layers) * radius + half_extents.x);
                build.place(&stop, at(self.at, Vec3::new(x, half_extents.y, 0.0)), None)?;
            }
        }
        let mut disc = build.template(&self.style, Some(self.mass), Geometry::Ball { radius })?;
        let i = 0.5 * self.mass * radius * radius;
        disc.inertia = Some(SymMat3::diagonal(i, i, i));
        let rise = radius * 3.0_f64.sqrt();
        let mut top = None;
        for j in 0..self.layers {
            let n = self.layers - j;
            for k in 0..n {
                let x = (2.0 * f64::from(k) - f64::from(n - 1)) * radius;
                let y = radius + f64::from(j) * rise;
                let pose = at(self.at, Vec3::new(x, y, 0.0));
                top = Some(build.place(&disc, pose, self.style.color(j as usize))?);
            }
        }
        if let Some(top) = top {
            let load = Twist::new(Vec3::new(0.0, -self.load, 0.0), Vec3::zeros());
            build.world.bodies.set_force(top.index(), load);
        }
        Ok(())
    }
}
