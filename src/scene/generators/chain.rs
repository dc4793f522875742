use super::*;

/// What the links of a chain are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkShape {
    /// Capsules whose ends meet at the joints.
    #[default]
    Capsule,
    /// Solid cylinders.
    Cylinder,
}

/// What holds two links together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkJoint {
    /// Ball joints.
    #[default]
    Spherical,
    /// Universal joints: as ball joints, without twist.
    Universal,
    /// Joints that hold all six coordinates, the angles through springs: a rope that resists bending and
    /// twist. The ends of the chain hang on ball joints.
    Elastic,
}

fields! {
    /// A chain or cable of rigid links along a path, from body to body.
    pub struct Chain {
        /// Names: its links are called "NAME 0", "NAME 1", …, and so are its joints, from the first body on.
        pub name: String = "chain".into(),
        /// Number of links.
        pub links: u32 = 10 => at_least(1),
        /// The corners of the path that it lies along (m); at least two. Links have equal lengths along it.
        pub path: Vec<[f64; 3]> = vec![[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]] => finite,
        /// Length of a link (m), whereupon the path ends early, or goes on beyond its last corner; 0 divides the path.
        pub link_length: f64 = 0.0 => not_negative,
        /// Name of the body that its first link hangs on; empty for none, and "world" for the world.
        pub from: String = String::new(),
        /// Name of the body that hangs on its last link; empty for none, and "world" for the world.
        pub to: String = String::new(),
        /// Mass of a link (kg).
        pub mass: f64 = 1.0 => positive,
        /// Radius (m).
        pub radius: f64 = 0.02 => positive,
        /// What the links are.
        pub shape: LinkShape = LinkShape::default(),
        /// What holds them together.
        pub joint: LinkJoint = LinkJoint::default(),
        /// Compliance of the joints (m/N); 0 is rigid.
        pub compliance: f64 = 0.0 => not_negative,
        /// Damping of the same (N s/m); needs a compliance.
        pub damping: f64 = 0.0 => not_negative,
        /// Compliance against twist of universal joints, and against bending and twist of elastic ones
        /// (rad/(N m)); 0 is rigid.
        pub angular_compliance: f64 = 0.0 => not_negative,
        /// Damping of the same (N m s/rad); needs a compliance.
        pub angular_damping: f64 = 0.0 => not_negative,
        /// Torque of dry friction in every ball joint (N m).
        pub friction: f64 = 0.0 => not_negative,
        /// Whether the links collide with anything.
        pub collide: bool = true,
        /// Look and feel; colours go from link to link.
        pub style: Style = Style::default(),
    }
}

impl Chain {
    /// The ends of the links: points at equal distances along the path.
    fn ends(&self) -> Vec<Vec3> {
        let corners: Vec<Vec3> = self.path.iter().map(|p| Vec3::from(*p)).collect();
        let lengths: Vec<f64> = corners.windows(2).map(|c| (c[1] - c[0]).norm()).collect();
        let whole: f64 = match self.link_length > 0.0 {
            true => self.link_length * f64::from(self.links),
            false => lengths.iter().sum(),
        };
        (0..=self.links)
            .map(|k| {
                let mut left = whole * f64::from(k) / f64::from(self.links);
                for (corner, length) in corners.windows(2).zip(&lengths) {
                    if left <= *length {
                        return corner[0] + (corner[1] - corner[0]) * (left / length);
                    }
                    left -= length;
                }
                let last = corners.len() - 1;
                let beyond = if self.link_length > 0.0 { left } else { 0.0 };
                let leg = corners[last] - corners[last - 1];
                corners[last] + leg * (beyond / lengths[last - 1])
            })
            .collect()
    }

    /// The body at an end of the chain; `None` inside where it is the world.
    fn end(
        build: &Builder<'_>,
        name: &str,
        field: &str,
    ) -> Result<Option<Option<BodyId>>, FieldError> {
        match name {
            "" => Ok(None),
            "world" => Ok(Some(None)),
            name => build.body_named(name, field).map(Some),
        }
    }

    fn hold(
        &self,
        build: &mut Builder<'_>,
        bodies: [Option<BodyId>; 2],
        frame: Pose,
        k: usize,
    ) -> Check {
        let kind = match self.joint {
            LinkJoint::Universal => JointKind::Universal,
            LinkJoint::Elastic if k > 0 && k < self.links as usize => JointKind::Fixed,
            LinkJoint::Spherical | LinkJoint::Elastic => JointKind::Spherical,
        };
        let mut spec = JointSpec::new(kind, bodies, frame);
        spec.name = format!("{} {k}", self.name);
        spec.axes[3].friction = self.friction;
        spec.softness = Softness {
            compliance: self.compliance,
            damping: self.damping,
            angular_compliance: self.angular_compliance,
            angular_damping: self.angular_damping,
            ..Softness::default()
        };
        build.add_joint(spec).map(|_| ())
    }
}

impl Generate for Chain {
    fn count(&self) -> u64 {
        u64::from(self.links)
    }

    fn check(&self) -> Check {
        if self.path.len() < 2 {
            let message = "path needs at least two corners";
            return Err(FieldError::new("path", message));
        }
        let ends = if self.links <= 100_000 {
            self.ends()
        } else {
            Vec::new()
        };
        for pair in ends.windows(2) {
            let length = (pair[1] - pair[0]).norm();
            if length <= 2.0 * self.radius && self.shape == LinkShape::Capsule || length < 1e-6 {
                let message = format!(
                    "the links are {length} m long, too short for capsules of radius {} m",
                    self.radius
                );
                return Err(FieldError::new("links", message));
            }
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let ends = self.ends();
        let [from, to] = [(&self.from, "from"), (&self.to, "to")]
            .map(|(name, field)| Self::end(build, name, field));
        let mut before = from?;
        let mut frame = Pose::IDENTITY;
        let last = ends[ends.len() - 1];
        for (k, pair) in ends.windows(2).enumerate() {
            let (length, along) = ((pair[1] - pair[0]).norm(), (pair[1] - pair[0]).normalize());
            // The link's axis y points back along the chain, so that a hanging link stands upright.
            let rotation = axes(tangent(-along), -along);
            let (half_height, radius) = (0.5 * length, self.radius);
            let geometry = match self.shape {
                LinkShape::Capsule => Geometry::Capsule {
                    half_height: half_height - radius,
                    radius,
                },
                LinkShape::Cylinder => Geometry::Cylinder {
                    half_height,
                    radius,
                },
            };
            let mut link = build.template(&self.style, Some(self.mass), geometry)?;
            link.name = format!("{} {k}", self.name);
            if !self.collide {
                link.groups = NO_GROUPS;
            }
            let pose = Pose::new((pair[0] + pair[1]) * 0.5, rotation);
            let link = build.place(&link, pose, self.style.color(k))?;
            // The joint's axis z lies along the chain: universal joints then bend both ways and do not twist.
            let turn = Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_2);
            frame = Pose::new(pair[0], rotation * turn);
            if let Some(before) = before {
                self.hold(build, [before, Some(link)], frame, k)?;
            }
            before = Some(Some(link));
        }
        if let (Some(to), Some(before)) = (to?, before) {
            frame.position = last;
            self.hold(build, [before, to], frame, self.links as usize)?;
        }
        Ok(())
    }
}
