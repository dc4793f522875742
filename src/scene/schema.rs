//! The parts of a scene file other than generators: bodies, shapes, materials, camera, view.
//!
//! Lengths in metres, masses in kilograms, angles in degrees where a field says so; y points up.
//! Every field has a default unless it says that it is needed.

use serde::{Deserialize, Serialize};

use super::check::{Check, Fields, direction, fields, finite, in_world, positive, within};
use super::error::FieldError;
use crate::math::{Rotation, SymMat3, Vec3};
use crate::world::{BodyKind, Geometry, Groups};

/// Name of the material of bodies that name none. A scene may define it.
pub const DEFAULT_MATERIAL: &str = "default";

/// A colour, written `"#rrggbb"` (sRGB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl From<Color> for String {
    fn from(Color([r, g, b]): Color) -> Self {
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

impl TryFrom<String> for Color {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix('#').filter(|d| d.len() == 6);
        let rgb = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match rgb.map(u32::to_be_bytes) {
            Some([_, r, g, b]) => Ok(Self([r, g, b])),
            None => Err(format!(
                "a colour is written \"#rrggbb\" with hexadecimal digits, not {text:?}"
            )),
        }
    }
}

impl Rotation {
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

impl Geometry {
    pub(super) fn check(&self) -> Check {
        match self {
            Self::Ball { radius } => positive("radius", radius),
            Self::Cuboid { half_extents: h } => ["x", "y", "z"]
                .iter()
                .zip(h)
                .try_for_each(|(axis, length)| positive(&format!("half_extents.{axis}"), length)),
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
            Self::HalfSpace { normal } => direction("normal", &(*normal).into()),
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
        pub shape: Option<Geometry> = None,
        /// Position of the shape's origin (m).
        pub position: [f64; 3] = [0.0; 3] => in_world,
        /// Orientation of the shape.
        pub rotation: Rotation = Rotation::default(),
        /// Velocity of the centre of mass (m/s).
        pub velocity: [f64; 3] = [0.0; 3] => in_world,
        /// Angular velocity, world axes (rad/s).
        pub angular_velocity: [f64; 3] = [0.0; 3] => in_world,
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
        /// Number of the part of a machine that it belongs to, which the solver "hybrid" keeps together, lower ones first; 0
        /// lets it choose.
        pub part: u32 = 0,
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
    /// How a generator's bodies look and feel.
    pub struct Style {
        /// Name of the material; without it the one called "default".
        pub material: Option<String> = None,
        /// Collision groups.
        pub groups: Groups = Groups::default(),
        /// Number of the part of a machine that they belong to, as a body's.
        pub part: u32 = 0,
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
    #[derive(Copy)]
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
        /// Height of a sea (m). It is drawn and no more: nothing floats on it.
        pub sea: Option<f64> = None => finite,
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
