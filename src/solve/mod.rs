//! The solvers: one trait, one list, one report.
//!
//! A solver gets the assembled problem, a starting Λ and a budget, and returns Λ, u and a report.
//! To add one: a folder (or file) here, and one line in [`SOLVERS`].

pub mod admm;
pub mod advice;
pub mod auto;
pub mod bpp;
mod budget;
mod choice;
mod conclude;
mod config;
pub(crate) mod exact;
pub mod gpu;
pub mod hybrid;
mod island;
mod list;
mod matrix_view;
mod method;
pub mod newton;
mod parameter;
mod parts_view;
pub mod reference;
mod report;
mod solver;
mod subproblem;
pub mod sweeps;
mod work;

pub use budget::{Budget, ToleranceNorm};
pub use choice::{Choice, Choices, Method, Reason};
pub use config::{ConfigError, SolverConfig, named};
pub use list::{SOLVERS, default_solver, device_remark, find};
pub use matrix_view::MatrixView;
pub use parameter::{Parameter, ParameterKind, Parameters, Value};
pub use parts_view::{NO_PART, PartView, PartsView};
pub use report::{Distribution, HistoryPoint, Over, SolveReport, Statistic, Status};
pub use solver::{NO_COLOR, NeedsBodies, Request, Solver, SolverInfo, SolverView, Traits};
