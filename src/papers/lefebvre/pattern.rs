//! Figures 2.5, 2.6 and 4.1: where A and L have their entries, and their elimination trees, in each order.

use super::record::{Kept, Recording, racers};
use super::tree::{self, Tree};
use crate::measure::plot::{document, escaped};
use crate::papers::measure::Bench;
use crate::papers::measure::method::Method;
use crate::papers::measure::table::Columns;
use crate::papers::{Findings, Result};
use crate::solve::MatrixView;

/// Reverse Cuthill–McKee.
pub const SKYLINE: Method =
    Method::new("skyline: bpp factorization=skyline warm_start=false refactor_share=1");
/// Minimum degree.
const SPARSE: Method = Method::new("sparse: bpp factorization=sparse warm_start=false");

/// The lower triangle of A in some order.
pub struct Ordered {
    scene: &'static str,
    order: &'static str,
    rows: usize,
    /// Non-zero entries of A and of L.
    entries: [f64; 2],
    /// Its envelope and its semi-bandwidth.
    envelope: [f64; 2],
    /// Height and leaves of the elimination tree.
    tree: [f64; 2],
}

/// Looks at the problem with the most rows, and draws it.
pub fn add(
    bench: &Bench,
    findings: &mut Findings,
    recording: &Recording,
    orders: &mut Vec<Ordered>,
) -> Result<()> {
    let Some(kept) = recording.largest() else {
        return Ok(());
    };
    let Some(skyline) = view(bench, kept, SKYLINE)? else {
        return Ok(());
    };
    let n = skyline.n;
    let natural = permuted(&skyline.a, &skyline.natural);
    let mut trees = Vec::new();
    let mut add = |order, a: &[[u32; 2]]| {
        let (l, tree) = fill(n, a);
        orders.push(Ordered {
            scene: recording.scene,
            order,
            rows: n,
            entries: [a.len(), l.len()].map(|n| n as f64),
            envelope: envelope(n, a).map(|n| n as f64),
            tree: [tree.height(), tree.leaves()].map(|n| n as f64),
        });
        trees.push((order, tree));
        l
    };
    add("the scene's", &natural);
    let l = add("reverse Cuthill–McKee", &skyline.a);
    let mut drawn: Vec<Pattern> = vec![
        ("A, the scene's order", symmetric(&natural), Vec::new()),
        (
            "A, reverse Cuthill–McKee",
            symmetric(&skyline.a),
            Vec::new(),
        ),
        ("L and its envelope", l, skyline.envelope),
    ];
    if let Some(sparse) = view(bench, kept, SPARSE)? {
        let l = add("minimum degree (AMD)", &sparse.a);
        drawn.push(("L, minimum degree", l, Vec::new()));
    }
    let title = format!("{}: {n} rows at {:.1} s", recording.scene, kept.time);
    let name = format!("machines-{}-pattern", recording.scene);
    findings.picture(name, picture(&title, n, &drawn));
    let name = format!("machines-{}-trees", recording.scene);
    findings.picture(name, tree::picture(&title, &trees));
    Ok(())
}

/// Adds the table of all machines.
pub fn report(findings: &mut Findings, orders: &[Ordered]) {
    let title = "Lower triangles of the largest island's A and of its L, all rows free";
    let source = "Lefebvre 2020, figures 2.5, 2.6 and 4.1";
    findings.table(
        Columns::new("patterns", title, source, orders)
            .key("scene", |o| o.scene)
            .key("order", |o| o.order)
            .column("rows", |o| o.rows as f64)
            .column("non-zeros of A", |o| o.entries[0])
            .column("non-zeros of L", |o| o.entries[1])
            .column("fill: L over A", |o| o.entries[1] / o.entries[0].max(1.0))
            .column("envelope", |o| o.envelope[0])
            .column("semi-bandwidth", |o| o.envelope[1])
            .column("height of the elimination tree", |o| o.tree[0])
            .column("its leaves", |o| o.tree[1]),
    );
}

/// The matrices of a solve.
pub fn view(bench: &Bench, kept: &Kept, method: Method) -> Result<Option<MatrixView>> {
    let mut racers = racers(&[method])?;
    racers[0].solve(bench, &kept.problem, Some(&kept.start), false);
    Ok(racers[0].solver().view().matrix())
}

