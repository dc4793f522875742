//! The order of an island's rows: reverse Cuthill–McKee on its bodies, and rows along with them.

/// Memory of the ordering.
#[derive(Clone, Debug, Default)]
pub struct Order {
    degree: Vec<u32>,
    start: Vec<u32>,
    /// Pairs of neighbours, both ways, ascending.
    edge: Vec<[u32; 2]>,
    position: Vec<u32>,
    level: Vec<u32>,
    sequence: Vec<u32>,
    next: Vec<u32>,
    key: Vec<[u32; 3]>,
    candidate: Vec<u32>,
    last: Vec<u32>,
}

/// The blocks of an island: bodies by block, in compressed form, and rows per block.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// Number of bodies.
    pub bodies: usize,
    /// First body of each block in `body`, and one past the last.
    pub start: &'a [u32],
    /// Bodies of the blocks, each once per block.
    pub body: &'a [u32],
    /// Rows of each block.
    pub rows: &'a [u32],
}

impl Blocks<'_> {
    fn of(&self, block: usize) -> &[u32] {
        &self.body[self.start[block] as usize..self.start[block + 1] as usize]
    }

    fn len(&self) -> usize {
        self.rows.len()
    }
}

impl Order {
    /// Writes an order of the blocks with a small envelope to `order`.
    ///
    /// Bodies are numbered by Cuthill and McKee from an end of the graph; blocks follow the first or
    /// the last of their bodies, forward or reversed, whichever of the four factors fastest. The same
    /// blocks always get the same order.
    pub fn find(&mut self, blocks: Blocks, order: &mut Vec<u32>) {
        self.connect(blocks);
        self.number_bodies(blocks.bodies);
        order.clear();
        let mut best = f64::INFINITY;
        for by_first in [true, false] {
            self.key.clear();
            for block in 0..blocks.len() {
                let places = blocks.of(block).iter().map(|b| self.position[*b as usize]);
                let (low, high) = places.fold((u32::MAX, 0), |(l, h), p| (l.min(p), h.max(p)));
                let key = if by_first { [low, high] } else { [high, low] };
                self.key.push([key[0], key[1], block as u32]);
            }
            self.key.sort_unstable();
            for reversed in [true, false] {
                self.candidate.clear();
                let blocks_in_order = self.key.iter().map(|k| k[2]);
                if reversed {
                    self.candidate.extend(blocks_in_order.rev());
                } else {
                    self.candidate.extend(blocks_in_order);
                }
                let cost = self.cost(blocks);
                if cost < best {
                    best = cost;
                    order.clone_from(&self.candidate);
                }
            }
        }
    }

    /// Multiplications of a factorisation in the candidate's order.
    fn cost(&mut self, blocks: Blocks) -> f64 {
        self.last.clear();
        self.last.resize(blocks.bodies, 0);
        let mut row = 0;
        for block in &self.candidate {
            row += blocks.rows[*block as usize];
            for body in blocks.of(*block as usize) {
                self.last[*body as usize] = row;
            }
        }
        let (mut row, mut reach, mut cost) = (0, 0, 0.0);
        for block in &self.candidate {
            for body in blocks.of(*block as usize) {
                reach = reach.max(self.last[*body as usize]);
            }
            let height = f64::from(reach.max(row) - row);
            let rows = blocks.rows[*block as usize];
            cost += f64::from(rows) * height * height;
            row += rows;
        }
        cost
    }

    /// The graph of the bodies: an edge for every pair in a block.
    fn connect(&mut self, blocks: Blocks) {
        self.edge.clear();
        for block in 0..blocks.len() {
            let bodies = blocks.of(block);
            for body in bodies {
                let others = bodies.iter().filter(|o| *o != body);
                self.edge.extend(others.map(|o| [*body, *o]));
            }
        }
        self.edge.sort_unstable();
        self.edge.dedup();
        let edge = &self.edge;
        let starts = (0..=blocks.bodies as u32).map(|b| edge.partition_point(|e| e[0] < b) as u32);
        self.start.clear();
        self.start.extend(starts);
        self.degree.clear();
        self.degree
            .extend(self.start.windows(2).map(|s| s[1] - s[0]));
    }

    /// Breadth first from `root`, neighbours of low degree first; returns the last body reached, of the
    /// lowest degree in the last level.
    fn breadth_first(&mut self, root: u32) -> u32 {
        const UNSEEN: u32 = u32::MAX;
        self.level.clear();
        self.level.resize(self.degree.len(), UNSEEN);
        self.sequence.clear();
        self.sequence.push(root);
        self.level[root as usize] = 0;
        let mut at = 0;
        while at < self.sequence.len() {
            let body = self.sequence[at] as usize;
            at += 1;
            self.next.clear();
            let span = self.start[body] as usize..self.start[body + 1] as usize;
            for [_, other] in &self.edge[span] {
                if self.level[*other as usize] == UNSEEN {
                    self.level[*other as usize] = self.level[body] + 1;
                    self.next.push(*other);
                }
            }
            let degree = &self.degree;
            self.next.sort_by_key(|b| degree[*b as usize]);
            self.sequence.extend_from_slice(&self.next);
        }
        let deepest = self.sequence.last().map_or(0, |b| self.level[*b as usize]);
        let mut end = root;
        for body in self.sequence.iter().rev() {
            if self.level[*body as usize] < deepest {
                break;
            }
            if end == root || self.degree[*body as usize] <= self.degree[end as usize] {
                end = *body;
            }
        }
        end
    }

    fn number_bodies(&mut self, bodies: usize) {
        self.position.clear();
        self.position.resize(bodies, 0);
        let Some(lowest) = (0..bodies as u32).min_by_key(|b| self.degree[*b as usize]) else {
            return;
        };
        // Twice to the far end: a body at the rim of the graph.
        let end = self.breadth_first(lowest);
        let end = self.breadth_first(end);
        self.breadth_first(end);
        for (place, body) in self.sequence.iter().enumerate() {
            self.position[*body as usize] = place as u32;
        }
    }
}
