//! The pattern as a graph of groups of rows, and a fill-reducing order of them: approximate minimum degree
//! (Amestoy, Davis & Duff 1996), by the crate `amd`.
//!
//! The rows of a joint or contact have the same pattern, so that the groups are the blocks of the
//! machine and the graph is a fifth to a fortieth of the matrix.

use std::collections::HashMap;

use amd::Control;

/// The groups of rows with the same pattern, and which of them couple.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The group of each row. Groups are numbered by their first row.
    pub group: Vec<u32>,
    /// Number of rows of each group.
    pub weight: Vec<u32>,
    /// First neighbour of each group, and one past the last.
    start: Vec<u32>,
    /// The groups that couple with each group, itself included as `amd` wants it, ascending.
    neighbour: Vec<u32>,
    /// First row of each group.
    first: Vec<u32>,
    /// Rows that couple with each row, itself included, ascending.
    rows: Vec<Vec<u32>>,
}

impl Graph {
    /// Groups that couple with group `g`, itself included, ascending.
    pub fn neighbours(&self, g: u32) -> &[u32] {
        let g = g as usize;
        &self.neighbour[self.start[g] as usize..self.start[g + 1] as usize]
    }

    /// Takes the lower triangle, diagonal included, in compressed columns with ascending rows.
    ///
    /// # Panics
    /// When that is not what it gets.
    pub fn refill(&mut self, n: usize, col_start: &[u32], row: &[u32]) {
        self.mirror(n, col_start, row);
        self.find_groups();
        self.couple_groups();
    }

    fn mirror(&mut self, n: usize, col_start: &[u32], row: &[u32]) {
        self.rows.resize_with(n, Vec::new);
        for rows in &mut self.rows {
            rows.clear();
        }
        // Column by column, so that a row gets its smaller neighbours before its own column.
        for j in 0..n {
            let column = &row[col_start[j] as usize..col_start[j + 1] as usize];
            assert!(
                column.first() == Some(&(j as u32))
                    && column.is_sorted_by(|a, b| a < b)
                    && (column[column.len() - 1] as usize) < n,
                "column {j} must hold its diagonal and then ascending rows below it"
            );
            self.rows[j].extend_from_slice(column);
            for i in &column[1..] {
                self.rows[*i as usize].push(j as u32);
            }
        }
    }

    fn find_groups(&mut self) {
        self.group.clear();
        self.weight.clear();
        self.first.clear();
        let mut known = HashMap::new();
        for (i, rows) in self.rows.iter().enumerate() {
            let group = *known.entry(rows).or_insert(self.first.len());
            if group == self.first.len() {
                self.first.push(i as u32);
                self.weight.push(0);
            }
            self.group.push(group as u32);
            self.weight[group] += 1;
        }
    }

    fn couple_groups(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.neighbour.clear();
        for own in &self.first {
            // Who couples with a row couples with all of its group: its first one speaks for it.
            let rows = self.rows[*own as usize].iter();
            let groups = rows.map(|r| (r, self.group[*r as usize]));
            let firsts = groups.filter(|(r, g)| self.first[*g as usize] == **r);
            self.neighbour.extend(firsts.map(|(_, g)| g));
            self.start.push(self.neighbour.len() as u32);
        }
    }

    /// The groups in an order of little fill, first eliminated first. Groups of rows from `positive` on follow one
    /// at least of their neighbours of the others.
    pub fn minimum_degree(&self, positive: u32) -> Vec<u32> {
        let groups = self.first.len() as u32;
        let ordered = amd::order(groups, &self.start, &self.neighbour, &Control::default());
        let (order, ..) = ordered.expect("compressed columns with ascending rows");
        if self.first.iter().all(|row| *row < positive) {
            return order;
        }
        self.delay(&order, positive)
    }

    /// The order with every group of rows from `positive` on put behind its first neighbour of the others, if it
    /// stood before all of them.
    fn delay(&self, order: &[u32], positive: u32) -> Vec<u32> {
        #[derive(Clone, Copy, PartialEq)]
        enum Is {
            Open,
            Waiting,
            Done,
        }
        let is_negative = |g: u32| self.first[g as usize] >= positive;
        let mut state = vec![Is::Open; order.len()];
        let mut delayed = Vec::with_capacity(order.len());
        for &g in order {
            let mut others = self.neighbours(g).iter().filter(|h| !is_negative(**h));
            if is_negative(g)
                && others.clone().next().is_some()
                && others.all(|h| state[*h as usize] != Is::Done)
            {
                state[g as usize] = Is::Waiting;
                continue;
            }
            state[g as usize] = Is::Done;
            delayed.push(g);
            for &h in self.neighbours(g) {
                if state[h as usize] == Is::Waiting {
                    state[h as usize] = Is::Done;
                    delayed.push(h);
                }
            }
        }
        delayed
    }
}
