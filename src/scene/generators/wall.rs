use super::*;

fields! {
    /// A wall of bricks in running bond: every course is half a brick off the one below, and every
    /// second one ends in half bricks. It stands in the plane z = 0.
    pub struct Wall {
        /// Number of courses.
        pub courses: u32 = 20 => at_least(1),
        /// Bricks along a course.
        pub bricks: u32 = 10 => at_least(1),
        /// Length, height and depth of a brick (m).
        pub brick: [f64; 3] = [0.5, 0.25, 0.25] => positive,
        /// Width of the open joints between the bricks of a course (m).
        pub joint: f64 = 0.005 => not_negative,
        /// Middle of the underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours go from brick to brick.
        pub style: Style = Style::default(),
    }
}

impl Generate for Wall {
    fn count(&self) -> u64 {
        let [courses, bricks] = [self.courses, self.bricks].map(u64::from);
        // Odd courses have one brick less and two halves.
        courses.saturating_mul(bricks).saturating_add(courses / 2)
    }

    fn check(&self) -> Check {
        if self.joint >= 0.5 * self.brick[0] {
            let message = format!(
                "joint must be below half of a brick's length, not {}",
                self.joint
            );
            return Err(FieldError::new("joint", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let [length, height, depth] = self.brick;
        let pitch = length + self.joint;
        // Two halves and the joint between them are as long as one brick.
        let half_length = 0.5 * (length - self.joint);
        let brick = |length| build.template(&self.style, None, cuboid([length, height, depth]));
        let (whole, half) = (brick(length)?, brick(half_length)?);
        let left = -0.5 * (f64::from(self.bricks) * pitch - self.joint);
        let mut made = 0;
        for course in 0..self.courses {
            let y = (f64::from(course) + 0.5) * height;
            let halves = course % 2 == 1;
            let pieces = self.bricks + u32::from(halves);
            let mut start = left;
            for piece in 0..pieces {
                let is_half = halves && (piece == 0 || piece + 1 == pieces);
                let (brick, length) = if is_half {
                    (&half, half_length)
                } else {
                    (&whole, length)
                };
                let x = self.at[0] + start + 0.5 * length;
                let pose = Pose::translation(x, self.at[1] + y, self.at[2]);
                build.place(brick, pose, self.style.color(made))?;
                made += 1;
                start += length + self.joint;
            }
        }
        Ok(())
    }
}
