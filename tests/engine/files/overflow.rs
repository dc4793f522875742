//! What `validate` accepts is stepped: numbers that overflow on the way are refused where they stand.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::fuzz::{as_long_as_wanted, attempts};
use moreau::math::random::Random;
use moreau::scene::{Scene, library};

/// Shipped scenes with few bodies, of many kinds.
const SCENES: &[&str] = &[
    "box_stack",
    "newtons_cradle",
    "incline",
    "rolling_ball",
    "pendulum",
    "double_pendulum",
    "slider_crank",
    "four_bar",
    "simple_winch",
    "simple_crane",
    "chain",
    "train",
    "arch",
    "disc_pyramid_loaded",
    "vehicle_parkour",
    "forklift",
    "mixed_shapes",
];

/// What numbers are replaced by, and their opposites.
const SIZES: &[f64] = &[
    1e300, 1e155, 1e100, 1e60, 1e40, 1e39, 1e30, 1e20, 1e12, 1e9, 1e6, 1e-6, 1e-9, 1e-12, 1e-20,
    1e-30, 1e-39, 1e-100, 1e-155, 1e-300, 5e-324,
];

/// Where numbers stand in a text.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let c = rest.chars().next().expect("not at the end");
        if c.is_alphabetic() || c == '_' || c == '"' {
            // A word, or a string.
            let end = match c {
                '"' => rest[1..].find('"').map_or(rest.len(), |k| k + 2),
                _ => rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len()),
            };
            at += end;
        } else if is_part(c) {
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if rest[..end].parse::<f64>().is_ok() {
                found.push(at..at + end);
            }
            at += end;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else {
            at += c.len_utf8();
        }
    }
    found
}

/// Replaces a number or two of a shipped scene; what was replaced.
fn draw(random: &mut Random) -> (String, String) {
    let name = SCENES[random.below(SCENES.len())];
    let mut text = library::shipped_text(name).expect("shipped").to_owned();
    let mut said = name.to_owned();
    for _ in 0..=random.below(2) {
        let all = numbers(&text);
        let place = all[random.below(all.len())].clone();
        let mut value = SIZES[random.below(SIZES.len())];
        if random.below(4) == 0 {
            value = -value;
        }
        let line = text[..place.start].matches('\n').count() + 1;
        let words = text.lines().nth(line - 1).unwrap_or_default().trim();
        said += &format!("; {value:e} in line {line}, {words}");
        text.replace_range(place, &format!("{value:e}"));
    }
    (text, said)
}

/// What becomes of a drawn scene: refused, stepped, or why it is neither.
fn attempt(seed: u64) -> Result<bool, String> {
    let (text, said) = draw(&mut Random::new(seed));
    live(&text).map_err(|e| format!("{seed}: {said}: {e}"))
}

/// The same of a text.
fn live(text: &str) -> Result<bool, String> {
    let scene = match Scene::parse(text, "drawn.ron") {
        Ok(scene) => scene,
        Err(_) => return Ok(false),
    };
    if let Err(error) = scene.build_within(1000) {
        let message = error.to_string();
        let is_placed = message.starts_with("drawn.ron:");
        return match is_placed {
            true => Ok(false),
            false => Err(format!("no place: {message}")),
        };
    }
    let mut simulation = scene.simulation(1).map_err(|e| e.to_string())?;
    for step in 0..3 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            simulation.step().map(|_| ()).map_err(|e| e.to_string())
        }));
        match outcome {
            Err(_) => return Err("panics".into()),
            // A joint torn apart by 1e6 m pulls faster than that.
            Ok(Err(why)) if why.contains("would move out of bounds") => return Ok(false),
            Ok(Err(why)) => return Err(format!("step {step}: {why}")),
            Ok(Ok(())) => {}
        }
    }
    Ok(true)
}

#[test]
fn what_is_accepted_is_stepped() {
    attempts(0..2000, attempt);
}

/// Drawn scenes that were accepted and not stepped once.
#[test]
fn what_has_failed_once_is_stepped() {
    for (name, text) in [
        // A drive's values of 1e39.
        ("drive", include_str!("drawn/drive_1e39.ron")),
        // A rod of 1e-9 kg between a carriage and a mast.
        ("rod", include_str!("drawn/rod_1e-9_kg.ron")),
        // One that stands 1e6 m away.
        ("far", include_str!("drawn/far_1e6_m.ron")),
    ] {
        live(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// The same of other seeds.
#[test]
#[ignore = "takes as long as it is told to"]
fn measure_overflow() {
    as_long_as_wanted(500, |seeds| attempts(seeds, attempt));
}
