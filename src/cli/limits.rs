//! `--fail-on`: what a run must keep to, so that a script need not read its report.

use moreau::check::nearest;
use moreau::step::StepReport;

/// A number of every step that can be limited.
#[derive(Debug)]
pub struct Quantity {
    name: &'static str,
    unit: &'static str,
    /// Whether it is known only where residuals are evaluated.
    is_residual: bool,
    /// Its value in a step, where it has one.
    of: fn(&StepReport) -> Option<f64>,
}

static QUANTITIES: [Quantity; 4] = [
    Quantity {
        name: "residual",
        unit: "m/s",
        is_residual: true,
        of: |s| s.residual.map(|r| r.residual),
    },
    Quantity {
        name: "residual_coulomb",
        unit: "m/s",
        is_residual: true,
        // Where a step has none of its own, its law is Coulomb's already.
        of: |s| s.residual_coulomb.or(s.residual).map(|r| r.residual),
    },
    Quantity {
        name: "penetration",
        unit: "m",
        is_residual: false,
        of: |s| Some(s.penetration),
    },
    Quantity {
        name: "joint_error",
        unit: "m",
        is_residual: false,
        of: |s| Some(s.joint_error),
    },
];

/// One thing that must not be.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A quantity above a value in any step.
    Above(&'static Quantity, f64),
    /// A solve that failed. A run that has one fails whether it is asked for or not.
    Failed,
}

/// Reads `residual>1e-3` or `failed`.
///
/// # Errors
/// Anything else, with what was expected.
pub fn parse(text: &str) -> Result<Limit, String> {
    if text.trim() == "failed" {
        return Ok(Limit::Failed);
    }
    let names = QUANTITIES.iter().map(|q| q.name);
    let expected = format!(
        "expected NAME>NUMBER with one of {}, such as residual>1e-3, or failed",
        names.clone().collect::<Vec<_>>().join(", ")
    );
    let (name, number) = text.split_once('>').ok_or(&expected)?;
    let name = name.trim();
    let Some(quantity) = QUANTITIES.iter().find(|q| q.name == name) else {
        let meant = nearest(name, names).map(|near| format!("; did you mean \"{near}\"?"));
        return Err(expected + &meant.unwrap_or_default());
    };
    match number.trim().parse::<f64>() {
        Ok(most) if most.is_finite() && most >= 0.0 => Ok(Limit::Above(quantity, most)),
        _ => Err(expected + "; the number must be 0 or more and finite"),
    }
}

impl Limit {
    /// Whether it needs residuals to be evaluated.
    pub fn needs_residuals(self) -> bool {
        matches!(self, Self::Above(quantity, _) if quantity.is_residual)
    }
}

/// A limit, and what came nearest to it or exceeded it most.
#[derive(Debug)]
pub struct Watched {
    limit: Limit,
    /// Step and value: the first of the largest ones.
    worst: Option<(u64, f64)>,
}

impl Watched {
    /// Before the first step.
    pub fn new(limit: Limit) -> Self {
        Self { limit, worst: None }
    }

    /// Looks at a step.
    pub fn add(&mut self, step: &StepReport) {
        let Limit::Above(quantity, _) = self.limit else {
            return;
        };
        let Some(value) = (quantity.of)(step) else {
            return;
        };
        // None is negative, and what is not a number is above all of them.
        let is_worse = |(_, worst): (u64, f64)| value.abs().total_cmp(&worst.abs()).is_gt();
        if self.worst.is_none_or(is_worse) {
            self.worst = Some((step.step, value));
        }
    }

    /// What exceeded it, if anything did.
    pub fn broken(&self) -> Option<String> {
        let (Limit::Above(quantity, most), Some((step, worst))) = (self.limit, self.worst) else {
            return None;
        };
        let Quantity { name, unit, .. } = quantity;
        // Written so that what is not a number exceeds.
        let is_kept = worst <= most;
        (!is_kept).then(|| {
            format!(
                "{name} was {worst:e} {unit} in step {step}, above the limit of {most:e} {unit}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_is_none_is_refused() {
        let Ok(Limit::Above(quantity, most)) = parse(" joint_error > 2e-3 ") else {
            panic!("a good limit");
        };
        assert_eq!((quantity.name, most), ("joint_error", 2e-3));
        assert!(matches!(parse("failed"), Ok(Limit::Failed)));
        for bad in [
            "",
            "residual",
            "residual>",
            "residual>x",
            "residual>nan",
            "residual>inf",
            "residual>-1",
            "residual<1",
            "residual>=1",
            "speed>1",
            "failed>1",
        ] {
            let message = parse(bad).expect_err(bad);
            assert!(message.starts_with("expected NAME>NUMBER"), "{message}");
        }
        let message = parse("jont_error>1").expect_err("no such quantity");
        assert!(
            message.ends_with("did you mean \"joint_error\"?"),
            "{message}"
        );
    }

    #[test]
    fn the_first_worst_step_counts_and_what_is_not_a_number_is_worst() {
        let steps = |values: &[f64]| {
            let step = |(k, penetration): (usize, &f64)| StepReport {
                step: 1 + k as u64,
                penetration: *penetration,
                ..StepReport::default()
            };
            values.iter().enumerate().map(step).collect::<Vec<_>>()
        };
        let broken = |limit: &str, values: &[f64]| {
            let mut watched = Watched::new(parse(limit).unwrap());
            steps(values).iter().for_each(|step| watched.add(step));
            watched.broken()
        };
        let limit = "penetration>0.5";
        assert_eq!(broken(limit, &[0.1, 0.5]), None);
        assert_eq!(broken(limit, &[]), None);
        let message = broken(limit, &[0.1, 2.0, 1.0, 2.0]).unwrap();
        let expected = "penetration was 2e0 m in step 2, above the limit of 5e-1 m";
        assert_eq!(message, expected);
        let message = broken(limit, &[9.0, f64::NAN, f64::INFINITY, f64::NAN]);
        assert!(
            message
                .unwrap()
                .starts_with("penetration was NaN m in step 2")
        );
        // No residual was evaluated, so that none exceeds.
        assert_eq!(broken("residual>0", &[1.0]), None);
    }
}
