//! Figure 4.1: elimination trees. Row i's parent is the row of the first entry below the diagonal in column i of L; only rows
//! between a changed one and its root see the change.

use crate::measure::plot::{document, escaped};

/// A forest of rows; a parent has a higher number than its children.
pub struct Tree {
    /// Each row's parent; none at a root.
    parent: Vec<Option<usize>>,
}

impl Tree {
    /// The tree of these parents.
    pub fn new(parent: Vec<Option<usize>>) -> Self {
        Self { parent }
    }

    /// Rows above each row, itself not counted.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.parent.len()];
        for (i, parent) in self.parent.iter().enumerate().rev() {
            if let Some(parent) = parent {
                depths[i] = depths[*parent] + 1;
            }
        }
        depths
    }

    /// Rows on the longest way from a leaf to its root.
    pub fn height(&self) -> usize {
        self.depths().into_iter().max().map_or(0, |depth| depth + 1)
    }

    /// Rows without children.
    pub fn leaves(&self) -> usize {
        self.children().iter().filter(|of| of.is_empty()).count()
    }

    fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.parent.len()];
        for (i, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(i);
            }
        }
        children
    }

    /// Where each row is drawn across: leaves in turn, every other row in the middle of its children.
    fn places(&self) -> Vec<f64> {
        let children = self.children();
        let mut places = vec![0.0; self.parent.len()];
        let mut leaves = 0.0;
        let roots = (0..self.parent.len()).filter(|i| self.parent[*i].is_none());
        // Rows to be placed, and whether their children have been.
        let mut open: Vec<(usize, bool)> = roots.rev().map(|root| (root, false)).collect();
        while let Some((row, placed)) = open.pop() {
            match children[row].as_slice() {
                [] => {
                    places[row] = leaves;
                    leaves += 1.0;
                }
                [first, .., last] | [first @ last] if placed => {
                    places[row] = 0.5 * (places[*first] + places[*last]);
                }
                own => {
                    open.push((row, true));
                    open.extend(own.iter().rev().map(|child| (*child, false)));
                }
            }
        }
        places
    }
}

/// Size of one tree, of the margin around it, and of the lines above it (px).
const SIZE: f64 = 420.0;
const MARGIN: f64 = 20.0;
const HEAD: f64 = 66.0;

/// Trees side by side, roots on top, each with its name, under the scale of the highest.
pub fn picture(title: &str, trees: &[(&str, Tree)]) -> String {
    let highest = trees.iter().map(|(_, tree)| tree.height()).max();
    let scale = SIZE / highest.unwrap_or(1).max(1) as f64;
    let width = MARGIN + trees.len() as f64 * (SIZE + MARGIN);
    let mut out = String::new();
    for (k, tree) in trees.iter().enumerate() {
        draw(&mut out, MARGIN + k as f64 * (SIZE + MARGIN), scale, tree);
    }
    document(title, MARGIN, [width, HEAD + SIZE + MARGIN], &out)
}

fn draw(out: &mut String, left: f64, down: f64, (name, tree): &(&str, Tree)) {
    let (places, depths) = (tree.places(), tree.depths());
    let leaves = tree.leaves();
    let across = SIZE / leaves.max(1) as f64;
    let at = |row: usize| {
        let [x, y] = [across * (places[row] + 0.5), down * depths[row] as f64];
        format!("{:.2} {:.2}", left + x, HEAD + y)
    };
    let mut path = String::new();
    for (row, parent) in tree.parent.iter().enumerate() {
        if let Some(parent) = parent {
            path += &format!("M{}L{}", at(row), at(*parent));
        }
    }
    let height = tree.height();
    *out += &format!(
        "<text class=\"text\" x=\"{left}\" y=\"{}\">{}: height {height}, leaves {leaves}</text>\n\
         <path class=\"thin line c0\" d=\"{path}\"/>\n",
        HEAD - 14.0,
        escaped(name),
    );
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn a_path_is_high_and_a_star_is_wide() {
        let path = Tree::new(vec![Some(1), Some(2), None]);
        assert_eq!((path.height(), path.leaves()), (3, 1));
        assert_eq!(path.places(), [0.0; 3]);
        let star = Tree::new(vec![Some(3), Some(3), Some(3), None]);
        assert_eq!((star.height(), star.leaves()), (2, 3));
        assert_eq!(star.places(), [0.0, 1.0, 2.0, 1.0]);
    }
}
