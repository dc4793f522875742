//! Colours of bodies: pleasant, and the same for the same body in every run.

use crate::solve::{Method, NO_COLOR};
use crate::viewer::frame::ContactState;

/// Colours, linear RGB, of bodies that name none: a muted palette that keeps apart under daylight.
const BODIES: [[f32; 3]; 8] = [
    [0.831, 0.212, 0.094],
    [0.905, 0.479, 0.076],
    [0.061, 0.346, 0.539],
    [0.100, 0.445, 0.352],
    [0.533, 0.147, 0.242],
    [0.356, 0.402, 0.491],
    [0.792, 0.665, 0.305],
    [0.247, 0.178, 0.438],
];

/// Colour of fixed and kinematic bodies.
pub const FIXED: [f32; 3] = [0.30, 0.32, 0.35];
pub const NO_ISLAND: [f32; 3] = [0.22, 0.23, 0.25];
/// Colour of the mouse's spring.
pub const SPRING: [f32; 3] = [1.0, 0.78, 0.12];
/// Colour of what is not known.
const UNKNOWN: [f32; 3] = [0.55, 0.60, 0.66];
pub const NORMAL: [f32; 3] = [0.15, 0.55, 1.0];
pub const NORMAL_FORCE: [f32; 3] = [1.0, 0.20, 0.10];
pub const FRICTION_FORCE: [f32; 3] = [0.10, 0.85, 0.25];
pub const BOX: [f32; 3] = [0.05, 0.75, 0.85];
/// Colour of ropes where joints are not drawn.
pub const ROPE: [f32; 3] = [0.03, 0.03, 0.035];
pub const JOINT_FORCE: [f32; 3] = [0.95, 0.35, 0.90];

/// The colour of a contact point.
pub fn contact(state: ContactState) -> [f32; 3] {
    match state {
        ContactState::Speculative => [0.45, 0.52, 0.62],
        ContactState::Idle => [0.95, 0.95, 0.95],
        ContactState::Sticking => [1.0, 0.72, 0.08],
        ContactState::Sliding => [0.95, 0.08, 0.45],
    }
}

/// What couples parts, which have all other hues.
pub const COUPLING: [f32; 3] = [1.0, 1.0, 1.0];

/// The colour of a body that names none.
pub fn body(slot: usize) -> [f32; 3] {
    BODIES[(scramble(slot as u32) >> 8) as usize % BODIES.len()]
}

/// The colour of an island: neighbouring numbers get hues that are far apart.
pub fn island(island: u32) -> [f32; 3] {
    // Multiples of the golden angle never come close to each other.
    let hue = (island as f32 * 0.618_034).fract();
    let shade = 0.75 + 0.25 * ((scramble(island) >> 8) % 4) as f32 / 3.0;
    hsv(hue, 0.70, shade)
}

/// The colour of an island by how it was solved: light blue, dark blue, green, red, yellow, of Okabe & Ito's colours,
/// which are told apart with every kind of colour vision; all but green and red in grey, too.
pub fn method(method: Method) -> [f32; 3] {
    match method {
        Method::Kept => [0.093, 0.456, 0.815],
        Method::Exact => [0.000, 0.168, 0.445],
        Method::Rescued => [0.000, 0.342, 0.171],
        Method::Unfinished => [0.665, 0.112, 0.000],
        Method::Swept => [0.871, 0.776, 0.054],
    }
}

/// The colour of a contact's graph colour.
pub fn graph(color: u32) -> [f32; 3] {
    match color {
        NO_COLOR => UNKNOWN,
        color => island(color),
    }
}

/// Errors of joints that are drawn darkest and brightest (m).
pub const ERRORS: [f64; 2] = [1e-6, 1e-3];

/// The colour of a joint's error (m), by its logarithm: from dark blue over grey to yellow, ever brighter, so that it is
/// read with every kind of colour vision; grey-blue where it is not known.
pub fn error(error: Option<f64>) -> [f32; 3] {
    const STOPS: [[f32; 3]; 4] = [
        [0.010, 0.105, 0.480],
        [0.150, 0.190, 0.330],
        [0.480, 0.420, 0.180],
        [1.000, 0.820, 0.060],
    ];
    error.map_or(UNKNOWN, |error| ramp(&STOPS, ERRORS, error))
}

/// Residuals of contacts that are drawn darkest and brightest (m/s).
pub const HEAT: [f64; 2] = [1e-9, 1e-2];

/// The colour of a contact's residual (m/s), by its logarithm: from black over violet and orange to light yellow,
/// ever brighter, so that it is read with every kind of colour vision and in grey.
pub fn heat(residual: f64) -> [f32; 3] {
    const STOPS: [[f32; 3]; 5] = [
        [0.000, 0.000, 0.001],
        [0.116, 0.004, 0.186],
        [0.543, 0.047, 0.108],
        [0.954, 0.310, 0.010],
        [0.977, 1.000, 0.414],
    ];
    ramp(&STOPS, HEAT, residual)
}

/// Between colours, by the logarithm of a value; what is no number is drawn as the worst.
fn ramp(stops: &[[f32; 3]], range: [f64; 2], value: f64) -> [f32; 3] {
    let [low, high] = range.map(f64::log10);
    let share = match value.is_nan() {
        true => 1.0,
        false => ((value.max(1e-30).log10() - low) / (high - low)).clamp(0.0, 1.0) as f32,
    };
    let at = share * (stops.len() - 1) as f32;
    let k = (at as usize).min(stops.len() - 2);
    let mix = |c: usize| stops[k][c] + (at - k as f32) * (stops[k + 1][c] - stops[k][c]);
    [0, 1, 2].map(mix)
}

/// Packs linear RGB into bytes, square-rooted so that dark colours keep their steps.
pub fn pack([r, g, b]: [f32; 3]) -> u32 {
    let byte = |v: f32| (v.clamp(0.0, 1.0).sqrt() * 255.0 + 0.5) as u32;
    byte(r) | byte(g) << 8 | byte(b) << 16 | 0xff00_0000
}

fn hsv(hue: f32, saturation: f32, value: f32) -> [f32; 3] {
    let channel = |shift: f32| {
        let k = (hue * 6.0 + shift) % 6.0;
        let v = value * (1.0 - saturation * k.min(4.0 - k).clamp(0.0, 1.0));
        v * v
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

/// A well mixed 32-bit hash (Wellons' "lowbias32").
fn scramble(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
