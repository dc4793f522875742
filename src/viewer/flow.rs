//! What a user does, one thing after the other, with real key events: everything of the window but its drawing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bevy::input::ButtonState;
use bevy::input::InputPlugin;
use bevy::input::keyboard::{Key, KeyboardInput};
use bevy::prelude::*;
use bevy::window::FileDragAndDrop;
use bevy_egui::input::EguiWantsInput;

use super::bounds::Bounds;
use super::camera::{Eye, Pointer};
use super::comparison::{Comparison, Mode};
use super::draw::Drawing;
use super::frame::Frame;
use super::hands::Hands;
use super::observe::Observe;
use super::physics::{Command, Physics};
use super::playback::Playback;
use super::scenes::Scenes;
use super::setup::Setup;
use super::toasts::Toasts;
use super::tools::Tools;
use crate::math::Vec3 as Vector;
use crate::measure::Summary;
use crate::scene::library;
use crate::session::{DEFAULT_LIMIT, Drag, Input};
use crate::step::Simulation;

pub fn window(scene: &str) -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, InputPlugin))
        .add_message::<FileDragAndDrop>()
        .init_resource::<EguiWantsInput>()
        .init_resource::<Eye>()
        .init_resource::<Pointer>()
        .init_resource::<Bounds>()
        .init_resource::<Drawing>()
        .init_resource::<Hands>()
        .insert_resource(Physics::start(DEFAULT_LIMIT).expect("a thread"))
        .insert_resource(Scenes::new(scene))
        .add_plugins((
            super::playback::plugin,
            super::history::plugin,
            super::keys::plugin,
            super::setup::plugin,
            super::scenes::plugin,
            super::comparison::plugin,
            super::toasts::plugin,
            super::tools::plugin,
        ));
    app.finish();
    app.cleanup();
    app
}

