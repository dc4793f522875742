//! What is dispatched in an iteration, on the device and by the CPU twin alike.

use std::ops::Range;

use super::layout::{Layout, Product};
use super::real::Real;

/// A kernel, with the buffers that it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// JOR Prox without a matrix: Λ from velocities.
    JorProject,
    /// Velocities from Λ.
    Gather,
    /// Both, by one workgroup.
    JorSmall,
    /// SOR Prox without a matrix: the units of a colour.
    SorSweep,
    /// The units of small colours, one after the other, by one workgroup.
    SorSmall,
    /// z = T Λ + d.
    Product,
    /// Λ ← prox(z).
    Prox,
    /// SOR Prox with T: the units of a colour.
    SorSparse,
    /// z = T Λ + d with T as a whole.
    DenseProduct,
    /// What each row will have summed up before its first sweep.
    DenseStart,
    /// A diagonal block, row by row (step A).
    DenseA,
    /// A group, all of its blocks at once (step A of relaxed dependencies).
    DenseGroup,
    /// All other rows see it (step B); after a group its own rows too, with `others`.
    DenseB,
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
    /// What it works on: blocks, bodies, units, colours, impulses or workgroups.
    pub first: u32,
    pub count: u32,
    /// The segment of T that it reads.
    pub segment: u32,
    /// First row of that segment, and how many it has, where T is whole; without T the first contact that is bound, and how
    /// many belong to the piece that begins with it.
    pub span: [u32; 2],
    /// Sweeps of a kernel of one workgroup, and the bodies that it works on besides. Where all units are single contacts that
    /// follow each other: one past the number of the first.
    pub repeat: u32,
    pub others: u32,
}

impl Step {
    /// A dispatch of `count` things from `first` on.
    pub fn new(kernel: Kernel, first: u32, count: u32) -> Self {
        Self {
            kernel,
            first,
            count,
            segment: 0,
            span: [0; 2],
            repeat: 1,
            others: 0,
        }
    }

    /// The same with a piece of the contacts.
    pub fn of(self, piece: &Range<u32>) -> Self {
        let span = [piece.start, piece.len() as u32];
        Self { span, ..self }
    }

    /// The same with another segment.
    pub fn with(self, segment: u32) -> Self {
        Self { segment, ..self }
    }

    /// Its grid of workgroups.
    #[cfg(feature = "gpu")]
    pub fn grid(&self) -> [u32; 2] {
        match self.kernel {
            Kernel::Total | Kernel::DenseA | Kernel::JorSmall | Kernel::SorSmall => [1, 1],
            // A workgroup for each row.
            Kernel::DenseProduct => folded(self.span[1]),
            Kernel::DenseStart | Kernel::DenseB => grid(self.span[1]),
            _ => grid(self.count),
        }
    }
}

/// How impulses are swept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// All at once (Nützi 2011, 5.2).
    #[default]
    Jor,
    /// Colour by colour (Nützi 2011, 5.3, with colours in the place of an atomic counter).
    Sor,
    /// So many blocks at once, and one such group after the other (Nützi 2011, 5.3.2).
    Relaxed(u32),
}

/// Iterations that are dispatched together.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub iterations: u32,
    /// Whether a batch begins with them, and with what goes before it.
    pub begins: bool,
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
    /// Several iterations in one dispatch, twice as many in each: for problems so small that one workgroup has an invocation
    /// for everything.
    pub small: Vec<Step>,
}

/// Invocations of a workgroup; the shaders say the same.
pub const WORKGROUP: u32 = 64;
/// Most rows of a diagonal block, each of which has an invocation.
pub const MOST_ROWS: u32 = 256;
/// Invocations of a workgroup that works alone.
pub const ALONE: u32 = 256;
/// Most barriers of the dispatch of one workgroup that does several iterations, each about a µs: a driver gives up what
/// takes seconds, and a submission has some dozens of them.
const MOST_BARRIERS: u32 = 4096;
/// Most workgroups along one axis of a grid.
#[cfg(feature = "gpu")]
const MOST_GROUPS: u32 = 65_535;

/// The grid of workgroups for so many invocations.
#[cfg(feature = "gpu")]
pub fn grid(count: u32) -> [u32; 2] {
    folded(count.div_ceil(WORKGROUP))
}

