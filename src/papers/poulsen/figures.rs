//! The thesis's figures as data. Curves of which the text gives no numbers are not here.

use super::{
    BALANCED, HIS_BALANCED, HIS_BALANCED_T, HIS_JACOBI, HIS_JACOBI_T, HIS_RELAXED_JACOBI,
    HIS_RELAXED_NAIVE, HIS_RELAXED_T, HIS_RELAXED_T_LAST, HIS_RIGID,
};
use crate::papers::measure::method::{COLORED_F64, Method};

/// A sequential solver on one of the problems (tables 3.3 and 3.5): iterations, γ (N² s²), ‖ΔΛ‖∞ of the last
/// iteration (N s), duration and its standard deviation (s).
pub type Sequential = [f64; 5];

/// Speed-ups of a parallel Jacobi scheme (tables 6.1 to 6.3): against itself on one core, against the
/// sequential factorized scheme, and the number of cores at which it was fastest.
pub type Speedup = [f64; 3];

/// One of the problems with all that was measured on it, on an 8-core machine in double precision.
pub struct Demo {
    /// Its name there.
    pub name: &'static str,
    /// Our scene.
    pub scene: &'static str,
    /// Tables 3.2 and 3.4, with the two that follow.
    pub bodies: f64,
    /// Contacts of the problem.
    pub contacts: f64,
    /// Non-zero blocks of T with the ground coupling its contacts.
    pub blocks: f64,
    /// Tables 3.3 and 3.5: sequential sweeps.
    pub gauss_seidel: Sequential,
    /// The same of Jacobi's.
    pub jacobi: Sequential,
    /// Tables 6.1 and 6.2, factorized.
    pub csp: Speedup,
    /// The same with T.
    pub csp_t: Speedup,
    /// Table 6.3, without preprocessing, factorized.
    pub openmp: Speedup,
    /// The same with T.
    pub openmp_t: Speedup,
}

/// Section 3.8.1.
pub static BALL_GRIDS: [Demo; 3] = [
    Demo {
        name: "ball grid 8³",
        scene: "ball_grid_8",
        bodies: 513.0,
        contacts: 1408.0,
        blocks: 17_728.0,
        gauss_seidel: [50.0, 247.0, 0.088, 0.105, 0.00015],
        jacobi: [63.0, 249.0, 0.068, 0.0933, 0.0003],
        csp: [3.1, 2.6, 4.0],
        csp_t: [2.7, 2.0, 4.0],
        openmp: [5.3, 6.1, 8.0],
        openmp_t: [6.4, 4.7, 8.0],
    },
    Demo {
        name: "ball grid 24³",
        scene: "ball_grid_24",
        bodies: 13_825.0,
        contacts: 40_320.0,
        blocks: 757_824.0,
        gauss_seidel: [50.0, 2850.0, 0.090, 3.24, 0.003],
        jacobi: [66.0, 2790.0, 0.035, 3.20, 0.003],
        csp: [3.7, 2.9, 7.0],
        csp_t: [3.1, 1.8, 6.0],
        openmp: [6.3, 4.9, 8.0],
        openmp_t: [3.4, 2.0, 8.0],
    },
    Demo {
        name: "ball grid 40³",
        scene: "ball_grid_40",
        bodies: 64_001.0,
        contacts: 188_800.0,
        blocks: 4_587_840.0,
        gauss_seidel: [50.0, 7920.0, 0.090, 13.1, 0.005],
        jacobi: [65.0, 7890.0, 0.035, 14.3, 0.003],
        csp: [4.8, 2.7, 7.0],
        csp_t: [3.2, 1.5, 8.0],
        openmp: [3.7, 4.6, 8.0],
        openmp_t: [2.6, 1.2, 8.0],
    },
];

/// Section 3.8.2. His pseudo-random numbers are not known, so that ours is another pile of
/// the same kind.
pub static BALL_PILES: [Demo; 2] = [
    Demo {
        name: "ball pile 40³",
        scene: "ball_pile_40",
        bodies: 64_001.0,
        contacts: 6605.0,
        blocks: 7415.0,
        gauss_seidel: [50.0, 0.000219, 0.00036, 0.897, 0.0009],
        jacobi: [63.0, 0.000235, 0.00026, 1.63, 0.0016],
        csp: [2.4, 2.6, 8.0],
        csp_t: [3.6, 7.5, 4.0],
        openmp: [6.2, 8.4, 8.0],
        openmp_t: [7.3, 14.6, 8.0],
    },
    Demo {
        name: "ball pile 80³",
        scene: "ball_pile_80",
        bodies: 512_001.0,
        contacts: 52_909.0,
        blocks: 58_631.0,
        gauss_seidel: [50.0, 0.0148, 0.0073, 7.26, 0.0018],
        jacobi: [65.0, 0.0137, 0.0049, 14.1, 0.005],
        csp: [2.8, 2.8, 8.0],
        csp_t: [5.1, 11.0, 7.0],
        openmp: [5.2, 7.3, 8.0],
        openmp_t: [7.7, 16.1, 8.0],
    },
];

/// Time of one sequential sweep (s).
pub fn sweep([iterations, .., seconds, _]: Sequential) -> f64 {
    seconds / iterations
}

