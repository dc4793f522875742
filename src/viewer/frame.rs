//! What the physics thread hands to the window, and how.

use std::sync::{Arc, Mutex, PoisonError};

use bevy::math::{self as glam, Isometry3d};

use super::inspect::PickedNumbers;
use super::keep::{Charge, News};
use super::verdicts::{self, Mark};
use crate::math::{Pose, Quat, Twist, Vec3};
use crate::measure::Stage;
pub(crate) use crate::plugin::isometry;
use crate::problem::{Friction, FrictionLaw};
use crate::session::{Kept, Replayed};
use crate::solve::{MatrixView, Method, PartsView, SolverConfig};
use crate::step::{ContactView, StepReport};
use crate::world::joint::{Joint, JointKind};
use crate::world::{Bodies, BodyId, BodyKind, Drive, Energy, Shape};

pub fn vec3(v: Vec3) -> glam::Vec3 {
    glam::Vec3::new(v.x as f32, v.y as f32, v.z as f32)
}

/// A pose in double precision.
pub fn pose(isometry: Isometry3d) -> Pose {
    let [i, j, k, w] = isometry.rotation.to_array().map(f64::from);
    let [x, y, z] = glam::Vec3::from(isometry.translation)
        .to_array()
        .map(f64::from);
    let rotation = crate::math::Quat::new_normalize(nalgebra::Quaternion::new(w, i, j, k));
    Pose::new(Vec3::new(x, y, z), rotation)
}

/// What does not change from step to step: the looks of the bodies, by slot.
#[derive(Debug, Default)]
pub struct BodyTable {
    pub bodies: Vec<Option<BodyLook>>,
}

#[derive(Clone, Debug)]
pub struct BodyLook {
    pub id: BodyId,
    pub shape: Option<Shape>,
    /// The shape's frame seen from the centre of mass.
    pub offset: Pose,
    pub kind: BodyKind,
    /// The colour that the scene gives it, linear RGB.
    pub color: Option<[f32; 3]>,
    /// The number of the group that somebody has put it into, or 0.
    pub part: u32,
}

impl BodyTable {
    pub fn of(bodies: &Bodies) -> Self {
        let look = |slot: usize| {
            Some(BodyLook {
                id: bodies.id(slot)?,
                shape: bodies.shape[slot].clone(),
                offset: Pose::new(bodies.shape_offset[slot], Quat::identity()),
                kind: bodies.kind[slot],
                color: bodies.color[slot],
                part: bodies.part[slot],
            })
        };
        Self {
            bodies: (0..bodies.slots()).map(look).collect(),
        }
    }

    /// Whether it says the same as another one, of the very same shapes.
    pub fn is_like(&self, other: &Self) -> bool {
        let shape = |look: &BodyLook| {
            look.shape
                .as_ref()
                .map(|s| Arc::as_ptr(s.shared_geometry()))
        };
        let same = |a: &BodyLook, b: &BodyLook| {
            (a.id, a.kind, a.color, a.offset, a.part) == (b.id, b.kind, b.color, b.offset, b.part)
                && shape(a) == shape(b)
        };
        let pairs = || self.bodies.iter().zip(&other.bodies);
        self.bodies.len() == other.bodies.len()
            && pairs().all(|pair| match pair {
                (Some(a), Some(b)) => same(a, b),
                (a, b) => a.is_none() && b.is_none(),
            })
    }

    pub fn get(&self, id: BodyId) -> Option<&BodyLook> {
        let look = self.bodies.get(id.index())?.as_ref()?;
        (look.id == id).then_some(look)
    }
}

/// A world beside the simulation's own.
#[derive(Clone, Debug, Default)]
pub struct ParallelView {
    /// Its number, which no other world ever has.
    pub world: u64,
    pub label: String,
    /// Its solver's colour in the panels.
    pub series: usize,
    /// Linear RGB, in the picture.
    pub color: [f32; 3],
    /// Why it takes no more steps.
    pub error: Option<String>,
}

