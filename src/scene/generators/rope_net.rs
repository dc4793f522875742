use super::*;

/// Which nodes of a net are fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hung {
    /// All nodes of its first row.
    #[default]
    Edge,
    /// The two corners of its first row.
    EdgeCorners,
    /// All four corners.
    Corners,
}

fields! {
    /// A net of ropes: small spheres in rows and columns, each tied to its neighbours by ropes without mass that keep
    /// their lengths. Rows run along x; the columns go down from the first row, or along z.
    ///
    /// Ropes between two fixed nodes would hold nothing and are left out.
    pub struct RopeNet {
        /// Names: its nodes are called "NAME ROW COLUMN", from "net 0 0" on, and its ropes after their ends:
        /// "net 0 0 - 0 1".
        pub name: String = "net".into(),
        /// Rows, and nodes in a row.
        pub nodes: [u32; 2] = [24, 24] => at_least(2),
        /// Distance between neighbours, and length of a rope (m).
        pub spacing: f64 = 0.25 => positive,
        /// Radius of a node (m); less than half of the spacing.
        pub radius: f64 = 0.04 => positive,
        /// Mass of a node (kg).
        pub mass: f64 = 0.1 => positive,
        /// Which nodes are fixed.
        pub hung: Hung = Hung::default(),
        /// Whether it starts in a horizontal plane rather than in a vertical one.
        pub flat: bool = false,
        /// Whether ropes may slacken: their length is then the most that they may have.
        pub slackens: bool = false,
        /// Compliance of the ropes (m/N); 0 is rigid.
        pub compliance: f64 = 0.0 => not_negative,
        /// Damping of the same (N s/m); needs a compliance.
        pub damping: f64 = 0.0 => not_negative,
        /// Middle of its first row (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Look and feel; colours follow the rows.
        pub style: Style = Style::default(),
    }
}

impl Generate for RopeNet {
    fn count(&self) -> u64 {
        let [rows, columns] = self.nodes.map(u64::from);
        rows * columns
    }

    fn check(&self) -> Check {
        if 2.0 * self.radius >= self.spacing {
            let message = format!(
                "radius must be less than half of the spacing of {} m, not {}",
                self.spacing, self.radius
            );
            return Err(FieldError::new("radius", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let radius = self.radius;
        let mut node = build.template(&self.style, Some(self.mass), Geometry::Ball { radius })?;
        let [rows, columns] = self.nodes;
        let mut made = Vec::with_capacity(self.count() as usize);
        for row in 0..rows {
            let color = self.style.color(row as usize);
            for column in 0..columns {
                node.name = format!("{} {row} {column}", self.name);
                node.kind = match self.is_fixed(row, column) {
                    true => BodyKind::Fixed,
                    false => BodyKind::Dynamic,
                };
                let pose = Pose::new(self.place(row, column), Quat::identity());
                made.push(build.place(&node, pose, color)?);
            }
        }
        let body =
            |[row, column]: [u32; 2]| made[row as usize * columns as usize + column as usize];
        for row in 0..rows {
            for column in 0..columns {
                let here = [row, column];
                for there in [[row, column + 1], [row + 1, column]] {
                    if there[0] < rows && there[1] < columns {
                        self.tie(build, [here, there], [here, there].map(body))?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl RopeNet {
    fn is_fixed(&self, row: u32, column: u32) -> bool {
        let ends = |k: u32, n: u32| k == 0 || k == n - 1;
        let [rows, columns] = self.nodes;
        match self.hung {
            Hung::Edge => row == 0,
            Hung::EdgeCorners => row == 0 && ends(column, columns),
            Hung::Corners => ends(row, rows) && ends(column, columns),
        }
    }

    /// Where a node starts.
    fn place(&self, row: u32, column: u32) -> Vec3 {
        let along = f64::from(column) - 0.5 * f64::from(self.nodes[1] - 1);
        let next_row = if self.flat { Vec3::z() } else { -Vec3::y() };
        Vec3::from(self.at) + (Vec3::x() * along + next_row * f64::from(row)) * self.spacing
    }

    /// Ties a rope between two nodes, which stand at these rows and columns.
    fn tie(&self, build: &mut Builder<'_>, ends: [[u32; 2]; 2], bodies: [BodyId; 2]) -> Check {
        if ends
            .iter()
            .all(|[row, column]| self.is_fixed(*row, *column))
        {
            return Ok(());
        }
        let frames = ends.map(|[row, column]| Pose::new(self.place(row, column), Quat::identity()));
        let mut rope = JointSpec::new(JointKind::Distance, bodies.map(Some), frames[0]);
        rope.frames = frames;
        let least = if self.slackens { 0.0 } else { self.spacing };
        rope.axes[0].motion = Motion::Limited([least, self.spacing]);
        rope.softness = Softness {
            compliance: self.compliance,
            damping: self.damping,
            ..Softness::default()
        };
        let [[i, j], [k, l]] = ends;
        rope.name = format!("{} {i} {j} - {k} {l}", self.name);
        build.add_joint(rope).map(|_| ())
    }
}
