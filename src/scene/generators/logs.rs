use std::ops::Range;

use super::*;

fields! {
    /// A heap of logs that lie side by side along z, between two fixed stakes on either side.
    ///
    /// Every second layer lies in the gaps of the one below and has one log less. At the start the logs of a layer are
    /// a little apart, each on those below it; they settle as their radii let them. The stakes come first and are as
    /// high as the heap is at the start.
    pub struct Logs {
        /// Number of logs.
        pub count: u32 = 99 => at_least(1),
        /// Mean radius of a log (m).
        pub radius: f64 = 0.12 => positive,
        /// How much thicker and thinner logs are, as a share of the radius; from 0 to 0.5.
        pub variation: f64 = 0.1 => within(0.0, 0.5),
        /// Mean length of a log (m).
        pub length: f64 = 4.0 => positive,
        /// How much longer and shorter logs are, as a share of the length; from 0 to 0.3. The stakes stand at a
        /// quarter of the length on either side of the middle.
        pub length_variation: f64 = 0.05 => within(0.0, 0.3),
        /// Distance between the stakes on the left and on the right (m).
        pub width: f64 = 4.0 => positive,
        /// Gap between the thickest logs at the start (m).
        pub gap: f64 = 0.002 => not_negative,
        /// Seed of the random numbers (`Pcg64`).
        pub seed: u64 = 1,
        /// Middle of its foot (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Colour of the stakes.
        pub stake_color: Option<Color> = None,
        /// Look and feel; colours go from log to log.
        pub style: Style = Style::default(),
    }
}

impl Logs {
    /// Distance between the middles of neighbours at the start.
    fn pitch(&self) -> f64 {
        2.0 * self.radius * (1.0 + self.variation) + self.gap
    }

    /// Logs in the lowest layer.
    fn per_layer(&self) -> u32 {
        // A little more than there are logs at most, so that the cast cannot overflow.
        (self.width / self.pitch()).clamp(0.0, f64::from(self.count) + 1.0) as u32
    }

    /// Layers, each as places across the heap at the start.
    fn layers(&self) -> impl Iterator<Item = impl Iterator<Item = f64>> {
        let (n, pitch) = (self.per_layer(), self.pitch());
        (0..).map(move |layer| {
            let logs = n - layer % 2;
            (0..logs).map(move |log| (f64::from(log) - 0.5 * f64::from(logs - 1)) * pitch)
        })
    }

    /// Radius and place in the cross-section of every log, laid down on those before it.
    fn sections(&self, random: &mut Random) -> Vec<(f64, Vec3)> {
        let mut made: Vec<(f64, Vec3)> = Vec::with_capacity(self.count as usize);
        let mut layers: Vec<Range<usize>> = Vec::new();
        for layer in self.layers() {
            let first = made.len();
            for (column, x) in layer.take(self.count as usize - first).enumerate() {
                let radius = self.radius * (1.0 + random.range(-self.variation, self.variation));
                // Neighbours across are a pitch apart or half of one, and only thin logs let it touch those three layers down.
                let near = column.saturating_sub(2)..column + 3;
                let below = layers.iter().rev().take(3).flat_map(|layer| {
                    let own = &made[layer.clone()];
                    own.iter().skip(near.start).take(near.len())
                });
                let heights = below.filter_map(|(r, at)| {
                    let (reach, aside) = (radius + r, x - at.x);
                    (aside.abs() < reach).then(|| at.y + (reach * reach - aside * aside).sqrt())
                });
                let height = heights.fold(radius, f64::max);
                made.push((radius, Vec3::new(x, height, 0.0)));
            }
            layers.push(first..made.len());
            if made.len() == self.count as usize {
                break;
            }
        }
        made
    }

    fn stakes(&self, build: &mut Builder<'_>, height: f64) -> Check {
        let half_extents = Vec3::new(self.radius, 0.5 * height, self.radius);
        let mut stake = build.template(&self.style, None, Geometry::Cuboid { half_extents })?;
        stake.kind = BodyKind::Fixed;
        let out = 0.5 * self.width + self.radius;
        for x in [-out, out] {
            for z in [-0.25 * self.length, 0.25 * self.length] {
                let pose = at(self.at, Vec3::new(x, 0.5 * height, z));
                build.place(&stake, pose, self.stake_color.map(Color::linear))?;
            }
        }
        Ok(())
    }
}

impl Generate for Logs {
    fn count(&self) -> u64 {
        u64::from(self.count) + 4
    }

    fn check(&self) -> Check {
        if self.width < 2.0 * self.pitch() {
            let message = format!(
                "width must hold at least two logs and their gaps ({} m), not {}",
                2.0 * self.pitch(),
                self.width
            );
            return Err(FieldError::new("width", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let mut random = Random::new(self.seed);
        let sections = self.sections(&mut random);
        let tops = sections.iter().map(|(radius, at)| at.y + radius);
        self.stakes(build, tops.fold(0.0, f64::max))?;
        // The log's axis y goes along z.
        let lying = Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_2);
        for (made, (radius, place)) in sections.into_iter().enumerate() {
            let vary = random.range(-self.length_variation, self.length_variation);
            let half_height = 0.5 * self.length * (1.0 + vary);
            let mut pose = at(self.at, place);
            pose.rotation = lying;
            let geometry = Geometry::Cylinder {
                half_height,
                radius,
            };
            let body = build.template(&self.style, None, geometry)?;
            build.place(&body, pose, self.style.color(made))?;
        }
        Ok(())
    }
}
