//! Exact solutions without one of their methods.

use crate::common::ablation::{methods, steps};
use crate::common::problems::residual_of;
use moreau::solve::Status;

#[test]
fn without_a_method_nothing_is_worse_than_the_start() {
    for scene in ["box_stack", "arch", "domino_spiral", "simple_winch"] {
        for step in steps(scene, &[2, 20]) {
            let before = residual_of(&step.problem, &step.start);
            for without in methods() {
                let (report, residual) = step.solve("newton", without);
                let what = format!("{scene} without {without}: {residual}, {before}");
                assert!(report.status.is_usable(), "{what}");
                assert!(residual <= before * (1.0 + 1e-9) + 1e-12, "{what}");
                if report.status == Status::Converged {
                    assert!(residual <= 1e-6, "{what}");
                }
            }
        }
    }
}
