use clap::Args;
use moreau::scene::library;

use super::{Failure, print};

/// Arguments of `validate`.
#[derive(Args, Clone, Debug)]
pub struct ValidateArgs {
    /// Scene files, or names of shipped scenes
    #[arg(required = true)]
    scenes: Vec<String>,
}

/// Reads, checks and builds every scene, and says what is wrong with each that is not good.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for name in &args.scenes {
        match library::open(name).and_then(|scene| scene.build().map(|world| (scene, world))) {
            Ok((scene, world)) => {
                let bodies = &world.bodies;
                let moving = bodies
                    .iter()
                    .filter(|slot| bodies.is_dynamic(*slot))
                    .count();
                print(&format!(
                    "{name}: good: \"{}\", {} bodies ({moving} dynamic), solver {}\n",
                    scene.name,
                    bodies.len(),
                    scene.solver.name
                ))?;
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Input(wrong.join("\nmoreau: ")))
    }
}
