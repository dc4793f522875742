use super::*;

fields! {
    /// Dominoes along an Archimedean spiral, from the outside in; the first one is falling already.
    pub struct DominoSpiral {
        /// Number of dominoes.
        pub count: u32 = 200 => at_least(1),
        /// Thickness (along the spiral), height and width of a domino (m).
        pub domino: [f64; 3] = [0.08, 0.5, 0.25] => positive,
        /// Distance between the middles of neighbours along the spiral (m).
        pub pitch: f64 = 0.25 => positive,
        /// Radius at the innermost domino (m).
        pub inner_radius: f64 = 1.0 => positive,
        /// Distance between neighbouring turns (m).
        pub turn_distance: f64 = 0.6 => positive,
        /// Angular velocity with which the first domino tips over (rad/s).
        pub push: f64 = 2.5 => finite,
        /// Centre of the spiral on the ground (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours go from domino to domino.
        pub style: Style = Style::default(),
    }
}

impl Generate for DominoSpiral {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn check(&self) -> Check {
        if self.pitch <= self.domino[0] {
            let message = format!(
                "pitch must be more than the thickness of a domino ({} m), not {}",
                self.domino[0], self.pitch
            );
            return Err(FieldError::new("pitch", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let [thickness, height, _] = self.domino;
        let domino = build.template(&self.style, None, cuboid(self.domino))?;

        // r = a + b θ, walked outwards in steps of equal arc length: dθ = ds / √(r² + b²).
        let b = self.turn_distance / std::f64::consts::TAU;
        let radius = |angle: f64| self.inner_radius + b * angle;
        let rate = |angle: f64| 1.0 / radius(angle).hypot(b);
        let mut angles = Vec::with_capacity(self.count as usize);
        let mut angle = 0.0;
        for _ in 0..self.count {
            angles.push(angle);
            // The midpoint rule keeps the pitch to a few parts in ten thousand.
            let middle = angle + 0.5 * self.pitch * rate(angle);
            angle += self.pitch * rate(middle);
        }

        for (k, angle) in angles.into_iter().rev().enumerate() {
            let (sin, cos) = angle.sin_cos();
            let r = radius(angle);
            let place = Vec3::new(r * cos, 0.5 * height, r * sin);
            // Inwards along the spiral, against growing θ.
            let along = -Vec3::new(b * cos - r * sin, 0.0, b * sin + r * cos).normalize();
            let heading = Quat::from_axis_angle(&Vec3::y_axis(), (-along.z).atan2(along.x));
            let mut spec = BodySpec {
                pose: Pose::new(Vec3::from(self.at) + place, heading),
                color: self.style.color(k),
                ..domino.clone()
            };
            if k == 0 {
                // It turns about its lower front edge.
                spec.name = "first domino".into();
                spec.angular_velocity = Vec3::y().cross(&along) * self.push;
                let edge = along * (0.5 * thickness) - Vec3::y() * (0.5 * height);
                spec.linear_velocity = spec.angular_velocity.cross(&-edge);
            }
            build.add(spec)?;
        }
        Ok(())
    }
}
