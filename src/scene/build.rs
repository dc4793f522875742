//! From a checked scene to a world.

use std::collections::{BTreeMap, HashMap};

use super::check;
use super::error::FieldError;
use super::mesh::{Files, Mesh};
use super::schema::{Body, DEFAULT_MATERIAL, Material, Shape, Style};
use crate::math::{Mat3, Pose, Quat, Twist, Vec3};
use crate::world::{self, BodyError, BodyId, BodySpec, Geometry, World};

/// A world in the making.
pub(super) struct Builder<'a> {
    pub world: World,
    files: &'a Files,
    materials: HashMap<String, (u16, f64)>,
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
    pub(super) fn add_material(&mut self, name: &str, surface: world::Material, density: f64) {
        let index = if name == DEFAULT_MATERIAL {
            self.world.materials[0] = surface;
            0
        } else {
            self.world.materials.push(surface);
            (self.world.materials.len() - 1) as u16
        };
        self.materials.insert(name.to_owned(), (index, density));
    }

    /// Index and density of a material; the scene's check has seen to it that it exists.
    fn material(&self, name: Option<&str>) -> (u16, f64) {
        let name = name.unwrap_or(DEFAULT_MATERIAL);
        let plain = Material::default().density;
        self.materials.get(name).copied().unwrap_or((0, plain))
    }

    /// Makes a geometry of the engine, meshes from files included.
    pub(super) fn geometry(&mut self, shape: &Shape) -> Result<Geometry, FieldError> {
        let points = |list: &[[f64; 3]]| list.iter().map(|p| Vec3::from(*p)).collect();
        Ok(match shape {
            Shape::Ball { radius } => Geometry::Ball { radius: *radius },
            Shape::Cuboid { half_extents } => Geometry::Cuboid {
                half_extents: Vec3::from(*half_extents),
            },
            Shape::Capsule {
                half_height,
                radius,
            } => Geometry::Capsule {
                half_height: *half_height,
                radius: *radius,
            },
            Shape::Cylinder {
                half_height,
                radius,
            } => Geometry::Cylinder {
                half_height: *half_height,
                radius: *radius,
            },
            Shape::Cone {
                half_height,
                radius,
            } => Geometry::Cone {
                half_height: *half_height,
                radius: *radius,
            },
            Shape::ConvexHull { points: list } => Geometry::ConvexHull {
                points: points(list),
            },
            Shape::ConvexHullFile { file, scale } => Geometry::ConvexHull {
                points: self.mesh(file, *scale)?.vertices.clone(),
            },
            Shape::TriMesh {
                vertices,
                triangles,
            } => Geometry::TriMesh {
                vertices: points(vertices),
                triangles: triangles.clone(),
            },
            Shape::TriMeshFile { file, scale } => {
                let mesh = self.mesh(file, *scale)?.clone();
                Geometry::TriMesh {
                    vertices: mesh.vertices,
                    triangles: mesh.triangles,
                }
            }
            Shape::HeightField { size, heights } => Geometry::HeightField {
                columns: heights.first().map_or(0, Vec::len),
                rows: heights.len(),
                heights: heights.concat(),
                size: *size,
            },
            Shape::HalfSpace { normal } => Geometry::HalfSpace {
                normal: Vec3::from(*normal),
            },
            Shape::Compound { parts } => {
                let mut made = Vec::with_capacity(parts.len());
                for (k, part) in parts.iter().enumerate() {
                    let pose = Pose::new(Vec3::from(part.position), part.rotation.quaternion());
                    let geometry = self
                        .geometry(&part.shape)
                        .map_err(|e| e.inside(&format!("parts.{k}.shape")))?;
                    made.push((pose, geometry));
                }
                Geometry::Compound { parts: made }
            }
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
        let (material, density) = self.material(body.material.as_deref());
        let id = self.add(BodySpec {
            name: body.name.clone(),
            kind: body.kind,
            pose: Pose::new(Vec3::from(body.position), body.rotation.quaternion()),
            linear_velocity: Vec3::from(body.velocity),
            angular_velocity: Vec3::from(body.angular_velocity),
            shape,
            mass: body.mass,
            density: body.density.unwrap_or(density),
            inertia: body.inertia.map(Into::into),
            material,
            groups: body.groups,
            color: body.color.map(|c| c.linear()),
        })?;
        self.world.bodies.force[id.index()] = Twist {
            linear: Vec3::from(body.force),
            angular: Vec3::from(body.torque),
        };
        Ok(id)
    }

    /// A body that a generator places again and again. `mass` is `None` where the material's density
    /// decides.
    pub(super) fn template(
        &self,
        style: &Style,
        mass: Option<f64>,
        geometry: Geometry,
    ) -> Result<BodySpec, FieldError> {
        let (material, density) = self.material(style.material.as_deref());
        Ok(BodySpec {
            mass,
            density,
            material,
            groups: style.groups,
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
        check::finite("position", spec.pose.position.as_slice())?;
        let name = spec.name.clone();
        let id = self.world.add_body(spec).map_err(|e| {
            let field = match e {
                BodyError::Invalid(invalid) => return invalid.into(),
                BodyError::BadInertia => "inertia",
                BodyError::NotSolid | BodyError::NoShape => "shape",
                BodyError::Removed => "",
            };
            FieldError::new(field, e.to_string())
        })?;
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