/// A step in one of the worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParallelSample {
    /// The world's number.
    pub world: u64,
    pub energy: Energy,
    /// The largest distance from where the last step aimed (m).
    pub joint_error: f64,
    /// Bodies that have fallen from where they rested.
    pub fallen: usize,
    /// The deepest overlap (m).
    pub penetration: f64,
    pub residual: Option<f64>,
    /// Whether its solver met its tolerance.
    pub is_solved: bool,
    /// What the step took (s).
    pub time: f64,
    /// The largest distance of a body from where it is in the simulation's own world (m).
    pub distance: f64,
}

#[derive(Clone, Debug, Default)]
pub struct StepSample {
    /// What the step reported. The convergence history is the last step's alone.
    pub report: StepReport,
    pub energy: Energy,
    /// Bodies that have fallen from where they rested.
    pub fallen: usize,
    /// What took it.
    pub solver: Arc<SolverConfig>,
    /// The same step in the worlds beside it.
    pub parallel_worlds: Vec<ParallelSample>,
}

impl StepSample {
    /// The simulation's own world in the numbers of the others.
    pub fn own(&self) -> ParallelSample {
        let report = &self.report;
        ParallelSample {
            world: 0,
            energy: self.energy,
            joint_error: report.joint_error,
            fallen: self.fallen,
            penetration: report.penetration,
            residual: report.residual.map(|r| r.residual),
            is_solved: verdicts::is_solved(report),
            time: report.timings.get(Stage::Step),
            distance: 0.0,
        }
    }
}

/// A joint as it is drawn. Places and directions are seen from the centres of mass of its two bodies,
/// so that they follow the bodies between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMark {
    /// Its index among the joints of the world.
    pub joint: u32,
    /// Slots of its bodies, or [`WORLD`](crate::world::joint::WORLD).
    pub bodies: [u32; 2],
    /// Origins of its frames.
    pub anchors: [glam::Vec3; 2],
    /// Unit vectors along its axes, by body.
    pub axes: [Option<glam::Vec3>; 2],
    /// Whether it is a rope or a rod, which is drawn always: it is something, and not only a constraint.
    pub is_rope: bool,
    /// How far it is from where the last step aimed (m); none before the first step.
    pub error: Option<f64>,
    /// Force on its second body, world frame (N).
    pub force: glam::Vec3,
}

impl JointMark {
    /// How a joint is drawn; nothing for a gear.
    pub fn of(index: usize, joint: &Joint, error: Option<f64>) -> Option<Self> {
        let [a, b] = &joint.frames;
        let x = Some(vec3(a.rotation * Vec3::x()));
        let axes = match joint.kind {
            JointKind::Gear(_) => return None,
            JointKind::Hinge | JointKind::Slider | JointKind::Cylindrical | JointKind::Screw(_) => {
                [x, None]
            }
            JointKind::Universal => [x, Some(vec3(b.rotation * Vec3::y()))],
            JointKind::Fixed | JointKind::Spherical | JointKind::SixDof | JointKind::Distance => {
                [None, None]
            }
        };
        Some(Self {
            joint: index as u32,
            bodies: joint.bodies,
            anchors: [vec3(a.position), vec3(b.position)],
            axes,
            is_rope: joint.kind == JointKind::Distance,
            error,
            force: vec3(joint.force()),
        })
    }
}

/// What a contact does, as its point is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// The bodies are apart, and stay so over the step.
    Speculative,
    /// They touch, and nothing presses.
    Idle,
    /// Friction holds what presses.
    Sticking,
    /// Friction is all that its law allows.
    Sliding,
}

