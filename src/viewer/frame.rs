//! What the physics thread hands to the window, and how.

use std::sync::{Arc, Mutex, PoisonError};

use crate::math::{Pose, Twist, Vec3};
use crate::measure::Timings;
use crate::solve::bpp::{MatrixView, PivotReport};
use crate::solve::{HistoryPoint, Status};
use crate::step::ContactView;
use crate::world::drive::Drive;
use crate::world::joint::{Joint, JointKind};
use crate::world::{Bodies, BodyId, BodyKind, Shape};

/// The pose of a body's centre of mass, in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BodyPose {
    /// World position.
    pub position: [f32; 3],
    /// Rotation quaternion, x y z w.
    pub rotation: [f32; 4],
}

/// What does not change from step to step: the looks of the bodies, by slot.
#[derive(Debug, Default)]
pub struct BodyTable {
    /// One entry per slot; none where there is no body.
    pub bodies: Vec<Option<BodyLook>>,
}

/// The looks of one body.
#[derive(Clone, Debug)]
pub struct BodyLook {
    /// Its id.
    pub id: BodyId,
    /// Its shape.
    pub shape: Option<Shape>,
    /// The shape's frame seen from the centre of mass.
    pub offset: Pose,
    /// What moves it.
    pub kind: BodyKind,
    /// The colour that the scene gives it, linear RGB.
    pub color: Option<[f32; 3]>,
}

impl BodyTable {
    /// The looks of all bodies.
    pub fn of(bodies: &Bodies) -> Self {
        let look = |slot: usize| {
            Some(BodyLook {
                id: bodies.id(slot)?,
                shape: bodies.shape[slot].clone(),
                offset: bodies.shape_offset[slot],
                kind: bodies.kind[slot],
                color: bodies.color[slot],
            })
        };
        Self {
            bodies: (0..bodies.slots()).map(look).collect(),
        }
    }

    /// The looks of the body with this id.
    pub fn get(&self, id: BodyId) -> Option<&BodyLook> {
        let look = self.bodies.get(id.index())?.as_ref()?;
        (look.id == id).then_some(look)
    }
}

/// The numbers of one step, for the plots.
#[derive(Clone, Debug, Default)]
pub struct StepSample {
    /// Simulated time after the step \[s\].
    pub time: f64,
    /// Time per stage.
    pub timings: Timings,
    /// Solver iterations.
    pub iterations: u32,
    /// The residual \[m/s\].
    pub residual: f64,
    /// Deepest overlap \[m\].
    pub penetration: f64,
    /// Contacts.
    pub contacts: usize,
    /// The residual under exact Coulomb friction, where the solver's law is another \[m/s\].
    pub residual_coulomb: Option<f64>,
    /// What a pivoting solver did.
    pub pivoting: Option<PivotReport>,
}

/// The state of the last step in numbers.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Bodies, fixed ones included.
    pub bodies: usize,
    /// Bodies that forces move.
    pub dynamic_bodies: usize,
    /// Contacts.
    pub contacts: usize,
    /// Contacts between two dynamic bodies.
    pub dynamic_contacts: usize,
    /// General rows: joints, limits, motors.
    pub joint_rows: usize,
    /// Islands.
    pub islands: usize,
    /// Deepest overlap \[m\].
    pub penetration: f64,
    /// Largest joint error \[m\].
    pub joint_error: f64,
    /// Kinetic energy \[J\].
    pub kinetic_energy: f64,
    /// Potential energy \[J\].
    pub potential_energy: f64,
    /// Linear and angular momentum \[kg m/s, kg m²/s\].
    pub momentum: Twist,
    /// Why the solver stopped.
    pub status: Status,
    /// The residual of the last step \[m/s\].
    pub residual: f64,
    /// Its parts, by name, with unit.
    pub residual_parts: [(&'static str, f64, &'static str); 6],
    /// Times the solver halved its step length.
    pub halvings: u32,
    /// The residual under exact Coulomb friction, where the solver's law is another \[m/s\].
    pub residual_coulomb: Option<f64>,
    /// What a pivoting solver did.
    pub pivoting: Option<PivotReport>,
}

/// A joint as it is drawn. Places and directions are seen from the centres of mass of its two bodies,
/// so that they follow the bodies between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMark {
    /// Slots of its bodies, or [`WORLD`](crate::world::joint::WORLD).
    pub bodies: [u32; 2],
    /// Origins of its frames.
    pub anchors: [[f32; 3]; 2],
    /// Unit vectors along its axes, by body.
    pub axes: [Option<[f32; 3]>; 2],
    /// Whether it is a rope or a rod, which is drawn always: it is something, and not only a constraint.
    pub is_rope: bool,
    /// |φ + αΛ/h| \[m\]; none before the first step.
    pub error: Option<f64>,
    /// Force on its second body, world frame \[N\].
    pub force: [f32; 3],
}

impl JointMark {
    /// How a joint is drawn; nothing for a gear.
    pub fn of(joint: &Joint, error: Option<f64>) -> Option<Self> {
        let single = |v: Vec3| [v.x as f32, v.y as f32, v.z as f32];
        let [a, b] = &joint.frames;
        let x = Some(single(a.rotation * Vec3::x()));
        let axes = match joint.kind {
            JointKind::Gear(_) => return None,
            JointKind::Hinge | JointKind::Slider | JointKind::Cylindrical => [x, None],
            JointKind::Universal => [x, Some(single(b.rotation * Vec3::y()))],
            JointKind::Fixed | JointKind::Spherical | JointKind::SixDof | JointKind::Distance => {
                [None, None]
            }
        };
        Some(Self {
            bodies: joint.bodies,
            anchors: [single(a.position), single(b.position)],
            axes,
            is_rope: joint.kind == JointKind::Distance,
            error,
            force: single(joint.force()),
        })
    }
}

