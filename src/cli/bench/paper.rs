//! The papers' figures as data. Curves of which the text gives no numbers are not here.

/// A sequential solver on one of Poulsen's problems (tables 3.3 and 3.5).
pub struct Sequential {
    pub iterations: f64,
    /// γ (N² s²).
    pub quality: f64,
    /// ‖ΔΛ‖∞ of the last iteration (N s).
    pub residual: f64,
    /// Solver duration (s).
    pub seconds: f64,
    /// Its standard deviation (s).
    pub sigma: f64,
}

/// Speed-up of a parallel Jacobi scheme (tables 6.1 to 6.3).
pub struct Speedup {
    /// Against itself on one core.
    pub one: f64,
    /// Against the sequential factorized scheme.
    pub sequential: f64,
    /// Cores at which it was fastest.
    pub cores: f64,
}

/// One of Poulsen's problems with all that he measured on it, on an 8-core machine in double precision.
pub struct Demo {
    pub name: &'static str,
    /// Our scene.
    pub scene: &'static str,
    /// Tables 3.2 and 3.4.
    pub bodies: f64,
    pub contacts: f64,
    /// Non-zero blocks of T, the ground coupling its contacts.
    pub blocks: f64,
    pub gauss_seidel: Sequential,
    pub jacobi: Sequential,
    /// Table 6.1.
    pub csp_factorized: Speedup,
    /// Table 6.2.
    pub csp_t: Speedup,
    /// Table 6.3; without preprocessing.
    pub openmp_factorized: Speedup,
    pub openmp_t: Speedup,
}

const fn sequential(
    iterations: f64,
    quality: f64,
    residual: f64,
    seconds: f64,
    sigma: f64,
) -> Sequential {
    Sequential {
        iterations,
        quality,
        residual,
        seconds,
        sigma,
    }
}

const fn speedup(one: f64, sequential: f64, cores: f64) -> Speedup {
    Speedup {
        one,
        sequential,
        cores,
    }
}

/// Poulsen 2010, 3.8.1.
pub static BALL_GRIDS: [Demo; 3] = [
    Demo {
        name: "ball grid 8³",
        scene: "ball_grid_8",
        bodies: 513.0,
        contacts: 1408.0,
        blocks: 17_728.0,
        gauss_seidel: sequential(50.0, 247.0, 0.088, 0.105, 0.00015),
        jacobi: sequential(63.0, 249.0, 0.068, 0.0933, 0.0003),
        csp_factorized: speedup(3.1, 2.6, 4.0),
        csp_t: speedup(2.7, 2.0, 4.0),
        openmp_factorized: speedup(5.3, 6.1, 8.0),
        openmp_t: speedup(6.4, 4.7, 8.0),
    },
    Demo {
        name: "ball grid 24³",
        scene: "ball_grid_24",
        bodies: 13_825.0,
        contacts: 40_320.0,
        blocks: 757_824.0,
        gauss_seidel: sequential(50.0, 2850.0, 0.090, 3.24, 0.003),
        jacobi: sequential(66.0, 2790.0, 0.035, 3.20, 0.003),
        csp_factorized: speedup(3.7, 2.9, 7.0),
        csp_t: speedup(3.1, 1.8, 6.0),
        openmp_factorized: speedup(6.3, 4.9, 8.0),
        openmp_t: speedup(3.4, 2.0, 8.0),
    },
    Demo {
        name: "ball grid 40³",
        scene: "ball_grid_40",
        bodies: 64_001.0,
        contacts: 188_800.0,
        blocks: 4_587_840.0,
        gauss_seidel: sequential(50.0, 7920.0, 0.090, 13.1, 0.005),
        jacobi: sequential(65.0, 7890.0, 0.035, 14.3, 0.003),
        csp_factorized: speedup(4.8, 2.7, 7.0),
        csp_t: speedup(3.2, 1.5, 8.0),
        openmp_factorized: speedup(3.7, 4.6, 8.0),
        openmp_t: speedup(2.6, 1.2, 8.0),
    },
];

