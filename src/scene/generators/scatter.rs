use super::*;

fields! {
    /// Bodies of any shapes, one shape after the other, turned at random, in a loose lattice that fills
    /// up layer by layer.
    pub struct Scatter {
        /// Number of bodies.
        pub count: u32 = 50 => at_least(1),
        /// The shapes; needed. Their masses come from the material's density.
        pub shapes: Vec<Geometry> = Vec::new(),
        /// Bodies along x and z in a layer.
        pub layer: [u32; 2] = [5, 5] => at_least(1),
        /// Distance between neighbouring places (m).
        pub pitch: f64 = 1.5 => positive,
        /// How far a body may be off its place along each axis (m).
        pub jitter: f64 = 0.2 => not_negative,
        /// Whether bodies are turned at random.
        pub turned: bool = true,
        /// Speed of the fastest random velocity (m/s).
        pub random_velocity: f64 = 0.0 => not_negative,
        /// Seed (`Pcg64`).
        pub seed: u64 = 1,
        /// Middle of the lowest layer (m).
        pub at: [f64; 3] = [0.0, 3.0, 0.0] => finite,
        /// Look and feel; colours go from shape to shape.
        pub style: Style = Style::default(),
    }
}

impl Generate for Scatter {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn check(&self) -> Check {
        if self.shapes.is_empty() {
            let message = "shapes must hold at least one shape";
            return Err(FieldError::new("shapes", message));
        }
        for (k, shape) in self.shapes.iter().enumerate() {
            shape
                .check()
                .map_err(|e| e.inside(&format!("shapes.{k}")))?;
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let mut templates = Vec::with_capacity(self.shapes.len());
        for (k, shape) in self.shapes.iter().enumerate() {
            let inside = |e: FieldError| e.inside(&format!("shapes.{k}"));
            let geometry = build.geometry(shape).map_err(inside)?;
            let template = build
                .template(&self.style, None, geometry)
                .map_err(inside)?;
            if !template.shape.as_ref().is_some_and(|s| s.is_solid()) {
                let message = "the bodies of Scatter are dynamic and need solid shapes";
                return Err(inside(FieldError::new("", message)));
            }
            templates.push(template);
        }
        let mut random = Random::new(self.seed);
        let [nx, nz] = self.layer.map(u64::from);
        for k in 0..u64::from(self.count) {
            let within = k % (nx * nz);
            let (i, row, j) = (within % nx, within / nx, k / (nx * nz));
            let place = Vec3::new(
                (i as f64 - 0.5 * (nx - 1) as f64) * self.pitch,
                j as f64 * self.pitch,
                (row as f64 - 0.5 * (nz - 1) as f64) * self.pitch,
            );
            let mut off = || random.range(-self.jitter, self.jitter);
            let off = Vec3::new(off(), off(), off());
            let which = k as usize % templates.len();
            let turn = if self.turned {
                random.rotation()
            } else {
                Quat::identity()
            };
            build.add(BodySpec {
                pose: Pose::new(Vec3::from(self.at) + place + off, turn),
                linear_velocity: random.in_ball(self.random_velocity),
                color: self.style.color(which),
                ..templates[which].clone()
            })?;
        }
        Ok(())
    }
}
