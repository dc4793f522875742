use super::*;

fields! {
    /// A house of cards: on every storey pairs of leaning cards, one pair less than on the storey below,
    /// and planks from pair to pair. Every card just touches what it leans on or stands on.
    pub struct CardHouse {
        /// Number of storeys, and of pairs on the lowest one.
        pub storeys: u32 = 4 => at_least(1),
        /// Thickness, length and width of a leaning card (m).
        pub card: [f64; 3] = [0.05, 1.0, 0.7] => positive,
        /// Angle between a leaning card and the vertical (degrees), from 5 to 40.
        pub lean: f64 = 18.0 => within(5.0, 40.0),
        /// Middle of the underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the storeys, planks in between.
        pub style: Style = Style::default(),
    }
}

impl Generate for CardHouse {
    fn count(&self) -> u64 {
        // Two cards per pair, and a plank between any two neighbours of a storey.
        let n = u64::from(self.storeys);
        triangular(n)
            .saturating_mul(2)
            .saturating_add(triangular(n.saturating_sub(1)))
    }

    fn check(&self) -> Check {
        let [thickness, length, _] = self.card;
        if thickness * 4.0 > length {
            let message = "card must be at least four times as long as it is thick";
            return Err(FieldError::new("card", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let [t, l, w] = self.card;
        let lean = self.lean.to_radians();
        let (sin, cos) = lean.sin_cos();
        // Half extents of a leaning card's bounding box, and how far its middle is from the plane
        // in which the two cards of a pair touch: the upper inner edge is at (t cos + l sin)/2.
        let half_height = 0.5 * (t * sin + l * cos);
        let inset = 0.5 * (t * cos + l * sin);
        // Feet stand l sin from the middle of the pair; a thickness of plank remains beyond them.
        let pitch = 2.0 * (l * sin + t);

        let card = build.template(&self.style, None, cuboid([t, l, w]))?;
        let plank = build.template(&self.style, None, cuboid([pitch - 0.2 * t, t, w]))?;
        let mut base = 0.0;
        for storey in 0..self.storeys {
            let pairs = self.storeys - storey;
            let left = -0.5 * f64::from(pairs - 1) * pitch;
            let color = 2 * storey as usize;
            for k in 0..pairs {
                let middle = left + f64::from(k) * pitch;
                for side in [-1.0, 1.0] {
                    let place = Vec3::new(middle + side * inset, base + half_height, 0.0);
                    let mut pose = at(self.at, place);
                    // The left card leans to the right: a negative turn about z.
                    pose.rotation = Quat::from_axis_angle(&Vec3::z_axis(), side * lean);
                    build.place(&card, pose, self.style.color(color))?;
                }
            }
            base += 2.0 * half_height;
            for k in 1..pairs {
                let middle = left + (f64::from(k) - 0.5) * pitch;
                let pose = at(self.at, Vec3::new(middle, base + 0.5 * t, 0.0));
                build.place(&plank, pose, self.style.color(color + 1))?;
            }
            base += t;
        }
        Ok(())
    }
}
