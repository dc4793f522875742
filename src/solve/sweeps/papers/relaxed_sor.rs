//! `relaxed-sor`: Nützi's SOR Prox with relaxed dependencies. The blocks of a group are projected
//! together, from the same velocities; the next group sees what they did. Groups of one are
//! Gauss–Seidel, one group of all is Jacobi.

use crate::problem::Problem;
use crate::solve::sweeps::block::{Change, Push, Sweep};
use crate::solve::sweeps::by_island::{IslandView, Method, Prepare, by_island};
use crate::solve::sweeps::pack::{Block, Packed};
use crate::solve::sweeps::parameters::{ALPHA, BLOCK, Packing, r_factors};
use crate::solve::{Parameter, ParameterKind, Parameters, SolverInfo, Traits};

/// The entry in the list.
pub static INFO: SolverInfo = SolverInfo {
    name: "relaxed-sor",
    summary: "SOR Prox with relaxed dependencies: groups of contacts are projected together",
    source: "Nützi 2011, 5.3.2",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[
        Parameter {
            name: "size",
            unit: "-",
            summary: "blocks of a group; 1 is Gauss–Seidel, all is Jacobi",
            source: "Nützi 2011, 5.3.2",
            kind: ParameterKind::Integer {
                default: 4,
                range: [1, 1_000_000_000],
            },
        },
        r_factors(
            "degree",
            "local: R = α/A_ii. uniform: that of the largest A_ii of each island. global: R = 2α/(λ_min + λ_max) of each island's A. degree: local, and \
             Λ ← (1 − ω)Λ + ω Λ_local with ω = 1/max(1, adjacent blocks of the same group)",
        ),
        BLOCK,
        ALPHA,
    ],
    make: |parameters| by_island(&INFO, RelaxedSor::new(parameters)),
};

/// What the solver does to an island.
pub struct RelaxedSor {
    packing: Packing,
    size: usize,
}

impl RelaxedSor {
    /// Makes one with checked parameters.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            packing: Packing::new(parameters),
            size: parameters.integer("size") as usize,
        }
    }
}

/// What the blocks of a group did, to be applied when all are done.
#[derive(Default)]
pub struct Steps {
    contacts: Vec<(usize, Push)>,
    rows: Vec<(usize, f64)>,
}

impl Prepare for RelaxedSor {
    fn prepare(&mut self, problem: &Problem, packed: &mut Packed) {
        self.packing.pack(problem, packed, self.size);
    }
}

impl Method for RelaxedSor {
    type State = Steps;

    fn rebuild(&self, packed: &Packed, island: usize, view: &mut IslandView<Steps>) {
        packed.velocities(island, view.lambda, view.bodies);
        let size = self.size.min(packed.sequence(island).count());
        view.state.contacts.reserve(size);
        view.state.rows.reserve(size);
    }

    fn iterate(
        &self,
        packed: &Packed,
        island: usize,
        view: &mut IslandView<Steps>,
        sweep: &Sweep,
        change: &mut Change,
    ) {
        let mut blocks = packed.sequence(island);
        let sweep = Sweep {
            // A contact by itself is swept as Gauss–Seidel does.
            coupled: self.size == 1,
            ..*sweep
        };
        while blocks.clone().next().is_some() {
            // Step A: project the group from the same velocities.
            for block in blocks.by_ref().take(self.size) {
                project(packed, island, block, view, &sweep, change);
            }
            // Step B: the bodies, and so all other blocks, see it.
            for (c, push) in view.state.contacts.drain(..) {
                let contact = &packed.contacts[c];
                for side in 0..2 {
                    contact.apply(side, &push, &mut view.bodies[contact.bodies[side] as usize]);
                }
            }
            for (r, delta) in view.state.rows.drain(..) {
                for entry in packed.entries(&packed.rows[r]) {
                    entry.push(delta, &mut view.bodies[entry.body as usize]);
                }
            }
        }
    }
}

/// The step of one block, kept for later.
fn project(
    packed: &Packed,
    island: usize,
    block: Block,
    view: &mut IslandView<Steps>,
    sweep: &Sweep,
    change: &mut Change,
) {
    match block {
        Block::Contact(c) => {
            let pair = packed.contacts[c].bodies.map(|b| &view.bodies[b as usize]);
            let lambda = &mut view.lambda[packed.block(island, c)];
            let sweep = packed.contact_sweep(c, sweep);
            let push = packed.step(c, pair, lambda, &sweep, change);
            view.state.contacts.push((c, push));
        }
        Block::Row(r) => {
            let row = &packed.rows[r];
            let k = packed.first_row(island) + r - packed.row_start[island] as usize;
            let lambda = &mut view.lambda[k];
            let w = row.velocity(packed.entries(row), view.bodies, *lambda);
            let delta = row.step(w, lambda, &packed.row_sweep(r, sweep), change);
            view.state.rows.push((r, delta));
        }
    }
}
