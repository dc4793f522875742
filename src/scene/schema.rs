//! The parts of a scene file other than generators: bodies, shapes, materials, camera, view.
//!
//! Lengths in metres, masses in kilograms, angles in degrees where a field says so; y points up.
//! Every field has a default unless it says that it is needed.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::check::{
    Check, Fields, SMALLEST, direction, fields, finite, not_negative, positive, within,
};
use super::error::FieldError;
use crate::math::{Quat, SymMat3, Vec3};
use crate::world::{self, BodyKind, CombineRule, Groups};

/// Name of the material of bodies that name none. A scene may define it.
pub const DEFAULT_MATERIAL: &str = "default";

/// A colour, written `"#rrggbb"` (sRGB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub [u8; 3]);

impl Color {
    /// Linear RGB, as the engine and the viewer keep it.
    pub fn linear(self) -> [f32; 3] {
        self.0.map(|byte| {
            let c = f32::from(byte) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }
}

impl Serialize for Color {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [r, g, b] = self.0;
        serializer.serialize_str(&format!("#{r:02x}{g:02x}{b:02x}"))
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text
            .strip_prefix('#')
            .filter(|d| d.len() == 6 && d.is_ascii());
        let parse = |digits: &str| u32::from_str_radix(digits, 16).ok();
        match digits.and_then(parse) {
            Some(rgb) => Ok(Self([(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8])),
            None => Err(de::Error::custom(format!(
                "a colour is written \"#rrggbb\" with hexadecimal digits, not {text:?}"
            ))),
        }
    }
}

/// An orientation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Rotation {
    /// None.
    #[default]
    Identity,
    /// About one axis.
    AxisAngle {
        /// The axis; need not be of unit length.
        axis: [f64; 3],
        /// Angle (degrees).
        degrees: f64,
    },
    /// About the world's x, then y, then z axis.
    Euler {
        /// The three angles (degrees).
        degrees: [f64; 3],
    },
    /// A quaternion; need not be of unit length.
    Quaternion {
        /// Imaginary part i.
        x: f64,
        /// Imaginary part j.
        y: f64,
        /// Imaginary part k.
        z: f64,
        /// Real part.
        w: f64,
    },
}

impl Rotation {
    /// As a unit quaternion; the identity where it is not a rotation (see `check`).
    pub fn quaternion(&self) -> Quat {
        match *self {
            Self::Identity => Quat::identity(),
            Self::AxisAngle { axis, degrees } => {
                nalgebra::Unit::try_new(Vec3::from(axis), SMALLEST)
                    .map_or_else(Quat::identity, |axis| {
                        Quat::from_axis_angle(&axis, degrees.to_radians())
                    })
            }
            Self::Euler { degrees: [x, y, z] } => {
                Quat::from_euler_angles(x.to_radians(), y.to_radians(), z.to_radians())
            }
            Self::Quaternion { x, y, z, w } => {
                Quat::try_new(nalgebra::Quaternion::new(w, x, y, z), SMALLEST)
                    .unwrap_or_else(Quat::identity)
            }
        }
    }

