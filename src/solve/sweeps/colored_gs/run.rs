//! One iteration of all batches, and the position pass.

use pulp::Arch;

use super::LANES;
use super::bodies::RowOrder;
use super::lanes::{Real, Wide};
use super::layout::{IslandBatch, Layout, WorkBlock};
use super::scalar::ScalarEdges;
use super::shared::Shared;
use super::sweep::WideSweep;
use super::wide::{Body, WideContacts, sizes};
use crate::math::Twist;
use crate::solve::Budget;
use crate::solve::sweeps::block::{Change, Sweep};
use crate::solve::sweeps::monitor::{Monitor, State, Verdict};

/// What a sweep over all batches needs.
pub struct Run<'a> {
    pub layout: &'a Layout,
    /// T_rel of Nützi's tests; negative where they are off.
    pub relative: f64,
    pub budget: &'a Budget,
}

/// What work blocks of one colour share.
struct Target<'a, R: Real> {
    arch: Arch,
    order: &'a RowOrder,
    bodies: Shared<Body<R>>,
    fields: &'a [Wide<R>],
    impulses: Shared<Wide<R>>,
    sizes: (usize, usize),
    frictionless: bool,
    scalar: &'a ScalarEdges,
    lambda: Shared<f64>,
}

impl<'a, R: Real> Target<'a, R> {
    fn new(wide: &'a mut WideContacts<R>, scalar: &'a mut ScalarEdges) -> Self {
        Self {
            arch: wide.arch,
            order: &wide.order,
            bodies: Shared::new(&mut wide.bodies),
            fields: &wide.fields,
            impulses: Shared::new(&mut wide.impulses),
            sizes: sizes(wide.frictionless),
            frictionless: wide.frictionless,
            lambda: scalar.share(),
            scalar,
        }
    }
}

