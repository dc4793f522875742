//! What pivoting did.

use crate::solve::report::{Over, Statistic};

/// What a pivoting solver did in one solve; sums over the islands unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PivotReport {
    /// Islands that were solved.
    pub islands: u64,
    /// Rows.
    pub rows: u64,
    /// Rows of the largest island.
    pub largest_island: u64,
    /// Free rows at the end.
    pub free: u64,
    /// Tight rows at the end.
    pub tight: u64,
    /// Largest number of tight rows on the way.
    pub most_tight: u64,
    /// Index sets that were solved for.
    pub pivots: u64,
    /// The most of any island.
    pub most_pivots: u64,
    /// Of the pivots, those of Murty's rule: one row moved.
    pub single_pivots: u64,
    /// Of the pivots, projected Newton steps.
    pub descents: u64,
    /// Problems with fixed friction bounds.
    pub outer_iterations: u64,
    /// The most of any island.
    pub most_outer_iterations: u64,
    /// Iterations of GMRES in Newton's method.
    pub krylov_iterations: u64,
    /// Proximal steps that take the added compliance out.
    pub refinements: u64,
    /// Newton steps on sets and friction bounds at once, where these did not settle one after the other;
    /// each of them is a pivot too.
    pub coupled_steps: u64,
    /// Rows removed from a factor by a rank-one modification.
    pub downdates: u64,
    /// Factorisations, whole or from some column on.
    pub refactorizations: u64,
    /// Values of the lower triangle that are stored, tiles filled up.
    pub stored: u64,
    /// Factors found in the cache.
    pub cache_hits: u64,
    /// Factors in the cache.
    pub cache_entries: u64,
    /// Bytes of the cache.
    pub cache_bytes: u64,
    /// Time to order and assemble (s).
    pub assemble_time: f64,
    /// Time to factor (s).
    pub factor_time: f64,
    /// Time of substitutions and products with A (s).
    pub solve_time: f64,
    /// (max L_ii/min L_ii)² of the worst island, scaled to a unit diagonal: a lower bound of the
    /// condition number of A_FF.
    pub condition: f64,
    /// Whether the estimate is above the parameter `condition_bound` in some island.
    pub ill_conditioned: bool,
    /// Largest compliance that was added to a contact row, as declared (1/kg).
    pub added_compliance: f64,
    /// Largest number that a broken pivot was raised by, as a share of its diagonal.
    pub raised: f64,
    /// The residual of the last proximal step's problem, with the added compliance (m/s); the engine's
    /// own residual is without.
    pub residual_with_compliance: f64,
    /// ‖L Lᵀ − A_FF‖/‖A_FF‖ (Frobenius) of the worst island; on request.
    pub factor_error: Option<f64>,
    /// ‖L − L_fresh‖/‖L_fresh‖ (Frobenius) of the worst island, against a fresh factor; on request.
    pub downdate_error: Option<f64>,
}

impl PivotReport {
    /// Adds another island's.
    pub fn add(&mut self, other: &Self) {
        self.islands += other.islands;
        self.rows += other.rows;
        self.largest_island = self.largest_island.max(other.largest_island);
        self.free += other.free;
        self.tight += other.tight;
        self.most_tight += other.most_tight;
        self.pivots += other.pivots;
        self.most_pivots = self.most_pivots.max(other.most_pivots);
        self.single_pivots += other.single_pivots;
        self.descents += other.descents;
        self.outer_iterations += other.outer_iterations;
        self.most_outer_iterations = self.most_outer_iterations.max(other.most_outer_iterations);
        self.krylov_iterations += other.krylov_iterations;
        self.refinements += other.refinements;
        self.coupled_steps += other.coupled_steps;
        self.downdates += other.downdates;
        self.refactorizations += other.refactorizations;
        self.stored += other.stored;
        self.cache_hits += other.cache_hits;
        self.cache_entries += other.cache_entries;
        self.cache_bytes += other.cache_bytes;
        self.assemble_time += other.assemble_time;
        self.factor_time += other.factor_time;
        self.solve_time += other.solve_time;
        self.condition = self.condition.max(other.condition);
        self.ill_conditioned |= other.ill_conditioned;
        self.added_compliance = self.added_compliance.max(other.added_compliance);
        self.raised = self.raised.max(other.raised);
        self.residual_with_compliance = self
            .residual_with_compliance
            .max(other.residual_with_compliance);
        let worse = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.factor_error = worse(self.factor_error, other.factor_error);
        self.downdate_error = worse(self.downdate_error, other.downdate_error);
    }

    /// The numbers as every table and panel shows them.
    pub fn statistics(&self) -> Vec<Statistic> {
        use Over::{Last, Max, Sum};
        let count = |n: u64| n as f64;
        let mut all: Vec<(&'static str, &'static str, Over, f64)> = vec![
            ("rows", "-", Last, count(self.rows)),
            (
                "rows of the largest island",
                "-",
                Last,
                count(self.largest_island),
            ),
            ("free rows", "-", Last, count(self.free)),
            ("tight rows", "-", Last, count(self.tight)),
            ("most tight rows", "-", Max, count(self.most_tight)),
            ("pivots", "-", Sum, count(self.pivots)),
            (
                "most pivots of an island",
                "-",
                Max,
                count(self.most_pivots),
            ),
            ("single pivots", "-", Sum, count(self.single_pivots)),
            ("projected Newton steps", "-", Sum, count(self.descents)),
            (
                "problems with fixed bounds",
                "-",
                Sum,
                count(self.outer_iterations),
            ),
            (
                "most problems of an island",
                "-",
                Max,
                count(self.most_outer_iterations),
            ),
            ("coupled Newton steps", "-", Sum, count(self.coupled_steps)),
            ("GMRES iterations", "-", Sum, count(self.krylov_iterations)),
            ("proximal refinements", "-", Sum, count(self.refinements)),
            ("downdates", "-", Sum, count(self.downdates)),
            ("factorisations", "-", Sum, count(self.refactorizations)),
            ("values stored", "-", Last, count(self.stored)),
            ("cache hits", "-", Sum, count(self.cache_hits)),
            ("cache entries", "-", Last, count(self.cache_entries)),
            ("cache size", "B", Last, count(self.cache_bytes)),
            ("assembly time", "s", Sum, self.assemble_time),
            ("factor time", "s", Sum, self.factor_time),
            ("substitution time", "s", Sum, self.solve_time),
            ("condition, at least", "-", Max, self.condition),
            (
                "ill-conditioned",
                "-",
                Max,
                f64::from(u8::from(self.ill_conditioned)),
            ),
            ("added compliance", "1/kg", Max, self.added_compliance),
            ("pivots raised by", "-", Max, self.raised),
            (
                "residual with compliance",
                "m/s",
                Max,
                self.residual_with_compliance,
            ),
        ];
        let on_request = [
            ("factor error", self.factor_error),
            ("downdate error", self.downdate_error),
        ];
        all.extend(
            on_request
                .iter()
                .filter_map(|(name, e)| Some((*name, "-", Max, (*e)?))),
        );
        let statistic = |(name, unit, over, value)| Statistic {
            name,
            unit,
            value,
            over,
        };
        all.into_iter().map(statistic).collect()
    }
}
