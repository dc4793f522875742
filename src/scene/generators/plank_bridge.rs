use super::*;

fields! {
    /// A bridge of planks between two banks, each plank on two ball joints per side, hung by ropes on two
    /// chains between the tops of towers. It runs along x.
    pub struct PlankBridge {
        /// Names: its planks are called "NAME plank 0", its links "NAME left 0" and "NAME right 0", …
        pub name: String = "bridge".into(),
        /// Number of planks, and of links in each of the two chains.
        pub planks: u32 = 20 => at_least(2),
        /// Middle of the walkway's ends, half way between the banks (m).
        pub at: [f64; 3] = [0.0; 3] => finite,
        /// Distance between the banks (m).
        pub span: f64 = 16.0 => positive,
        /// How much lower than its ends the middle of the walkway is (m).
        pub sag: f64 = 0.5 => not_negative,
        /// Width (m).
        pub width: f64 = 2.4 => positive,
        /// Thickness of a plank (m).
        pub thickness: f64 = 0.1 => positive,
        /// Mass of a plank (kg).
        pub plank_mass: f64 = 60.0 => positive,
        /// How much higher than the walkway's ends those of the chains are (m).
        pub tower: f64 = 3.0 => not_negative,
        /// How much lower than its ends the middle of a chain is (m).
        pub chain_sag: f64 = 2.2 => not_negative,
        /// Mass of a link (kg).
        pub link_mass: f64 = 12.0 => positive,
        /// Radius of a link (m).
        pub radius: f64 = 0.03 => positive,
        /// Compliance of joints and ropes (m/N); 0 is rigid.
        pub compliance: f64 = 0.0 => not_negative,
        /// Names of the bodies on the left and on the right; empty for the world.
        pub banks: [String; 2] = Default::default(),
        /// Look and feel; colours go from plank to plank.
        pub style: Style = Style::default(),
    }
}

/// A point of a parabola through two ends at the height 0, `sag` lower in the middle.
fn parabola(share: f64, span: f64, sag: f64) -> Vec3 {
    Vec3::new(
        (share - 0.5) * span,
        -4.0 * sag * share * (1.0 - share),
        0.0,
    )
}

impl Generate for PlankBridge {
    fn count(&self) -> u64 {
        3 * u64::from(self.planks)
    }

    fn check(&self) -> Check {
        let step = self.span / f64::from(self.planks);
        if step <= 2.0 * self.radius.max(0.02) {
            let message = format!("planks of {step} m are too short");
            return Err(FieldError::new("planks", message));
        }
        Ok(())
    }

    fn generate(&self, build: &mut Builder<'_>) -> Check {
        let mut banks = [None; 2];
        for (side, name) in self.banks.iter().enumerate() {
            banks[side] = build.body_named(name, &format!("banks.{side}"))?;
        }
        let across = Vec3::z() * (0.5 * self.width);
        let planks = self.row(build, banks, "plank", Vec3::zeros(), self.sag)?;
        for (name, sign) in [("left", -1.0), ("right", 1.0)] {
            let top = Vec3::y() * self.tower + across * sign;
            let links = self.row(build, banks, name, top, self.chain_sag)?;
            for k in 1..self.planks as usize {
                let from = self.corner(k, top, self.chain_sag);
                let to = self.corner(k, across * sign, self.sag);
                let bodies = [Some(links[k]), Some(planks[k])];
                let mut rope = JointSpec::new(
                    JointKind::Distance,
                    bodies,
                    Pose::new(from, Quat::identity()),
                );
                rope.frames[1].position = to;
                rope.axes[0].motion = Motion::Limited([0.0, (to - from).norm()]);
                rope.name = format!("{} {name} rope {k}", self.name);
                self.join(build, rope)?;
            }
        }
        Ok(())
    }
}

impl PlankBridge {
    /// Where one plank or link ends and the next begins.
    fn corner(&self, k: usize, offset: Vec3, sag: f64) -> Vec3 {
        let share = k as f64 / f64::from(self.planks);
        Vec3::from(self.at) + offset + parabola(share, self.span, sag)
    }

    fn join(&self, build: &mut Builder<'_>, mut spec: JointSpec) -> Check {
        spec.softness = Softness {
            compliance: self.compliance,
            ..Softness::default()
        };
        build.add_joint(spec).map(|_| ())
    }

    /// Planks, or the links of a chain, from bank to bank.
    fn row(
        &self,
        build: &mut Builder<'_>,
        banks: [Option<BodyId>; 2],
        name: &str,
        offset: Vec3,
        sag: f64,
    ) -> Result<Vec<BodyId>, FieldError> {
        let is_plank = name == "plank";
        let mass = if is_plank {
            self.plank_mass
        } else {
            self.link_mass
        };
        let mut made: Vec<BodyId> = Vec::with_capacity(self.planks as usize);
        for k in 0..=self.planks as usize {
            let here = self.corner(k, offset, sag);
            if k < self.planks as usize {
                let between = self.corner(k + 1, offset, sag) - here;
                let angle = between.y.atan2(between.x);
                let half = 0.5 * between.norm();
                let (geometry, angle, color) = if is_plank {
                    let half_extents =
                        Vec3::new(half - 0.01, 0.5 * self.thickness, 0.5 * self.width);
                    (
                        Geometry::Cuboid { half_extents },
                        angle,
                        self.style.color(k),
                    )
                } else {
                    let (half_height, radius) = (half - self.radius, self.radius);
                    let link = Geometry::Capsule {
                        half_height,
                        radius,
                    };
                    let lying = angle - std::f64::consts::FRAC_PI_2;
                    (link, lying, Some([0.05, 0.06, 0.07]))
                };
                let mut body = build.template(&self.style, Some(mass), geometry)?;
                body.name = format!("{} {name} {k}", self.name);
                if !is_plank {
                    body.groups = NO_GROUPS;
                }
                let rotation = Quat::from_axis_angle(&Vec3::z_axis(), angle);
                let pose = Pose::new(here + between * 0.5, rotation);
                made.push(build.place(&body, pose, color)?);
            }
            let before = if k == 0 { banks[0] } else { Some(made[k - 1]) };
            let after = made.get(k).copied().or(banks[1]);
            let sides: &[(&str, f64)] = if is_plank {
                &[(" near", 0.5), (" far", -0.5)]
            } else {
                &[("", 0.0)]
            };
            for (side, share) in sides {
                let at = here + Vec3::z() * (share * self.width);
                let frame = Pose::new(at, Quat::identity());
                let mut spec = JointSpec::new(JointKind::Spherical, [before, after], frame);
                spec.name = format!("{} {name} {k}{side}", self.name);
                self.join(build, spec)?;
            }
        }
        Ok(made)
    }
}
