//! Every shipped scene reaches the same state on one thread and on two.
//!
//! The quick run takes the scenes of up to 600 bodies for 300 steps. The rest takes minutes:
//! `cargo test --release --no-default-features --test engine scene_hashes:: -- --ignored`

use moreau::scene::library;

/// The hash after some steps, or the error that stopped the scene.
fn hash(id: &str, threads: usize, steps: usize) -> Result<u64, String> {
    let scene = library::shipped(id).map_err(|e| e.to_string())?;
    let mut simulation = scene.simulation(threads).map_err(|e| e.to_string())?;
    for _ in 0..steps {
        simulation.step().map_err(|e| format!("{id}: {e}"))?;
    }
    Ok(simulation.world().state_hash())
}

fn check(bodies: std::ops::RangeInclusive<u64>, steps: usize) {
    let mut seen = 0;
    for id in library::shipped_names() {
        let count = library::shipped(id).expect("a valid scene").body_count();
        if !bodies.contains(&count) {
            continue;
        }
        seen += 1;
        let one = hash(id, 1, steps).unwrap_or_else(|e| panic!("{e}"));
        let two = hash(id, 2, steps).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(one, two, "{id} after {steps} steps on 1 and 2 threads");
        println!("{id}: {one:016x}");
    }
    assert!(seen > 0, "no scene of that size");
}

#[test]
fn small_scenes_are_the_same_on_one_and_two_threads() {
    check(0..=600, 300);
}

#[test]
#[ignore = "takes minutes"]
fn scenes_up_to_14000_bodies_are_the_same_on_one_and_two_threads() {
    check(601..=14_000, 300);
}

#[test]
#[ignore = "takes minutes"]
fn the_largest_scenes_are_the_same_on_one_and_two_threads() {
    check(14_001..=u64::MAX, 20);
}
