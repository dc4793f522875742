use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserializer, Serializer};

use super::*;

fields! {
    /// Spheres in a regular grid (Poulsen 2010, 3.8.1).
    ///
    /// Bodies follow each other along x first, then z, then y, layer by layer from below, so that the
    /// contacts of every column come bottom to top.
    pub struct BallGrid {
        /// Spheres along each axis: one number, or `(x, y, z)`.
        pub size: Size = Size([8; 3]) => at_least(1),
        /// Radius (m).
        pub radius: f64 = 0.5 => positive,
        /// Mass of a sphere (kg).
        pub mass: f64 = 1.0 => positive,
        /// How the layers lie on each other.
        pub layout: Layout = Layout::Cubic,
        /// Distance between neighbours along x, y and z (m); 0 where they touch.
        pub spacing: [f64; 3] = [0.0; 3] => not_negative,
        /// Speed of the fastest random velocity (m/s); 0 for none.
        pub random_velocity: f64 = 0.0 => not_negative,
        /// Seed of the random velocities (`Pcg64`).
        pub seed: u64 = 1,
        /// Centre of the grid's underside (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the layers.
        pub style: Style = Style::default(),
    }
}

/// How the layers of a grid lie on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// Every sphere right above the one below.
    #[default]
    Cubic,
    /// Every sphere in the hollow between four: each layer has one row and one column less, as in
    /// a stack of cannonballs. A fixed frame of four bars around the lowest layer comes first, for
    /// spheres roll, and nothing else would keep the lowest ones from being pushed apart.
    Cannonball,
}

/// Spheres along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub [u32; 3]);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [x, y, z] if x == y && y == z => serializer.serialize_u32(x),
            size => size.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl<'de> Visitor<'de> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or three as (x, y, z)")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Size, E> {
                match u32::try_from(value) {
                    Ok(n) => Ok(Size([n; 3])),
                    Err(_) => Err(E::custom(format!("a size of {value} is too large"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Size, A::Error> {
                let mut size = [0; 3];
                for (k, n) in size.iter_mut().enumerate() {
                    *n = seq
                        .next_element()?
                        .ok_or_else(|| de::Error::invalid_length(k, &self))?;
                }
                if seq.next_element::<u32>()?.is_some() {
                    return Err(de::Error::invalid_length(4, &self));
                }
                Ok(Size(size))
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

impl Numbers for Size {
    fn numbers(&self) -> Vec<f64> {
        self.0.numbers()
    }
}

impl BallGrid {
    /// Columns and rows of a layer.
    fn layer(&self, j: u32) -> [u32; 2] {
        let [nx, _, nz] = self.size.0;
        match self.layout {
            Layout::Cubic => [nx, nz],
            Layout::Cannonball => [nx - j, nz - j],
        }
    }

    /// Four bars that touch the outer spheres of the lowest layer at their equator.
    fn add_frame(&self, build: &mut Builder<'_>, pitch: [f64; 3]) -> Check {
        let [nx, _, nz] = self.size.0;
        let r = self.radius;
        let x = r + 0.5 * f64::from(nx - 1) * pitch[0];
        let z = r + 0.5 * f64::from(nz - 1) * pitch[2];
        let (w, h) = (0.25 * r, 0.6 * r);
        for side in [-1.0, 1.0] {
            for (center, half_extents) in [
                ([side * (x + w), h, 0.0], [w, h, z]),
                ([0.0, h, side * (z + w)], [x + 2.0 * w, h, w]),
            ] {
                let half_extents = Vec3::from(half_extents);
                let bar = Geometry::Cuboid { half_extents };
                let mut bar = build.template(&self.style, None, bar)?;
                bar.kind = BodyKind::Fixed;
                build.place(&bar, at(self.at, Vec3::from(center)), None)?;
            }
        }
        Ok(())
    }
}

impl Generate for BallGrid {
    fn count(&self) -> u64 {
        let [nx, ny, nz] = self.size.0.map(u64::from);
        match self.layout {
            Layout::Cubic => nx.saturating_mul(ny).saturating_mul(nz),
            // Four bars, and Σ (nx − j)(nz − j) for j < ny in closed form.
            Layout::Cannonball => {
                let [x, y, z] = [nx, ny, nz].map(u128::from);
                let js = y * y.saturating_sub(1) / 2;
                let squares = y.saturating_sub(1) * y * (2 * y).saturating_sub(1) / 6;
                let sum = (x * z * y + squares).saturating_sub((x + z) * js);
                u64::try_from(sum + 4).unwrap_or(u64::MAX)
            }
        }
    }

    fn check(&self) -> Check {
        let [nx, ny, nz] = self.size.0;
        if self.layout == Layout::Cannonball && ny > nx.min(nz) {
            let message = format!(
                "a stack of cannonballs on {nx} by {nz} has at most {} layers, not {ny}",
                nx.min(nz)
            );
            return Err(FieldError::new("size", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let radius = self.radius;
        let mut ball = build.template(&self.style, Some(self.mass), Geometry::Ball { radius })?;
        let mut random = Random::new(self.seed);
        let pitch = self.spacing.map(|gap| 2.0 * radius + gap);
        let rise = match self.layout {
            Layout::Cubic => pitch[1],
            // A sphere on four that lie in a square: its centre is r√2 above theirs when they touch.
            Layout::Cannonball => {
                let half_diagonal = 0.25 * (pitch[0] * pitch[0] + pitch[2] * pitch[2]);
                (pitch[1] * pitch[1] - half_diagonal).max(0.0).sqrt()
            }
        };
        if self.layout == Layout::Cannonball {
            self.add_frame(build, pitch)?;
        }
        for j in 0..self.size.0[1] {
            let [nx, nz] = self.layer(j);
            let color = self.style.color(j as usize);
            for k in 0..nz {
                for i in 0..nx {
                    let x = (f64::from(i) - 0.5 * f64::from(nx - 1)) * pitch[0];
                    let z = (f64::from(k) - 0.5 * f64::from(nz - 1)) * pitch[2];
                    let y = radius + f64::from(j) * rise;
                    if self.random_velocity > 0.0 {
                        ball.linear_velocity = random.in_ball(self.random_velocity);
                    }
                    build.place(&ball, at(self.at, Vec3::new(x, y, z)), color)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cannonballs_are_counted_in_closed_form() {
        for [nx, ny, nz] in [[1, 1, 1], [4, 4, 4], [5, 3, 7], [7, 2, 3]] {
            let grid = BallGrid {
                size: Size([nx, ny, nz]),
                layout: Layout::Cannonball,
                ..BallGrid::default()
            };
            let counted: u32 = (0..ny).map(|j| (nx - j) * (nz - j)).sum();
            assert_eq!(grid.count(), u64::from(counted) + 4);
        }
    }
}
