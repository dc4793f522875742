//! Surface materials and how two of them combine at a contact.

use serde::{Deserialize, Serialize};

use crate::check::{Invalid, demand, finite};
use crate::math::Vec3;

/// What a body is made of: its density and its surface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Material {
    /// Density of bodies that have no mass or density of their own (kg/m³).
    pub density: f64,
    /// Coefficient of Coulomb friction μ (-).
    pub friction: f64,
    /// Newton's coefficient of restitution ε in the normal direction (-), from 0 to 1.
    pub restitution: f64,
    /// Coefficient of restitution ε_T in the tangential plane (-), from 0 to 1.
    pub tangential_restitution: f64,
    /// Effective contact radius R_c of Coulomb–Contensou spin friction (m); 0 switches it off.
    pub spin_radius: f64,
    /// Arm k of rolling resistance (m): against rolling acts a couple of at most k times the normal force; 0
    /// switches it off, and of two surfaces the larger one counts.
    pub rolling: f64,
    /// Compliance α (m/N): a contact gives way like a spring of stiffness 1/α, along its normal and in
    /// its tangential plane alike; 0 is rigid. The compliances of two surfaces add up.
    pub compliance: f64,
    /// A second coefficient of friction, for surfaces that slide more easily one way.
    pub anisotropy: Option<Anisotropy>,
    /// How it combines with another material; of two rules the later one in the list
    /// `GeometricMean`, `Average`, `Min`, `Multiply`, `Max` wins.
    pub combine: CombineRule,
}

/// A surface that slides more easily along one direction than across it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anisotropy {
    /// Direction in the body's frame along which `friction` holds; need not be of unit length.
    pub direction: Vec3,
    /// Coefficient of friction across it (-).
    pub across: f64,
}

/// How the coefficients of two surfaces become those of their contact. Where two rules meet, the
/// one listed later wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CombineRule {
    /// √(μ₁ μ₂); the default.
    #[default]
    GeometricMean,
    /// ½(μ₁ + μ₂).
    Average,
    /// The smaller one.
    Min,
    /// The product.
    Multiply,
    /// The larger one.
    Max,
}

impl CombineRule {
    /// Applies the rule.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            // Equal surfaces keep their value to the last bit.
            Self::GeometricMean if a == b => a,
            Self::GeometricMean => (a * b).sqrt(),
            Self::Average => 0.5 * (a + b),
            Self::Min => a.min(b),
            Self::Multiply => a * b,
            Self::Max => a.max(b),
        }
    }
}

impl Default for Material {
    fn default() -> Self {
        Self {
            density: 1000.0,
            friction: 0.5,
            restitution: 0.0,
            tangential_restitution: 0.0,
            spin_radius: 0.0,
            rolling: 0.0,
            compliance: 0.0,
            anisotropy: None,
            combine: CombineRule::GeometricMean,
        }
    }
}

/// The surface parameters of one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMaterial {
    /// μ along t₁ and t₂ (-); equal unless anisotropic.
    pub friction: [f64; 2],
    /// Whether one of the surfaces slides more easily one way.
    pub is_anisotropic: bool,
    /// ε (-).
    pub restitution: f64,
    /// ε_T (-).
    pub tangential_restitution: f64,
    /// R_c (m).
    pub spin_radius: f64,
    /// k (m).
    pub rolling: f64,
    /// α (m/N).
    pub compliance: f64,
}

impl Material {
    /// Checks every value.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        let is_density = (1e-9..=1e9).contains(&self.density);
        demand(is_density, "density", "from 1e-9 to 1e9", self.density)?;
        let across = self.anisotropy.map_or(0.0, |a| a.across);
        for (field, value, most) in [
            ("friction", self.friction, 1e6),
            ("restitution", self.restitution, 1.0),
            ("tangential_restitution", self.tangential_restitution, 1.0),
            ("spin_radius", self.spin_radius, 1e6),
            ("rolling", self.rolling, 1e6),
            ("compliance", self.compliance, 1e6),
            ("anisotropy.across", across, 1e6),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(Invalid::new(field, format!("from 0 to {most}"), value));
            }
        }
        let is_special = self.spin_radius > 0.0 || self.anisotropy.is_some();
        let is_fine = !is_special || self.rolling == 0.0;
        let expected = "0 beside spin friction or an anisotropic one";
        demand(is_fine, "rolling", expected, self.rolling)?;
        let Some(Anisotropy { direction, .. }) = self.anisotropy else {
            return Ok(());
        };
        let field = "anisotropy.direction";
        let length = direction.norm();
        finite(field, &direction)?;
        demand(length > 0.0, field, "longer than 0", length)?;
        let spin = self.spin_radius;
        let expected = "0 beside an anisotropic friction";
        demand(spin == 0.0, "spin_radius", expected, spin)
    }

    /// Combines two materials; the friction is `[along, across]` of whichever is anisotropic.
    #[inline]
    pub fn combine(&self, other: &Material) -> ContactMaterial {
        let rule = self.combine.max(other.combine);
        let along = rule.apply(self.friction, other.friction);
        let is_anisotropic = self.anisotropy.is_some() || other.anisotropy.is_some();
        let across = if is_anisotropic {
            let second = |m: &Material| m.anisotropy.map_or(m.friction, |a| a.across);
            rule.apply(second(self), second(other))
        } else {
            along
        };
        ContactMaterial {
            friction: [along, across],
            is_anisotropic,
            restitution: rule.apply(self.restitution, other.restitution),
            tangential_restitution: rule
                .apply(self.tangential_restitution, other.tangential_restitution),
            spin_radius: self.spin_radius.max(other.spin_radius),
            rolling: self.rolling.max(other.rolling),
            compliance: self.compliance + other.compliance,
        }
    }
}
