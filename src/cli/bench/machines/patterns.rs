//! Figures 2.5 and 2.6: where A and L have their entries, in each order.

use moreau::measure::pattern::{self, Pattern};
use moreau::measure::table::{Layout, Pair, Table};
use moreau::solve::Request;
use moreau::solve::bpp::MatrixView;

use super::super::measure::Bench;
use super::super::methods::{self, Method};
use super::super::{Failure, Findings};
use super::record::{BUDGET, Kept, Recording};

/// What is found, machine by machine.
pub struct Patterns(Table);

impl Default for Patterns {
    fn default() -> Self {
        let keys = ["scene", "order"];
        let quantities = [
            ("rows", "-"),
            ("non-zeros of A", "-"),
            ("non-zeros of L", "-"),
            ("fill: L over A", "-"),
            ("envelope", "-"),
            ("semi-bandwidth", "-"),
        ];
        let table = Table::new("patterns", Layout::Columns, &keys, &quantities).titled(
            "Lower triangles of the largest island's A and of its L, all rows free",
            "Lefebvre 2020, figures 2.5 and 2.6",
        );
        Self(table)
    }
}

impl Patterns {
    /// Looks at the problem with the most rows.
    pub fn add(
        &mut self,
        bench: &mut Bench,
        findings: &mut Findings,
        recording: &Recording,
    ) -> Result<(), Failure> {
        let Some(kept) = recording.largest() else {
            return Ok(());
        };
        let skyline = methods::bpp("skyline", "skyline", false, true);
        let Some(view) = view(bench, kept, &skyline)? else {
            return Ok(());
        };
        let n = view.n;
        let natural = pattern::permuted(&view.a, &view.natural);
        self.row(recording.scene, "the scene's", n, &natural);
        self.row(recording.scene, "reverse Cuthill–McKee", n, &view.a);
        let mut drawn = vec![
            (
                "A, the scene's order".to_owned(),
                Pattern::symmetric(n, &natural),
            ),
            (
                "A, reverse Cuthill–McKee".to_owned(),
                Pattern::symmetric(n, &view.a),
            ),
            (
                "L and its envelope".to_owned(),
                Pattern {
                    n,
                    entries: pattern::fill(n, &view.a),
                    envelope: view.envelope,
                },
            ),
        ];
        for method in bench.offer([methods::bpp("sparse", "sparse", false, false)]) {
            if let Some(view) = self::view(bench, kept, &method)? {
                self.row(recording.scene, "minimum degree (AMD)", n, &view.a);
                let l = Pattern {
                    n,
                    entries: pattern::fill(n, &view.a),
                    envelope: Vec::new(),
                };
                drawn.push(("L, minimum degree".to_owned(), l));
            }
        }
        let title = format!("{}: {n} rows at {:.1} s", recording.scene, kept.time);
        findings.picture(
            format!("machines-{}-pattern", recording.scene),
            pattern::picture(&title, &drawn),
        );
        Ok(())
    }

    fn row(&mut self, scene: &str, order: &str, n: usize, a: &[[u32; 2]]) {
        let l = pattern::fill(n, a).len();
        let [envelope, width] = pattern::envelope(n, a);
        let numbers = [n, a.len(), l].map(|v| v as f64);
        let fill = l as f64 / a.len().max(1) as f64;
        let rest = [fill, envelope as f64, width as f64];
        let pairs = numbers.into_iter().chain(rest).map(Pair::here);
        self.0.row([scene, order], pairs, "");
    }

    /// Hands everything over.
    pub fn finish(mut self, bench: &Bench, findings: &mut Findings) {
        if bench.missing_names().iter().any(|m| m.contains("sparse")) {
            let note =
                "Minimum degree comes with the factorisation sparse, which this build lacks.";
            self.0.notes.push(note.to_owned());
        }
        findings.table(self.0);
    }
}

/// The matrices of a solve.
pub fn view(bench: &Bench, kept: &Kept, method: &Method) -> Result<Option<MatrixView>, Failure> {
    let mut solver = Bench::build(method, BUDGET)?;
    let request = Request {
        budget: BUDGET,
        history: false,
    };
    let mut lambda = kept.start.clone();
    let pool = bench.pool(1);
    pool.install(|| solver.solve(&kept.problem, &request, &mut lambda, &mut Vec::new()));
    Ok(solver.matrix_view())
}