/// The pattern of a square matrix: its name, row and column of every non-zero entry, and the last row of each
/// column's envelope, drawn as a line; may be empty.
type Pattern = (&'static str, Vec<[u32; 2]>, Vec<u32>);

/// Both triangles of a symmetric matrix, from its lower one.
fn symmetric(lower: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let upper = lower.iter().filter(|[i, k]| i != k).map(|[i, k]| [*k, *i]);
    lower.iter().copied().chain(upper).collect()
}

/// Entries next to each other in a row, as row, first column and one past the last.
fn runs(mut entries: Vec<[u32; 2]>) -> Vec<[u32; 3]> {
    entries.sort_unstable();
    let mut runs: Vec<[u32; 3]> = Vec::new();
    for [row, column] in entries {
        match runs.last_mut() {
            Some(run) if run[0] == row && run[2] == column => run[2] += 1,
            _ => runs.push([row, column, column + 1]),
        }
    }
    runs
}

/// Rows and columns of the lower triangle of `lower`, a symmetric matrix of `n` rows, when row `i` goes to
/// `place[i]`.
fn permuted(lower: &[[u32; 2]], place: &[u32]) -> Vec<[u32; 2]> {
    let moved = lower.iter().map(|[i, k]| {
        let (i, k) = (place[*i as usize], place[*k as usize]);
        [i.max(k), i.min(k)]
    });
    moved.collect()
}

/// The lower triangle of L for A = L Lᵀ, and its elimination tree, from the lower triangle of A: row by row along
/// the tree (Liu 1990).
fn fill(n: usize, lower: &[[u32; 2]]) -> (Vec<[u32; 2]>, Tree) {
    let mut by_row = vec![Vec::new(); n];
    for [i, k] in lower.iter().filter(|[i, k]| k < i) {
        by_row[*i as usize].push(*k as usize);
    }
    let mut parent: Vec<Option<usize>> = vec![None; n];
    let mut seen = vec![usize::MAX; n];
    let mut l = Vec::new();
    for (i, columns) in by_row.iter().enumerate() {
        seen[i] = i;
        for k in columns {
            let mut at = *k;
            while seen[at] != i {
                seen[at] = i;
                l.push([i as u32, at as u32]);
                at = *parent[at].get_or_insert(i);
            }
        }
        l.push([i as u32, i as u32]);
    }
    (l, Tree::new(parent))
}

/// Entries of the lower triangle from each row's first non-zero one on, and the largest distance of one
/// from the diagonal.
fn envelope(n: usize, lower: &[[u32; 2]]) -> [usize; 2] {
    let mut first: Vec<usize> = (0..n).collect();
    for [i, k] in lower {
        let first = &mut first[*i as usize];
        *first = (*first).min(*k as usize);
    }
    let reach = || first.iter().enumerate().map(|(i, first)| i - first);
    [n + reach().sum::<usize>(), reach().max().unwrap_or(0)]
}

/// Size of one pattern, of the margin around it, and of the line above it (px).
const SIZE: f64 = 340.0;
const MARGIN: f64 = 20.0;
const HEAD: f64 = 62.0;

/// Several patterns of `n` rows side by side, each with its name.
fn picture(title: &str, n: usize, patterns: &[Pattern]) -> String {
    let width = MARGIN + patterns.len() as f64 * (SIZE + MARGIN);
    let mut out = String::new();
    for (k, pattern) in patterns.iter().enumerate() {
        draw(&mut out, MARGIN + k as f64 * (SIZE + MARGIN), n, pattern);
    }
    document(title, MARGIN, [width, HEAD + SIZE + MARGIN], &out)
}

fn draw(out: &mut String, left: f64, n: usize, (name, entries, envelope): &Pattern) {
    let scale = SIZE / n.max(1) as f64;
    let mut path = String::new();
    for [row, first, end] in runs(entries.clone()) {
        let width = end - first;
        path += &format!("M{first} {row}h{width}v1h-{width}z");
    }
    let mut edge = String::new();
    for (column, last) in envelope.iter().enumerate() {
        let command = if column == 0 { 'M' } else { 'L' };
        edge += &format!("{command}{column} {}H{}", last + 1, column + 1);
    }
    *out += &format!(
        "<text class=\"text\" x=\"{left}\" y=\"{}\">{}</text>\n\
         <g transform=\"translate({left} {HEAD}) scale({scale:.5})\">\
         <path class=\"mark c0\" d=\"{path}\"/>\
         <path class=\"thin line c1\" vector-effect=\"non-scaling-stroke\" d=\"{edge}\"/></g>\n\
         <rect class=\"frame\" x=\"{left}\" y=\"{HEAD}\" width=\"{SIZE}\" height=\"{SIZE}\"/>\n",
        HEAD - 10.0,
        escaped(name),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrow: row 0 couples with all others.
    fn arrow(n: u32) -> Vec<[u32; 2]> {
        let spine = (0..n).map(|i| [i, i]);
        spine.chain((1..n).map(|i| [i, 0])).collect()
    }

    #[test]
    fn an_arrow_fills_unless_it_points_down() {
        assert_eq!(fill(5, &arrow(5)).0.len(), 15);
        let down = permuted(&arrow(5), &[4, 0, 1, 2, 3]);
        assert_eq!(fill(5, &down).0.len(), 9);
        assert_eq!(envelope(5, &down), [9, 4]);
    }

    #[test]
    fn entries_in_a_row_are_drawn_as_one() {
        let entries = symmetric(&arrow(3));
        assert_eq!(entries.len(), 7);
        assert_eq!(runs(entries), [[0, 0, 3], [1, 0, 2], [2, 0, 1], [2, 2, 3]]);
    }
}