/// Poulsen 2010, 3.8.2. His pseudo-random numbers are not known, so that ours is another pile of
/// the same kind.
pub static BALL_PILES: [Demo; 2] = [
    Demo {
        name: "ball pile 40³",
        scene: "ball_pile_40",
        bodies: 64_001.0,
        contacts: 6605.0,
        blocks: 7415.0,
        gauss_seidel: sequential(50.0, 0.000219, 0.00036, 0.897, 0.0009),
        jacobi: sequential(63.0, 0.000235, 0.00026, 1.63, 0.0016),
        csp_factorized: speedup(2.4, 2.6, 8.0),
        csp_t: speedup(3.6, 7.5, 4.0),
        openmp_factorized: speedup(6.2, 8.4, 8.0),
        openmp_t: speedup(7.3, 14.6, 8.0),
    },
    Demo {
        name: "ball pile 80³",
        scene: "ball_pile_80",
        bodies: 512_001.0,
        contacts: 52_909.0,
        blocks: 58_631.0,
        gauss_seidel: sequential(50.0, 0.0148, 0.0073, 7.26, 0.0018),
        jacobi: sequential(65.0, 0.0137, 0.0049, 14.1, 0.005),
        csp_factorized: speedup(2.8, 2.8, 8.0),
        csp_t: speedup(5.1, 11.0, 7.0),
        openmp_factorized: speedup(5.2, 7.3, 8.0),
        openmp_t: speedup(7.7, 16.1, 8.0),
    },
];

impl Demo {
    /// One sequential Gauss–Seidel sweep (s).
    pub fn gauss_seidel_sweep(&self) -> f64 {
        self.gauss_seidel.seconds / self.gauss_seidel.iterations
    }

    /// One sequential Jacobi sweep (s).
    pub fn jacobi_sweep(&self) -> f64 {
        self.jacobi.seconds / self.jacobi.iterations
    }

    /// One sweep of the fastest parallel Jacobi scheme, on 8 cores (s): tables 3.3 or 3.5, and 6.3.
    pub fn parallel_sweep(&self) -> f64 {
        let best = self
            .openmp_factorized
            .sequential
            .max(self.openmp_t.sequential);
        self.jacobi_sweep() / best
    }
}

/// A scheme of Poulsen's chapter 7, run to the γ of 50 sequential Gauss–Seidel iterations.
pub struct Scheme {
    pub figure: &'static str,
    pub name: &'static str,
    /// The method that stands in for it here.
    pub here: fn() -> super::methods::Method,
    pub iterations: Option<f64>,
    /// Largest speed-up against itself on one core.
    pub one: Option<f64>,
    /// Largest speed-up against sequential Gauss–Seidel.
    pub sequential: Option<f64>,
}

use super::methods;

/// Poulsen 2010, 7.2.4, 7.3 and 7.5, on the medium ball grid.
pub static MEDIUM_GRID: [Scheme; 6] = [
    Scheme {
        figure: "7.5",
        name: "CSP greedy rigid factorized",
        here: methods::colored_f64,
        iterations: None,
        one: None,
        sequential: None,
    },
    Scheme {
        figure: "7.5",
        name: "CSP greedy relaxed factorized",
        here: methods::relaxed_naive,
        iterations: Some(57.0),
        one: Some(2.6),
        sequential: None,
    },
    Scheme {
        figure: "7.5",
        name: "CSP greedy relaxed T",
        here: methods::relaxed_jacobi,
        iterations: Some(65.0),
        one: None,
        sequential: None,
    },
    Scheme {
        figure: "7.7",
        name: "OpenMP greedy relaxed",
        here: methods::relaxed_jacobi,
        iterations: Some(57.0),
        one: Some(3.0),
        sequential: Some(2.0),
    },
    Scheme {
        figure: "7.7",
        name: "OpenMP balanced",
        here: methods::balanced,
        iterations: Some(49.0),
        one: Some(3.0),
        sequential: Some(2.0),
    },
    Scheme {
        figure: "7.10",
        name: "OpenMP Jacobi factorized",
        here: methods::jacobi_factorized,
        iterations: Some(66.0),
        one: Some(6.3),
        sequential: None,
    },
];

/// Poulsen 2010, 7.3 and 7.5, on the large ball pile.
pub static LARGE_PILE: [Scheme; 6] = [
    Scheme {
        figure: "7.6",
        name: "CSP greedy rigid factorized",
        here: methods::colored_f64,
        iterations: None,
        one: None,
        sequential: None,
    },
    Scheme {
        figure: "7.6",
        name: "CSP greedy relaxed factorized",
        here: methods::relaxed_naive,
        iterations: None,
        one: None,
        sequential: None,
    },
    Scheme {
        figure: "7.8",
        name: "OpenMP greedy relaxed T",
        here: methods::relaxed_jacobi,
        iterations: Some(51.0),
        one: Some(6.6),
        sequential: Some(8.4),
    },
    Scheme {
        figure: "7.8",
        name: "OpenMP balanced",
        here: methods::balanced,
        iterations: Some(50.0),
        one: None,
        sequential: None,
    },
    Scheme {
        figure: "7.9",
        name: "OpenMP Jacobi T",
        here: methods::jacobi_t,
        iterations: Some(65.0),
        one: Some(7.7),
        sequential: None,
    },
    Scheme {
        figure: "7.9",
        name: "OpenMP Jacobi factorized",
        here: methods::jacobi_factorized,
        iterations: Some(65.0),
        one: Some(5.2),
        sequential: None,
    },
];

