//! Scenes: RON files with hand-written bodies and generators, checked, and built into a world.
//!
//! ```
//! let scene = moreau::scene::Scene::parse(
//!     r#"(
//!         name: "A ball on the ground",
//!         bodies: [
//!             (name: "ground", kind: Fixed, shape: HalfSpace()),
//!             (name: "ball", shape: Ball(radius: 0.5), position: (0, 2, 0), mass: 1),
//!         ],
//!     )"#,
//!     "example",
//! )?;
//! let world = scene.build()?;
//! assert_eq!(world.bodies.len(), 2);
//! # Ok::<(), moreau::scene::SceneError>(())
//! ```
//!
//! The RON extensions `implicit_some`, `unwrap_newtypes` and `unwrap_variant_newtypes` are always
//! on. A file is refused, with its line and column, when it has an unknown field, a value of the
//! wrong type, a number that is infinite, not a number or out of range, two bodies of one name, or a
//! name that nothing has; [`Scene`] and the types that it holds say what each field means.

mod build;
mod check;
mod edit;
mod error;
pub mod generators;
pub mod joints;
pub mod library;
mod locate;
mod mesh;
pub mod schema;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ron::extensions::Extensions;
use serde::{Deserialize, Deserializer, Serialize, de};

pub use error::{FieldError, Place, SceneError};
pub use generators::Generator;
pub use joints::{Drive, Joint};
pub use schema::{Body, Camera, DEFAULT_MATERIAL, Parameter, View};

use crate::file::Content;
pub use crate::material::{Anisotropy, Material};
use crate::solve::SolverConfig;
use crate::step::Simulation;
use crate::world::{Edit, Geometry, Settings, World};
use build::Builder;
use mesh::Files;

/// Most bodies that a scene may have: four times as many as the largest published one, in about 2 GB.
const MOST_BODIES: u64 = 2_000_000;

/// A scene, as its file describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// The group that lists show it in.
    pub group: String,
    /// One paragraph about it; the first sentence is its summary.
    pub about: String,
    /// Gravity, step, substeps, stabilisation, friction law.
    pub settings: Settings,
    /// The solver, its budget and parameters.
    pub solver: SolverConfig,
    /// Materials by name. Bodies that name none have the one called "default".
    #[serde(deserialize_with = "materials_without_duplicates")]
    pub materials: BTreeMap<String, Material>,
    /// Hand-written bodies. They come first in the world, in this order.
    pub bodies: Vec<Body>,
    /// Generators; their bodies follow.
    pub generators: Vec<Generator>,
    /// Joints between bodies; those of generators come before them.
    pub joints: Vec<Joint>,
    /// What moves the joints' motors.
    pub drives: Vec<Drive>,
    /// What somebody has changed by hand, done in this order once everything else is there. Bodies are named by
    /// their place in the world, from 0.
    pub edits: Vec<Edit>,
    /// Values that the viewer shows as sliders.
    pub parameters: Vec<Parameter>,
    /// Where the viewer looks from at the start.
    pub camera: Camera,
    /// What the viewer draws at the start.
    pub view: View,
    /// Where it came from.
    #[serde(skip)]
    origin: Origin,
}

/// Where a scene came from.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// How messages call it.
    file: String,
    /// Its text.
    text: Arc<str>,
    /// Where its meshes are.
    files: Files,
}

impl PartialEq for Origin {
    /// Two scenes that say the same are equal, wherever they came from.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn options() -> ron::Options {
    ron::Options::default().with_default_extension(
        Extensions::IMPLICIT_SOME
            | Extensions::UNWRAP_NEWTYPES
            | Extensions::UNWRAP_VARIANT_NEWTYPES,
    )
}