/// Everything about one joint of the selected body.
#[derive(Clone, Debug)]
pub struct JointNumbers {
    /// How it is called.
    pub label: String,
    /// Its kind.
    pub kind: &'static str,
    /// The body at its other end.
    pub other: String,
    /// The coordinates that it leaves free: name, value, unit.
    pub coordinates: Vec<(&'static str, f64, &'static str)>,
    /// |φ + αΛ/h| \[m\]; none before the first step.
    pub error: Option<f64>,
    /// Force between its bodies \[N\].
    pub force: f64,
}

/// A drive as the controls show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriveView {
    /// What the panel calls it.
    pub name: String,
    /// Unit of its value.
    pub unit: String,
    /// Smallest and largest value.
    pub range: [f64; 2],
    /// How fast hands change the value \[1/s\]; 0: at once.
    pub rate: f64,
    /// Names of the keys that lower and raise the value; empty for none.
    pub keys: [String; 2],
    /// Whether it has a script.
    pub scripted: bool,
    /// The value over the last step.
    pub value: f64,
    /// Where hands want it; none while the script leads.
    pub live: Option<f64>,
}

impl DriveView {
    /// A drive at a time \[s\].
    pub fn of(drive: &Drive, time: f64) -> Self {
        Self {
            name: drive.name.clone(),
            unit: drive.unit.clone(),
            range: drive.range,
            rate: drive.rate,
            keys: drive.hands.clone(),
            scripted: !drive.keys.is_empty(),
            value: match drive.live {
                Some(_) => drive.value(),
                None => drive.scripted(time)[0],
            },
            live: drive.live,
        }
    }
}

/// Everything about one body.
#[derive(Clone, Debug)]
pub struct BodyNumbers {
    /// Its id.
    pub id: BodyId,
    /// How it is called.
    pub label: String,
    /// What moves it.
    pub kind: BodyKind,
    /// Mass \[kg\]; infinite where nothing pushes it.
    pub mass: f64,
    /// Centre of mass \[m\].
    pub position: Vec3,
    /// Orientation as a rotation vector \[rad\].
    pub rotation: Vec3,
    /// Velocities \[m/s, rad/s\].
    pub velocity: Twist,
    /// Kinetic energy \[J\].
    pub kinetic_energy: f64,
    /// Contacts it takes part in.
    pub contacts: usize,
    /// Sum of its contact forces over the last step \[N\].
    pub contact_force: Vec3,
    /// Largest normal force among them \[N\].
    pub largest_normal_force: f64,
    /// Its island, if it is in one.
    pub island: Option<u32>,
    /// Its joints.
    pub joints: Vec<JointNumbers>,
}

/// How a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For the record.
    Info,
    /// Something did not work, and the simulation goes on.
    Warning,
    /// Something did not work, and the simulation has stopped.
    Error,
}

/// A message of the physics thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How bad it is.
    pub severity: Severity,
    /// What happened.
    pub text: String,
}

/// One picture of the simulation.
#[derive(Debug, Default)]
pub struct Frame {
    /// Counts loads and restarts, so that histories can be begun afresh.
    pub epoch: u64,
    /// Counts loads alone.
    pub load: u64,
    /// The looks of the bodies.
    pub table: Arc<BodyTable>,
    /// Poses by slot.
    pub poses: Vec<BodyPose>,
    /// Island of each slot, where asked for; else empty.
    pub islands: Vec<u32>,
    /// The contacts, where asked for; else empty.
    pub contacts: Vec<ContactView>,
    /// How many contacts one of `contacts` stands for: 1 unless there are too many to draw.
    pub contact_stride: usize,
    /// The joints, where asked for; else ropes alone.
    pub joints: Vec<JointMark>,
    /// The drives.
    pub drives: Vec<DriveView>,
    /// The solver's matrices, where asked for and where it has any; a few times per second.
    pub matrix: Option<Arc<MatrixView>>,
    /// Length of one (sub)step, which turns impulses into forces \[s\].
    pub substep: f64,
    /// Simulated time \[s\].
    pub time: f64,
    /// Steps taken.
    pub step: u64,
    /// Every step since the last frame that was taken from the exchange.
    pub samples: Vec<StepSample>,
    /// The convergence history of the last step, where asked for.
    pub history: Vec<HistoryPoint>,
    /// Numbers of the last step.
    pub counters: Counters,
    /// Numbers of the selected body.
    pub selected: Option<BodyNumbers>,
    /// Whether time runs.
    pub playing: bool,
    /// Simulated over real time.
    pub real_time_factor: f64,
    /// The latest message.
    pub notice: Option<Notice>,
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

    /// Gives a frame back to be filled again.
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
        frame.samples.push(StepSample {
            time,
            ..Default::default()
        });
        frame
    }

    #[test]
    fn samples_of_missed_frames_arrive_in_order_and_frames_are_reused() {
        let exchange = Exchange::default();
        for time in [1.0, 2.0, 3.0] {
            exchange.publish(frame(&exchange, 0, time));
        }
        let taken = exchange.take().expect("published");
        let times: Vec<f64> = taken.samples.iter().map(|s| s.time).collect();
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
