//! Vectors, rotations and the symmetric 3×3 matrix that the rest of the engine is written in.

pub mod random;

use nalgebra::{Matrix3, Quaternion, Unit, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};

/// A vector of three `f64`.
pub type Vec3 = Vector3<f64>;
/// A unit quaternion, body to world.
pub type Quat = UnitQuaternion<f64>;
/// A general 3×3 matrix.
pub type Mat3 = Matrix3<f64>;

/// A position and an orientation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Translation (m).
    pub position: Vec3,
    /// Rotation, local to parent.
    pub rotation: Quat,
}

impl Pose {
    /// No translation and no rotation.
    pub const IDENTITY: Self = Self {
        position: Vec3::new(0.0, 0.0, 0.0),
        rotation: Quat::new_unchecked(Quaternion::new(1.0, 0.0, 0.0, 0.0)),
    };

    /// A pose from its parts.
    pub const fn new(position: Vec3, rotation: Quat) -> Self {
        Self { position, rotation }
    }

    /// A pose without rotation.
    pub const fn translation(x: f64, y: f64, z: f64) -> Self {
        Self {
            position: Vec3::new(x, y, z),
            ..Self::IDENTITY
        }
    }

    /// `self ∘ inner`: the pose of a frame given in this one.
    pub fn compose(&self, inner: &Pose) -> Pose {
        Pose {
            position: self.position + self.rotation * inner.position,
            rotation: self.rotation * inner.rotation,
        }
    }

    /// The inverse transform.
    pub fn inverse(&self) -> Pose {
        let rotation = self.rotation.inverse();
        Pose {
            position: -(rotation * self.position),
            rotation,
        }
    }

    /// A point of this frame, in the parent's.
    pub fn transform_point(&self, point: Vec3) -> Vec3 {
        self.position + self.rotation * point
    }

    /// A point of the parent, in this frame.
    pub fn inverse_transform_point(&self, point: Vec3) -> Vec3 {
        self.rotation.inverse() * (point - self.position)
    }

    /// The same pose in parry's own types.
    pub fn to_parry(&self) -> parry3d_f64::math::Pose {
        parry3d_f64::math::Pose {
            translation: self.position.into(),
            rotation: self.rotation.into(),
        }
    }
}

/// An orientation, as scene files write it.
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

/// Shortest axis and quaternion that are a rotation.
pub(crate) const SHORTEST: f64 = 1e-9;

impl Rotation {
    /// As a unit quaternion; the identity where it is not a rotation.
    pub fn quaternion(&self) -> Quat {
        match *self {
            Self::Identity => Quat::identity(),
            Self::AxisAngle { axis, degrees } => Unit::try_new(Vec3::from(axis), SHORTEST)
                .map_or_else(Quat::identity, |axis| {
                    Quat::from_axis_angle(&axis, degrees.to_radians())
                }),
            Self::Euler { degrees: [x, y, z] } => {
                Quat::from_euler_angles(x.to_radians(), y.to_radians(), z.to_radians())
            }
            Self::Quaternion { x, y, z, w } => {
                Quat::try_new(Quaternion::new(w, x, y, z), SHORTEST).unwrap_or_else(Quat::identity)
            }
        }
    }
}

/// A symmetric 3×3 matrix by its upper triangle; inertia tensors are of this kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[repr(C)]
pub struct SymMat3 {
    /// Element (0, 0).
    pub xx: f64,
    /// Element (0, 1).
    pub xy: f64,
    /// Element (0, 2).
    pub xz: f64,
    /// Element (1, 1).
    pub yy: f64,
    /// Element (1, 2).
    pub yz: f64,
    /// Element (2, 2).
    pub zz: f64,
}

impl SymMat3 {
    /// The zero matrix.
    pub const ZERO: Self = Self {
        xx: 0.0,
        xy: 0.0,
        xz: 0.0,
        yy: 0.0,
        yz: 0.0,
        zz: 0.0,
    };

    /// A diagonal matrix.
    pub const fn diagonal(x: f64, y: f64, z: f64) -> Self {
        Self {
            xx: x,
            yy: y,
            zz: z,
            ..Self::ZERO
        }
    }

    /// The symmetric part of a full matrix.
    pub fn from_matrix(m: &Mat3) -> Self {
        Self {
            xx: m[(0, 0)],
            xy: 0.5 * (m[(0, 1)] + m[(1, 0)]),
            xz: 0.5 * (m[(0, 2)] + m[(2, 0)]),
            yy: m[(1, 1)],
            yz: 0.5 * (m[(1, 2)] + m[(2, 1)]),
            zz: m[(2, 2)],
        }
    }