impl Scene {
    /// Reads and checks a scene file.
    ///
    /// # Errors
    /// A file that cannot be read, or anything wrong with the scene, short of missing meshes.
    pub fn load(path: &Path) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let text = Content::Scene
            .read_text(path)
            .map_err(|e| SceneError::Read {
                file: file.clone(),
                message: format!("the scene cannot be read: {e}"),
            })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::read(&text, file, Files::Folder(folder))
    }

    /// Reads and checks a scene from text; `origin` is what messages call it. Mesh files are not
    /// found from such a scene.
    ///
    /// # Errors
    /// Anything wrong with the scene.
    pub fn parse(text: &str, origin: &str) -> Result<Self, SceneError> {
        Self::read(text, origin.to_owned(), Files::None)
    }

    fn read(text: &str, file: String, files: Files) -> Result<Self, SceneError> {
        let mut scene: Scene = options()
            .from_str(text)
            .map_err(|e| syntax_error(&e, text, &file))?;
        scene.origin = Origin {
            file,
            text: text.into(),
            files,
        };
        scene.check()?;
        Ok(scene)
    }

    /// The files that it was read from: its own, and the meshes that it names.
    pub fn files(&self) -> Vec<PathBuf> {
        let Files::Folder(folder) = &self.origin.files else {
            return Vec::new();
        };
        let mut files = vec![PathBuf::from(&self.origin.file)];
        let mut shapes: Vec<&Geometry> = self
            .bodies
            .iter()
            .filter_map(|b| b.shape.as_ref())
            .collect();
        while let Some(shape) = shapes.pop() {
            match shape {
                Geometry::ConvexHullFile { file, .. } | Geometry::TriMeshFile { file, .. } => {
                    files.push(folder.join(file));
                }
                Geometry::Compound { parts } => shapes.extend(parts.iter().map(|p| &p.shape)),
                _ => {}
            }
        }
        files
    }

    /// The first sentence about it.
    pub fn summary(&self) -> &str {
        let end = self
            .about
            .find(". ")
            .map_or(self.about.len(), |dot| dot + 1);
        &self.about[..end]
    }

    /// How messages call it: its file, or its name in the library.
    pub fn origin(&self) -> &str {
        &self.origin.file
    }

    /// The short name that reports use: the file's without folder and extension.
    pub fn id(&self) -> &str {
        Path::new(&self.origin.file)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or(&self.origin.file)
    }

    /// Number of bodies that it will have.
    pub fn body_count(&self) -> u64 {
        let by_hand = self.bodies.len() as u64 + self.added();
        let generators = self.generators.iter();
        generators.fold(by_hand, |n, g| n.saturating_add(g.count()))
    }

    /// Checks everything that can be told without building: numbers, names, counts.
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn check(&self) -> Result<(), SceneError> {
        self.check_content()?;
        self.check_parameters()
    }

    /// All but the sliders, which may lose what they moved when a scene is changed.
    fn check_content(&self) -> Result<(), SceneError> {
        self.check_settings()
            .map_err(|e| self.invalid(section("settings"), e))?;
        self.solver.check().map_err(|e| {
            let error = FieldError::new(e.field(), e.to_string());
            self.invalid(section("solver"), error)
        })?;
        for (name, material) in &self.materials {
            let what = || (format!("materials.{name}"), format!("material \"{name}\""));
            let checked = material.check();
            checked.map_err(|e| self.invalid(what(), e.into()))?;
        }
        let most = usize::from(u16::MAX);
        if self.materials.len() >= most {
            let e = FieldError::new("", format!("a scene has at most {most} materials"));
            return Err(self.invalid(section("materials"), e));
        }
        self.check_bodies()?;
        self.each(&self.generators, Self::generator_label, |generator| {
            let material = generator.style().material.as_deref();
            generator.check()?;
            self.check_material(material).map_err(|e| e.inside("style"))
        })?;
        self.each(&self.joints, Self::joint_label, Joint::check)?;
        self.each(&self.drives, Self::drive_label, Drive::check)?;
        self.camera
            .check()
            .map_err(|e| self.invalid(section("camera"), e))
    }

    /// Does the same to every element of a list; an error gets its label and place.
    fn each<T>(
        &self,
        list: &[T],
        label: impl Fn(&Self, usize) -> (String, String),
        mut act: impl FnMut(&T) -> Result<(), FieldError>,
    ) -> Result<(), SceneError> {
        for (k, element) in list.iter().enumerate() {
            act(element).map_err(|e| self.invalid(label(self, k), e))?;
        }
        Ok(())
    }

    fn check_settings(&self) -> Result<(), FieldError> {
        self.settings.check()?;
        check::finite("gravity", &self.settings.gravity)?;
        check::finite("prediction", &self.settings.prediction)?;
        check::within(1e-7, 1.0)("step", &self.settings.step)
    }

    fn check_bodies(&self) -> Result<(), SceneError> {
        let mut names: HashMap<&str, usize> = HashMap::new();
        for (k, body) in self.bodies.iter().enumerate() {
            body.check()
                .and_then(|()| self.check_material(body.material.as_deref()))
                .map_err(|e| self.invalid(self.body_label(k), e))?;
            if body.name.is_empty() {
                continue;
            }
            if let Some(first) = names.insert(&body.name, k) {
                let message = format!(
                    "bodies {first} and {k} have the same name; names must differ or be empty"
                );
                return Err(self.invalid(self.body_label(k), FieldError::new("name", message)));
            }
        }
        Ok(())
    }

    fn check_material(&self, name: Option<&str>) -> Result<(), FieldError> {
        match name {
            Some(name) if name != DEFAULT_MATERIAL && !self.materials.contains_key(name) => {
                let mut known: Vec<_> = self.materials.keys().map(String::as_str).collect();
                if !known.contains(&DEFAULT_MATERIAL) {
                    known.push(DEFAULT_MATERIAL);
                }
                let message = format!(
                    "there is no material \"{name}\"; there are: {}",
                    known.join(", ")
                );
                Err(FieldError::new("material", message))
            }
            _ => Ok(()),
        }
    }

    fn check_parameters(&self) -> Result<(), SceneError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let text = edit::write(self);
        self.each(&self.parameters, Self::parameter_label, |parameter| {
            parameter.check()?;
            let path = &parameter.path;
            let value = edit::value_in(&text, path);
            let number = value.and_then(|value| {
                let parsed = value.parse::<f64>();
                parsed.map_err(|_| format!("path \"{path}\" does not lead to a number"))
            });
            let checked = number.map_err(|message| FieldError::new("path", message));
            checked.map(|_| ())
        })
    }

    /// Builds the world.
    ///
    /// # Errors
    /// Anything wrong with the scene, mesh files and shapes included.
    pub fn build(&self) -> Result<World, SceneError> {
        self.build_within(MOST_BODIES)
    }

    /// Builds the world, unless it would have more than `most` bodies.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_within(&self, most: u64) -> Result<World, SceneError> {
        self.check_content()?;
        self.check_count(most)?;
        let mut builder = Builder::new(World::new(self.settings), &self.origin.files);
        for (name, material) in &self.materials {
            builder.add_material(name, *material);
        }
        let b = &mut builder;
        b.world.bodies.reserve(self.body_count() as usize);
        self.each(&self.bodies, Self::body_label, |body| {
            b.body(body).map(|_| ())
        })?;
        self.each(&self.generators, Self::generator_label, |g| g.generate(b))?;
        self.each(&self.joints, Self::joint_label, |joint| b.joint(joint))?;
        self.each(&self.drives, Self::drive_label, |drive| b.drive(drive))?;
        self.each(&self.edits, Self::edit_label, |edit| b.edit(edit))?;
        Ok(builder.world)
    }

    /// The limit is checked before anything is allocated.
    fn check_count(&self, most: u64) -> Result<(), SceneError> {
        let mut count = 0_u64;
        let mut add = |made: u64| {
            count = count.saturating_add(made);
            let made = match count {
                u64::MAX => "far too many".to_owned(),
                count if count > most => count.to_string(),
                _ => return Ok(()),
            };
            let message = format!("{made} bodies; a scene has at most {most}");
            Err(FieldError::new("", message))
        };
        add(self.bodies.len() as u64).map_err(|e| self.invalid(section("bodies"), e))?;
        self.each(&self.generators, Self::generator_label, |g| add(g.count()))?;
        add(self.added()).map_err(|e| self.invalid(section("edits"), e))
    }

    /// Number of bodies that edits add.
    fn added(&self) -> u64 {
        let adds = |edit: &&Edit| matches!(edit, Edit::Add { .. });
        self.edits.iter().filter(adds).count() as u64
    }

    /// The scene as a file, all fields written out.
    pub fn to_ron(&self) -> String {
        let pretty = ron::ser::PrettyConfig::new().depth_limit(3);
        // Writing plain data to memory cannot fail.
        options().to_string_pretty(self, pretty).unwrap_or_default()
    }

    /// Builds the world and the solver; `threads` as in [`Simulation::new`].
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn simulation(&self, threads: usize) -> Result<Simulation, SceneError> {
        let world = self.build()?;
        Simulation::new(world, self.solver.clone(), threads)
            .map_err(|e| self.invalid(section("solver"), FieldError::new("", e.to_string())))
    }

    fn body_label(&self, k: usize) -> (String, String) {
        element("bodies", k, "body", &self.bodies[k].name)
    }

    fn joint_label(&self, k: usize) -> (String, String) {
        element("joints", k, "joint", &self.joints[k].name)
    }

    fn drive_label(&self, k: usize) -> (String, String) {
        element("drives", k, "drive", &self.drives[k].name)
    }

    fn edit_label(&self, k: usize) -> (String, String) {
        element("edits", k, "edit", "")
    }

    fn parameter_label(&self, k: usize) -> (String, String) {
        let label = format!("parameter \"{}\"", self.parameters[k].label);
        (format!("parameters.{k}"), label)
    }

    fn generator_label(&self, k: usize) -> (String, String) {
        let label = format!("generator {k} ({})", self.generators[k].name());
        (format!("generators.{k}"), label)
    }

    /// An error about one element, given by path and label, at its place in the file.
    fn invalid(&self, (path, subject): (String, String), error: FieldError) -> SceneError {
        let text = &self.origin.text;
        let path = path.split('.').chain(error.field.split('.'));
        let path: Vec<&str> = path.filter(|s| !s.is_empty()).collect();
        // A field that is not written takes the place of what should hold it; but nothing takes the
        // place of the whole file.
        let found = locate::locate(text, &path);
        let start = found.span.start;
        let line_column = (found.matched > 0).then(|| locate::line_column(text, start));
        SceneError::Invalid {
            place: Place {
                file: self.origin.file.clone(),
                line_column,
            },
            subject,
            message: error.message,
        }
    }
}

