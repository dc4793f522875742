//! The machines and mechanisms with cables, chains and linkages: each runs its whole script with block
//! principal pivoting at one step of 1/60 s, and does what its description says.

use crate::common::machine::{H, Machine, open};
use moreau::math::Vec3;

/// Sum of the normal forces between two bodies (N).
fn pushes(m: &Machine, a: &str, b: &str) -> f64 {
    let pair = [m.slot(a) as u32, m.slot(b) as u32];
    m.simulation
        .contacts()
        .filter(|c| c.bodies == pair || c.bodies == [pair[1], pair[0]])
        .map(|c| c.normal_impulse / H)
        .sum()
}

/// Length of a chain at the last midpoint: its links between their joints, and the gaps in these (m).
fn length(m: &Machine, chain: &str, links: usize) -> f64 {
    let joints = m.simulation.world().joints();
    let frames: Vec<_> = m.simulation.joints().map(|(g, _)| g.frames).collect();
    let of = |k: usize| {
        let name = format!("{chain} {k}");
        let found = joints.iter().position(|j| j.name == name);
        found.map(|j| frames[j])
    };
    let mut sum = 0.0;
    for k in 0..=links {
        let Some([first, second]) = of(k) else {
            continue;
        };
        sum += (second.position - first.position).norm();
        if let Some([next, _]) = of(k + 1) {
            sum += (next.position - second.position).norm();
        }
    }
    sum
}

/// The greatest deviation of a chain's length from what it is at the start, as a share of it.
struct Length {
    chain: &'static str,
    links: usize,
    nominal: f64,
    worst: f64,
}

impl Length {
    fn new(chain: &'static str, links: usize, nominal: f64) -> Self {
        Self {
            chain,
            links,
            nominal,
            worst: 0.0,
        }
    }

    fn look(&mut self, machine: &Machine) {
        let now = length(machine, self.chain, self.links);
        self.worst = self.worst.max((now / self.nominal - 1.0).abs());
    }

    fn assert_kept(&self) {
        println!("{}: {:.1e} of its length", self.chain, self.worst);
        assert!(
            self.worst < 1e-3,
            "{}: {} of {} m",
            self.chain,
            self.worst,
            self.nominal
        );
    }
}

/// Lefebvre's mobile crane: the hook stands on the pipe, the slings tighten, the pipe is lifted and slewed.
#[test]
fn the_mobile_crane_lifts_the_pipe_and_slews_it() {
    let mut m = Machine::new("crane");
    let mass: f64 = (0..m.simulation.world().bodies.slots())
        .filter(|s| m.simulation.world().bodies.is_dynamic(*s))
        .map(|s| 1.0 / m.simulation.world().bodies.inverse_mass[s])
        .sum();
    // The crane, its cable, its hook and the pipe.
    assert!((mass - 32_140.0).abs() < 1.0, "{mass} kg");
    let mut cable = Length::new("cable", 32, 8.33);
    let start = m.at("pipe");
    let mut touched = false;
    m.run_to(3.3, |m| {
        cable.look(m);
        touched |= pushes(m, "hook", "pipe") > 100.0;
    });
    assert!(touched, "the hook does not touch the pipe");
    assert!((m.at("pipe") - start).norm() < 0.01, "the pipe has moved");
    m.run_to(20.0, |m| cable.look(m));
    let mut lowest = f64::INFINITY;
    for end in [-1.2, 1.2] {
        lowest = lowest.min(m.point("pipe", Vec3::new(end, 0.0, 0.0)).y);
    }
    // Where the tip has turned to, the pipe has swung to.
    for name in ["boom tip", "pipe"] {
        let x = m.at(name);
        let angle = (-x.z).atan2(x.x).to_degrees();
        assert!((40.0..70.0).contains(&angle), "{name} at {angle}°");
    }
    assert!(lowest - 0.55 > 1.0, "an end of the pipe is {lowest} m high");
    assert!((250..500).contains(&m.rows), "{} rows", m.rows);
    cable.assert_kept();
    m.assert_exact(1e-3);
}

