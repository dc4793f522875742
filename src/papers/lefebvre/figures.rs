//! The thesis's figures as data.

/// One of the machines (tables 2.2 to 2.4); Intel Core i7-5820K, one thread.
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

/// Tables 2.2 to 2.4.
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

/// Caching of factors (table 3.1): our scene, mean number of rows, mean number of factors in the cache.
pub static CACHING: [(&str, f64, f64); 4] = [
    ("chain", 528.9, 272.5),
    ("forklift", 162.0, 115.6),
    ("log_tower", 829.9, 3100.5),
    ("box_stack", 333.9, 1351.9),
];

/// Share of tight rows below which downdating pays (%) (2.2.2).
pub const DOWNDATING_PAYS: f64 = 15.0;
/// Most pivots of a solve (table 2.1).
pub const MOST_PIVOTS: f64 = 35.0;