impl Demo {
    /// One sweep of the fastest parallel Jacobi scheme, on 8 cores (s): tables 3.3 or 3.5, and 6.3.
    pub fn parallel_sweep(&self) -> f64 {
        let [factorized, t] = [self.openmp, self.openmp_t].map(|[_, speedup, _]| speedup);
        sweep(self.jacobi) / factorized.max(t)
    }
}

/// A scheme of chapter 7, run to the γ of 50 sequential Gauss–Seidel iterations: the figure, its name there, the
/// method that stands in for it here; iterations, and the largest speed-ups against itself on one core and
/// against sequential Gauss–Seidel, where they are given.
pub type Scheme = (&'static str, &'static str, Method, [Option<f64>; 3]);

/// 7.2.4, 7.3 and 7.5: the medium ball grid.
#[rustfmt::skip]
pub static MEDIUM_GRID: [Scheme; 6] = [
    ("7.5", "CSP greedy rigid factorized", HIS_RIGID, [None; 3]),
    ("7.5", "CSP greedy relaxed factorized", HIS_RELAXED_NAIVE, [Some(57.0), Some(2.6), None]),
    ("7.5", "CSP greedy relaxed T", HIS_RELAXED_T_LAST, [Some(65.0), None, None]),
    ("7.7", "OpenMP greedy relaxed", HIS_RELAXED_JACOBI, [Some(57.0), Some(3.0), Some(2.0)]),
    ("7.7", "OpenMP balanced", HIS_BALANCED, [Some(49.0), Some(3.0), Some(2.0)]),
    ("7.10", "OpenMP Jacobi factorized", HIS_JACOBI, [Some(66.0), Some(6.3), None]),
];

/// 7.3 and 7.5: the large ball pile.
#[rustfmt::skip]
pub static LARGE_PILE: [Scheme; 8] = [
    ("7.6", "CSP greedy rigid factorized", HIS_RIGID, [None; 3]),
    ("7.6", "CSP greedy relaxed factorized", HIS_RELAXED_NAIVE, [None; 3]),
    ("7.6", "CSP greedy relaxed T", HIS_RELAXED_T_LAST, [None; 3]),
    ("7.8", "OpenMP greedy relaxed T", HIS_RELAXED_T, [Some(51.0), Some(6.6), Some(8.4)]),
    ("7.8", "OpenMP balanced T", HIS_BALANCED_T, [Some(50.0), None, None]),
    ("7.8", "OpenMP balanced factorized", HIS_BALANCED, [Some(50.0), None, None]),
    ("7.9", "OpenMP Jacobi T", HIS_JACOBI_T, [Some(65.0), Some(7.7), None]),
    ("7.9", "OpenMP Jacobi factorized", HIS_JACOBI, [Some(65.0), Some(5.2), None]),
];

/// A colouring, the method that stands in for it here, and what it found: number of colours, and contacts
/// in the largest and in the smallest.
pub type Colors = (&'static str, Method, Option<[f64; 3]>);

/// 7.3: the medium ball grid. The smallest relaxed one is the merged, unsafe colour.
pub static MEDIUM_GRID_COLORS: [Colors; 4] = [
    (
        "greedy relaxed",
        HIS_RELAXED_JACOBI,
        Some([7.0, 6912.0, 570.0]),
    ),
    ("balanced", HIS_BALANCED, Some([580.0, 70.0, 69.0])),
    ("greedy, the ground without colours", COLORED_F64, None),
    ("balanced, the ground without colours", BALANCED, None),
];

/// 7.3: the large ball pile.
pub static LARGE_PILE_COLORS: [Colors; 3] = [
    ("greedy rigid", HIS_RIGID, Some([3.0, 50_125.0, 3.0])),
    (
        "greedy relaxed",
        HIS_RELAXED_T,
        Some([2.0, 50_125.0, 2784.0]),
    ),
    ("balanced", HIS_BALANCED, Some([3.0, 17_637.0, 17_636.0])),
];

/// γ of the naive parallel Gauss–Seidel after 50 iterations, with 1 and with 8 parts (7.1), by scene.
pub const NAIVE_QUALITY: [(&str, [f64; 2]); 2] = [
    ("ball_grid_8", [246.0, 306.0]),
    ("ball_grid_40", [7921.0, 7976.0]),
];
/// Its time for these on the large grid with 8 cores (s).
pub const NAIVE_SECONDS: f64 = 3.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_summary_in_the_specification() {
        let [_, _, large] = &BALL_GRIDS;
        assert!((1e3 * sweep(large.gauss_seidel) - 262.0).abs() < 1e-9);
        assert!((1e3 * large.parallel_sweep() - 47.8).abs() < 0.1);
        assert!((1e3 * BALL_PILES[1].parallel_sweep() - 13.5).abs() < 0.1);
    }

    #[test]
    fn grids_have_the_contacts_of_their_size() {
        for (demo, n) in BALL_GRIDS.iter().zip([8.0, 24.0, 40.0f64]) {
            assert_eq!(demo.contacts, 3.0 * n * n * n - 2.0 * n * n);
            assert_eq!(demo.bodies, n * n * n + 1.0);
        }
    }
}