    pub(super) fn check(&self) -> Check {
        match *self {
            Self::Identity => Ok(()),
            Self::AxisAngle { axis, degrees } => {
                finite("degrees", &degrees)?;
                direction("axis", &axis)
            }
            Self::Euler { degrees } => finite("degrees", &degrees),
            Self::Quaternion { x, y, z, w } => {
                finite("quaternion", &[x, y, z, w])?;
                let norm = (x * x + y * y + z * z + w * w).sqrt();
                positive("the norm of the quaternion", &norm)
            }
        }
        .map_err(|e| FieldError::new("rotation", e.message))
    }
}

fn one() -> f64 {
    1.0
}

fn up() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

/// A collision shape, in its own frame (m). Axes of revolution lie along y.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Shape {
    /// A solid sphere.
    Ball {
        /// Radius (m).
        radius: f64,
    },
    /// A box.
    Cuboid {
        /// Half of the edge lengths along x, y and z (m).
        half_extents: [f64; 3],
    },
    /// A cylinder with hemispherical ends.
    Capsule {
        /// Half of the distance between the centres of the two hemispheres (m).
        half_height: f64,
        /// Radius (m).
        radius: f64,
    },
    /// A solid cylinder.
    Cylinder {
        /// Half of the height (m).
        half_height: f64,
        /// Radius (m).
        radius: f64,
    },
    /// A solid cone; the apex points along +y, the origin is at half height.
    Cone {
        /// Half of the height (m).
        half_height: f64,
        /// Radius of the base (m).
        radius: f64,
    },
    /// The convex hull of points.
    ConvexHull {
        /// The points (m).
        points: Vec<[f64; 3]>,
    },
    /// The convex hull of the vertices of an OBJ file.
    ConvexHullFile {
        /// The file, relative to the scene file.
        file: String,
        /// What its coordinates are multiplied by to become metres.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A triangle mesh; for bodies that do not move freely.
    TriMesh {
        /// Vertices (m).
        vertices: Vec<[f64; 3]>,
        /// Three vertex indices per triangle, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// The triangle mesh of an OBJ file; for bodies that do not move freely.
    TriMeshFile {
        /// The file, relative to the scene file.
        file: String,
        /// What its coordinates are multiplied by to become metres.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A height field over the x-z plane, centred on the origin; for bodies that do not move freely.
    HeightField {
        /// Extent along x and z (m).
        size: [f64; 2],
        /// Heights (m): one list per sample along z, each with the samples along x.
        heights: Vec<Vec<f64>>,
    },
    /// Everything below the plane through the origin; never dynamic.
    HalfSpace {
        /// Outward normal; need not be of unit length.
        #[serde(default = "up")]
        normal: [f64; 3],
    },
    /// Several convex solids, rigidly joined.
    Compound {
        /// The parts.
        parts: Vec<Part>,
    },
}

/// A part of a compound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its shape; needed.
    pub shape: Shape,
    /// Where it is in the body's frame (m).
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned.
    #[serde(default)]
    pub rotation: Rotation,
}

impl Shape {
    pub(super) fn check(&self) -> Check {
        match self {
            Self::Ball { radius } => positive("radius", radius),
            Self::Cuboid {
                half_extents: [x, y, z],
            } => {
                for (letter, value) in [("x", x), ("y", y), ("z", z)] {
                    positive(&format!("half_extents.{letter}"), value)?;
                }
                Ok(())
            }
            Self::Capsule {
                half_height,
                radius,
            }
            | Self::Cylinder {
                half_height,
                radius,
            }
            | Self::Cone {
                half_height,
                radius,
            } => {
                positive("half_height", half_height)?;
                positive("radius", radius)
            }
            Self::ConvexHull { points } => finite("points", points),
            Self::TriMesh { vertices, .. } => finite("vertices", vertices),
            Self::ConvexHullFile { file, scale } | Self::TriMeshFile { file, scale } => {
                if file.is_empty() {
                    return Err(FieldError::new("file", "file must name an OBJ file"));
                }
                positive("scale", scale)
            }
            Self::HeightField { size, heights } => {
                positive("size.0", &size[0])?;
                positive("size.1", &size[1])?;
                let columns = heights.first().map_or(0, Vec::len);
                for (k, row) in heights.iter().enumerate() {
                    if row.len() != columns {
                        return Err(FieldError::new(
                            format!("heights.{k}"),
                            format!(
                                "every row of heights must have the {columns} samples of the first one, not {}",
                                row.len()
                            ),
                        ));
                    }
                    finite("heights", row)?;
                }
                Ok(())
            }
            Self::HalfSpace { normal } => direction("normal", normal),
            Self::Compound { parts } => {
                for (k, part) in parts.iter().enumerate() {
                    part.shape
                        .check()
                        .map_err(|e| e.inside(&format!("parts.{k}.shape")))?;
                    finite("position", &part.position)
                        .and_then(|()| part.rotation.check())
                        .map_err(|e| e.inside(&format!("parts.{k}")))?;
                }
                Ok(())
            }
        }
    }
}

/// The inertia of a body about its centre of mass, along the axes of its shape (kg m²).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inertia {
    /// I_xx, I_yy, I_zz; needed.
    pub diagonal: [f64; 3],
    /// I_xy, I_xz, I_yz.
    #[serde(default)]
    pub products: [f64; 3],
}

impl From<Inertia> for SymMat3 {
    fn from(i: Inertia) -> Self {
        let ([xx, yy, zz], [xy, xz, yz]) = (i.diagonal, i.products);
        Self {
            xx,
            xy,
            xz,
            yy,
            yz,
            zz,
        }
    }
}

fields! {
    /// A body.
    pub struct Body {
        /// Name for messages, the viewer and other parts of the scene; unique unless empty.
        pub name: String = String::new(),
        /// `Dynamic` (the default), `Kinematic` (keeps its velocity whatever it meets) or `Fixed`.
        pub kind: BodyKind = BodyKind::default(),
        /// Collision shape. A body without one needs `mass` and `inertia`.
        pub shape: Option<Shape> = None,
        /// Position of the shape's origin (m).
        pub position: [f64; 3] = [0.0; 3] => finite,
        /// Orientation of the shape.
        pub rotation: Rotation = Rotation::default(),
        /// Velocity of the centre of mass (m/s).
        pub velocity: [f64; 3] = [0.0; 3] => finite,
        /// Angular velocity, world axes (rad/s).
        pub angular_velocity: [f64; 3] = [0.0; 3] => finite,
        /// Mass (kg); without it the density decides.
        pub mass: Option<f64> = None => positive,
        /// Density (kg/m³); without it that of the material.
        pub density: Option<f64> = None => positive,
        /// Inertia; without it that of the shape filled evenly.
        pub inertia: Option<Inertia> = None,
        /// Name of the material; without it the one called "default".
        pub material: Option<String> = None,
        /// Collision groups: bit masks, all ones by default.
        pub groups: Groups = Groups::default(),
        /// Constant force on the centre of mass (N).
        pub force: [f64; 3] = [0.0; 3] => finite,
        /// Constant torque (N m).
        pub torque: [f64; 3] = [0.0; 3] => finite,
        /// Colour; without it the viewer chooses one.
        pub color: Option<Color> = None,
    }
}

impl Body {
    pub(super) fn check(&self) -> Check {
        if let Some(shape) = &self.shape {
            shape.check().map_err(|e| e.inside("shape"))?;
        }
        self.rotation.check()?;
        self.check_fields()?;
        if self.mass.is_some() && self.density.is_some() {
            let message = "mass and density cannot both be given";
            return Err(FieldError::new("density", message));
        }
        if let Some(inertia) = self.inertia {
            finite("inertia", &[inertia.diagonal, inertia.products])?;
        }
        Ok(())
    }
}

fields! {
    /// A surface, and the density of bodies made of it.
    #[derive(Copy)]
    pub struct Material {
        /// Density (kg/m³).
        pub density: f64 = 1000.0 => positive,
        /// Coefficient of Coulomb friction μ (-).
        pub friction: f64 = 0.5 => not_negative,
        /// Newton's coefficient of restitution ε (-), from 0 to 1.
        pub restitution: f64 = 0.0 => within(0.0, 1.0),
        /// Coefficient of restitution ε_T in the tangential plane (-), from 0 to 1.
        pub tangential_restitution: f64 = 0.0 => within(0.0, 1.0),
        /// Effective contact radius R_c of Coulomb–Contensou spin friction (m); 0 switches it off.
        pub spin_radius: f64 = 0.0 => not_negative,
        /// Compliance α (m/N): a contact gives way like a spring of stiffness 1/α, along its normal and in
        /// its tangential plane alike; 0 is rigid. The compliances of two surfaces add up.
        pub compliance: f64 = 0.0 => within(0.0, 1e6),
        /// A second coefficient of friction, for surfaces that slide more easily one way.
        pub anisotropy: Option<Anisotropy> = None,
        /// How it combines with another material; of two rules the later one in the list
        /// `GeometricMean`, `Average`, `Min`, `Multiply`, `Max` wins.
        pub combine: CombineRule = CombineRule::default(),
    }
}

/// A direction with its own friction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anisotropy {
    /// Direction in the body's frame along which `friction` holds; needed.
    pub direction: [f64; 3],
    /// Coefficient of friction across it (-); needed.
    pub across: f64,
}