impl ContactState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Speculative => "apart, may close",
            Self::Idle => "closed, no force",
            Self::Sticking => "sticking",
            Self::Sliding => "sliding",
        }
    }

    pub const ALL: [Self; 4] = [Self::Speculative, Self::Idle, Self::Sticking, Self::Sliding];

    /// The state of a contact with the impulses `block` of its rows (N s).
    pub fn of(friction: &Friction, gap: f64, block: &[f64]) -> Self {
        let [normal, rest @ ..] = block else {
            return Self::Speculative;
        };
        if *normal <= 0.0 {
            return if gap > 0.0 {
                Self::Speculative
            } else {
                Self::Idle
            };
        }
        // At the edge of the law's set: a little more of the same would be outside of it.
        let mut more = [0.0; FrictionLaw::MAX_ROWS];
        let more = &mut more[..rest.len()];
        let mut square = 0.0;
        for (more, own) in more.iter_mut().zip(rest) {
            *more = own * (1.0 + EDGE);
            square += own * own;
        }
        let outside = friction.law.violation(more, friction.mu, *normal);
        if friction.mu == [0.0; 2] || outside > 0.25 * EDGE * square.sqrt() {
            Self::Sliding
        } else {
            Self::Sticking
        }
    }
}

/// How near to the edge of its law's set friction counts as sliding, as a share of itself (-).
const EDGE: f64 = 1e-3;

#[derive(Clone, Debug)]
pub struct JointNumbers {
    pub label: String,
    pub kind: &'static str,
    pub other: String,
    /// The coordinates that it leaves free: name, value, unit.
    pub coordinates: Vec<(&'static str, f64, &'static str)>,
    /// How far it is from where the last step aimed (m); none before the first step.
    pub error: Option<f64>,
    /// Force between its bodies (N).
    pub force: f64,
}

#[derive(Clone, Debug, Default)]
pub struct BodyNumbers {
    pub label: String,
    pub kind: BodyKind,
    /// Mass (kg); infinite where nothing pushes it.
    pub mass: f64,
    /// Centre of mass (m).
    pub position: Vec3,
    /// Orientation as a rotation vector (rad).
    pub rotation: Vec3,
    /// Velocities (m/s, rad/s).
    pub velocity: Twist,
    /// Kinetic energy (J).
    pub kinetic_energy: f64,
    pub contacts: usize,
    /// Sum of its contact forces over the last step (N).
    pub contact_force: Vec3,
    /// Largest normal force among them (N).
    pub largest_normal_force: f64,
    /// Coefficient of friction of its material (-).
    pub friction: f64,
    pub island: Option<u32>,
    pub joints: Vec<JointNumbers>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether something went wrong that stops the simulation, or that the scene does not open for.
    pub is_error: bool,
    pub text: String,
}

/// One picture of the simulation.
#[derive(Debug, Default)]
pub struct Frame {
    /// Counts loads and restarts, so that histories can be begun afresh.
    pub epoch: u64,
    pub load: u64,
    pub table: Arc<BodyTable>,
    /// Scenes that were built, or could not be.
    pub builds: u64,
    /// Poses of the centres of mass, by slot.
    ///
    /// Those of the worlds side by side follow, as many for each.
    pub poses: Vec<Isometry3d>,
    /// The worlds beside the simulation's own.
    pub parallel_worlds: Vec<ParallelView>,
    /// Island of each slot, where asked for; else empty.
    pub islands: Vec<u32>,
    /// How the island of each slot was solved, where asked for and where the solver chooses; else empty.
    pub methods: Vec<Option<Method>>,
    /// The solver's parts of the bodies, where asked for and where it has any.
    pub parts: Option<PartsView>,
    /// The contacts, where asked for; else empty.
    pub contacts: Vec<ContactView>,
    /// What each of them does.
    pub states: Vec<ContactState>,
    /// Their graph colours, where asked for and where the solver has any; else empty.
    pub colors: Vec<u32>,
    /// How many contacts one of `contacts` stands for: 1 unless there are too many to draw.
    pub contact_stride: usize,
    /// The joints, where asked for; else ropes alone.
    pub joints: Vec<JointMark>,
    /// The drives, each with its value now.
    pub drives: Vec<Drive>,
    /// The solver's matrices, where asked for and where it has any; a few times per second.
    pub matrix: Option<Arc<MatrixView>>,
    /// Length of one (sub)step, which turns impulses into forces (s).
    pub substep: f64,
    /// Simulated time (s).
    pub time: f64,
    pub step: u64,
    /// Every step since the last frame that was taken from the exchange.
    pub samples: Vec<StepSample>,
    /// Bodies, fixed ones included.
    pub bodies: usize,
    /// Of these, bodies that forces move.
    pub dynamic_bodies: usize,
    /// Linear and angular momentum about the origin (kg m/s, kg m²/s).
    pub momentum: Twist,
    pub energy: Energy,
    /// The force with which a hand pulled in the last step (N).
    pub drag_force: f64,
    /// What worlds have missed first.
    pub marks: Vec<Mark>,
    pub selected: Option<BodyNumbers>,
    pub picked: Option<PickedNumbers>,
    pub playing: bool,
    pub real_time_factor: f64,
    pub notice: Option<Notice>,
    /// The past states that can be returned to.
    pub kept: Kept,
    /// Steps recorded so far, while recording.
    pub recording: Option<usize>,
    /// How far a replay has come.
    pub replayed: Option<Replayed>,
    /// Solver and settings, where the window is to take them over.
    pub charge: Arc<Charge>,
    /// What was done or failed since the last frame that was taken from the exchange.
    pub news: Vec<News>,
}

