//! A fill-reducing order of a symmetric pattern: approximate minimum degree on the quotient graph
//! (Amestoy, Davis & Duff 1996), started from groups of rows with the same pattern.
//!
//! The rows of a joint or contact have the same pattern, so that the groups are the blocks of the
//! machine and the graph is a fifth to a fortieth of the matrix.

const NONE: u32 = u32::MAX;

/// The symmetric pattern with both triangles and the diagonal, and its groups.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// First neighbour of each row, and one past the last.
    pub start: Vec<u32>,
    /// Neighbours of each row and the row itself, ascending.
    pub neighbour: Vec<u32>,
    /// The entry of the given lower triangle behind each neighbour.
    pub entry: Vec<u32>,
    /// The group of each row. Groups are numbered by their first row.
    pub group: Vec<u32>,
    /// First member of each group in `member`, and one past the last.
    pub member_start: Vec<u32>,
    /// The rows group by group, ascending within each.
    pub member: Vec<u32>,
    /// First neighbour of each group, and one past the last.
    pub group_start: Vec<u32>,
    /// The neighbouring groups of each group, itself left out.
    pub group_neighbour: Vec<u32>,
    cursor: Vec<u32>,
    table: Vec<u32>,
    hash: Vec<u64>,
    mark: Vec<u32>,
}

impl Graph {
    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.member_start.len() - 1
    }

    /// Rows of group `g`, ascending.
    pub fn members(&self, g: usize) -> &[u32] {
        &self.member[self.member_start[g] as usize..self.member_start[g + 1] as usize]
    }

    /// Number of rows of group `g`.
    pub fn weight(&self, g: usize) -> u32 {
        self.member_start[g + 1] - self.member_start[g]
    }

    /// Groups that couple with group `g`.
    pub fn group_neighbours(&self, g: usize) -> &[u32] {
        &self.group_neighbour[self.group_start[g] as usize..self.group_start[g + 1] as usize]
    }

    fn neighbours(&self, i: usize) -> &[u32] {
        &self.neighbour[self.start[i] as usize..self.start[i + 1] as usize]
    }

    /// Takes the lower triangle, diagonal included, in compressed columns with ascending rows.
    ///
    /// # Panics
    /// When that is not what it gets.
    pub fn refill(&mut self, n: usize, col_start: &[u32], row: &[u32]) {
        self.mirror(n, col_start, row);
        self.find_groups(n);
        self.couple_groups();
    }

    fn mirror(&mut self, n: usize, col_start: &[u32], row: &[u32]) {
        self.start.clear();
        self.start.resize(n + 1, 0);
        self.hash.clear();
        self.hash.resize(n, 0);
        for j in 0..n {
            let rows = &row[col_start[j] as usize..col_start[j + 1] as usize];
            assert!(
                rows.first() == Some(&(j as u32))
                    && rows.is_sorted_by(|a, b| a < b)
                    && (rows[rows.len() - 1] as usize) < n,
                "column {j} must hold its diagonal and then ascending rows below it"
            );
            self.start[j + 1] += rows.len() as u32;
            let own = mix(j as u32);
            let mut sum = own;
            for &i in &rows[1..] {
                self.start[i as usize + 1] += 1;
                self.hash[i as usize] = self.hash[i as usize].wrapping_add(own);
                sum = sum.wrapping_add(mix(i));
            }
            self.hash[j] = self.hash[j].wrapping_add(sum);
        }
        for j in 0..n {
            self.start[j + 1] += self.start[j];
        }
        self.cursor.clear();
        self.cursor.extend_from_slice(&self.start[..n]);
        let total = self.start[n] as usize;
        self.neighbour.resize(total, 0);
        self.entry.resize(total, 0);
        // Column by column, so that a row gets its smaller neighbours before its own column.
        for j in 0..n {
            for e in col_start[j]..col_start[j + 1] {
                let i = row[e as usize] as usize;
                let at = self.cursor[j] as usize;
                (self.neighbour[at], self.entry[at]) = (i as u32, e);
                self.cursor[j] += 1;
                if i != j {
                    let at = self.cursor[i] as usize;
                    (self.neighbour[at], self.entry[at]) = (j as u32, e);
                    self.cursor[i] += 1;
                }
            }
        }
    }

    /// Rows with equal closed neighbourhoods, by hashing.
    fn find_groups(&mut self, n: usize) {
        let mask = (2 * n).next_power_of_two() - 1;
        self.table.clear();
        self.table.resize(mask + 1, NONE);
        self.group.clear();
        self.cursor.clear();
        self.member_start.clear();
        self.member_start.push(0);
        for i in 0..n {
            let mut slot = (self.hash[i] >> 32) as usize & mask;
            let group = loop {
                let first = self.table[slot];
                if first == NONE {
                    self.table[slot] = i as u32;
                    self.member_start.push(0);
                    break self.member_start.len() as u32 - 2;
                }
                if self.hash[first as usize] == self.hash[i]
                    && self.neighbours(first as usize) == self.neighbours(i)
                {
                    break self.group[first as usize];
                }
                slot = (slot + 1) & mask;
            };
            self.group.push(group);
            self.member_start[group as usize + 1] += 1;
        }
        for g in 1..self.member_start.len() {
            self.member_start[g] += self.member_start[g - 1];
        }
        let groups = self.groups();
        self.cursor.extend_from_slice(&self.member_start[..groups]);
        self.member.resize(n, 0);
        for (i, &g) in self.group.iter().enumerate() {
            let at = &mut self.cursor[g as usize];
            self.member[*at as usize] = i as u32;
            *at += 1;
        }
    }

    fn couple_groups(&mut self) {
        let groups = self.groups();
        self.group_start.clear();
        self.group_start.push(0);
        self.group_neighbour.clear();
        self.mark.clear();
        self.mark.resize(groups, NONE);
        for g in 0..groups {
            self.mark[g] = g as u32;
            let i = self.member[self.member_start[g] as usize] as usize;
            for at in self.start[i] as usize..self.start[i + 1] as usize {
                let h = self.group[self.neighbour[at] as usize];
                if self.mark[h as usize] != g as u32 {
                    self.mark[h as usize] = g as u32;
                    self.group_neighbour.push(h);
                }
            }
            self.group_start.push(self.group_neighbour.len() as u32);
        }
    }
}

