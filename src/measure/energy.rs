//! Where energy goes: what a world stores, what flows in and out, and what of it all nothing explains.

use std::ops::{Index, IndexMut};

use crate::world::Energy;

/// How energy comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// Who changed the world since the last step.
    Edits,
    /// Motors, drives that move the targets of servos, and bodies that move by themselves.
    Drives,
    /// External forces.
    Forces,
    /// Dampers of joints and servos.
    Dampers,
    /// Friction in contacts and joints.
    Friction,
    /// Impacts: impulses along the normals of contacts, and at rigid limits.
    Impact,
    /// The rule in rigid joints, which should do no work.
    RigidJoints,
    /// The rule in springs: what is neither stored nor went into their dampers.
    SpringRule,
    /// The rule as bodies turn: ½(ω_E·L_S − ω_S·L_E) where joints hold them, with the angular momenta L at the ends.
    Rotation,
    /// The rule where the velocities are not exactly those of the impulses.
    Rounds,
    /// Correction of positions.
    Projection,
}

impl Flow {
    /// All of them: what is put in, what dissipates, and from [`Flow::RigidJoints`] on what the rule of stepping loses.
    pub const ALL: [Flow; 11] = [
        Flow::Edits,
        Flow::Drives,
        Flow::Forces,
        Flow::Dampers,
        Flow::Friction,
        Flow::Impact,
        Flow::RigidJoints,
        Flow::SpringRule,
        Flow::Rotation,
        Flow::Rounds,
        Flow::Projection,
    ];

    /// What it is, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            Flow::Edits => "changes of the world between steps",
            Flow::Drives => "drives and motors",
            Flow::Forces => "external forces",
            Flow::Dampers => "dampers",
            Flow::Friction => "friction",
            Flow::Impact => "impact",
            Flow::RigidJoints => "numerical: rigid joints",
            Flow::SpringRule => "numerical: springs",
            Flow::Rotation => "numerical: rotation",
            Flow::Rounds => "numerical: rounds",
            Flow::Projection => "numerical: correction of positions",
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Flow::Edits => "edits",
            Flow::Drives => "drives",
            Flow::Forces => "forces",
            Flow::Dampers => "dampers",
            Flow::Friction => "friction",
            Flow::Impact => "impact",
            Flow::RigidJoints => "rigid_joints",
            Flow::SpringRule => "spring_rule",
            Flow::Rotation => "rotation",
            Flow::Rounds => "rounds",
            Flow::Projection => "projection",
        }
    }

    /// Whether it is an error of the rule of stepping: there is none in the limit of short steps.
    pub fn is_numerical(self) -> bool {
        self as usize >= Flow::RigidJoints as usize
    }
}

/// The energy of a step, or of several: `after − before` is the sum of all flows and the remainder (J).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// At the end of the step before.
    pub before: Energy,
    /// At the step's end.
    pub after: Energy,
    /// By how much each part of it changes, in the order of [`Energy::NAMES`]; counted body by body, and so to more digits
    /// than differences of sums have (J).
    changes: [f64; Energy::NAMES.len()],
    /// What each flow adds to the energy, by the order of [`Flow::ALL`]: negative where it takes (J).
    flows: [f64; Flow::ALL.len()],
}

impl Index<Flow> for Balance {
    type Output = f64;

    fn index(&self, flow: Flow) -> &f64 {
        &self.flows[flow as usize]
    }
}

impl IndexMut<Flow> for Balance {
    fn index_mut(&mut self, flow: Flow) -> &mut f64 {
        &mut self.flows[flow as usize]
    }
}

impl Balance {
    /// Without any flow yet.
    pub fn new(before: Energy, after: Energy) -> Self {
        let (first, last) = (before.values(), after.values());
        Self {
            before,
            after,
            changes: std::array::from_fn(|k| last[k] - first[k]),
            flows: [0.0; Flow::ALL.len()],
        }
    }

    /// Goes on to another energy, with changes that are known better than the difference (J).
    pub(crate) fn go_on(&mut self, after: Energy, changes: &[f64; Energy::NAMES.len()]) {
        self.after = after;
        for (sum, change) in self.changes.iter_mut().zip(changes) {
            *sum += change;
        }
    }