impl Material {
    pub(super) fn check(&self) -> Check {
        self.check_fields()?;
        if let Some(anisotropy) = self.anisotropy {
            direction("direction", &anisotropy.direction)
                .and_then(|()| not_negative("across", &anisotropy.across))
                .map_err(|e| FieldError::new("anisotropy", e.message))?;
        }
        Ok(())
    }

    /// The surface as the engine has it.
    pub fn surface(&self) -> world::Material {
        world::Material {
            friction: self.friction,
            restitution: self.restitution,
            tangential_restitution: self.tangential_restitution,
            spin_radius: self.spin_radius,
            compliance: self.compliance,
            anisotropy: self.anisotropy.map(|a| world::Anisotropy {
                direction: Vec3::from(a.direction).normalize(),
                across: a.across,
            }),
            combine: self.combine,
        }
    }
}

fields! {
    /// How a generator's bodies look and feel.
    pub struct Style {
        /// Name of the material; without it the one called "default".
        pub material: Option<String> = None,
        /// Collision groups.
        pub groups: Groups = Groups::default(),
        /// Colours that follow each other from layer to layer, or from body to body.
        pub colors: Vec<Color> = Vec::new(),
    }
}

impl Style {
    /// The colour of the k-th layer or body.
    pub fn color(&self, k: usize) -> Option<[f32; 3]> {
        (!self.colors.is_empty()).then(|| self.colors[k % self.colors.len()].linear())
    }
}

