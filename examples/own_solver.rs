//! A solver of one's own, plugged into a simulation and compared with those of the library on the same
//! step, under the same residual.
//!
//! `cargo run --release --example own_solver --no-default-features`

use moreau::math::Twist;
use moreau::prelude::*;
use moreau::problem::residual::{self, ResidualWorkspace};
use moreau::problem::{FrictionLaw, Problem};
use moreau::scene::library;
use moreau::solve::{Request, SOLVERS, SolveReport, SolverInfo, Status, Traits};

/// Plain projected Gauss–Seidel, as short as it can be: contacts only, every velocity from scratch.
struct Plain;

static INFO: SolverInfo = SolverInfo {
    name: "plain",
    summary: "projected Gauss–Seidel without any cleverness",
    source: "-",
    least_iterations: 1,
    traits: Traits::NONE,
    parameters: &[],
    make: |_| Box::new(Plain),
};

impl Solver for Plain {
    fn info(&self) -> &'static SolverInfo {
        &INFO
    }

    fn solve(
        &mut self,
        problem: &Problem,
        request: &Request,
        lambda: &mut [f64],
        u: &mut Vec<Twist>,
    ) -> SolveReport {
        let start = std::time::Instant::now();
        let contacts = &problem.contacts;
        problem.velocities(lambda, u);
        for _ in 0..request.budget.iterations {
            for c in 0..contacts.len() {
                let mut w = [0.0; FrictionLaw::MAX_ROWS];
                let mut diagonal = [0.0; FrictionLaw::MAX_ROWS];
                let block = &mut lambda[contacts.rows(c)];
                let before = problem.contact_impulse(c, block);
                problem.contact_velocity(c, u, block, &mut w);
                problem.contact_diagonal(c, &mut diagonal);
                // Λ ← prox(Λ − R w), the normal row first.
                block[0] = (block[0] - w[0] / diagonal[0]).max(0.0);
                let largest = diagonal[1..block.len()].iter().copied().fold(0.0, f64::max);
                for (x, w) in block[1..].iter_mut().zip(&w[1..]) {
                    *x -= w / largest;
                }
                let normal = block[0];
                contacts.friction[c].project(&mut block[1..], normal);
                // u ← u + M⁻¹ Jᵀ ΔΛ.
                let after = problem.contact_impulse(c, block);
                let change = (after.0 - before.0, after.1 - before.1);
                for side in 0..2 {
                    let body = contacts.bodies[c][side] as usize;
                    let mut momentum = Twist::ZERO;
                    problem.add_contact_momentum(c, side, &change, &mut momentum);
                    let inverse = &problem.bodies.inverse_inertia[body];
                    u[body].linear += momentum.linear * problem.bodies.inverse_mass[body];
                    u[body].angular += inverse.mul_vec(momentum.angular);
                }
            }
        }
        SolveReport {
            status: Status::Budget,
            iterations: request.budget.iterations,
            solve_time: start.elapsed().as_secs_f64(),
            ..SolveReport::default()
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut simulation = library::open("pyramid")?.simulation(0)?;
    simulation.plug_in(Box::new(Plain), Budget::default());
    for _ in 0..60 {
        simulation.step()?;
    }
    // The last step's own problem, solved from nothing by everybody with the same budget.
    let problem = simulation.problem();
    let request = Request::default();
    let mut workspace = ResidualWorkspace::default();
    println!(
        "{:14} {:>12} {:>12} {:>12}",
        "solver", "iterations", "time [ms]", "residual [m/s]"
    );
    for info in SOLVERS.iter().copied().chain([&INFO]) {
        let mut solver = match info.name {
            "plain" => Box::new(Plain) as Box<dyn Solver>,
            name => SolverConfig {
                name: name.into(),
                ..SolverConfig::default()
            }
            .build()?,
        };
        let (mut lambda, mut u) = (vec![0.0; problem.row_count()], Vec::new());
        let report = solver.solve(problem, &request, &mut lambda, &mut u);
        let law = solver.judged_law();
        let residual = residual::evaluate(problem, &lambda, law, &mut workspace).residual;
        let time = 1e3 * (report.prepare_time + report.solve_time);
        println!(
            "{:14} {:12} {time:12.3} {residual:12.2e}",
            info.name, report.iterations
        );
    }
    Ok(())
}
