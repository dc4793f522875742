//! What keeping the past costs on large scenes.

use std::time::Instant;

use moreau::scene::library;
use moreau::session::Session;

/// A step, a copy of its state, and that as a file.
pub fn measure() {
    for scene in ["ball_grid_8", "ball_grid_24", "ball_grid_40"] {
        let shipped = library::shipped(scene).expect("a shipped scene");
        let mut session = Session::new(shipped.simulation(1).expect("a good scene"));
        for _ in 0..5 {
            session.step().expect("a step");
        }
        let begun = Instant::now();
        for _ in 0..10 {
            session.step().expect("a step");
        }
        let one_step = begun.elapsed().as_secs_f64() / 10.0;
        let simulation = session.simulation();
        let begun = Instant::now();
        let copies: Vec<_> = (0..5).map(|_| simulation.snapshot()).collect();
        let copy = begun.elapsed().as_secs_f64() / 5.0;
        let bodies = simulation.world().bodies.len();
        let memory = copies[0].memory();
        let bytes = copies[0].to_bytes().len();
        println!(
            "{scene}: a step {:.1} ms, a copy {:.2} ms, {memory} bytes ({} per body); as a file {bytes} bytes",
            1e3 * one_step,
            1e3 * copy,
            memory / bodies
        );
    }
}
