//! The papers' experiments, done again with our solvers: a folder per paper, with the paper's figures as data; and two
//! experiments of our own.
//!
//! | folder | paper | experiments |
//! |---|---|---|
//! | [`poulsen`] | Poulsen 2010, parallel Gauss–Seidel | ball grids, ball piles |
//! | [`nuetzi`] | Nützi 2011, nonsmooth dynamics on the GPU | spheres in a box |
//! | [`munksgaard_kaiser`] | Munksgaard & Kaiser, contact dynamics on the GPU | disc pyramids |
//! | [`lefebvre`] | Lefebvre 2020, block principal pivoting | machines and random matrices |
//! | [`lacoursiere`] | Lacoursière 2007, parallel block iterative solvers | tethered vehicles |
//! | `gpu` | Nützi; Munksgaard & Kaiser | what the graphics processor is good for (feature `gpu`) |
//! | [`hands`] | none, it is our own | bodies of every scene dragged and let go of |
//! | [`sliders`] | none, it is our own | sliders of every scene at their ends |
//! | [`heaps`] | none, it is our own | heaps from many seeds |
//! | [`survey`] | none, it is our own | exact solvers on problems of all scenes and laws |
//!
//! What is common to all is in [`measure`]. `moreau bench` parses arguments, calls one experiment and prints what it found.

#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hands;
pub mod heaps;
pub mod lacoursiere;
pub mod lefebvre;
pub mod measure;
pub mod munksgaard_kaiser;
pub mod nuetzi;
pub mod poulsen;
pub mod sliders;
pub mod survey;

use rayon::ThreadPoolBuildError;

use crate::measure::plot::Plot;
use crate::scene::SceneError;
use crate::solve::ConfigError;
use crate::solve::bpp::panels::Breakdown;
use crate::step::StepError;
use measure::method::Method;
use measure::table::Table;

/// Why an experiment cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shipped scene that cannot be used.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A solver that cannot be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A scene that is not among those of the experiment, and those that are.
    #[error("the suite has no scene \"{0}\"; it has: {1}")]
    NoScene(String, String),
    /// A scene's step that was not taken.
    #[error("{0}: {1}")]
    Step(String, StepError),
    /// A device that is to be measured, and is not there.
    #[error("no graphics processor can be measured: {0}")]
    NoDevice(String),
    /// A problem on which the solver failed that all others are compared with.
    #[error("{0}: {1} failed on it")]
    NoReference(&'static str, Method),
    /// A matrix that cannot be factored.
    #[error(transparent)]
    Factor(#[from] Breakdown),
    /// So many threads, which the system does not give.
    #[error("{0} threads cannot be started: {1}")]
    Threads(usize, ThreadPoolBuildError),
}

/// What an experiment gives, or why not.
pub type Result<T> = std::result::Result<T, Error>;

/// What an experiment found.
#[derive(Default)]
pub struct Findings {
    /// The tables, in the order in which they are printed.
    pub tables: Vec<Table>,
    /// File names without their folder and ending, and the pictures as SVG.
    pub pictures: Vec<(String, String)>,
}

impl Findings {
    /// Adds a table, unless nothing could be measured for it.
    fn table(&mut self, table: impl Into<Table>) {
        let table = table.into();
        if !table.is_empty() {
            self.tables.push(table);
        }
    }

    /// Adds a plot, unless nothing could be measured for it.
    fn plot(&mut self, name: impl Into<String>, plot: Plot) {
        if !plot.series.is_empty() {
            self.picture(name, plot.svg());
        }
    }

    /// Adds a picture that is no plot.
    fn picture(&mut self, name: impl Into<String>, svg: String) {
        self.pictures.push((name.into(), svg));
    }
}