/// Passes frames from one thread to another without either ever waiting for the other's work. Frames
/// go round, so that nothing is allocated once all of them have grown.
#[derive(Debug, Default)]
pub struct Exchange {
    ready: Mutex<Option<Frame>>,
    idle: Mutex<Vec<Frame>>,
}

impl Exchange {
    /// A frame to fill; whatever it held before is still in it.
    pub fn blank(&self) -> Frame {
        lock(&self.idle).pop().unwrap_or_default()
    }

    /// Makes a frame the next one to be taken. Samples of a frame that nobody took are kept.
    pub fn publish(&self, mut frame: Frame) {
        let mut ready = lock(&self.ready);
        if let Some(mut missed) = ready.take() {
            missed.news.append(&mut frame.news);
            std::mem::swap(&mut missed.news, &mut frame.news);
            if missed.epoch == frame.epoch {
                missed.samples.append(&mut frame.samples);
                std::mem::swap(&mut missed.samples, &mut frame.samples);
            }
            lock(&self.idle).push(missed);
        }
        *ready = Some(frame);
    }

    /// Takes the latest frame, if there is a new one.
    pub fn take(&self) -> Option<Frame> {
        lock(&self.ready).take()
    }

    pub fn recycle(&self, frame: Frame) {
        lock(&self.idle).push(frame);
    }
}

/// A thread that panicked while it held a frame left a frame, nothing worse.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(exchange: &Exchange, epoch: u64, time: f64) -> Frame {
        let mut frame = exchange.blank();
        frame.epoch = epoch;
        frame.samples.clear();
        let mut sample = StepSample::default();
        sample.report.time = time;
        frame.samples.push(sample);
        frame
    }

    #[test]
    fn samples_of_missed_frames_arrive_in_order_and_frames_are_reused() {
        let exchange = Exchange::default();
        for time in [1.0, 2.0, 3.0] {
            exchange.publish(frame(&exchange, 0, time));
        }
        let taken = exchange.take().expect("published");
        let times: Vec<f64> = taken.samples.iter().map(|s| s.report.time).collect();
        assert_eq!(times, [1.0, 2.0, 3.0]);
        assert!(exchange.take().is_none());
        exchange.recycle(taken);

        exchange.publish(frame(&exchange, 0, 4.0));
        exchange.publish(frame(&exchange, 1, 5.0));
        let taken = exchange.take().expect("published");
        assert_eq!(
            taken.samples.len(),
            1,
            "a new epoch forgets the old one's samples"
        );
        assert!(lock(&exchange.idle).len() <= 3);
    }
}
