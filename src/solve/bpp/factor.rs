//! What a pivoting solver asks of a factorisation, and the list of them.

use super::branched::Branched;
use super::cache::Cached;
use super::full::Full;
use super::island::{IslandMatrix, Layout};
pub use super::panels::Breakdown;
use super::skyline::Skyline;

/// The names of the factorisations.
pub const FACTORIZATIONS: &[&str] = &["skyline", "full", "downdate", "cached", "sparse"];

/// A factorisation by name. `share`: of tight rows above which A_FF is factored instead of downdated;
/// `memory`: most bytes of a cache.
pub fn make(name: &str, share: f64, memory: usize) -> Box<dyn Factorization> {
    match name {
        "full" => Box::new(Full::default()),
        "cached" => Box::new(Cached::new(memory, share)),
        "sparse" => Box::new(Branched::default()),
        _ => Box::new(Skyline::new(share)),
    }
}

/// How the matrix must be laid out for a factorisation.
pub fn layout(name: &str) -> Layout {
    match name {
        "full" | "downdate" => Layout::Dense,
        "sparse" => Layout::Sparse,
        _ => Layout::Skyline,
    }
}

/// What a factorisation has done since [`Factorization::prepare`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Rows removed from a factor by a rank-one modification.
    pub downdates: u64,
    /// Factorisations of A_FF, whole or from some column on.
    pub refactorizations: u64,
    /// Factors found in the cache.
    pub cache_hits: u64,
    /// Factors in the cache.
    pub cache_entries: u64,
    /// Bytes of the factors in the cache.
    pub cache_bytes: u64,
    /// Largest number that was added to a diagonal because its pivot broke down (-, of the scaled
    /// diagonal).
    pub raised: f64,
}

impl Counters {
    /// Adds what was done before the present matrix was prepared.
    pub fn add(&mut self, earlier: &Self) {
        self.downdates += earlier.downdates;
        self.refactorizations += earlier.refactorizations;
        self.cache_hits += earlier.cache_hits;
        self.raised = self.raised.max(earlier.raised);
    }

    /// Takes what was counted in earlier solves out.
    pub fn remove(&mut self, earlier: &Self) {
        self.downdates -= earlier.downdates;
        self.refactorizations -= earlier.refactorizations;
        self.cache_hits -= earlier.cache_hits;
    }
}

/// A factorisation of A_FF for changing sets F of free rows.
pub trait Factorization: Send {
    /// A new matrix; memory is kept.
    fn prepare(&mut self, a: &IslandMatrix);

    /// Makes the factor that of A_FF, where F is what is not tight. The rows of the last set may be
    /// used.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn restrict(&mut self, a: &IslandMatrix, tight: &[bool]) -> Result<(), Breakdown>;

    /// Solves A_FF x_F = r_F in place; the tight entries of `x` become zero.
    fn solve(&mut self, x: &mut [f64]);

    /// What has been done.
    fn counters(&self) -> Counters;

    /// Smallest and largest diagonal entry of L over the free rows.
    fn extremes(&self, tight: &[bool]) -> [f64; 2];

    /// The island's row at each place of the factor's own order; `None` where it is the island's.
    fn order(&self) -> Option<&[u32]> {
        None
    }

    /// The entries of L, for whoever wants to see them; calls `visit(row, column, value)` with rows and
    /// columns in the island's order.
    fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, f64));
}
