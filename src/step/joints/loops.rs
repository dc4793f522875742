//! Which joints close loops, so that their rigid rows may be redundant.

use super::rows::{Table, diagonal};
use super::yielding::Yielding;
use crate::problem::Problem;
use crate::world::World;
use crate::world::joint::{JointKind, WORLD};

/// What holds the rows of loops to the centre, as a share of their own diagonal (-).
const HOLD: f64 = 1e-5;

/// The same of loops that give way, since no step closes them (-): bars in one line between two walls bear nothing across until they are
/// open by something. With more they are open by more.
const GIVES: f64 = 1e-4;

/// Which joints close loops: those that are no bridges of the graph of bodies and joints, in which everything that
/// impulses do not move is one.
#[derive(Default)]
pub struct Loops {
    /// Per joint.
    closes: Vec<bool>,
    /// What holds the rows to the centre, and the impulses that this is, per row (1/kg, N s).
    pub hold: Vec<f64>,
    centre: Vec<f64>,
    /// Rows that give way, with the least impulses, per row.
    pub give: Vec<bool>,
    /// Edges: a joint and its two bodies. They are compared with those of the last time.
    edges: Vec<[u32; 3]>,
    spare: Vec<[u32; 3]>,
    /// The edges of each body, and the bodies at their other ends.
    around: Vec<Vec<(u32, u32)>>,
    /// When a body was first reached, and the earliest that is reached from it by another way.
    reached: Vec<[u32; 2]>,
}

impl Loops {
    /// Rigid rows of joints that close loops may be redundant, and their directions nearly so: at first their impulses are
    /// the least ones …
    pub fn soften(
        &mut self,
        world: &World,
        problem: &mut Problem,
        table: &Table,
        yielding: &Yielding,
    ) {
        self.find(world, problem);
        self.hold.clear();
        self.hold.resize(problem.rows.len(), 0.0);
        self.centre.clear();
        self.centre.extend_from_slice(&table.start);
        self.give.clear();
        self.give.resize(problem.rows.len(), false);
        for (r, (index, _)) in table.rows.iter().enumerate() {
            if table.is_rigid(r) && self.closes[*index as usize] {
                self.give[r] = yielding.joints.contains(index);
                let share = if self.give[r] { GIVES } else { HOLD };
                self.hold[r] = share * diagonal(problem, r);
                self.centre[r] = 0.0;
                problem.rows.compliance[r] += self.hold[r];
            }
        }
    }

    /// … and then they change as little as they can from these, those of the general rows (N s).
    pub fn recentre(&mut self, impulses: &[f64]) {
        for (r, (centre, x)) in self.centre.iter_mut().zip(impulses).enumerate() {
            if !self.give[r] {
                *centre = *x;
            }
        }
    }

    /// Puts the centre into the biases of a new linearisation, which know nothing of it.
    pub fn hold_on(&self, problem: &mut Problem) {
        for (r, bias) in problem.rows.bias.iter_mut().enumerate() {
            *bias -= self.pull(r);
        }
    }

    /// The last centre of a row (N s).
    pub fn centre(&self, r: usize) -> f64 {
        self.centre[r]
    }

    /// What the centre takes off the bias of a row (m/s).
    pub fn pull(&self, r: usize) -> f64 {
        self.hold[r] * self.centre[r]
    }

    /// The largest velocity that holding impulses of the general rows makes (m/s).
    pub fn apart(&self, impulses: &[f64]) -> f64 {
        let rows = self.hold.iter().zip(&self.centre).zip(impulses);
        let each = rows.map(|((hold, centre), x)| hold * (x - centre).abs());
        each.fold(0.0, f64::max)
    }

    /// Finds them for the world as it is.
    fn find(&mut self, world: &World, problem: &Problem) {
        let n = problem.bodies.len();
        let node = |body: u32| match body {
            WORLD => n as u32,
            body if problem.bodies.is_dynamic(body as usize) => body,
            _ => n as u32,
        };
        let mut edges = std::mem::take(&mut self.spare);
        edges.clear();
        for (index, joint) in world
            .joints
            .iter()
            .enumerate()
            .filter(|(_, joint)| joint.enabled)
        {
            let mut edge = |[a, b]: [u32; 2]| {
                let (a, b) = (node(a), node(b));
                if a != b {
                    edges.push([index as u32, a, b]);
                }
            };
            match &joint.kind {
                JointKind::Gear(terms) => {
                    // What a gear couples hangs together already, or it closes nothing.
                    for term in terms {
                        edge(world.joints[term.joint as usize].bodies);
                    }
                }
                _ => edge(joint.bodies),
            }
        }
        // The graph hardly ever changes.
        let is_known = edges == self.edges && self.closes.len() == world.joints.len();
        self.spare = std::mem::replace(&mut self.edges, edges);
        if !is_known {
            self.search(n, world.joints.len());
        }
    }

    /// Searches the graph of `n` bodies, and of everything that impulses do not move as one more.
    fn search(&mut self, n: usize, joints: usize) {
        self.closes.clear();
        self.closes.resize(joints, false);
        self.around.clear();
        self.around.resize(n + 1, Vec::new());
        for (k, [_, a, b]) in self.edges.iter().enumerate() {
            self.around[*a as usize].push((*b, k as u32));
            self.around[*b as usize].push((*a, k as u32));
        }
        self.reached.clear();
        self.reached.resize(n + 1, [u32::MAX; 2]);
        let mut time = 0;
        // Depth first, with a stack of one's own: chains are long.
        let mut stack: Vec<(u32, u32, usize)> = Vec::new();
        for root in 0..=n as u32 {
            if self.reached[root as usize][0] != u32::MAX || self.around[root as usize].is_empty() {
                continue;
            }
            self.reached[root as usize] = [time; 2];
            time += 1;
            stack.push((root, u32::MAX, 0));
            while let Some((at, by, next)) = stack.last_mut() {
                let (here, came_by) = (*at as usize, *by);
                if let Some(&(to, edge)) = self.around[here].get(*next) {
                    *next += 1;
                    if edge == came_by {
                        continue;
                    }
                    let to = to as usize;
                    if self.reached[to][0] == u32::MAX {
                        self.reached[to] = [time; 2];
                        time += 1;
                        stack.push((to as u32, edge, 0));
                    } else {
                        self.closes[self.edges[edge as usize][0] as usize] = true;
                        self.reached[here][1] = self.reached[here][1].min(self.reached[to][0]);
                    }
                } else {
                    stack.pop();
                    if let Some((parent, _, _)) = stack.last() {
                        let parent = *parent as usize;
                        let lowest = self.reached[here][1];
                        self.reached[parent][1] = self.reached[parent][1].min(lowest);
                        if lowest <= self.reached[parent][0] {
                            self.closes[self.edges[came_by as usize][0] as usize] = true;
                        }
                    }
                }
            }
        }
    }
}