/// A number's own 64 bits; sums of them tell sets apart.
fn mix(x: u32) -> u64 {
    let x = (u64::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The memory of the ordering.
///
/// Each variable keeps the elements and then the variables that it touches, where its neighbours
/// stood at the start: a list never grows, since a new element takes the place of a variable or of an
/// absorbed element.
#[derive(Clone, Debug, Default)]
pub struct MinimumDegree {
    /// Rows of a variable; 0 once eliminated or merged.
    weight: Vec<u32>,
    /// List of a variable: first place, number of elements, number of elements and variables.
    at: Vec<u32>,
    elements: Vec<u32>,
    length: Vec<u32>,
    list: Vec<u32>,
    /// Variables of an element, in `pool`.
    pool_start: Vec<u32>,
    pool_end: Vec<u32>,
    pool: Vec<u32>,
    /// Rows of an element's variables; 0 once absorbed.
    size: Vec<u32>,
    /// Rows of an element outside the present pivot's, where `seen` is the present stamp.
    outside: Vec<u32>,
    seen: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    degree: Vec<u32>,
    /// Variables by degree, doubly linked.
    head: Vec<u32>,
    next: Vec<u32>,
    last: Vec<u32>,
    /// Variables merged into one, as a chain from it; `tail` is its end.
    merged: Vec<u32>,
    tail: Vec<u32>,
    hash: Vec<(u32, u32)>,
}

impl MinimumDegree {
    /// Writes the groups of `graph` into `order`, first eliminated first.
    pub fn order(&mut self, graph: &Graph, order: &mut Vec<u32>) {
        let rows = graph.group.len() as u32;
        self.begin(graph);
        order.clear();
        let mut left = rows;
        let mut lowest = 0;
        while left > 0 {
            while self.head[lowest] == NONE {
                lowest += 1;
            }
            let pivot = self.head[lowest];
            self.unlink(pivot);
            let begin = self.pool.len();
            left -= self.weight[pivot as usize];
            let size = self.form_element(pivot);
            self.measure_overlaps(begin);
            // Variables that only touch the new element have nothing left to decide: they go too.
            let mut size_left = size;
            for k in begin..self.pool.len() {
                let i = self.pool[k];
                if let Some(hash) = self.update(pivot, i) {
                    self.hash.push((hash, i));
                } else {
                    let weight = std::mem::take(&mut self.weight[i as usize]);
                    size_left -= weight;
                    left -= weight;
                    self.chain(pivot, i);
                }
            }
            self.merge_equals();
            let mut end = begin;
            for k in begin..self.pool.len() {
                let i = self.pool[k];
                if self.weight[i as usize] > 0 {
                    self.pool[end] = i;
                    end += 1;
                    let external = self.degree[i as usize] + size_left - self.weight[i as usize];
                    let degree = external.min(left - self.weight[i as usize]);
                    self.degree[i as usize] = degree;
                    self.link(i, degree);
                    lowest = lowest.min(degree as usize);
                }
            }
            self.pool.truncate(end);
            self.pool_start[pivot as usize] = begin as u32;
            self.pool_end[pivot as usize] = end as u32;
            self.size[pivot as usize] = size_left;
            let mut i = pivot;
            while i != NONE {
                order.push(i);
                i = self.merged[i as usize];
            }
        }
    }

    fn begin(&mut self, graph: &Graph) {
        let groups = graph.groups();
        self.weight.clear();
        self.weight.extend((0..groups).map(|g| graph.weight(g)));
        self.at.clear();
        self.at.extend_from_slice(&graph.group_start[..groups]);
        self.length.clear();
        self.length
            .extend((0..groups).map(|g| graph.group_neighbours(g).len() as u32));
        self.list.clear();
        self.list.extend_from_slice(&graph.group_neighbour);
        self.pool.clear();
        for zeroed in [
            &mut self.elements,
            &mut self.pool_start,
            &mut self.pool_end,
            &mut self.size,
            &mut self.outside,
            &mut self.seen,
            &mut self.mark,
            &mut self.degree,
        ] {
            zeroed.clear();
            zeroed.resize(groups, 0);
        }
        self.stamp = 0;
        for unset in [&mut self.next, &mut self.last, &mut self.merged] {
            unset.clear();
            unset.resize(groups, NONE);
        }
        self.tail.clear();
        self.tail.extend(0..groups as u32);
        self.head.clear();
        self.head.resize(graph.group.len() + 1, NONE);
        // The first group of a degree comes out first.
        for g in (0..groups).rev() {
            let neighbours = graph.group_neighbours(g).iter();
            let degree = neighbours.map(|h| graph.weight(*h as usize)).sum();
            self.degree[g] = degree;
            self.link(g as u32, degree);
        }
    }

    fn link(&mut self, i: u32, degree: u32) {
        let head = std::mem::replace(&mut self.head[degree as usize], i);
        self.next[i as usize] = head;
        self.last[i as usize] = NONE;
        if head != NONE {
            self.last[head as usize] = i;
        }
    }

    fn unlink(&mut self, i: u32) {
        let (next, last) = (self.next[i as usize], self.last[i as usize]);
        if next != NONE {
            self.last[next as usize] = last;
        }
        if last == NONE {
            self.head[self.degree[i as usize] as usize] = next;
        } else {
            self.next[last as usize] = next;
        }
    }

    fn chain(&mut self, to: u32, i: u32) {
        let tail = self.tail[i as usize];
        let end = std::mem::replace(&mut self.tail[to as usize], tail);
        self.merged[end as usize] = i;
    }

    fn list_of(&self, i: u32) -> std::ops::Range<usize> {
        let at = self.at[i as usize] as usize;
        at..at + self.length[i as usize] as usize
    }

    /// The variables that the pivot touches, at the end of the pool and marked; absorbs its elements.
    /// Returns their rows.
    fn form_element(&mut self, pivot: u32) -> u32 {
        self.stamp += 1;
        self.mark[pivot as usize] = self.stamp;
        self.weight[pivot as usize] = 0;
        let mut size = 0;
        let list = self.list_of(pivot);
        let split = list.start + self.elements[pivot as usize] as usize;
        for k in list.clone() {
            let (begin, end) = if k < split {
                let e = self.list[k] as usize;
                self.size[e] = 0;
                (self.pool_start[e] as usize, self.pool_end[e] as usize)
            } else {
                (k, k + 1)
            };
            for k2 in begin..end {
                let i = if k < split {
                    self.pool[k2]
                } else {
                    self.list[k2]
                };
                let weight = self.weight[i as usize];
                if weight > 0 && self.mark[i as usize] != self.stamp {
                    self.mark[i as usize] = self.stamp;
                    self.pool.push(i);
                    size += weight;
                    self.unlink(i);
                }
            }
        }
        size
    }

    /// |L_e \ L_p| of every element e that a variable of the pivot's element touches.
    fn measure_overlaps(&mut self, begin: usize) {
        for k in begin..self.pool.len() {
            let i = self.pool[k] as usize;
            let at = self.at[i] as usize;
            for l in at..at + self.elements[i] as usize {
                let e = self.list[l] as usize;
                if self.size[e] == 0 {
                    continue;
                }
                if self.seen[e] != self.stamp {
                    self.seen[e] = self.stamp;
                    self.outside[e] = self.size[e];
                }
                self.outside[e] -= self.weight[i];
            }
        }
    }

    /// Cleans the lists of a variable of the pivot's element and puts its degree outside of that
    /// element into `degree`. Returns a hash of the lists, or nothing when they are empty.
    fn update(&mut self, pivot: u32, i: u32) -> Option<u32> {
        let list = self.list_of(i);
        let split = list.start + self.elements[i as usize] as usize;
        let mut degree = 0;
        let mut hash = pivot;
        let mut end = list.start;
        for k in list.start..split {
            let e = self.list[k];
            // An element within the new one is absorbed by it.
            if self.size[e as usize] > 0 && self.outside[e as usize] > 0 {
                degree += self.outside[e as usize];
                hash = hash.wrapping_add(e);
                self.list[end] = e;
                end += 1;
            } else {
                self.size[e as usize] = 0;
            }
        }
        let elements = end - list.start;
        for k in split..list.end {
            let j = self.list[k];
            let weight = self.weight[j as usize];
            if weight > 0 && self.mark[j as usize] != self.stamp {
                degree += weight;
                hash = hash.wrapping_add(j);
                self.list[end] = j;
                end += 1;
            }
        }
        if end == list.start {
            return None;
        }
        // The pivot comes first among the elements; at least one place became free.
        self.list[end] = self.list[list.start + elements];
        self.list[list.start + elements] = self.list[list.start];
        self.list[list.start] = pivot;
        self.elements[i as usize] = elements as u32 + 1;
        self.length[i as usize] = (end + 1 - list.start) as u32;
        // Nor has its degree grown by more than the new element, which the caller adds.
        self.degree[i as usize] = degree.min(self.degree[i as usize]);
        Some(hash)
    }

    /// Merges variables of the pivot's element that cannot be told apart.
    fn merge_equals(&mut self) {
        let mut candidates = std::mem::take(&mut self.hash);
        candidates.sort_unstable();
        for first in 0..candidates.len() {
            let (hash, i) = candidates[first];
            if self.weight[i as usize] == 0 || candidates.get(first + 1).is_none_or(|c| c.0 != hash)
            {
                continue;
            }
            self.stamp += 1;
            for k in self.list_of(i) {
                self.mark_place(k, i);
            }
            for &(other, j) in &candidates[first + 1..] {
                if other != hash {
                    break;
                }
                if self.weight[j as usize] > 0 && self.same_lists(i, j) {
                    self.weight[i as usize] += std::mem::take(&mut self.weight[j as usize]);
                    self.chain(i, j);
                }
            }
        }
        candidates.clear();
        self.hash = candidates;
    }

    fn mark_place(&mut self, k: usize, i: u32) {
        let x = self.list[k] as usize;
        let split = self.at[i as usize] as usize + self.elements[i as usize] as usize;
        if k < split {
            self.seen[x] = self.stamp;
        } else {
            self.mark[x] = self.stamp;
        }
    }

    fn same_lists(&self, i: u32, j: u32) -> bool {
        let (a, b) = (i as usize, j as usize);
        let list = self.list_of(j);
        let split = list.start + self.elements[b] as usize;
        self.length[a] == self.length[b]
            && self.elements[a] == self.elements[b]
            && self.list[list.start..split]
                .iter()
                .all(|e| self.seen[*e as usize] == self.stamp)
            && self.list[split..list.end]
                .iter()
                .all(|v| self.mark[*v as usize] == self.stamp)
    }
}
