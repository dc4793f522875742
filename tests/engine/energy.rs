//! Where energy goes: what a step's account does not explain is rounding.

use moreau::scene::library;

/// Machines with springs, servos, limits, gears and friction, and piles.
const SCENES: [&str; 9] = [
    "crane",
    "winch",
    "vehicle_parkour",
    "offshore",
    "forklift",
    "forwarder",
    "slider_crank",
    "mixed_shapes",
    "house_of_cards",
];

#[test]
fn nothing_is_left_unexplained() {
    for name in SCENES {
        let scene = library::shipped(name).unwrap_or_else(|e| panic!("{e}"));
        let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
        s.set_energy(true);
        let (mut throughput, mut remainder, mut edits) = (0.0, 0.0, 0.0);
        for _ in 0..60 {
            let report = s.step().unwrap_or_else(|e| panic!("{name}: {e}"));
            let balance = report
                .energy
                .unwrap_or_else(|| panic!("{name}: no account"));
            throughput += balance.throughput();
            remainder += balance.remainder().abs();
            edits += balance.edits.abs();
        }
        let share = remainder / throughput;
        println!("{name}: {remainder:.1e} of {throughput:.3e} J left over");
        assert!(share < 1e-9, "{name}: {share:e}");
        assert_eq!(edits, 0.0, "{name}: nobody has changed the world");
    }
}

/// What a hand does between steps counts as put in from outside.
#[test]
fn edits_are_put_in() {
    let scene = library::shipped("pendulum").unwrap_or_else(|e| panic!("{e}"));
    let mut s = scene.simulation(1).unwrap_or_else(|e| panic!("{e}"));
    s.set_energy(true);
    s.step().unwrap_or_else(|e| panic!("{e}"));
    let before = s.world().energy().total();
    for slot in 0..s.world().bodies.slots() {
        s.world_mut().bodies.velocity[slot].linear *= 2.0;
    }
    let put_in = s.world().energy().total() - before;
    let report = s.step().unwrap_or_else(|e| panic!("{e}"));
    let balance = report.energy.expect("an account");
    assert_eq!(balance.edits, put_in);
}
