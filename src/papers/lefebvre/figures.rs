//! The thesis's figures as data.

/// One of the machines; Intel Core i7-5820K, one thread.
pub struct Machine {
    /// Our scene.
    pub scene: &'static str,
    /// The largest mass over the smallest (-).
    pub mass_ratio: f64,
    /// Largest number of rows.
    pub rows: f64,
    /// Largest condition number.
    pub condition: f64,
    /// Mean time of a solve (ms): full, downdating, downdating with skyline.
    pub times: [f64; 3],
}

const fn machine(
    scene: &'static str,
    [mass_ratio, rows, condition]: [f64; 3],
    times: [f64; 3],
) -> Machine {
    Machine {
        scene,
        mass_ratio,
        rows,
        condition,
        times,
    }
}

/// Tables 2.2 and 2.3.
pub static MACHINES: [Machine; 7] = [
    machine("crane", [6300.0, 430.0, 1e9], [12.4, 4.7, 3.4]),
    machine("winch", [400.0, 370.0, 1e8], [2.0, 2.4, 1.6]),
    machine("vehicle_parkour", [2e4, 260.0, 1e19], [3.0, 2.2, 2.1]),
    machine("offshore", [4.4e6, 350.0, 1e9], [6.7, 4.0, 2.9]),
    machine("forklift", [2700.0, 300.0, 1e8], [1.2, 1.0, 0.8]),
    machine("forwarder", [6500.0, 250.0, 1e11], [3.1, 2.5, 2.0]),
    machine("forwarder_tines", [6500.0, 250.0, 1e11], [3.1, 2.5, 2.0]),
];

/// Error of a downdated factor, without skyline: our scene; least, largest, mean, median (table 2.4).
pub static DOWNDATE_ERRORS: [(&str, [f64; 4]); 6] = [
    ("crane", [6.74e-12, 3.00e-10, 4.77e-11, 3.80e-11]),
    ("winch", [0.0, 7.29e-11, 6.60e-13, 1.31e-13]),
    ("vehicle_parkour", [3.17e-13, 1.81e-9, 4.93e-12, 7.18e-13]),
    ("offshore", [0.0, 2.00e-8, 1.50e-9, 6.55e-11]),
    ("forklift", [0.0, 5.74e-11, 1.50e-12, 1.46e-12]),
    ("forwarder", [1.11e-10, 7.00e-8, 4.04e-9, 3.22e-9]),
];
/// The same with skyline.
pub static SKYLINE_ERRORS: [(&str, [f64; 4]); 6] = [
    ("crane", [6.76e-12, 2.50e-10, 4.84e-11, 3.88e-11]),
    ("winch", [0.0, 7.34e-11, 6.07e-13, 1.28e-13]),
    ("vehicle_parkour", [2.71e-13, 7.99e-10, 1.85e-12, 7.36e-13]),
    ("offshore", [0.0, 1.00e-8, 1.30e-9, 5.55e-11]),
    ("forklift", [0.0, 1.17e-11, 1.35e-12, 1.36e-12]),
    ("forwarder", [1.11e-10, 7.00e-8, 4.04e-9, 3.22e-9]),
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
