use serde::{Deserialize, Serialize};

use super::super::build::Builder;
use super::super::check::{self, Check};
use super::super::error::FieldError;
use super::super::schema::Style;
use super::Generate;
use crate::math::{Mat3, Pose, Quat, Vec3};
use crate::world::joint::{JointKind, Softness};
use crate::world::{BodyId, BodySpec, Geometry, JointSpec};

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

/// A chain or cable of rigid links along a path, from body to body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chain {
    /// Names: its links are called "NAME 0", "NAME 1", …, and so are its joints, from the first body on.
    pub name: String,
    /// Number of links.
    pub links: u32,
    /// The corners of the path that it lies along (m); at least two. Links have equal lengths along it.
    pub path: Vec<[f64; 3]>,
    /// Name of the body that its first link hangs on; empty for none, and "world" for the world.
    pub from: String,
    /// Name of the body that hangs on its last link; empty for none, and "world" for the world.
    pub to: String,
    /// Mass of a link (kg).
    pub mass: f64,
    /// Radius (m).
    pub radius: f64,
    /// What the links are.
    pub shape: LinkShape,
    /// What holds them together.
    pub joint: LinkJoint,
    /// Compliance of the joints (m/N); 0 is rigid.
    pub compliance: f64,
    /// Compliance against twist of universal joints, and against bending and twist of elastic ones
    /// (rad/(N m)); 0 is rigid.
    pub angular_compliance: f64,
    /// Damping of the same (N m s/rad); needs a compliance.
    pub angular_damping: f64,
    /// Torque of dry friction in every ball joint (N m).
    pub friction: f64,
    /// Whether the links collide with anything.
    pub collide: bool,
    /// Look and feel; colours go from link to link.
    pub style: Style,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            name: "chain".into(),
            links: 10,
            path: vec![[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]],
            from: String::new(),
            to: String::new(),
            mass: 1.0,
            radius: 0.02,
            shape: LinkShape::default(),
            joint: LinkJoint::default(),
            compliance: 0.0,
            angular_compliance: 0.0,
            angular_damping: 0.0,
            friction: 0.0,
            collide: true,
            style: Style::default(),
        }
    }
}

impl Chain {
    /// The ends of the links: points at equal distances along the path.
    fn ends(&self) -> Vec<Vec3> {
        let corners: Vec<Vec3> = self.path.iter().map(|p| Vec3::from(*p)).collect();
        let lengths: Vec<f64> = corners.windows(2).map(|c| (c[1] - c[0]).norm()).collect();
        let whole: f64 = lengths.iter().sum();
        (0..=self.links)
            .map(|k| {
                let mut left = whole * f64::from(k) / f64::from(self.links);
                for (corner, length) in corners.windows(2).zip(&lengths) {
                    if left <= *length {
                        return corner[0] + (corner[1] - corner[0]) * (left / length);
                    }
                    left -= length;
                }
                corners[corners.len() - 1]
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
            name => {
                let body = build.body_named(name);
                body.map(Some)
                    .map_err(|e| FieldError::new(field, e.message))
            }
        }
    }
}

impl Generate for Chain {
    fn count(&self) -> u64 {
        u64::from(self.links)
    }

    fn check(&self) -> Check {
        check::at_least("links", self.links, 1)?;
        check::positive("mass", self.mass)?;
        check::positive("radius", self.radius)?;
        check::not_negative("compliance", self.compliance)?;
        check::not_negative("angular_compliance", self.angular_compliance)?;
        check::not_negative("angular_damping", self.angular_damping)?;
        check::not_negative("friction", self.friction)?;
        check::finite("path", self.path.as_flattened())?;
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

    fn style(&self) -> &Style {
        &self.style
    }

    fn generate(&self, build: &mut Builder<'_>) -> Result<(), FieldError> {
        let ends = self.ends();
        let [from, to] = [(&self.from, "from"), (&self.to, "to")]
            .map(|(name, field)| Self::end(build, name, field));
        let mut template = build.template(&self.style, Some(self.mass));
        if !self.collide {
            template.groups.memberships = 0;
            template.groups.filter = 0;
        }
        let mut before = from?;
        let mut frame = Pose::IDENTITY;
        let last = ends[ends.len() - 1];
        for (k, pair) in ends.windows(2).enumerate() {
            let (length, along) = ((pair[1] - pair[0]).norm(), (pair[1] - pair[0]).normalize());
            // The link's axis y points back along the chain, so that a hanging link stands upright.
            let (x, y) = (crate::math::tangent(-along), -along);
            let columns = Mat3::from_columns(&[x, y, x.cross(&y)]);
            let rotation = if columns == Mat3::identity() {
                Quat::identity()
            } else {
                Quat::from_matrix_eps(&columns, 1e-15, 100, Quat::identity())
            };
            let geometry = match self.shape {
                LinkShape::Capsule => Geometry::Capsule {
                    half_height: 0.5 * length - self.radius,
                    radius: self.radius,
                },
                LinkShape::Cylinder => Geometry::Cylinder {
                    half_height: 0.5 * length,
                    radius: self.radius,
                },
            };
            let link = build.add(BodySpec {
                name: format!("{} {k}", self.name),
                pose: Pose::new((pair[0] + pair[1]) * 0.5, rotation),
                shape: Some(build.solid(geometry)?),
                color: self.style.color(k),
                ..template.clone()
            })?;
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

impl Chain {
    fn hold(
        &self,
        build: &mut Builder<'_>,
        bodies: [Option<BodyId>; 2],
        frame: Pose,
        k: usize,
    ) -> Result<(), FieldError> {
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
            angular_compliance: self.angular_compliance,
            angular_damping: self.angular_damping,
            ..Softness::default()
        };
        build.add_joint(spec)
    }
}
