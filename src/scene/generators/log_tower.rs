use super::*;

fields! {
    /// A tower of logs, crosswise from layer to layer, more or less in order.
    pub struct LogTower {
        /// Layers.
        pub layers: u32 = 10 => at_least(1),
        /// Logs per layer.
        pub logs: u32 = 3 => at_least(1),
        /// Length of a log (m).
        pub length: f64 = 3.0 => positive,
        /// Radius of a log (m).
        pub radius: f64 = 0.15 => positive,
        /// How much thicker and thinner logs are, as a share of the radius; from 0 to 0.5. Thin ones may
        /// carry nothing.
        pub variation: f64 = 0.0 => within(0.0, 0.5),
        /// How far logs are turned at random, to either side (degrees).
        pub turn: f64 = 0.0 => within(0.0, 45.0),
        /// How far logs are shifted at random, as a share of the free width between them; from 0 to 1.
        pub shift: f64 = 0.0 => within(0.0, 1.0),
        /// Gap left between the layers (m).
        pub gap: f64 = 0.0 => not_negative,
        /// Seed of the random numbers.
        pub seed: u64 = 1,
        /// Middle of its foot (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours go from log to log.
        pub style: Style = Style::default(),
    }
}

impl Generate for LogTower {
    fn count(&self) -> u64 {
        u64::from(self.layers) * u64::from(self.logs)
    }

    fn check(&self) -> Check {
        let thickest = 2.0 * self.radius * (1.0 + self.variation) * f64::from(self.logs);
        if thickest > self.length {
            let message = format!(
                "{} logs side by side need {thickest} m, more than their length of {} m",
                self.logs, self.length
            );
            return Err(FieldError::new("logs", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let mut random = Random::new(self.seed);
        let thickest = self.radius * (1.0 + self.variation);
        // The outermost logs are as far out as the crosswise ones below them reach safely.
        let span = 0.8 * self.length - 2.0 * thickest;
        let pitch = span / f64::from(self.logs.max(2) - 1);
        let free = 0.5 * (pitch - 2.0 * thickest).max(0.0);
        let mut foot = 0.0;
        let mut made = 0;
        for layer in 0..self.layers {
            let crosswise = layer % 2 == 1;
            for log in 0..self.logs {
                let radius = self.radius * (1.0 + random.range(-self.variation, self.variation));
                let angle = random.range(-self.turn, self.turn).to_radians();
                let middle = f64::from(log) * pitch - 0.5 * span;
                let aside = if self.logs == 1 { 0.0 } else { middle }
                    + random.range(-self.shift, self.shift) * free;
                let along = random.range(-self.shift, self.shift) * 0.05 * self.length;
                // The log's axis y goes along z, or along x.
                let (x, z, axis) = if crosswise {
                    (along, aside, Vec3::z_axis())
                } else {
                    (aside, along, Vec3::x_axis())
                };
                let lying = Quat::from_axis_angle(&axis, std::f64::consts::FRAC_PI_2);
                let mut pose = at(self.at, Vec3::new(x, foot + radius, z));
                pose.rotation = Quat::from_axis_angle(&Vec3::y_axis(), angle) * lying;
                let half_height = 0.5 * self.length;
                let geometry = Geometry::Cylinder {
                    half_height,
                    radius,
                };
                let body = build.template(&self.style, None, geometry)?;
                build.place(&body, pose, self.style.color(made))?;
                made += 1;
            }
            foot += 2.0 * thickest + self.gap;
        }
        Ok(())
    }
}