fields! {
    /// Where the viewer looks from at the start.
    #[derive(Copy)]
    pub struct Camera {
        /// Position of the eye (m).
        pub position: [f64; 3] = [6.0, 4.0, 10.0] => finite,
        /// The point that it looks at, and orbits about (m).
        pub target: [f64; 3] = [0.0, 1.0, 0.0] => finite,
        /// Vertical field of view (degrees), from 5 to 120.
        pub field_of_view: f64 = 45.0 => within(5.0, 120.0),
    }
}

impl Camera {
    pub(super) fn check(&self) -> Check {
        self.check_fields()?;
        let distance = (Vec3::from(self.position) - Vec3::from(self.target)).norm();
        if distance < 1e-6 {
            let message = "position and target must not be the same point";
            return Err(FieldError::new("position", message));
        }
        Ok(())
    }
}

fields! {
    /// What the viewer draws at the start; all of it can be switched there.
    #[derive(Copy, Eq)]
    pub struct View {
        /// Contact points.
        pub contacts: bool = false,
        /// Contact normals.
        pub normals: bool = false,
        /// Contact forces.
        pub forces: bool = false,
        /// Joints: anchors, axes and errors.
        pub joints: bool = false,
        /// Bodies coloured by island.
        pub islands: bool = false,
        /// The ground grid.
        pub grid: bool = true,
        /// Whether time runs as soon as the scene is open.
        pub playing: bool = true,
    }
}

/// A value of the scene that the viewer shows as a slider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What the slider is called; needed.
    pub label: String,
    /// Path of the value, as `--set` takes it: "generators.0.size"; needed.
    pub path: String,
    /// Smallest value; needed.
    pub min: f64,
    /// Largest value; needed.
    pub max: f64,
    /// Whether only whole numbers make sense.
    #[serde(default)]
    pub integer: bool,
    /// Whether the slider should be logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
}

impl Parameter {
    pub(super) fn check(&self) -> Check {
        if self.label.is_empty() {
            return Err(FieldError::new("label", "label must not be empty"));
        }
        finite("min", &self.min)?;
        finite("max", &self.max)?;
        if self.min >= self.max {
            let message = format!("min must be below max, not {} and {}", self.min, self.max);
            return Err(FieldError::new("min", message));
        }
        if self.logarithmic {
            positive("min", &self.min)?;
        }
        Ok(())
    }
}
