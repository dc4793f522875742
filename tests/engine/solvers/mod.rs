//! What solvers find, on which problems, and how they compare.

mod ablation;
mod accuracy;
mod advice;
mod all;
mod auto;
mod bpp;
mod colored_gs;
mod compare;
mod delassus;
mod determinism;
mod gpu;
mod newton;
mod papers_sweeps;
