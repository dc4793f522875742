use super::*;

fields! {
    /// Planes of spheres at pseudo-random distances and velocities (Poulsen 2010, 3.8.2).
    ///
    /// Planes and the rows within a plane are evenly spaced. Along a row each sphere is, by chance,
    /// either close enough to the one before to touch it, or well away from it. What touches within the
    /// first step depends on the velocities, so that there are fewer contacts than chances.
    pub struct BallPile {
        /// Planes, rows in a plane, and spheres in a row.
        pub size: u32 = 40 => at_least(1),
        /// Radius (m).
        pub radius: f64 = 0.5 => positive,
        /// Mass of a sphere (kg).
        pub mass: f64 = 1.0 => positive,
        /// The chance that a sphere is close to the one before it in its row (-), from 0 to 1.
        pub contact_chance: f64 = 0.25 => within(0.0, 1.0),
        /// Largest gap of a close pair (m).
        pub close_gap: f64 = 0.0064 => not_negative,
        /// Smallest and largest gap of the other pairs (m).
        pub wide_gap: [f64; 2] = [0.5, 1.5] => not_negative,
        /// Gap between rows and between planes (m).
        pub row_gap: f64 = 0.5 => not_negative,
        /// Speed of the fastest sphere (m/s).
        pub random_velocity: f64 = 1.0 => not_negative,
        /// Seed (`Pcg64`).
        pub seed: u64 = 1,
        /// Centre of the lowest plane (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the planes.
        pub style: Style = Style::default(),
    }
}

impl Generate for BallPile {
    fn count(&self) -> u64 {
        u64::from(self.size).saturating_pow(3)
    }

    fn check(&self) -> Check {
        let [lo, hi] = self.wide_gap;
        if lo > hi {
            let message = format!("wide_gap must be (smallest, largest), not ({lo}, {hi})");
            return Err(FieldError::new("wide_gap", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let radius = self.radius;
        let mut ball = build.template(&self.style, Some(self.mass), Geometry::Ball { radius })?;
        let mut random = Random::new(self.seed);
        let n = self.size;
        let diameter = 2.0 * radius;
        let pitch = diameter + self.row_gap;
        let middle = 0.5 * f64::from(n - 1);
        let mean_gap = self.contact_chance * 0.5 * self.close_gap
            + (1.0 - self.contact_chance) * 0.5 * (self.wide_gap[0] + self.wide_gap[1]);
        for j in 0..n {
            let color = self.style.color(j as usize);
            for k in 0..n {
                // Rows have random lengths; they are centred as they would be on average.
                let mut x = -middle * (diameter + mean_gap);
                for i in 0..n {
                    if i > 0 {
                        let close = random.unit() < self.contact_chance;
                        let [lo, hi] = if close {
                            [0.0, self.close_gap]
                        } else {
                            self.wide_gap
                        };
                        x += diameter + random.range(lo, hi);
                    }
                    let (y, z) = (f64::from(j) * pitch, (f64::from(k) - middle) * pitch);
                    ball.linear_velocity = random.in_ball(self.random_velocity);
                    build.place(&ball, at(self.at, Vec3::new(x, y, z)), color)?;
                }
            }
        }
        Ok(())
    }
}