/// What a colouring found: number of colours, and contacts in the largest and in the smallest.
pub struct Colors {
    pub name: &'static str,
    pub here: fn() -> super::methods::Method,
    pub found: Option<[f64; 3]>,
}

/// Poulsen 2010, 7.3: the medium ball grid. The smallest relaxed one is the merged, unsafe colour.
pub static MEDIUM_GRID_COLORS: [Colors; 3] = [
    Colors {
        name: "greedy rigid",
        here: methods::colored_f64,
        found: None,
    },
    Colors {
        name: "greedy relaxed",
        here: methods::relaxed_jacobi,
        found: Some([7.0, 6912.0, 570.0]),
    },
    Colors {
        name: "balanced",
        here: methods::balanced,
        found: Some([580.0, 70.0, 69.0]),
    },
];

/// Poulsen 2010, 7.3: the large ball pile.
pub static LARGE_PILE_COLORS: [Colors; 3] = [
    Colors {
        name: "greedy rigid",
        here: methods::colored_f64,
        found: Some([3.0, 50_125.0, 3.0]),
    },
    Colors {
        name: "greedy relaxed",
        here: methods::relaxed_jacobi,
        found: Some([2.0, 50_125.0, 2784.0]),
    },
    Colors {
        name: "balanced",
        here: methods::balanced,
        found: Some([3.0, 17_637.0, 17_636.0]),
    },
];

/// γ of the naive parallel Gauss–Seidel after 50 iterations, with 1 and with 8 parts (Poulsen 2010,
/// 7.1), by scene.
pub const NAIVE_QUALITY: [(&str, [f64; 2]); 2] = [
    ("ball_grid_8", [246.0, 306.0]),
    ("ball_grid_40", [7921.0, 7976.0]),
];
/// Its time for these on the large grid with 8 cores (s).
pub const NAIVE_SECONDS: f64 = 3.3;

/// Nützi 2011, 6.2: both tolerances of 4.50 (the absolute one in N s).
pub const NUETZI_TOLERANCE: f64 = 1e-7;
/// Iterations after which his reference simulation gives up.
pub const NUETZI_MOST: u32 = 5000;
/// JOR iterations over full SOR iterations: "twice and more".
pub const NUETZI_JOR_ITERATIONS: f64 = 2.0;
/// Time of a full SOR iteration over a JOR iteration on the GPU (6.1.2: "twice as slow").
pub const NUETZI_SOR_COST: f64 = 2.0;
/// Bandwidth that his matrix–vector product reaches on a GTX 580 (bytes/s) (6.1.1).
pub const NUETZI_BANDWIDTH: f64 = 170e9;
/// Largest speed-up of his JOR over one sequential core (6.1.1: "10–16").
pub const NUETZI_SPEEDUP: [f64; 2] = [10.0, 16.0];
/// Speed-up that six threads gave the sequential product (6.1.1).
pub const NUETZI_THREADS: f64 = 1.5;
/// Contacts from which fewer than 50 JOR iterations pay for going to the GPU (6.1.1).
pub const NUETZI_TRADE_OFF: f64 = 200.0;
/// Double over single precision, time of a JOR iteration (6.1.1).
pub const NUETZI_PRECISION: f64 = 2.0;

/// Contacts between the discs of a pyramid of n layers (Munksgaard & Kaiser, section 2).
pub fn pyramid_contacts(layers: u32) -> f64 {
    1.5 * f64::from(layers) * (f64::from(layers) - 1.0)
}
/// Most contacts that touch one contact's discs besides it (section 2).
pub const PYRAMID_NEIGHBOURS: f64 = 10.0;