/// Path and label of a part of a scene.
fn section(name: &str) -> (String, String) {
    (name.to_owned(), name.to_owned())
}

/// Path and label of an element of a list.
fn element(list: &str, k: usize, what: &str, name: &str) -> (String, String) {
    let label = match name {
        "" => format!("{what} {k}"),
        name => format!("{what} \"{name}\""),
    };
    (format!("{list}.{k}"), label)
}

/// Fields that scenes once had, and what to write instead.
const GONE: [(&str, &str); 3] = [
    (
        "joint_iterations",
        "each step solves until its joints are closed, so that it can be left out",
    ),
    (
        "geometric_stiffness",
        "cables are stable without it, so that it can be left out",
    ),
    (
        "stabilisation",
        "joints are closed within each step, so that it can be left out; that of contacts stands in `settings`",
    ),
];

/// RON's own message with file, line, column, and what stands there.
fn syntax_error(error: &ron::error::SpannedError, text: &str, file: &str) -> SceneError {
    let (line, column) = (error.span.start.line, error.span.start.col);
    let mut message = error.code.to_string();
    if !message.starts_with("RON") {
        message = edit::lower_first(&message);
    }
    if let ron::Error::NoSuchStructField { found, .. } = &error.code
        && let Some((_, instead)) = GONE.iter().find(|(name, _)| name == found)
    {
        message = format!("`{found}` is no more: {instead}");
    }
    let rest: String = text
        .lines()
        .nth(line.saturating_sub(1))
        .map(|l| l.chars().skip(column.saturating_sub(1)).collect())
        .unwrap_or_default();
    let there = rest.trim_start();
    let end = there
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ')' | ']' | '}'))
        .unwrap_or(there.len());
    let token = match &there[..end] {
        "" => there.chars().next().map(String::from).unwrap_or_default(),
        token => token.chars().take(30).collect(),
    };
    // RON stands on the last sign when the text is at its end.
    let ends = there.trim_end().len() <= 1 && line >= text.trim_end().lines().count();
    if message.starts_with("expected") && !message.contains("found") {
        message = if ends {
            format!("{message}, but the file ends here")
        } else if token.is_empty() {
            message
        } else {
            format!("{message}, found `{token}`")
        };
    }
    SceneError::Syntax {
        place: Place {
            file: file.to_owned(),
            line_column: Some((line, column)),
        },
        message,
    }
}

/// A map of materials that refuses to hold a name twice.
fn materials_without_duplicates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Material>, D::Error> {
    struct MaterialsVisitor;
    impl<'de> de::Visitor<'de> for MaterialsVisitor {
        type Value = BTreeMap<String, Material>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a map from names to materials: {\"ice\": (friction: 0.05)}")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut materials = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                if materials.contains_key(&name) {
                    return Err(de::Error::custom(format!(
                        "material \"{name}\" is there twice"
                    )));
                }
                materials.insert(name, map.next_value()?);
            }
            Ok(materials)
        }
    }
    deserializer.deserialize_map(MaterialsVisitor)
}