/// Lefebvre's offshore crane: the module is drawn up along the hull and set above the deck.
#[test]
fn the_offshore_crane_lifts_the_module_along_the_hull() {
    let mut m = Machine::new("offshore");
    let mut cable = Length::new("cable", 44, 14.0);
    let start = m.at("module");
    let (mut slid, mut heave) = (0, [f64::INFINITY, f64::NEG_INFINITY]);
    m.run_to(20.0, |m| {
        cable.look(m);
        let ship = m.slot("ship");
        let bodies = &m.simulation.world().bodies;
        let relative = bodies.velocity[m.slot("module")].linear.y - bodies.velocity[ship].linear.y;
        if pushes(m, "ship", "module") > 100.0 && relative > 0.05 {
            slid += 1;
        }
        let y = bodies.position[ship].y;
        heave = [heave[0].min(y), heave[1].max(y)];
    });
    println!("offshore: {slid} steps of sliding, heave {heave:?}");
    assert!(slid > 60, "slid along the hull in {slid} steps");
    assert!(heave[1] - heave[0] > 0.6, "heave {heave:?}");
    // In the ship's frame the deck is at 5 m, from −12 to 12 m across; the module is 2.4 m high.
    let bodies = &m.simulation.world().bodies;
    let ship = bodies.pose(m.slot("ship"));
    let center = bodies.shape[m.slot("ship")]
        .as_ref()
        .map_or(Vec3::zeros(), |s| s.mass_properties(1.0).center);
    let module = ship.inverse().transform_point(m.at("module")) + center;
    assert!(
        module.y - 1.2 > 5.0,
        "the module is at {module:?} of the ship"
    );
    assert!(module.x < 12.0, "the module is at {module:?} of the ship");
    assert!(m.at("module").y - start.y > 9.0);
    assert!((250..450).contains(&m.rows), "{} rows", m.rows);
    cable.assert_kept();
    m.assert_exact(1e-3);
}

/// A chain keeps its length whatever it carries, up to a million times the mass of a link.
#[test]
fn a_chain_keeps_its_length_under_every_load() {
    for mass in [1.0, 1e4, 1e6] {
        let mut scene = open("chain");
        scene
            .set("bodies.1.mass", &mass.to_string())
            .unwrap_or_else(|e| panic!("{e}"));
        let mut m = Machine::of(&scene);
        let mut chain = Length::new("chain", 20, 8.0);
        let mut reach = [0.0f64; 2];
        m.run_to(20.0, |m| {
            chain.look(m);
            let x = m.at("load").x;
            reach = [reach[0].min(x), reach[1].max(x)];
        });
        // It swings out to the other side, and as far back.
        println!("chain with {mass} kg: {reach:?}");
        assert!(reach[0] < -2.5 && reach[1] > 2.5, "{reach:?}");
        chain.assert_kept();
        m.assert_exact(1e-3);
    }
}

/// A roller drives over the bridge, which gives way under it and carries it.
#[test]
fn the_bridge_carries_the_roller_across() {
    let mut m = Machine::new("bridge");
    let (middle, mut lowest) = (m.at("bridge plank 10").y, f64::INFINITY);
    let mut chain = Length::new("bridge left", 20, 0.0);
    chain.nominal = {
        m.step();
        length(&m, "bridge left", 20)
    };
    m.run_to(20.0, |m| {
        chain.look(m);
        lowest = lowest.min(m.at("bridge plank 10").y);
    });
    let roller = m.at("roller");
    assert!(
        roller.x > 6.0 && roller.y > 0.4 && roller.z.abs() < 0.5,
        "{roller:?}"
    );
    assert!(m.speed("roller") < 0.1, "{} m/s", m.speed("roller"));
    assert!(
        (0.02..1.0).contains(&(middle - lowest)),
        "{} m",
        middle - lowest
    );
    chain.assert_kept();
    m.assert_exact(1e-3);
}

fn energy(m: &Machine) -> f64 {
    let world = m.simulation.world();
    world.bodies.kinetic_energy() + world.potential_energy()
}

#[test]
fn pendulums_keep_their_energy() {
    for (id, share) in [("pendulum", 0.01), ("double_pendulum", 0.05)] {
        for mut m in [Machine::new(id), Machine::as_shipped(&open(id))] {
            let (before, mut kinetic, mut drift) = (energy(&m), 0.0f64, 0.0f64);
            m.run_to(20.0, |m| {
                kinetic = kinetic.max(m.simulation.world().bodies.kinetic_energy());
                drift = drift.max((energy(m) - before).abs());
            });
            println!("{id}: energy off by {drift} of {kinetic} J");
            assert!(drift < share * kinetic, "{id}: {drift} of {kinetic} J");
            m.assert_exact(1e-3);
        }
    }
}