/// One of Lefebvre's machines (tables 2.2 to 2.4); Intel Core i7-5820K, one thread.
pub struct Machine {
    /// Our scene.
    pub scene: &'static str,
    pub mass_ratio: f64,
    /// Largest number of rows.
    pub rows: f64,
    /// Largest condition number.
    pub condition: f64,
    /// Mean time of a solve (ms): full, downdating, downdating with skyline.
    pub times: [f64; 3],
    /// Error of a downdated factor, without and with skyline: least, largest, mean, median.
    pub errors: [[f64; 4]; 2],
}

/// Lefebvre 2020, tables 2.2 to 2.4.
pub static MACHINES: [Machine; 6] = [
    Machine {
        scene: "crane",
        mass_ratio: 6300.0,
        rows: 430.0,
        condition: 1e9,
        times: [12.4, 4.7, 3.4],
        errors: [
            [6.74e-12, 3.00e-10, 4.77e-11, 3.80e-11],
            [6.76e-12, 2.50e-10, 4.84e-11, 3.88e-11],
        ],
    },
    Machine {
        scene: "winch",
        mass_ratio: 400.0,
        rows: 370.0,
        condition: 1e8,
        times: [2.0, 2.4, 1.6],
        errors: [
            [0.0, 7.29e-11, 6.60e-13, 1.31e-13],
            [0.0, 7.34e-11, 6.07e-13, 1.28e-13],
        ],
    },
    Machine {
        scene: "vehicle_parkour",
        mass_ratio: 20_000.0,
        rows: 260.0,
        condition: 1e19,
        times: [3.0, 2.2, 2.1],
        errors: [
            [3.17e-13, 1.81e-9, 4.93e-12, 7.18e-13],
            [2.71e-13, 7.99e-10, 1.85e-12, 7.36e-13],
        ],
    },
    Machine {
        scene: "offshore",
        mass_ratio: 4_400_000.0,
        rows: 350.0,
        condition: 1e9,
        times: [6.7, 4.0, 2.9],
        errors: [
            [0.0, 2.00e-8, 1.50e-9, 6.55e-11],
            [0.0, 1.00e-8, 1.30e-9, 5.55e-11],
        ],
    },
    Machine {
        scene: "forklift",
        mass_ratio: 2700.0,
        rows: 300.0,
        condition: 1e8,
        times: [1.2, 1.0, 0.8],
        errors: [
            [0.0, 5.74e-11, 1.50e-12, 1.46e-12],
            [0.0, 1.17e-11, 1.35e-12, 1.36e-12],
        ],
    },
    Machine {
        scene: "forwarder",
        mass_ratio: 6500.0,
        rows: 250.0,
        condition: 1e11,
        times: [3.1, 2.5, 2.0],
        errors: [
            [1.11e-10, 7.00e-8, 4.04e-9, 3.22e-9],
            [1.11e-10, 7.00e-8, 4.04e-9, 3.22e-9],
        ],
    },
];

/// Lefebvre's caching of factors (table 3.1).
pub struct Caching {
    /// Our scene.
    pub scene: &'static str,
    /// Mean number of rows.
    pub rows: f64,
    /// Mean number of factors in the cache.
    pub entries: f64,
}

/// Lefebvre 2020, table 3.1.
pub static CACHING: [Caching; 4] = [
    Caching {
        scene: "chain",
        rows: 528.9,
        entries: 272.5,
    },
    Caching {
        scene: "forklift",
        rows: 162.0,
        entries: 115.6,
    },
    Caching {
        scene: "log_tower",
        rows: 829.9,
        entries: 3100.5,
    },
    Caching {
        scene: "box_stack",
        rows: 333.9,
        entries: 1351.9,
    },
];

/// Lefebvre 2020, 2.2.2: share of tight rows below which downdating pays (%).
pub const DOWNDATING_PAYS: f64 = 15.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_summary_in_the_specification() {
        let [_, _, large] = &BALL_GRIDS;
        assert!((1e3 * large.gauss_seidel_sweep() - 262.0).abs() < 1e-9);
        assert!((1e3 * large.parallel_sweep() - 47.8).abs() < 0.1);
        assert!((1e3 * BALL_PILES[1].parallel_sweep() - 13.5).abs() < 0.1);
    }

    #[test]
    fn grids_have_the_contacts_of_their_size() {
        for (demo, n) in BALL_GRIDS.iter().zip([8.0, 24.0, 40.0f64]) {
            assert_eq!(demo.contacts, 3.0 * n * n * n - 2.0 * n * n);
            assert_eq!(demo.bodies, n * n * n + 1.0);
        }
        assert_eq!(pyramid_contacts(2), 3.0);
    }
}
