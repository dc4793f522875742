//! Sweeps that the papers compare with and nobody needs beside `colored-gs`, `jacobi` and `nncg`.

pub mod block_sor;
pub mod naive_gs;
pub mod relaxed_sor;
