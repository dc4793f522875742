//! Moreau: rigid bodies in contact, solved by many solvers under one residual.
//!
//! # Quick start
//!
//! A ball falls onto the ground and comes to rest on it:
//!
//! ```
//! use moreau::prelude::*;
//!
//! let mut world = World::default();
//! world.add_ground()?;
//! let ball = world.add_ball(0.5, [0.0, 2.0, 0.0])?;
//! let mut simulation = Simulation::new(world, SolverConfig::default(), 0)?;
//! for _ in 0..120 {
//!     simulation.step()?;
//! }
//! let height = simulation.world().pose(ball).unwrap().position.y;
//! assert!((height - 0.5).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The folder `examples/` drives a scene file from code, plugs in a solver of one's own and compares it, writes a
//! trajectory for NumPy, and puts a simulation into a Bevy app.
//!
//! # The pipeline
//!
//! One screen shows it: [`step::Simulation::step`].
//!
//! 1. half step of the positions;
//! 2. [`collide`]: broad and narrow phase at the midpoint;
//! 3. [`problem`]: the assembled problem, w = A Λ + b with every block's law;
//! 4. [`solve`]: a solver by name finds Λ; [`problem::residual`] says how well;
//! 5. second half step of the positions, and their correction.
//!
//! A [`world::World`] holds the state; a [`scene::Scene`] describes one in a file.
//!
//! # Glossary
//!
//! | word | what it means here |
//! |---|---|
//! | Λ, impulse | impulse of a row over one (sub)step (N s); a problem's unknown |
//! | w, constraint velocity | velocity of a row after the step, J u + C Λ + bias (m/s) |
//! | A, Delassus matrix | J M⁻¹ Jᵀ + C (1/kg): w = A Λ + b |
//! | contact | one point where two bodies touch, or may within the step; its rows are N, then those of its friction law |
//! | manifold | the contact points of two bodies; with the joints' rows, the edges of the graph that is coloured |
//! | general row | a row of a joint, limit, motor or joint friction, with an interval of allowed impulses |
//! | block | the rows that are projected together: a contact, or one general row |
//! | law | the convex set 𝒞 of a block's impulses: Λ = prox_𝒞(Λ − ρ w) |
//! | residual | how far Λ is from that, ‖Λ − prox(Λ − ρ w)‖/ρ (m/s), evaluated in f64 whatever the solver did |
//! | R, step length | the R-factor of a row (kg); ω is a relaxation |
//! | compliance | α of a material or joint (m/N), and C = α/h² on the diagonal of A (1/kg) |
//! | warm start | Λ of the last step's contacts and joints, where a solver begins |
//! | island | a connected component of the graph of bodies that impulses move; solved by itself |
//! | colour | edges that share no body that moves, solved at the same time |
//! | lane | one number of a SIMD register; *wide* is whatever has one value per lane |
//! | work block | what one task of a parallel loop does |
//! | free, tight | of a pivoting solver: a row with w = 0 inside its bounds, a row on a bound |
//! | pivot | the solution for one choice of free and tight rows, and the next choice |
//! | factor, downdate | L Lᵀ = A_FF, and what removes rows from it |
//! | envelope, skyline | from a column's diagonal to its last entry; all that a factor fills of it |
//! | prepare | what a solver does before its first iteration |

pub mod check;
pub mod collide;
pub mod compare;
pub mod file;
mod linalg;
pub mod material;
pub mod math;
pub mod measure;
#[cfg(feature = "cli")]
pub mod papers;
#[cfg(feature = "plugin")]
pub mod plugin;
pub mod prelude;
pub mod problem;
pub mod scene;
pub mod session;
#[cfg(unix)]
pub mod signals;
pub mod solve;
pub mod step;
pub mod verify;
#[cfg(feature = "viewer")]
pub mod viewer;
pub mod world;