/// Closed loops that are held three times more often than necessary.
#[test]
fn linkages_turn_over_and_stay_closed() {
    for (id, moved, least) in [
        ("slider_crank", "piston", 0.99),
        ("four_bar", "rocker", 0.3),
    ] {
        follow_linkage(Machine::new(id), id, moved, least);
        follow_linkage(Machine::as_shipped(&open(id)), id, moved, least);
    }
}

fn follow_linkage(mut m: Machine, id: &str, moved: &str, least: f64) {
    let mut path = [m.at(moved); 2];
    let mut off_plane = 0.0f64;
    m.run_to(20.0, |m| {
        let x = m.at(moved);
        path = [path[0].inf(&x), path[1].sup(&x)];
        off_plane = off_plane.max((x.z - path[0].z).abs());
    });
    let turns = m.simulation.world().joints()[0].angles()[0] / std::f64::consts::TAU;
    println!("{id}: {turns} turns, {path:?}");
    assert!(path[1].x - path[0].x > least, "{id}: {path:?}");
    assert!(off_plane < 1e-4, "{id} leaves its plane by {off_plane} m");
    assert!(turns.abs() > 5.0, "{id}: {turns} turns");
    m.assert_exact(1e-3);
}

/// Section 12's table: height that a stack of ten cubes loses in 10 s.
#[test]
fn heavy_stacks_keep_their_height() {
    for ratio in [1.0, 1e3, 1e6] {
        let mut scene = open("heavy_stack");
        scene
            .set("generators.0.top_mass_ratio", &ratio.to_string())
            .unwrap_or_else(|e| panic!("{e}"));
        for mut m in [Machine::of(&scene), Machine::as_shipped(&scene)] {
            let top = m.simulation.world().bodies.slots() - 1;
            let before = m.simulation.world().bodies.position[top];
            m.run_to(10.0, |_| ());
            let moved = (m.simulation.world().bodies.position[top] - before).norm();
            println!("heavy_stack ×{ratio}: {moved:.1e} m");
            assert!(moved < 1e-4, "ratio {ratio}: {moved} m");
            m.assert_exact(1e-3);
        }
    }
}

/// The angle that the drum has turned by (rad), positive where it winds up.
fn wound(m: &Machine) -> f64 {
    let joint = m
        .simulation
        .world()
        .find_joint("drum")
        .expect("the drum's hinge");
    -m.simulation.world().joints()[joint as usize].angles()[0]
}

/// Links that are no farther from the drum's axle than its second layer.
fn links_on_drum(m: &Machine) -> usize {
    let drum = m.at("drum");
    (0..50)
        .filter(|k| {
            let x = m.at(&format!("chain {k}")) - drum;
            x.x.hypot(x.y) < 0.5
        })
        .count()
}

/// Lefebvre's winch: the chain is dragged in and wound up, and then paid out.
#[test]
fn the_winch_winds_up_the_chain() {
    let mut m = Machine::new("winch");
    let mut chain = Length::new("chain", 50, 9.8);
    let (end, on_drum) = (m.at("chain 49"), links_on_drum(&m));
    m.run_to(16.0, |m| chain.look(m));
    let (angle, pulled, now) = (wound(&m), end.x - m.at("chain 49").x, links_on_drum(&m));
    println!(
        "winch: {angle} rad, free end pulled {pulled} m, links on the drum {on_drum} to {now}"
    );
    assert!((13.0..16.0).contains(&angle), "{angle} rad");
    assert!(pulled > 4.5, "the free end came in by {pulled} m");
    assert!(now >= on_drum + 20, "{now} links on the drum");
    m.run_to(20.0, |m| chain.look(m));
    assert!(wound(&m) < angle - 0.5, "nothing was paid out");
    assert!(m.penetration < 1e-3);
    chain.assert_kept();
    m.assert_exact(1e-3);
}

/// Section 12's winch: six seconds at 1 rad/s. Its links sink in by 0.126 mm, with 4 and 16 substeps by 0.10 and 0.11 mm.
#[test]
fn the_simple_winch_neither_opens_nor_sinks_in() {
    let mut m = Machine::new("simple_winch");
    let mut chain = Length::new("chain", 50, 9.8);
    m.run_to(6.0, |m| chain.look(m));
    assert!((wound(&m) - 6.0).abs() < 0.05, "{} rad", wound(&m));
    assert!(m.penetration <= 1.3e-4, "{} m deep", m.penetration);
    chain.assert_kept();
    m.assert_exact(1e-4);
}
