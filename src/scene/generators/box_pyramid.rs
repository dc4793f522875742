use super::*;

fields! {
    /// Boxes in a triangle: each layer has one box less than the one below. It stands in the plane z = 0.
    pub struct BoxPyramid {
        /// Number of layers, and of boxes in the lowest one.
        pub layers: u32 = 20 => at_least(1),
        /// Length, height and depth of a box (m).
        pub size: [f64; 3] = [1.0; 3] => positive,
        /// Gap between the boxes of a layer (m).
        pub gap: f64 = 0.1 => not_negative,
        /// Mass of a box (kg); without it the material's density decides.
        pub mass: Option<f64> = Some(1.0) => positive,
        /// Middle of the underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the layers.
        pub style: Style = Style::default(),
    }
}

impl Generate for BoxPyramid {
    fn count(&self) -> u64 {
        triangular(u64::from(self.layers))
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let [length, height, _] = self.size;
        let block = build.template(&self.style, self.mass, cuboid(self.size))?;
        for j in 0..self.layers {
            let n = self.layers - j;
            let y = (f64::from(j) + 0.5) * height;
            for k in 0..n {
                let x = (f64::from(k) - 0.5 * f64::from(n - 1)) * (length + self.gap);
                let pose = at(self.at, Vec3::new(x, y, 0.0));
                build.place(&block, pose, self.style.color(j as usize))?;
            }
        }
        Ok(())
    }
}