    /// Numbers of [`Balance::row`].
    pub const COLUMNS: usize = Energy::NAMES.len() + Flow::ALL.len() + 1;

    /// The names of what [`Balance::row`] holds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let flows = Flow::ALL.map(Flow::name);
        Energy::NAMES.into_iter().chain(flows).chain(["remainder"])
    }

    /// What is stored at the end, what each flow added, and the remainder (J).
    pub fn row(&self) -> impl Iterator<Item = f64> {
        let stored = self.after.values();
        let parts = stored.into_iter().chain(self.flows);
        parts.chain([self.remainder()])
    }

    /// What the flows do not explain (J).
    pub fn remainder(&self) -> f64 {
        self.changes.iter().sum::<f64>() - self.flows.iter().sum::<f64>()
    }

    /// How much energy was moved (J): the sizes of all flows and of all changes.
    pub fn throughput(&self) -> f64 {
        let moved = self.changes.iter().chain(&self.flows);
        moved.map(|moved| moved.abs()).sum()
    }

    /// This and what comes after it.
    pub fn followed_by(&self, next: &Balance) -> Balance {
        Balance {
            before: self.before,
            after: next.after,
            changes: std::array::from_fn(|k| self.changes[k] + next.changes[k]),
            flows: std::array::from_fn(|k| self.flows[k] + next.flows[k]),
        }
    }
}

/// The balances of many steps.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Of all steps together.
    pub whole: Balance,
    /// Sum of what each step moved (J).
    pub throughput: f64,
    /// Sum of the sizes of the steps' remainders (J).
    pub unexplained: f64,
}

impl Account {
    /// Of one step after the other; none of none.
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a Balance>) -> Option<Account> {
        let mut steps = steps.into_iter();
        let first = Account::from(steps.next()?);
        Some(steps.fold(first, |account, step| account.followed_by(step)))
    }

    /// With the step that comes next.
    pub fn followed_by(&self, step: &Balance) -> Account {
        let next = Account::from(step);
        Account {
            whole: self.whole.followed_by(step),
            throughput: self.throughput + next.throughput,
            unexplained: self.unexplained + next.unexplained,
        }
    }
}

impl From<&Balance> for Account {
    fn from(step: &Balance) -> Self {
        Account {
            whole: *step,
            throughput: step.throughput(),
            unexplained: step.remainder().abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps: a drive lifts by 7 J, of which friction takes 2 J and nothing explains 0.5 J; then all falls and lands.
    fn steps() -> [Balance; 2] {
        let at = |kinetic, gravity| Energy {
            kinetic,
            gravity,
            ..Energy::default()
        };
        let mut lift = Balance::new(at(1.0, 0.0), at(2.0, 4.5));
        lift[Flow::Drives] = 7.0;
        lift[Flow::Friction] = -2.0;
        let mut fall = Balance::new(lift.after, at(0.0, 0.0));
        fall[Flow::Impact] = -6.5;
        [lift, fall]
    }

    #[test]
    fn changes_are_flows_and_a_remainder() {
        let [lift, fall] = steps();
        assert_eq!(lift.remainder(), 0.5);
        assert_eq!(lift.throughput(), 1.0 + 4.5 + 7.0 + 2.0);
        let account = Account::of(&[lift, fall]).expect("steps");
        assert_eq!(account.whole.remainder(), 0.5);
        assert_eq!(account.whole[Flow::Impact], -6.5);
        assert_eq!(account.throughput, 14.5 + 2.0 + 4.5 + 6.5);
        assert_eq!(account.unexplained, 0.5);
        assert!(Account::of(&[]).is_none());
    }

    #[test]
    fn rows_have_their_names() {
        let [lift, _] = steps();
        let row: Vec<f64> = lift.row().collect();
        let named = |name| {
            let at = Balance::names().position(|n| n == name);
            row[at.expect("a name")]
        };
        assert_eq!(row.len(), Balance::COLUMNS);
        assert_eq!(Balance::names().count(), Balance::COLUMNS);
        assert_eq!([named("gravity"), named("drives")], [4.5, 7.0]);
        assert_eq!([named("friction"), named("remainder")], [-2.0, 0.5]);
        for (k, flow) in Flow::ALL.into_iter().enumerate() {
            assert_eq!(flow as usize, k, "{}", flow.name());
        }
    }
}
