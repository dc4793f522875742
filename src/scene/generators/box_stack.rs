use super::*;

fields! {
    /// A tower of cubes, the top one heavier or lighter than the others.
    pub struct BoxStack {
        /// Number of cubes.
        pub count: u32 = 10 => at_least(1),
        /// Edge length (m).
        pub edge: f64 = 1.0 => positive,
        /// Mass of a cube (kg).
        pub mass: f64 = 1.0 => positive,
        /// Mass of the top cube as a multiple of `mass` (-).
        pub top_mass_ratio: f64 = 1.0 => positive,
        /// Gap left below every cube (m).
        pub gap: f64 = 0.0 => not_negative,
        /// Middle of the underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours go from cube to cube.
        pub style: Style = Style::default(),
    }
}

impl Generate for BoxStack {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let mut cube = build.template(&self.style, Some(self.mass), cuboid([self.edge; 3]))?;
        for k in 0..self.count {
            if k + 1 == self.count {
                cube.mass = Some(self.mass * self.top_mass_ratio);
            }
            let below = f64::from(k) * self.edge + f64::from(k + 1) * self.gap;
            let y = 0.5 * self.edge + below;
            let pose = at(self.at, Vec3::new(0.0, y, 0.0));
            build.place(&cube, pose, self.style.color(k as usize))?;
        }
        Ok(())
    }
}
