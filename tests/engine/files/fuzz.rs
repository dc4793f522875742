//! Spoiled files of every kind: seeds for a second or two as tests, and others for as long as wanted. `docs/files.md` has
//! the commands.

use std::ops::Range;

use crate::common::fuzz::as_long_as_wanted;
use crate::files::bad_input::{self, Mutation, mutate, spoil, spoiled};
use moreau::scene::{Scene, SceneError};

/// An OBJ file with everything that is read of one.
const ROCK: &str = "# rock\no rock\nv -0.3 0.3 0\nv 0.3 0.3 0\nv -0.3 -0.3 0\nv 0.3 -0.3 0\nv 0 -0.3 0.3\nv 0 0.3 0.3\n\
                    vt 0 1\nvn 0 1 0\ng sides\nf 1 2 4 3\nf 1/1/1 3/1/1 5/1/1\nf 2//1 6//1 4//1\ns off\nusemtl stone\n\
                    f -1 -2 -3\nf 1 6 2\nl 1 2\np 3\n";

/// A scene that has the mesh as ground and as a body's hull.
fn scene(file: &str, scale: &str) -> String {
    format!(
        "(bodies: [(name: \"ground\", kind: Fixed, shape: TriMeshFile(file: \"{file}\", scale: {scale})),\n\
         (name: \"stone\", shape: ConvexHullFile(file: \"{file}\", scale: {scale}), position: (0, 1, 0)),\n\
         (name: \"ball\", shape: Ball(radius: 0.2), position: (0.1, 0.5, 0.05))])"
    )
}

fn meshes(seeds: Range<u64>) {
    let folder = std::env::temp_dir().join(format!(
        "moreau-mesh-{}-{}",
        std::process::id(),
        seeds.start
    ));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let (mesh, place) = (folder.join("mesh.obj"), folder.join("mesh.ron"));
    spoiled(seeds, |random| {
        let mut text = ROCK.to_owned();
        for _ in 0..=random.below(3) {
            text = mutate(&text, &Mutation::draw(random));
        }
        let mut bytes = text.into_bytes();
        if random.below(4) == 0 {
            spoil(&mut bytes, random);
        }
        let scale = ["1", "1", "1e-9", "1e8"][random.below(4)];
        std::fs::write(&mesh, &bytes).expect("written");
        std::fs::write(&place, scene("mesh.obj", scale)).expect("written");
        let scene = Scene::load(&place)?;
        let mut simulation = scene.simulation(1)?;
        for _ in 0..3 {
            if simulation.step().is_err() {
                break;
            }
        }
        Ok::<_, SceneError>(())
    });
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn spoiled_meshes_never_panic() {
    meshes(0..2000);
}

/// A file of FCLIB of a scene's step.
#[cfg(feature = "fclib")]
fn published(scene: &str, group: moreau::problem::fclib::Group) -> Vec<u8> {
    let scene = moreau::scene::library::shipped(scene).expect("shipped");
    let mut simulation = scene.simulation(1).expect("a good scene");
    for _ in 0..3 {
        simulation.step().expect("a step");
    }
    let mut problem = simulation.problem().clone();
    // The global form has none.
    problem.rows.compliance.fill(0.0);
    let start = simulation.warm_start();
    moreau::problem::fclib::to_bytes(&problem, group, "", "", Some(start)).expect("a file")
}

#[cfg(feature = "fclib")]
fn problems_of_fclib(seeds: Range<u64>) {
    use moreau::problem::fclib::{self, FclibError, Group};
    use moreau::problem::residual::JudgedLaw;
    use moreau::solve::{Budget, Request, SolverConfig};
    let scenes = ["box_stack", "simple_crane"];
    let files =
        scenes.map(|scene| [Group::Local, Group::Global].map(|group| published(scene, group)));
    let request = Request {
        budget: Budget {
            iterations: 20,
            ..Budget::default()
        },
        history: false,
        ..Request::default()
    };
    spoiled(seeds, |random| {
        let mut bytes = files[random.below(2)][random.below(2)].clone();
        spoil(&mut bytes, random);
        let read = fclib::from_bytes(bytes)?;
        let name = ["auto", "newton", "admm", "nncg", "colored-gs"][random.below(5)];
        let mut config = SolverConfig::default();
        config.switch(name);
        let mut lambda = read
            .guess
            .unwrap_or_else(|| vec![0.0; read.problem.offset().len()]);
        let mut solver = config.build().expect("a solver");
        let _ = solver.solve_matrices(&read.problem, &request, &mut lambda);
        let mut workspace = moreau::problem::residual::ResidualWorkspace::default();
        let judged =
            moreau::problem::Form::residual(&read.problem, &lambda, JudgedLaw::Own, &mut workspace);
        assert!(!judged.residual.to_string().is_empty());
        Ok::<_, FclibError>(())
    });
}

#[cfg(feature = "fclib")]
#[test]
fn spoiled_problems_of_fclib_never_panic() {
    problems_of_fclib(0..1500);
}

/// Loops of other seeds, one for each kind of file.
macro_rules! loops {
    ($($name:ident: $target:expr, $each:literal;)*) => {$(
        #[test]
        #[ignore = "takes as long as it is told to"]
        fn $name() {
            as_long_as_wanted($each, $target);
        }
    )*};
}

loops! {
    measure_meshes: meshes, 2000;
    measure_scenes: bad_input::scenes, 500;
    measure_snapshots: bad_input::snapshots, 2000;
    measure_recordings: bad_input::recordings, 1000;
    measure_stored_problems: bad_input::problems_as_stored, 1000;
}

#[cfg(feature = "fclib")]
loops! {
    measure_problems_of_fclib: problems_of_fclib, 500;
}