/// So many workgroups, or a few more, along two axes.
#[cfg(feature = "gpu")]
pub fn folded(groups: u32) -> [u32; 2] {
    let x = groups.clamp(1, MOST_GROUPS);
    [x, groups.div_ceil(x).max(1)]
}

/// A dispatch for each segment of a dense T.
fn in_segments<R: Real>(layout: &Layout<R>, step: Step) -> impl Iterator<Item = Step> + '_ {
    let segments = layout.dense.segments.iter().zip(0..);
    segments.map(move |((rows, _), segment)| Step {
        segment,
        span: [rows.start, rows.len() as u32],
        ..step
    })
}

/// A dispatch for the blocks of each piece of the contacts; general rows go with the last one.
fn in_pieces<R: Real>(layout: &Layout<R>, kernel: Kernel) -> Vec<Step> {
    let contacts = layout.prox.len() as u32;
    let pieces = layout.pieces.iter();
    let step = |piece: &Range<u32>| {
        let end = if piece.end == contacts {
            layout.blocks()
        } else {
            piece.end
        };
        Step::new(kernel, piece.start, end - piece.start).of(piece)
    };
    pieces.map(step).collect()
}

/// Dispatches for the contacts and the general rows of one group, piece by piece.
fn of_group<R: Real>(layout: &Layout<R>, kernel: Kernel, group: &Range<u32>) -> Vec<Step> {
    let [contacts, rows] = layout.members(group);
    let mut steps = Vec::new();
    for piece in &layout.pieces {
        let (first, end) = (contacts.start.max(piece.start), contacts.end.min(piece.end));
        if first < end {
            steps.push(Step::new(kernel, first, end - first).of(piece));
        }
    }
    if let (false, Some(piece)) = (rows.is_empty(), layout.pieces.last()) {
        let first = layout.prox.len() as u32 + rows.start;
        steps.push(Step::new(kernel, first, rows.len() as u32).of(piece));
    }
    steps
}

/// A sweep of the groups with T in block rows.
fn sparse_groups<R: Real>(layout: &Layout<R>) -> Vec<Step> {
    let mut steps = Vec::new();
    for group in &layout.colors {
        for ((blocks, _), segment) in layout.sparse.segments.iter().zip(0..) {
            let (first, end) = (group.start.max(blocks.start), group.end.min(blocks.end));
            if first < end {
                steps.push(Step::new(Kernel::Product, first, end - first).with(segment));
            }
        }
        steps.extend(of_group(layout, Kernel::Prox, group));
    }
    steps
}

/// A sweep of the diagonal blocks, or the groups, of T as a whole.
fn dense_sweep<R: Real>(layout: &Layout<R>, is_relaxed: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for units in &layout.colors {
        let [first, count] = [units.start, units.len() as u32];
        if is_relaxed {
            steps.push(Step::new(Kernel::DenseGroup, first, count));
        } else {
            let own = layout.dense.segment_of(layout.rows_of(units).start);
            let step = in_segments(layout, Step::new(Kernel::DenseA, first, count));
            steps.extend(step.filter(|step| step.segment == own));
        }
        let step = Step {
            others: is_relaxed.into(),
            ..Step::new(Kernel::DenseB, first, count)
        };
        steps.extend(in_segments(layout, step));
    }
    steps
}

/// A sweep by colours: a dispatch for each large one, and for each run of small ones.
fn sweeps<R: Real>(layout: &Layout<R>) -> Vec<Step> {
    let colors = &layout.colors;
    let is_whole = layout.pieces.len() == 1;
    let mut steps = Vec::new();
    let mut k = 0;
    while k < colors.len() {
        let small = colors[k..].iter().take_while(|c| c.len() <= ALONE as usize);
        let run = if is_whole { small.count() } else { 0 };
        if run > 1 || (run == 1 && colors.len() == 1) {
            let step = Step::new(Kernel::SorSmall, k as u32, run as u32);
            steps.push(step.of(&layout.pieces[0]));
            k += run;
        } else {
            steps.extend(layout.sweep_steps(colors[k].clone()));
            k += 1;
        }
    }
    steps
}