impl Run<'_> {
    /// One iteration of every batch that runs.
    pub fn all<R: Real>(
        &self,
        wide: &mut WideContacts<R>,
        scalar_edges: &mut ScalarEdges,
        monitors: &mut [Monitor],
        changes: &mut [Change],
        sums: &mut [Change],
    ) {
        let layout = self.layout;
        let target = Target::new(wide, scalar_edges);
        let runs = |batch: usize| monitors[batch].state == State::Running;
        let sweep_of = |batch: usize| Sweep {
            scale: monitors[batch].scale,
            relative: self.relative,
            omega: 1.0,
            coupled: true,
        };
        self.sweep(&target, runs, sweep_of, changes);
        let bodies = target.bodies;
        // Unsafe colours last; then what came of it all.
        let running = layout.batches.iter().enumerate();
        for (b, batch) in running.filter(|(b, _)| runs(*b)) {
            let mut change = Change::default();
            for part in &changes[layout.work_of(batch)] {
                change.merge(part);
            }
            scalar_edges.sweep_unsafe(b, bodies, &sweep_of(b), &mut change);
            sums[b] = change;
        }
        for (b, batch) in layout.batches.iter().enumerate() {
            if monitors[b].state != State::Running {
                continue;
            }
            let (points, edges) = (layout.points_of(batch), layout.scalar_of(batch));
            let verdict = monitors[b].observe(sums[b], self.budget, || {
                let of_lanes = wide.distance(points.clone());
                of_lanes.max(scalar_edges.distance(edges.clone()))
            });
            if monitors[b].takes_mark() {
                wide.mark(points.clone());
                scalar_edges.mark(edges.clone());
            }
            match verdict {
                Verdict::Continue | Verdict::Stop => {}
                Verdict::Checkpoint => {
                    wide.keep(points);
                    scalar_edges.keep(edges);
                }
                Verdict::RollBack => {
                    wide.return_to_kept(points);
                    scalar_edges.return_to_kept(edges);
                    restart(layout, batch, wide, scalar_edges);
                }
            }
        }
    }

    /// Sweeps the work blocks of every batch that `runs`, as `sweep_of` wants it, and notes their changes.
    fn sweep<R: Real>(
        &self,
        target: &Target<R>,
        runs: impl Fn(usize) -> bool + Sync,
        sweep_of: impl Fn(usize) -> Sweep + Sync,
        changes: &mut [Change],
    ) {
        let layout = self.layout;
        let changes = Shared::new(changes);
        layout.each_block(runs, |batch, block| {
            // SAFETY: each work block has a place of its own for its change, and is swept by one thread;
            // work blocks that run at the same time are of one colour, or of different small batches.
            unsafe {
                *changes.get(block) = self.block(&layout.work[block], &sweep_of(batch), target);
            }
        });
    }

    /// Sweeps over the normal rows alone, from nothing and with another bias, until the tolerance is
    /// met or the iterations are spent.
    pub fn correct<R: Real>(
        &self,
        wide: &mut WideContacts<R>,
        scalar_edges: &mut ScalarEdges,
        bias: &[f64],
    ) {
        let layout = self.layout;
        wide.pack_normals(layout, bias);
        let mut target = Target::new(wide, scalar_edges);
        target.frictionless = true;
        let mut changes = vec![Change::default(); layout.work.len()];
        let mut running = vec![true; layout.batches.len()];
        let sweep = Sweep {
            scale: 1.0,
            relative: -1.0,
            omega: 1.0,
            coupled: true,
        };
        for _ in 0..self.budget.iterations {
            self.sweep(&target, |b| running[b], |_| sweep, &mut changes);
            for (b, batch) in layout.batches.iter().enumerate() {
                let changed = changes[layout.work_of(batch)]
                    .iter()
                    .map(|c| c.speed_squared)
                    .fold(0.0, f64::max);
                running[b] &= changed > self.budget.tolerance * self.budget.tolerance;
            }
            if !running.contains(&true) {
                break;
            }
        }
    }

    /// Sweeps one work block.
    ///
    /// # Safety
    /// Blocks that are swept at the same time share no body, and no work block is swept twice at a time.
    unsafe fn block<R: Real>(
        &self,
        block: &WorkBlock,
        sweep: &Sweep,
        target: &Target<R>,
    ) -> Change {
        let mut change = Change::default();
        let manifolds = &self.layout.manifolds[block.manifolds.range()];
        if let (Some(first), Some(last)) = (manifolds.first(), manifolds.last()) {
            let points = first.points.range().start..last.points.range().end;
            let (fixed, changing) = target.sizes;
            // SAFETY: a work block's points are its own; bodies by the caller's promise.
            change = unsafe {
                WideSweep {
                    bodies: target.bodies,
                    order: target.order,
                    manifolds,
                    fields: &target.fields[points.start * fixed..points.end * fixed],
                    impulses: target
                        .impulses
                        .slice(points.start * changing..points.end * changing),
                    sizes: target.sizes,
                    frictionless: target.frictionless,
                    sweep: *sweep,
                }
                .run(target.arch)
            };
        }
        if block.scalar.range().is_empty() {
            return change;
        }
        // SAFETY: the caller's promise.
        unsafe {
            target.scalar.sweep(
                block.scalar.range(),
                target.bodies,
                target.lambda,
                sweep,
                &mut change,
            );
        }
        change
    }
}

/// Velocities of a batch's bodies from its impulses, after these were set back.
fn restart<R: Real>(
    layout: &Layout,
    batch: &IslandBatch,
    wide: &mut WideContacts<R>,
    scalar_edges: &ScalarEdges,
) {
    let manifolds = &layout.manifolds[layout.manifolds_of(batch)];
    let edges = layout.scalar_of(batch);
    let of_lanes = manifolds
        .iter()
        .flat_map(|m| m.bodies.into_iter().flatten());
    for body in of_lanes.chain(scalar_edges.bodies(edges.clone())) {
        wide.bodies[body as usize].set_velocity(&Twist::ZERO);
    }
    for manifold in manifolds {
        for point in manifold.points.range() {
            for lane in 0..LANES {
                let bodies = manifold.bodies.map(|side| side[lane]);
                wide.push(point, lane, bodies);
            }
        }
    }
    scalar_edges.push_changes(edges, &mut wide.bodies);
}
