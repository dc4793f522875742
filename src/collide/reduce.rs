//! Contact reduction: at most four points that keep the support polygon.

use super::FoundContact;
use crate::math::Vec3;

/// Most points that a manifold keeps.
const MAX_POINTS: usize = 4;

/// Chooses at most four of a manifold's points: the deepest one, the one farthest from it, the one
/// farthest from their line, and the one that adds most area on the other side. The result is
/// ascending, so that the order of the points stays.
pub fn choose(points: &[FoundContact], chosen: &mut Vec<usize>) {
    chosen.clear();
    if points.len() <= MAX_POINTS {
        chosen.extend(0..points.len());
        return;
    }
    // Ties go to the first point, so that the choice is the same on every run.
    let best = |score: &dyn Fn(usize) -> f64| {
        (0..points.len()).fold((0, f64::NEG_INFINITY), |(at, high), k| {
            let s = score(k);
            if s > high { (k, s) } else { (at, high) }
        })
    };
    let (first, _) = best(&|k| -points[k].gap);
    let (normal, at) = (points[first].normal, |k: usize| points[k].point);
    let a = at(first);
    let (second, _) = best(&|k| (at(k) - a).norm_squared());
    let b = at(second);
    let area = |k: usize, p: Vec3, q: Vec3| normal.dot(&(q - p).cross(&(at(k) - p)));
    let (third, extent) = best(&|k| area(k, a, b).abs());
    chosen.extend([first, second]);
    if extent > 0.0 {
        chosen.push(third);
        // Farthest outside of the triangle, over its three edges turned the same way.
        let c = at(third);
        let turn = area(third, a, b).signum();
        let outside = |k: usize| {
            [(a, b), (b, c), (c, a)]
                .into_iter()
                .map(|(p, q)| -turn * area(k, p, q))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let (fourth, gain) = best(&outside);
        if gain > 0.0 {
            chosen.push(fourth);
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contacts(points: impl Iterator<Item = Vec3>) -> Vec<FoundContact> {
        let contact = |point| FoundContact {
            parts: [0; 2],
            bodies: [0, 1],
            feature: 0,
            point,
            normal: Vec3::y(),
            gap: 0.0,
        };
        points.map(contact).collect()
    }

    #[test]
    fn an_octagon_keeps_a_wide_quadrilateral() {
        let mut points = contacts((0..8).map(|k| {
            let t = f64::from(k) * std::f64::consts::FRAC_PI_4;
            Vec3::new(t.cos(), 0.0, t.sin())
        }));
        points[3].gap = -0.01;
        let mut chosen = Vec::new();
        choose(&points, &mut chosen);
        assert_eq!(chosen, [1, 3, 5, 7], "the deepest point and its square");
    }

    #[test]
    fn few_points_and_points_in_a_row_stay_usable() {
        let mut chosen = Vec::new();
        let row = contacts((0..6).map(|k| Vec3::new(f64::from(k), 0.0, 0.0)));
        choose(&row, &mut chosen);
        assert_eq!(chosen, [0, 5], "a line keeps its ends");
        choose(&row[..3], &mut chosen);
        assert_eq!(chosen, [0, 1, 2]);
    }
}
