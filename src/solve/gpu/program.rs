//! What is dispatched in an iteration, on the device and by the CPU twin alike.

use super::layout::{Layout, Product};

/// A kernel, with the buffers that it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// JOR Prox without a matrix: Λ from velocities.
    JorProject,
    /// Velocities from Λ.
    Gather,
    /// SOR Prox without a matrix: the units of a colour.
    SorSweep,
    /// z = T Λ + d.
    Product,
    /// Λ ← prox(z).
    Prox,
    /// SOR Prox with T: the units of a colour.
    SorSparse,
    /// Λ is noted for the criterion.
    Note,
    /// Λ becomes the checkpoint.
    Keep,
    /// The checkpoint becomes Λ.
    Return,
    /// What each workgroup's blocks changed.
    Criterion,
    /// What all changed.
    Total,
}

/// One dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    pub kernel: Kernel,
    /// What it works on: blocks, bodies, units, impulses or workgroups.
    pub first: u32,
    pub count: u32,
    /// The segment of T that it reads.
    pub segment: u32,
}

/// How impulses are swept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// All at once (Nützi 2011, 5.2).
    #[default]
    Jor,
    /// Colour by colour (Nützi 2011, 5.3, with colours in the place of an atomic counter).
    Sor,
}

/// The dispatches of a solve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Before the iterations of a batch.
    pub begin: Vec<Step>,
    /// Those of one iteration.
    pub iteration: Vec<Step>,
    /// Before the last iteration of a batch.
    pub note: Vec<Step>,
    /// After the last one.
    pub end: Vec<Step>,
    pub keep: Vec<Step>,
    pub back: Vec<Step>,
}

/// Invocations of a workgroup; the shaders say the same.
pub const WORKGROUP: u32 = 64;
/// Most workgroups along one axis of a grid.
const MOST_GROUPS: u32 = 65_535;

/// The grid of workgroups for so many invocations.
pub fn grid(count: u32) -> [u32; 2] {
    let groups = count.div_ceil(WORKGROUP).max(1);
    let x = groups.min(MOST_GROUPS);
    [x, groups.div_ceil(x)]
}

impl Program {
    /// The dispatches for a problem.
    pub fn new(layout: &Layout, sweep: Sweep, product: Product) -> Self {
        let whole = |kernel, count| Step {
            kernel,
            first: 0,
            count,
            segment: 0,
        };
        let blocks = layout.blocks();
        let impulses = layout.lambda.len() as u32;
        let gather = whole(Kernel::Gather, layout.bodies.len() as u32);
        let groups = grid(blocks).iter().product();
        let mut program = Self {
            note: vec![whole(Kernel::Note, impulses)],
            end: vec![
                whole(Kernel::Criterion, blocks),
                whole(Kernel::Total, groups),
            ],
            keep: vec![whole(Kernel::Keep, impulses)],
            back: vec![whole(Kernel::Return, impulses)],
            ..Self::default()
        };
        match (sweep, product) {
            (Sweep::Jor, Product::MatrixFree) => {
                program.begin.push(gather);
                program.iteration = vec![whole(Kernel::JorProject, blocks), gather];
            }
            // Afresh in every batch, so that single precision gathers no errors.
            (Sweep::Sor, Product::MatrixFree) => {
                program.begin.push(gather);
                program.iteration = layout
                    .colors
                    .iter()
                    .map(|color| Step {
                        kernel: Kernel::SorSweep,
                        first: color.start,
                        count: color.end - color.start,
                        segment: 0,
                    })
                    .collect();
            }
            (Sweep::Jor, Product::Sparse) => {
                let segments = layout.sparse.segments.iter().zip(0..);
                program.iteration = segments
                    .map(|((blocks, _), segment)| Step {
                        kernel: Kernel::Product,
                        first: blocks.start,
                        count: blocks.end - blocks.start,
                        segment,
                    })
                    .collect();
                program.iteration.push(whole(Kernel::Prox, blocks));
            }
            (Sweep::Sor, Product::Sparse) => {
                for color in &layout.colors {
                    program.iteration.extend(layout.sparse_steps(color.clone()));
                }
            }
        }
        program
    }

    /// The dispatches of a batch of iterations, one after the other.
    pub fn in_batch(&self, iterations: u32, mut dispatch: impl FnMut(&Step)) {
        self.begin.iter().for_each(&mut dispatch);
        for k in 0..iterations {
            if k + 1 == iterations {
                self.note.iter().for_each(&mut dispatch);
            }
            self.iteration.iter().for_each(&mut dispatch);
        }
        self.end.iter().for_each(&mut dispatch);
    }

    /// All dispatches.
    #[cfg(feature = "gpu")]
    pub fn all(&self) -> impl Iterator<Item = &Step> {
        let parts = [
            &self.begin,
            &self.iteration,
            &self.note,
            &self.end,
            &self.keep,
            &self.back,
        ];
        parts.into_iter().flatten()
    }
}
