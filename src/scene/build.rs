//! From a checked scene to a world.

use std::collections::{BTreeMap, HashMap};

use super::check;
use super::error::FieldError;
use super::mesh::{Files, Mesh};
use super::schema::{Body, DEFAULT_MATERIAL, Style};
use crate::material::Material;
use crate::math::{Mat3, Pose, Quat, Twist, Vec3};
use crate::world::{self, BodyError, BodyId, BodySpec, Edit, Geometry, World};

/// A world in the making.
pub(super) struct Builder<'a> {
    pub world: World,
    files: &'a Files,
    materials: HashMap<String, u16>,
    pub(super) body_names: HashMap<String, BodyId>,
    pub(super) joint_names: HashMap<String, u32>,
    meshes: BTreeMap<(String, u64), Mesh>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(world: World, files: &'a Files) -> Self {
        Self {
            world,
            files,
            materials: HashMap::new(),
            body_names: HashMap::new(),
            joint_names: HashMap::new(),
            meshes: BTreeMap::new(),
        }
    }

    /// Adds a material. The one called "default" becomes the world's material 0.
    pub(super) fn add_material(&mut self, name: &str, mut material: Material) {
        if let Some(anisotropy) = &mut material.anisotropy {
            anisotropy.direction.normalize_mut();
        }
        if name == DEFAULT_MATERIAL {
            self.world.materials[0] = material;
            return;
        }
        let index = self.world.materials.len() as u16;
        self.world.materials.push(material);
        self.materials.insert(name.to_owned(), index);
    }

    /// Index of a material; the scene's check has seen to it that it exists.
    fn material(&self, name: Option<&str>) -> u16 {
        let index = name.and_then(|name| self.materials.get(name));
        index.copied().unwrap_or(0)
    }

    /// A geometry with what the files that it names hold.
    pub(super) fn geometry(&mut self, shape: &Geometry) -> Result<Geometry, FieldError> {
        Ok(match shape {
            Geometry::ConvexHullFile { file, scale } => Geometry::ConvexHull {
                points: self.mesh(file, *scale)?.vertices.clone(),
            },
            Geometry::TriMeshFile { file, scale } => {
                let Mesh {
                    vertices,
                    triangles,
                } = self.mesh(file, *scale)?.clone();
                Geometry::TriMesh {
                    vertices,
                    triangles,
                }
            }
            Geometry::Compound { parts } => {
                let mut parts = parts.clone();
                for (k, part) in parts.iter_mut().enumerate() {
                    let inside = |e: FieldError| e.inside(&format!("parts.{k}.shape"));
                    part.shape = self.geometry(&part.shape).map_err(inside)?;
                }
                Geometry::Compound { parts }
            }
            whole => whole.clone(),
        })
    }

    fn mesh(&mut self, file: &str, scale: f64) -> Result<&Mesh, FieldError> {
        let key = (file.to_owned(), scale.to_bits());
        if !self.meshes.contains_key(&key) {
            let mesh = self
                .files
                .mesh(file, scale)
                .map_err(|message| FieldError::new("file", message))?;
            self.meshes.insert(key.clone(), mesh);
        }
        Ok(&self.meshes[&key])
    }

    /// Adds a hand-written body.
    pub(super) fn body(&mut self, body: &Body) -> Result<BodyId, FieldError> {
        let shape = match &body.shape {
            Some(shape) => {
                let geometry = self.geometry(shape).map_err(|e| e.inside("shape"))?;
                Some(solid(geometry).map_err(|e| e.inside("shape"))?)
            }
            None => None,
        };
        let id = self.add(BodySpec {
            name: body.name.clone(),
            kind: body.kind,
            pose: Pose::new(Vec3::from(body.position), body.rotation.quaternion()),
            linear_velocity: Vec3::from(body.velocity),
            angular_velocity: Vec3::from(body.angular_velocity),
            shape,
            mass: body.mass,
            density: body.density,
            inertia: body.inertia.map(Into::into),
            material: self.material(body.material.as_deref()),
            groups: body.groups,
            part: body.part,
            color: body.color.map(|c| c.linear()),
        })?;
        let force = Twist::new(Vec3::from(body.force), Vec3::from(body.torque));
        self.world.bodies.set_force(id.index(), force);
        Ok(id)
    }

    /// Changes what is there by now.
    pub(super) fn edit(&mut self, edit: &Edit) -> Result<(), FieldError> {
        let edited = self.world.edit(edit);
        edited.map_err(|why| FieldError::new("", why.to_string()))
    }

    /// A body that a generator places again and again. `mass` is `None` where the material's density
    /// decides.
    pub(super) fn template(
        &self,
        style: &Style,
        mass: Option<f64>,
        geometry: Geometry,
    ) -> Result<BodySpec, FieldError> {
        Ok(BodySpec {
            mass,
            material: self.material(style.material.as_deref()),
            groups: style.groups,
            part: style.part,
            shape: Some(solid(geometry)?),
            ..BodySpec::default()
        })
    }

    /// Adds a copy of a template.
    pub(super) fn place(
        &mut self,
        template: &BodySpec,
        pose: Pose,
        color: Option<[f32; 3]>,
    ) -> Result<BodyId, FieldError> {
        self.add(BodySpec {
            pose,
            color,
            ..template.clone()
        })
    }

    /// Adds a body.
    pub(super) fn add(&mut self, spec: BodySpec) -> Result<BodyId, FieldError> {
        check::in_world("position", spec.pose.position.as_slice())?;
        let name = spec.name.clone();
        let id = self.world.add_body(spec).map_err(|e| {
            let field = match e {
                BodyError::Invalid(invalid) => return invalid.into(),
                BodyError::BadInertia => "inertia",
                BodyError::Shape(_) | BodyError::NotSolid | BodyError::NoShape => "shape",
                BodyError::Removed => "",
            };
            FieldError::new(field, e.to_string())
        })?;
        let (bodies, slot) = (&self.world.bodies, id.index());
        // That of the centre of mass.
        check::in_world("position", bodies.position[slot].as_slice())?;
        if !bodies.is_mass_calculable(slot) {
            let message = "the shape and its mass make a mass or an inertia beyond 1e±40, or an inertia 1e14 times \
                           smaller about one axis than about another";
            return Err(FieldError::new("shape", message));
        }
        if !name.is_empty() && self.body_names.insert(name.clone(), id).is_some() {
            let message = format!("there are two bodies of the name \"{name}\"");
            return Err(FieldError::new("name", message));
        }
        Ok(id)
    }
}

/// The rotation whose columns these are.
pub(super) fn frame_rotation(columns: [Vec3; 3]) -> Quat {
    let columns = Mat3::from_columns(&columns);
    if columns == Mat3::identity() {
        return Quat::identity();
    }
    Quat::from_matrix_eps(&columns, 1e-15, 100, Quat::identity())
}

fn solid(geometry: Geometry) -> Result<world::Shape, FieldError> {
    world::Shape::new(geometry).map_err(|e| FieldError::new("", e.to_string()))
}