    /// Times a factor.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self {
            xx: self.xx * by,
            xy: self.xy * by,
            xz: self.xz * by,
            yy: self.yy * by,
            yz: self.yz * by,
            zz: self.zz * by,
        }
    }

    /// The full matrix.
    pub fn to_matrix(self) -> Mat3 {
        Mat3::new(
            self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz,
        )
    }

    /// `self · v`.
    #[inline(always)]
    pub fn mul_vec(&self, v: Vec3) -> Vec3 {
        Vec3::new(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )
    }

    /// `R · self · Rᵀ`. A multiple of the identity is returned as it is, to the last bit.
    pub fn rotated(&self, rotation: &Quat) -> Self {
        if self.is_isotropic() {
            return *self;
        }
        let r = rotation.to_rotation_matrix().into_inner();
        Self::from_matrix(&(r * self.to_matrix() * r.transpose()))
    }

    /// Whether this is exactly a multiple of the identity.
    pub fn is_isotropic(&self) -> bool {
        self.xx == self.yy
            && self.yy == self.zz
            && self.xy == 0.0
            && self.xz == 0.0
            && self.yz == 0.0
    }

    /// The inverse of a positive definite matrix; `None` when it is not invertible.
    pub fn inverse(&self) -> Option<Self> {
        if self.xy == 0.0 && self.xz == 0.0 && self.yz == 0.0 {
            let [x, y, z] = [self.xx, self.yy, self.zz].map(f64::recip);
            let is_finite = [x, y, z].iter().all(|d| d.is_finite());
            return is_finite.then(|| Self::diagonal(x, y, z));
        }
        self.to_matrix()
            .try_inverse()
            .map(|m| Self::from_matrix(&m))
    }
}

/// A deterministic orthonormal frame around a unit vector: `t₁`, with `t₂ = n × t₁`. Exact for the
/// axes (Duff et al., "Building an Orthonormal Basis, Revisited", 2017). A normal in a coordinate
/// plane has one tangent in it and the other straight across, so that what moves in such a plane
/// stays there to the last bit.
#[inline]
pub fn tangent(n: Vec3) -> Vec3 {
    if n.z == 0.0 {
        return Vec3::new(-n.y, n.x, 0.0);
    }
    let sign = 1.0f64.copysign(n.z);
    let a = -1.0 / (sign + n.z);
    Vec3::new(
        1.0 + sign * n.x * n.x * a,
        sign * n.x * n.y * a,
        -sign * n.x,
    )
}

/// `exp(ω t) q`, renormalised: the rotation reached from `q` after time `t` at the constant world
/// angular velocity ω (rad/s).
#[inline]
pub fn rotate_by(q: &Quat, omega: Vec3, t: f64) -> Quat {
    if omega == Vec3::zeros() {
        return *q;
    }
    let turned = Quat::from_scaled_axis(omega * t) * q;
    Quat::new_normalize(turned.into_inner())
}

/// A spatial velocity or momentum: linear part, angular part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[repr(C)]
pub struct Twist {
    /// Velocity of the centre of mass (m/s).
    pub linear: Vec3,
    /// Angular velocity in the world frame (rad/s).
    pub angular: Vec3,
}

impl std::ops::Add for Twist {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            linear: self.linear + other.linear,
            angular: self.angular + other.angular,
        }
    }
}

impl std::ops::Sub for Twist {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            linear: self.linear - other.linear,
            angular: self.angular - other.angular,
        }
    }
}

impl Twist {
    /// At rest.
    pub const ZERO: Self = Self {
        linear: Vec3::new(0.0, 0.0, 0.0),
        angular: Vec3::new(0.0, 0.0, 0.0),
    };

    /// A velocity or momentum from its parts.
    pub const fn new(linear: Vec3, angular: Vec3) -> Self {
        Self { linear, angular }
    }

    /// Velocity of a material point at offset `r` from the centre of mass.
    #[inline(always)]
    pub fn at(&self, r: Vec3) -> Vec3 {
        self.linear + self.angular.cross(&r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tangent_is_exact_on_the_axes_and_orthonormal_elsewhere() {
        for n in [
            Vec3::x(),
            Vec3::y(),
            Vec3::z(),
            -Vec3::x(),
            -Vec3::y(),
            -Vec3::z(),
        ] {
            let t1 = tangent(n);
            let t2 = n.cross(&t1);
            for v in [t1, t2] {
                assert_eq!(v.iter().filter(|c| **c == 0.0).count(), 2, "{n:?} -> {v:?}");
            }
            assert_eq!(t1.dot(&n), 0.0);
        }
        for (n, across) in [
            (Vec3::new(0.6, 0.8, 0.0), 2),
            (Vec3::new(0.6, 0.0, -0.8), 1),
            (Vec3::new(0.0, -0.6, 0.8), 0),
        ] {
            let t1 = tangent(n);
            let t2 = n.cross(&t1);
            let (inside, axis) = if t1[across] == 0.0 {
                (t1, t2)
            } else {
                (t2, t1)
            };
            assert_eq!(inside[across], 0.0, "{n:?} -> {t1:?}");
            assert_eq!(
                axis.iter().filter(|c| **c == 0.0).count(),
                2,
                "{n:?} -> {t1:?}"
            );
        }
        let n = Vec3::new(0.3, -0.4, -0.866).normalize();
        let t1 = tangent(n);
        assert!(t1.dot(&n).abs() < 1e-15 && (t1.norm() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn symmetric_inverse_and_rotation_match_full_matrices() {
        let m = SymMat3 {
            xx: 4.0,
            xy: 1.0,
            xz: -0.5,
            yy: 3.0,
            yz: 0.2,
            zz: 2.0,
        };
        let inverse = m.inverse().unwrap();
        assert!((m.to_matrix() * inverse.to_matrix() - Mat3::identity()).norm() < 1e-14);
        let q = Quat::from_scaled_axis(Vec3::new(0.3, -1.0, 0.7));
        let r = q.to_rotation_matrix().into_inner();
        let full = r * m.to_matrix() * r.transpose();
        assert!((m.rotated(&q).to_matrix() - full).norm() < 1e-14);
        let v = Vec3::new(1.0, 2.0, 3.0);
        assert!((m.mul_vec(v) - m.to_matrix() * v).norm() < 1e-15);
    }
}
