//! Triangle meshes from OBJ files.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::file::Content;
use crate::math::Vec3;

/// Copies of files inside the program, by their names.
macro_rules! embedded {
    ($folder:literal, $extension:literal, $($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", $name, $extension)),
        )),*]
    };
}
pub(super) use embedded;

/// Copies of `assets/`.
static ASSETS: &[(&str, &str)] = embedded!("assets", ".obj", "rock", "terrain");

/// Where a scene's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Files {
    /// Nowhere: the scene was given as text.
    #[default]
    None,
    /// Relative to this folder.
    Folder(PathBuf),
    /// Inside the program, beside its scenes.
    Shipped,
}

/// Vertices and triangles of all objects of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mesh {
    pub vertices: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
}

impl Files {
    /// Reads a mesh; the message names the file.
    pub(super) fn mesh(&self, file: &str, scale: f64) -> Result<Mesh, String> {
        let (label, bytes) = match self {
            Self::None => {
                return Err(format!(
                    "the mesh \"{file}\" cannot be found: the scene is not a file"
                ));
            }
            Self::Folder(folder) => {
                let path = folder.join(file);
                let label = path.display().to_string();
                let missing = |e: std::io::Error| format!("the mesh {label} cannot be read: {e}");
                let bytes = Content::Mesh.read(&path).map_err(missing)?;
                (label, bytes)
            }
            Self::Shipped => {
                // Shipped scenes name meshes as `../assets/NAME.obj`, and nothing else is looked up.
                let is_it = |(name, _): &&(&str, &str)| file == format!("../assets/{name}.obj");
                let found = ASSETS.iter().find(is_it);
                let (_, text) = found
                    .ok_or_else(|| format!("no mesh \"{file}\" is shipped with this program"))?;
                (file.to_owned(), text.as_bytes().to_vec())
            }
        };
        parse(&bytes, scale).map_err(|message| format!("the mesh {label}{message}"))
    }
}

/// Reads OBJ text. The message begins where the name of the file ends.
fn parse(bytes: &[u8], scale: f64) -> Result<Mesh, String> {
    let options = tobj::LoadOptions {
        triangulate: true,
        ignore_points: true,
        ignore_lines: true,
        ..Default::default()
    };
    // Materials play no part in collision.
    let without_materials = |_: &Path| Ok(Default::default());
    let shape = shape_alone(bytes);
    let (models, _) = tobj::load_obj_buf(&mut BufReader::new(&*shape), &options, without_materials)
        .map_err(|e| format!("{}: it is not a good OBJ file: {e}", bad_line(bytes)))?;
    let mut mesh = Mesh {
        vertices: Vec::new(),
        triangles: Vec::new(),
    };
    for model in models {
        let first = mesh.vertices.len() as u32;
        let (points, _) = model.mesh.positions.as_chunks::<3>();
        let (triangles, _) = model.mesh.indices.as_chunks::<3>();
        mesh.vertices
            .extend(points.iter().map(|p| Vec3::from(p.map(f64::from)) * scale));
        mesh.triangles
            .extend(triangles.iter().map(|t| t.map(|i| i + first)));
    }
    if mesh.triangles.is_empty() {
        return Err(" has no face".into());
    }
    Ok(mesh)
}

/// The lines that say something about the shape. Texture coordinates and normals play no part either, and the reader
/// multiplies their indices, which may overflow.
fn shape_alone(bytes: &[u8]) -> Vec<u8> {
    let mut shape = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let mut words = line.split(u8::is_ascii_whitespace);
        let first = words.find(|word| !word.is_empty());
        if first.is_some_and(|word| [&b"v"[..], b"f", b"o", b"g"].contains(&word)) {
            shape.extend_from_slice(line);
        }
    }
    shape
}

/// `:line` of the first line that cannot be read, as far as a simple look tells.
fn bad_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let vertices = text
        .lines()
        .filter(|l| l.trim_start().starts_with("v "))
        .count() as i64;
    let is_number = |word: &str| word.parse::<f64>().is_ok_and(f64::is_finite);
    let is_index = |word: &str| {
        let index = word.split('/').next().unwrap_or("").parse::<i64>();
        index.is_ok_and(|i| i != 0 && i.abs() <= vertices)
    };
    let bad = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next();
        let words: Vec<&str> = words.collect();
        match first {
            Some("v") => words.len() < 3 || !words.into_iter().all(is_number),
            Some("f") => words.len() < 3 || !words.into_iter().all(is_index),
            _ => false,
        }
    };
    match text.lines().position(bad) {
        Some(index) => format!(":{}", index + 1),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn a_quad_becomes_two_triangles() {
        let text = b"v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 2 3 4\n";
        let mesh = parse(text, 2.0).unwrap();
        assert_eq!(mesh.vertices.len(), 4);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.vertices[2], Vec3::new(2.0, 0.0, 2.0));
    }

    #[test]
    fn texture_coordinates_and_normals_are_not_looked_at() {
        let text = b"v 0 0 0\nv 1 0 0\nv 1 0 1\nvt one\nvn 0 1 0\nvt 0 1\n\
                     f 1/9223372036854775807/9223372036854775807 2/1/1 3//7\n";
        let mesh = parse(text, 1.0).unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2]]);
    }

    #[test]
    fn shipped_scenes_take_only_shipped_meshes() {
        assert!(Files::Shipped.mesh("../assets/rock.obj", 1.0).is_ok());
        for file in [
            "../../rock.obj",
            "/etc/rock.obj",
            "../assets/../rock.obj",
            "rock.obj",
        ] {
            let body = format!("(shape: ConvexHullFile(file: \"{file}\"))");
            let text = format!("(\n    bodies: [\n        {body},\n    ],\n)\n");
            let scene = Scene::read(&text, "some.ron".into(), Files::Shipped);
            let error = scene
                .and_then(|scene| scene.build().map(drop))
                .unwrap_err()
                .to_string();
            let expected = format!("no mesh \"{file}\" is shipped with this program");
            assert!(
                error.starts_with("some.ron:3:") && error.contains(&expected),
                "{error}"
            );
        }
    }

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        let wrong_number = b"v 0 0 0\nv 1 zero 0\n";
        assert!(parse(wrong_number, 1.0).unwrap_err().starts_with(":2: "));
        let wrong_index = b"v 0 0 0\nv 1 0 0\nv 1 0 1\nf 1 2 9\n";
        assert!(parse(wrong_index, 1.0).unwrap_err().starts_with(":4: "));
        for text in [
            &b""[..],
            b"v 0 0 0\n",
            b"f 1 2 3\n",
            b"f -1 -2 -3\n",
            b"\xff\xfe\x00",
            b"f\n",
            b"v\n",
        ] {
            assert!(parse(text, 1.0).is_err());
        }
    }
}
