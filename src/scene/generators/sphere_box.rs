use super::*;

fields! {
    /// Spheres that fall into an open box of fixed walls (Nützi 2011, 6.2).
    ///
    /// The spheres start in loose layers, each a little off its place so that nothing is symmetric.
    pub struct SphereBox {
        /// Number of spheres.
        pub count: u32 = 300 => at_least(1),
        /// Radius (m).
        pub radius: f64 = 0.1 => positive,
        /// Inner length of the box along x and z (m).
        pub width: f64 = 1.6 => positive,
        /// Height of the walls (m).
        pub wall_height: f64 = 1.6 => positive,
        /// Thickness of floor and walls (m).
        pub wall_thickness: f64 = 0.2 => positive,
        /// Gap between the starting places of neighbours, in radii (-).
        pub gap: f64 = 0.25 => not_negative,
        /// Height of the lowest spheres above the floor (m).
        pub drop_height: f64 = 0.2 => not_negative,
        /// Seed of the displacements (`Pcg64`).
        pub seed: u64 = 1,
        /// Centre of the inside of the floor (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Colour of floor and walls.
        pub wall_color: Option<Color> = None,
        /// Look and feel; colours go from sphere to sphere.
        pub style: Style = Style::default(),
    }
}

impl SphereBox {
    fn pitch(&self) -> f64 {
        self.radius * (2.0 + self.gap)
    }

    /// Spheres along one edge of a layer.
    fn per_edge(&self) -> u32 {
        // At most as many as there are spheres, so that the cast cannot overflow.
        ((self.width / self.pitch()).floor()).clamp(0.0, f64::from(self.count)) as u32
    }

    fn walls(&self, build: &mut Builder<'_>) -> Check {
        let (t, inner) = (0.5 * self.wall_thickness, 0.5 * self.width);
        let height = 0.5 * self.wall_height;
        let outer = inner + 2.0 * t;
        // Floor below everything; the walls along x reach over the ends of those along z.
        for (name, center, half_extents) in [
            ("floor", [0.0, -t, 0.0], [outer, t, outer]),
            ("wall +x", [inner + t, height, 0.0], [t, height, outer]),
            ("wall -x", [-inner - t, height, 0.0], [t, height, outer]),
            ("wall +z", [0.0, height, inner + t], [inner, height, t]),
            ("wall -z", [0.0, height, -inner - t], [inner, height, t]),
        ] {
            let half_extents = Vec3::from(half_extents);
            let mut wall = build.template(&self.style, None, Geometry::Cuboid { half_extents })?;
            wall.name = name.into();
            wall.kind = BodyKind::Fixed;
            let color = self.wall_color.map(Color::linear);
            build.place(&wall, at(self.at, Vec3::from(center)), color)?;
        }
        Ok(())
    }
}

impl Generate for SphereBox {
    fn count(&self) -> u64 {
        u64::from(self.count) + 5
    }

    fn check(&self) -> Check {
        if self.per_edge() == 0 {
            let message = format!(
                "width must hold at least one sphere and its gap ({} m), not {}",
                self.pitch(),
                self.width
            );
            return Err(FieldError::new("width", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        self.walls(build)?;
        let radius = self.radius;
        let ball = build.template(&self.style, None, Geometry::Ball { radius })?;
        let mut random = Random::new(self.seed);
        let n = self.per_edge();
        let middle = 0.5 * f64::from(n - 1);
        let jitter = 0.45 * self.gap * radius;
        for s in 0..self.count {
            let (i, k, j) = (s % n, s / n % n, s / n / n);
            let place = Vec3::new(
                (f64::from(i) - middle) * self.pitch(),
                self.drop_height + radius + f64::from(j) * self.pitch(),
                (f64::from(k) - middle) * self.pitch(),
            );
            let mut off = || random.range(-jitter, jitter);
            let off = Vec3::new(off(), off(), off());
            let pose = Pose::new(Vec3::from(self.at) + place + off, Quat::identity());
            build.place(&ball, pose, self.style.color(s as usize))?;
        }
        Ok(())
    }
}