/// Lets the window go on until something is so.
pub fn wait(app: &mut App, what: &str, is_so: impl Fn(&World, &Frame) -> bool) {
    let begin = Instant::now();
    loop {
        app.update();
        let world = app.world();
        let frame = world.resource::<Playback>().frame.as_ref();
        if frame.is_some_and(|frame| is_so(world, frame)) {
            return;
        }
        let said: Vec<&str> = texts(world).collect();
        let waited = begin.elapsed();
        assert!(
            waited < Duration::from_secs(90),
            "{what} never came; said: {said:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn texts(world: &World) -> impl Iterator<Item = &str> {
    let toasts = &world.resource::<Toasts>().list;
    toasts.iter().map(|toast| toast.text.as_str())
}

pub fn press(app: &mut App, key_code: KeyCode) {
    for state in [ButtonState::Pressed, ButtonState::Released] {
        app.world_mut().write_message(KeyboardInput {
            key_code,
            logical_key: Key::Unidentified(bevy::input::keyboard::NativeKey::Unidentified),
            state,
            text: None,
            repeat: false,
            window: Entity::PLACEHOLDER,
        });
        app.update();
    }
}

pub fn frame(app: &App) -> &Frame {
    let playback = app.world().resource::<Playback>();
    playback.frame.as_ref().expect("a frame")
}

#[test]
fn a_user_at_work() {
    let folder = std::env::temp_dir().join(format!("moreau-flow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let app = &mut window("ball_grid_8");
    wait(app, "the first scene", |_, frame| {
        frame.step > 3 && frame.playing
    });

    // Another scene by key, and one by name.
    let first = app.world().resource::<Scenes>().open_id();
    press(app, KeyCode::PageDown);
    wait(app, "the next scene", |_, frame| frame.load == 2);
    assert_ne!(app.world().resource::<Scenes>().open_id(), first);
    app.world_mut().resource_mut::<Scenes>().open("box_stack");
    wait(app, "the stack", |_, frame| {
        frame.load == 3 && frame.step > 3
    });

    // A body is dragged.
    let table = frame(app).table.clone();
    let look = table.bodies.iter().flatten().last().expect("a body");
    let (body, slot) = (look.id, look.id.index());
    let before = frame(app).poses[slot].translation;
    let target = Vector::new(3.0, 3.0, 0.0);
    let anchor = Vector::zeros();
    let drag = Drag {
        body,
        anchor,
        target,
    };
    let physics = app.world().resource::<Physics>();
    physics.act(Input::Drag(Some(drag)));
    wait(app, "the dragged body", |_, frame| {
        frame.poses[slot].translation.distance(before) > 0.5
    });
    app.world().resource::<Physics>().act(Input::Drag(None));

    // Another solver, a pause, and a slider of the scene: both stay.
    let mut setup = app.world_mut().resource_mut::<Setup>();
    setup.solver.switch("nncg");
    let solver = setup.solver.clone();
    app.world().resource::<Physics>().act(Input::Solver(solver));
    press(app, KeyCode::Space);
    wait(app, "the pause", |_, frame| !frame.playing);
    let mut scenes = app.world_mut().resource_mut::<Scenes>();
    scenes.set("generators.0.count", "7".into());
    wait(app, "the higher stack", |_, frame| frame.load == 4);
    assert!(!frame(app).playing, "the pause is gone");
    assert_eq!(frame(app).charge.solver.name, "nncg");
    assert_eq!(app.world().resource::<Setup>().solver.name, "nncg");

    compare(app);
    go_back_and_record(app, &folder);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// Three solvers on the same paused step, and then in worlds of their own.
fn compare(app: &mut App) {
    for _ in 0..3 {
        press(app, KeyCode::KeyN);
    }
    wait(app, "three steps", |_, frame| frame.step == 3);
    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    for contestant in &mut comparison.contestants {
        contestant.on = ["jacobi", "apgd", "bpp"].contains(&contestant.label.as_str());
    }
    wait(app, "three outcomes", |world, frame| {
        let comparison = world.resource::<Comparison>();
        let on_it = comparison
            .shown()
            .filter(|(.., s)| s.posed.step == frame.step);
        on_it.count() == 3
    });
    let comparison = app.world().resource::<Comparison>();
    let residual = |label: &str| {
        let mut shown = comparison.shown();
        let found = shown.find(|(_, o, _)| o.label == label);
        found
            .expect("it is shown")
            .1
            .residual
            .expect("it is usable")
            .residual
    };
    assert!(residual("bpp") < 0.01 * residual("jacobi"));
    assert!(comparison.shown().any(|(_, o, _)| o.distance == Some(0.0)));

    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    comparison.mode = Mode::Worlds;
    wait(app, "three worlds", |_, frame| {
        frame.parallel_worlds.len() == 3
    });
    assert_eq!(app.world().resource::<Eye>().worlds, 4);
    for _ in 0..4 {
        press(app, KeyCode::KeyN);
    }
    wait(app, "steps in all", |world, frame| {
        let history = world.resource::<super::history::History>();
        let last = history.samples.back();
        let distances = last.map(|s| s.parallel_worlds.iter().map(|r| r.distance));
        frame.step == 7 && distances.is_some_and(|mut d| d.any(|d| d > 0.0 && d < 1.0))
    });
    let slots = frame(app).table.bodies.len();
    assert_eq!(frame(app).poses.len(), 4 * slots);
    let mut comparison = app.world_mut().resource_mut::<Comparison>();
    comparison.mode = Mode::SameProblem;
    comparison.contestants.iter_mut().for_each(|e| e.on = false);
    wait(app, "one world", |_, frame| {
        frame.parallel_worlds.is_empty()
    });
}

/// Back by key, a recording that is replayed, a state, and the scene once more.
fn go_back_and_record(app: &mut App, folder: &std::path::Path) {
    press(app, KeyCode::ArrowLeft);
    wait(app, "the step before", |_, frame| frame.step == 6);
    let file = |name: &str| folder.join(name).display().to_string();
    app.world_mut().resource_mut::<Tools>().name = file("run");
    press(app, KeyCode::F9);
    wait(app, "the recording", |_, frame| frame.recording == Some(0));
    for _ in 0..5 {
        press(app, KeyCode::KeyN);
    }
    wait(app, "recorded steps", |_, frame| frame.recording == Some(5));
    press(app, KeyCode::F9);
    wait(app, "the file", |world, _| {
        texts(world).any(|t| t.starts_with("saved a recording of 5 steps") && t.contains("run.rec"))
    });
    press(app, KeyCode::F6);
    wait(app, "the state", |world, _| {
        texts(world).any(|t| t.contains("run.snap"))
    });
    app.world_mut()
        .resource_mut::<Scenes>()
        .open(&file("run.rec"));
    wait(app, "the replay", |world, frame| {
        let done = texts(world).any(|t| t.ends_with("the same as recorded, bit for bit"));
        done && frame.replayed.is_some_and(|r| r.divergence.is_none())
    });
    press(app, KeyCode::F7);
    wait(app, "the state that was saved", |_, frame| {
        frame.step == 11 && frame.replayed.is_none()
    });
    let load = frame(app).load;
    press(app, KeyCode::F5);
    wait(app, "the scene once more", |_, frame| {
        frame.load == load + 1
    });
    assert_eq!(app.world().resource::<Setup>().solver.name, "nncg");
}

/// Two wagons that become a group of their own, that are taken back and made one again, saved with the scene.
#[test]
fn a_group_by_hand_is_solved_and_saved_as_one() {
    let folder = std::env::temp_dir().join(format!("moreau-groups-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let app = &mut window("train");
    wait(app, "the scene", |_, frame| frame.step > 0 && frame.playing);
    press(app, KeyCode::Space);
    wait(app, "the pause", |_, frame| !frame.playing);
    let mut setup = app.world_mut().resource_mut::<Setup>();
    setup.solver.switch("hybrid");
    let solver = setup.solver.clone();
    let physics = app.world().resource::<Physics>();
    physics.act(Input::Solver(solver));
    physics.send(Command::Observe(Observe {
        parts: true,
        ..Observe::default()
    }));
    press(app, KeyCode::KeyN);
    let count = |frame: &Frame| frame.parts.as_ref().map_or(0, |p| p.parts.len());
    wait(app, "its parts", |_, frame| count(frame) == 10);

    // A wagon's dolly has a part with it, until both of two dollies are a group of their own.
    let table = frame(app).table.clone();
    let looks = table.bodies.iter().flatten();
    let of = |group: u32| looks.clone().find(|look| look.part == group).map(|l| l.id);
    let chosen = [of(3), of(4)].map(|id| id.expect("a body of that wagon"));
    let mut hands = app.world_mut().resource_mut::<Hands>();
    hands.select(Some(chosen[0]));
    hands.also.push(chosen[1]);
    let groups = move |frame: &Frame| chosen.map(|id| frame.table.get(id).map(|look| look.part));
    press(app, KeyCode::KeyU);
    wait(app, "the group", |_, frame| groups(frame) == [Some(11); 2]);
    press(app, KeyCode::KeyY);
    wait(app, "the groups before", |_, frame| {
        groups(frame) == [Some(3), Some(4)]
    });
    press(app, KeyCode::KeyU);
    wait(app, "the group again", |_, frame| {
        groups(frame) == [Some(11); 2]
    });
    press(app, KeyCode::KeyN);
    wait(app, "other parts", |_, frame| {
        let parts = frame.parts.as_ref();
        parts.is_some_and(|p| p.parts.iter().any(|part| part.group == Some(11)))
    });

    let path = folder.join("grouped.ron");
    app.world_mut().resource_mut::<Tools>().name = path.display().to_string();
    press(app, KeyCode::F8);
    wait(app, "the file", |_, _| path.exists());
    let saved = crate::scene::Scene::load(&path).expect("a scene");
    let world = saved.build().expect("a good scene");
    let parts = chosen.map(|id| world.bodies.part[id.index()]);
    assert_eq!(parts, [11; 2]);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// How long the window's own logic takes, frame by frame.
#[derive(Default)]
struct Frames {
    wall: Vec<f64>,
    /// Without what other threads took the processor for.
    processor: Vec<f64>,
}

impl Frames {
    fn update(&mut self, app: &mut App) {
        let (begin, ran) = (Instant::now(), processor_time());
        app.update();
        self.wall.push(1e3 * begin.elapsed().as_secs_f64());
        self.processor.extend(
            processor_time()
                .zip(ran)
                .map(|(now, before)| 1e3 * (now - before)),
        );
    }
}

impl std::fmt::Display for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wall = Summary::of(&self.wall);
        let (median, p95, max) = (wall.median, wall.p95, wall.max);
        write!(
            f,
            "{median:.2} ms a frame, p95 {p95:.2}, at most {max:.2} ({:.2} on the processor)",
            Summary::of(&self.processor).max
        )
    }
}

/// How long this thread has run (s), where the system says so.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * text.split(' ').next()?.parse::<f64>().ok()?)
}

/// A thread that steps a world of its own until it is dropped.
struct Stranger(Arc<AtomicBool>);

impl Stranger {
    fn on(scene: &'static str) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let flag = goes_on.clone();
        std::thread::spawn(move || {
            let scene = library::shipped(scene).expect("a shipped scene");
            let world = scene.build().expect("it builds");
            let mut simulation =
                Simulation::new(world, scene.solver.clone(), 1).expect("its solver");
            while flag.load(Ordering::Relaxed) {
                simulation.step().expect("a step");
            }
        });
        Self(goes_on)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What three ticked solvers cost the simulation, in turns with none and with a stranger that steps a world of its own:
/// steps per second as fast as they go. What the stranger costs is the machine's affair.
///
/// `cargo test --lib what_comparing_costs -- --ignored --nocapture`, with the thread `physics` pinned to one
/// processor and all others to another.
#[test]
#[ignore = "a measurement of minutes, with nothing else running"]
fn measure_what_comparing_costs() {
    for scene in ["crane", "ball_grid_24"] {
        let app = &mut window(scene);
        app.world_mut().resource_mut::<Setup>().threads = 1;
        app.world_mut().resource_mut::<Scenes>().open(scene);
        wait(app, "the scene", |_, frame| {
            frame.load >= 1 && frame.step > 3
        });
        let physics = app.world().resource::<Physics>();
        physics.send(Command::Threads(1));
        physics.send(Command::Speed(f64::INFINITY));
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        let mut frames = Frames::default();
        for turn in 0..12 {
            let is_on = turn % 3 == 2;
            let _stranger = (turn % 3 == 1).then(|| Stranger::on(scene));
            let mut comparison = app.world_mut().resource_mut::<Comparison>();
            for contestant in &mut comparison.contestants {
                let ticked = ["colored-gs", "nncg", "jacobi"].contains(&contestant.label.as_str());
                contestant.on = is_on && ticked;
            }
            frames.update(app);
            // Whole steps, so that a few slow ones are not counted by halves.
            let mut first = (frame(app).step, Instant::now());
            let begin = first.1;
            let mut last = first;
            while begin.elapsed() < Duration::from_secs(5) || last.0 < first.0 + 30 {
                frames.update(app);
                if frame(app).step > last.0 {
                    last = (frame(app).step, Instant::now());
                    if first.1 == begin {
                        first = last;
                    }
                }
                std::thread::sleep(Duration::from_millis(16));
            }
            let rate = (last.0 - first.0) as f64 / (last.1 - first.1).as_secs_f64();
            rates[turn % 3].push(rate);
        }
        let comparison = app.world().resource::<Comparison>();
        let copies = comparison.shown().map(|(.., s)| s.posed.copy_time);
        let copy = copies.max().unwrap_or_default();
        let [none, stranger, three] = rates.map(|rates| Summary::of(&rates).median);
        println!(
            "{scene}: {none:.1} steps/s alone, {stranger:.1} beside a stranger ({:.2}), {three:.1} with three solvers \
             ({:.2}); a copy takes {:.2} ms; the window's own logic takes {frames}",
            stranger / none,
            three / none,
            1e3 * copy.as_secs_f64(),
        );
    }
}

/// How soon the window says that a large scene is built, and how it answers meanwhile.
///
/// `cargo test --lib how_large_scenes_open -- --ignored --nocapture`
#[test]
#[ignore = "a measurement of a minute, with nothing else running"]
fn measure_how_large_scenes_open() {
    let app = &mut window("crane");
    wait(app, "the scene", |_, frame| frame.step > 3);
    let begin = Instant::now();
    app.world_mut()
        .resource_mut::<Scenes>()
        .open("ball_grid_40");
    let builds = |app: &App| frame(app).builds;
    let is_loading = |app: &App| builds(app) < app.world().resource::<Scenes>().sent;
    let mut frames = Frames::default();
    while !is_loading(app) {
        frames.update(app);
    }
    let sign = begin.elapsed();
    while is_loading(app) {
        frames.update(app);
        std::thread::sleep(Duration::from_millis(2));
    }
    println!(
        "the sign comes after {:.1} ms, the scene after {:.1} s; meanwhile the window's own logic takes {frames}",
        1e3 * sign.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    let mut frames = Frames::default();
    let from = frame(app).step;
    while frame(app).step < from + 5 {
        frames.update(app);
        std::thread::sleep(Duration::from_millis(2));
    }
    let begin = Instant::now();
    press(app, KeyCode::Space);
    let answered = begin.elapsed();
    wait(app, "the pause", |_, frame| !frame.playing);
    println!(
        "while it steps: {frames}; Space is answered in {:.1} ms, and the step that was under way ends after {:.1} ms",
        1e3 * answered.as_secs_f64(),
        1e3 * begin.elapsed().as_secs_f64()
    );
}
