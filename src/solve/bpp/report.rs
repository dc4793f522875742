//! What pivoting did, in numbers with names.

use std::ops::Add;

use crate::solve::report::{Over, Statistic};

/// Declares the report: each number's documentation, field, name, unit, how islands are joined, and how the
/// steps of a run are.
macro_rules! report {
    ($($(#[doc = $about:literal])* $field:ident: $name:literal [$unit:literal] $join:ident $over:ident;)*) => {
        /// What a pivoting solver did in one solve.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct PivotReport {
            $($(#[doc = $about])* pub $field: f64,)*
            /// ‖L L^T − A_FF‖/‖A_FF‖ and ‖L − L_fresh‖/‖L_fresh‖ (Frobenius) of the worst island; on request.
            pub factor_errors: Option<[f64; 2]>,
        }

        impl PivotReport {
            /// Adds another island's.
            pub fn add(&mut self, other: &Self) {
                $(self.$field = f64::$join(self.$field, other.$field);)*
                self.factor_errors = match (self.factor_errors, other.factor_errors) {
                    (Some([a, b]), Some([c, d])) => Some([a.max(c), b.max(d)]),
                    (a, b) => a.or(b),
                };
            }

            /// The numbers as every table and panel shows them.
            pub fn statistics(&self) -> Vec<Statistic> {
                let mut all = vec![$(Statistic {
                    name: $name,
                    summary: concat!($($about,)* report!(@said $join)),
                    unit: $unit,
                    value: self.$field,
                    over: Over::$over,
                }),*];
                let [factor, downdate] = [
                    ("factor error", "‖L L^T − A_FF‖/‖A_FF‖. The largest of any island."),
                    ("downdate error", "‖L − L_fresh‖/‖L_fresh‖. The largest of any island."),
                ];
                for ((name, summary), value) in [factor, downdate]
                    .into_iter()
                    .zip(self.factor_errors.into_iter().flatten())
                {
                    all.push(Statistic { name, summary, unit: "-", value, over: Over::Max });
                }
                all
            }
        }
    };
    (@said add) => { " All islands together." };
    (@said max) => { " The largest of any island." };
}

report! {
    rows: "rows" ["-"] add Last;
    largest_island: "rows of the largest island" ["-"] max Last;
    /// At the end.
    free: "free rows" ["-"] add Last;
    /// At the end.
    tight: "tight rows" ["-"] add Last;
    /// On the way.
    most_tight: "most tight rows" ["-"] add Max;
    /// Index sets that were solved for.
    pivots: "pivots of all islands" ["-"] add Sum;
    most_pivots: "most pivots of an island" ["-"] max Max;
    /// Multiplications, about; a quarter of those that factorisations make side by side.
    work: "work" ["1e6"] add Sum;
    /// Of the pivots, those of Murty's rule: one row moved.
    single_pivots: "single pivots" ["-"] add Sum;
    /// With fixed friction bounds, solved one after the other.
    outer_iterations: "problems of all islands" ["-"] add Sum;
    most_outer_iterations: "most problems of an island" ["-"] max Max;
    /// On sets and friction bounds at once, where these did not settle one after the other; each of them is a
    /// pivot too.
    coupled_steps: "coupled Newton steps" ["-"] add Sum;
    krylov_iterations: "GMRES iterations" ["-"] add Sum;
    /// Steps that take the added compliance out.
    refinements: "proximal refinements" ["-"] add Sum;
    /// Rows removed from a factor by a rank-one modification.
    downdates: "downdates" ["-"] add Sum;
    /// Whole or from some column on.
    refactorizations: "factorisations" ["-"] add Sum;
    /// Of the lower triangle, tiles filled up.
    stored: "values stored" ["-"] add Last;
    cache_hits: "cache hits" ["-"] add Sum;
    cache_entries: "cache entries" ["-"] add Last;
    cache_bytes: "cache size" ["B"] add Last;
    /// To order and assemble.
    assemble_time: "assembly time" ["s"] add Sum;
    factor_time: "factor time" ["s"] add Sum;
    /// Products with A included.
    solve_time: "substitution time" ["s"] add Sum;
    /// (max L_ii/min L_ii)², scaled to a unit diagonal: a lower bound of the condition number of A_FF.
    condition: "condition, at least" ["-"] max Max;
    /// 1 where that is above the parameter `condition_bound`.
    ill_conditioned: "ill-conditioned" ["-"] max Max;
    /// Largest that was added to a contact row, as declared.
    added_compliance: "added compliance" ["1/kg"] max Max;
    /// As a share of the diagonal.
    raised: "pivots raised by" ["-"] max Max;
    /// Of the last proximal step's problem; the engine's own residual is without.
    residual_with_compliance: "residual with compliance" ["m/s"] max Max;
}
