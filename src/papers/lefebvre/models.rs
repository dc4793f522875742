//! The scenes of the bench: those that are shipped, and some of them in the sizes that the thesis gives.

use crate::papers::Result;
use crate::scene::{Scene, library};
use crate::world::{Geometry, Part};

/// A shipped scene in another size.
struct Model {
    name: &'static str,
    scene: &'static str,
    /// Its fields, and what they become.
    size: &'static [(&'static str, &'static str)],
    /// Tines of each claw, where it has claws.
    tines: Option<usize>,
}

/// The chain of table 3.1 is the winch's, longer. The boxes fall, because those that stand have no tight row. The tower has
/// more logs. The forwarder has more tines, and so more contacts at its log.
const MODELS: [Model; 4] = [
    Model {
        name: "chain",
        scene: "winch",
        size: &[
            ("generators.0.links", "74"),
            ("generators.0.link_length", "0.2"),
        ],
        tines: None,
    },
    Model {
        name: "log_tower",
        scene: "log_tower",
        size: &[("generators.0.layers", "30"), ("generators.0.logs", "4")],
        tines: None,
    },
    Model {
        name: "box_stack",
        scene: "box_stack",
        size: &[("generators.0.count", "28"), ("generators.0.gap", "0.02")],
        tines: None,
    },
    Model {
        name: "forwarder_tines",
        scene: "forwarder",
        size: &[],
        tines: Some(10),
    },
];

/// The scene of this name in the bench.
///
/// # Errors
/// A scene that cannot be used.
pub fn scene(name: &str) -> Result<Scene> {
    let Some(model) = MODELS.iter().find(|m| m.name == name) else {
        return Ok(library::shipped(name)?);
    };
    let mut scene = library::shipped(model.scene)?;
    if let Some(tines) = model.tines {
        multiply_tines(&mut scene, tines);
    }
    scene.set_all(model.size)?;
    Ok(scene)
}

/// A remark on a scene of the bench, with the shipped scene and what was changed in it, where it is not as it is shipped.
pub fn with_size(name: &str, remark: String) -> String {
    let Some(model) = MODELS.iter().find(|m| m.name == name) else {
        return remark;
    };
    let fields = model
        .size
        .iter()
        .map(|(path, value)| format!(" --set {path}={value}"));
    let tines = model.tines.map(|n| format!(", {n} tines a claw"));
    let changes = fields.chain(tines).collect::<String>();
    let gap = if remark.is_empty() { "" } else { "; " };
    format!("{remark}{gap}{}{changes}", model.scene)
}

/// Gives every claw so many tines, two or more, side by side over the width that its two had: the first half of its parts but the bars,
/// which lie in its middle plane, is the first tine.
fn multiply_tines(scene: &mut Scene, tines: usize) {
    let claws = scene
        .bodies
        .iter_mut()
        .filter(|b| b.name.starts_with("claw "));
    for claw in claws {
        let Some(Geometry::Compound { parts }) = &mut claw.shape else {
            continue;
        };
        let (of_tines, bars): (Vec<Part>, Vec<Part>) =
            parts.drain(..).partition(|p| p.position.z != 0.0);
        let tine = of_tines.iter().filter(|p| p.position.z < 0.0);
        let tine: Vec<&Part> = tine.collect();
        for k in 0..tines {
            let place = 1.0 - 2.0 * k as f64 / (tines - 1) as f64;
            for part in &tine {
                let mut part = (*part).clone();
                part.position.z *= place;
                parts.push(part);
            }
        }
        parts.extend(bars);
    }
}

#[cfg(test)]
mod tests {
    use super::{MODELS, scene};

    #[test]
    fn every_model_is_its_scene_in_another_size() {
        for model in &MODELS {
            let own = scene(model.name).expect("a model");
            assert!(own.build().is_ok(), "{}", model.name);
        }
        let parts = |scene: &crate::scene::Scene, claw: &str| {
            let claw = scene
                .bodies
                .iter()
                .find(|b| b.name == claw)
                .expect("a claw");
            match &claw.shape {
                Some(crate::world::Geometry::Compound { parts }) => parts.clone(),
                _ => panic!("a claw of parts"),
            }
        };
        let [shipped, large] = ["forwarder", "forwarder_tines"].map(|s| scene(s).expect("a scene"));
        for claw in ["claw right", "claw left"] {
            let (few, many) = (parts(&shipped, claw), parts(&large, claw));
            assert_eq!([few.len(), many.len()], [10, 42]);
            // The outermost tines and the bars are where they were.
            assert!(few.iter().all(|part| many.contains(part)), "{claw}");
        }
    }
}