impl Program {
    /// The dispatches for a problem.
    pub fn new<R: Real>(layout: &Layout<R>, sweep: Sweep, product: Product) -> Self {
        let whole = |kernel, count| Step::new(kernel, 0, count);
        let blocks = layout.blocks();
        let impulses = layout.lambda.len() as u32;
        let bodies = layout.bodies.len() as u32;
        let pieces = layout.pieces.iter();
        let gather = pieces.map(|piece| whole(Kernel::Gather, bodies).of(piece));
        let mut end = in_pieces(layout, Kernel::Criterion);
        end.push(whole(Kernel::Total, blocks.div_ceil(WORKGROUP)));
        let mut program = Self {
            note: vec![whole(Kernel::Note, impulses)],
            end,
            keep: vec![whole(Kernel::Keep, impulses)],
            back: vec![whole(Kernel::Return, impulses)],
            ..Self::default()
        };
        match (sweep, product) {
            (Sweep::Jor, Product::MatrixFree) => {
                program.begin = gather.collect();
                program.iteration = in_pieces(layout, Kernel::JorProject);
                program.iteration.extend(&program.begin);
                if let [piece] = &layout.pieces[..]
                    && blocks.max(bodies) <= ALONE
                {
                    let step = whole(Kernel::JorSmall, blocks).of(piece);
                    let others = bodies;
                    program.repeat(Step { others, ..step }, 2);
                }
            }
            // Afresh in every batch, so that single precision gathers no errors.
            (Sweep::Sor, Product::MatrixFree) => {
                program.begin = gather.collect();
                program.iteration = sweeps(layout);
                if let [step] = program.iteration[..]
                    && step.kernel == Kernel::SorSmall
                {
                    program.repeat(step, step.count);
                }
            }
            (Sweep::Jor, Product::Sparse) => {
                let segments = layout.sparse.segments.iter().zip(0..);
                program.iteration = segments
                    .map(|((blocks, _), segment)| {
                        Step::new(Kernel::Product, blocks.start, blocks.len() as u32).with(segment)
                    })
                    .collect();
                program.iteration.extend(in_pieces(layout, Kernel::Prox));
            }
            (Sweep::Sor, Product::Sparse) => {
                for color in &layout.colors {
                    program.iteration.extend(layout.sparse_steps(color.clone()));
                }
            }
            (Sweep::Jor, Product::Dense) => {
                program.iteration =
                    in_segments(layout, whole(Kernel::DenseProduct, impulses)).collect();
                program.iteration.extend(in_pieces(layout, Kernel::Prox));
            }
            (Sweep::Relaxed(_), Product::MatrixFree) => {
                program.begin = gather.collect();
                for group in &layout.colors {
                    let project = of_group(layout, Kernel::JorProject, group);
                    program.iteration.extend(project);
                    program.iteration.extend(&program.begin);
                }
            }
            (Sweep::Relaxed(_), Product::Sparse) => program.iteration = sparse_groups(layout),
            (Sweep::Sor | Sweep::Relaxed(_), Product::Dense) => {
                program.begin = in_segments(layout, whole(Kernel::DenseStart, impulses)).collect();
                program.iteration = dense_sweep(layout, sweep != Sweep::Sor);
            }
        }
        program
    }

    /// The dispatches of iterations, one after the other.
    pub fn in_batch(&self, batch: Batch, mut dispatch: impl FnMut(&Step)) {
        let Batch { iterations, begins } = batch;
        if begins {
            self.begin.iter().for_each(&mut dispatch);
        }
        let Some(before) = iterations.checked_sub(1) else {
            return;
        };
        self.iterate(before, &mut dispatch);
        self.note.iter().for_each(&mut dispatch);
        self.iterate(1, &mut dispatch);
        self.end.iter().for_each(&mut dispatch);
    }

    fn iterate(&self, mut count: u32, mut dispatch: impl FnMut(&Step)) {
        for step in self.small.iter().rev() {
            while count >= step.repeat {
                dispatch(step);
                count -= step.repeat;
            }
        }
        for _ in 0..count {
            self.iteration.iter().for_each(&mut dispatch);
        }
    }

    /// Many iterations of so many barriers each are one dispatch, or a few.
    fn repeat(&mut self, step: Step, barriers: u32) {
        let repeats = std::iter::successors(Some(1), |repeat| Some(2 * repeat));
        let repeats = repeats.take_while(|repeat| repeat * barriers.max(1) <= MOST_BARRIERS);
        self.small = repeats.map(|repeat| Step { repeat, ..step }).collect();
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
            &self.small,
        ];
        parts.into_iter().flatten()
    }
}
