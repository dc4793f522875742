//! The viewer: a window on a running simulation, and the same pictures without a window.
//!
//! One plugin per concern. The physics thread (`physics`) owns the simulation and publishes frames
//! through a `frame::Exchange`; the window draws the latest one (`draw`) and never waits for a
//! step. The engine knows nothing of this module.

mod adviser;
mod animation;
mod bounds;
mod camera;
mod capture;
mod comparison;
mod draw;
mod ending;
mod frame;
mod graphics;
mod hands;
mod history;
mod inspect;
mod keep;
mod keys;
mod machines;
mod observe;
mod offscreen;
mod panels;
mod physics;
mod picked;
mod playback;
mod remember;
mod scenes;
mod setup;
mod toasts;
mod tools;
mod verdicts;
mod worlds;

use std::path::PathBuf;

use bevy::prelude::*;
use bevy::render::renderer::RenderAdapterInfo;
use bevy::render::settings::RenderCreation;
use bevy::window::{PresentMode, WindowResolution};

use crate::scene::library;
pub use draw::Drawing;
use draw::Quality;
pub use graphics::NoAdapter;
pub use keep::is_kept;
pub use offscreen::{Offscreen, RenderError};

/// What the viewer is started with.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// A scene file, or the name of a shipped scene; the one that was open last if it is not said.
    pub scene: Option<String>,
    /// Size of the window in pixels; the last one if it is not said.
    pub size: Option<(u32, u32)>,
    /// How large texts are (-); as the last time, or as the display asks for, if it is not said.
    pub ui_scale: Option<f32>,
    /// Whether the viewer begins as if for the first time, and remembers nothing.
    pub fresh: bool,
    /// A picture of the window to save after some seconds, and then to end.
    pub screenshot: Option<(PathBuf, f64)>,
    /// Whether the panels are shown.
    pub panels: bool,
    /// Memory that past states may take (bytes), and those of worlds beside the simulation's own as much again.
    pub past: usize,
}

/// Why the viewer cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    /// There is no display to open a window on.
    #[error("there is no display to open a window on ({0})")]
    NoDisplay(String),
    /// There is nothing to draw with.
    #[error(transparent)]
    NoAdapter(#[from] NoAdapter),
    /// No thread for the physics.
    #[error("the physics thread cannot be started: {0}")]
    NoThread(#[from] std::io::Error),
    /// The picture that was asked for was not saved.
    #[error("{0}")]
    Screenshot(String),
}

/// Opens the window and runs until it is closed.
///
/// # Errors
/// There is no display or no graphics adapter, or the picture that was asked for was not saved.
pub fn run(options: ViewerOptions) -> Result<(), ViewerError> {
    check_display()?;
    let resources = graphics::find()?;
    // OpenGL has to know the window before it chooses an adapter.
    let creation = if format!("{:?}", resources.2.backend) == "Gl" {
        RenderCreation::default()
    } else {
        RenderCreation::Manual(resources)
    };
    let physics = physics::Physics::start(options.past)?;
    let store = match options.fresh {
        true => remember::Store::default(),
        false => remember::Store::open(),
    };
    // The event loop panics where it finds no display after all.
    let mut app = graphics::quietly(|| window_app(creation, &options, store)).map_err(|panic| {
        ViewerError::NoDisplay(if panic.contains("event loop") {
            "no window system answers".into()
        } else {
            panic
        })
    })?;
    let ended = physics.ended();
    app.insert_resource(physics);
    let (outcome, saved) = std::sync::mpsc::channel();
    let wanted = options.screenshot.is_some();
    if let Some((path, after)) = options.screenshot {
        app.insert_resource(capture::Automatic {
            path,
            wait: Timer::from_seconds(after as f32, TimerMode::Once),
            outcome,
        });
    }
    app.run();
    ended.wait();
    match saved.try_recv() {
        Ok(saved) => saved.map_err(ViewerError::Screenshot),
        Err(_) if wanted => Err(ViewerError::Screenshot(
            "the window was closed before its picture was taken".into(),
        )),
        Err(_) => Ok(()),
    }
}

fn check_display() -> Result<(), ViewerError> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    if cfg!(target_os = "linux") && !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        let reason = "neither DISPLAY nor WAYLAND_DISPLAY is set".into();
        return Err(ViewerError::NoDisplay(reason));
    }
    Ok(())
}

/// Size of a window that nobody has chosen another one for (pixels).
const USUAL_SIZE: (u32, u32) = (1280, 720);

fn window_app(creation: RenderCreation, options: &ViewerOptions, store: remember::Store) -> App {
    let memory = store.memory();
    let (width, height) = options.size.or(memory.window).unwrap_or(USUAL_SIZE);
    // A scene that is gone by now is nothing to complain of: nobody has asked for it.
    let last = memory.scene.clone().filter(|s| library::open(s).is_ok());
    let scene = options.scene.clone().or(last);
    let scene = scene.unwrap_or_else(|| library::DEFAULT_SCENE.to_owned());
    let mut open = panels::Open::new(options.panels);
    memory.apply(&mut open);
    open.scale = options.ui_scale.or(open.scale);
    let window = Window {
        title: "Moreau".into(),
        name: Some("moreau".into()),
        // In the pixels of the display; how large texts are is a setting of its own.
        resolution: WindowResolution::new(width, height).with_scale_factor_override(1.0),
        present_mode: PresentMode::AutoVsync,
        ..default()
    };
    let mut app = App::new();
    if !options.fresh {
        app.insert_resource(store);
    }
    app.add_plugins(graphics::plugins(creation, Some(window)))
        .insert_resource(Quality::PLAIN)
        .insert_resource(scenes::Scenes::new(&scene))
        .insert_resource(open)
        .add_plugins((
            playback::plugin,
            history::plugin,
            keys::plugin,
            machines::plugin,
            setup::plugin,
            scenes::plugin,
            comparison::plugin,
        ))
        .add_plugins((
            camera::plugin,
            hands::plugin,
            picked::plugin,
            toasts::plugin,
            remember::plugin,
            tools::plugin,
            draw::plugin,
            panels::plugin,
            capture::plugin,
            animation::plugin,
            ending::plugin,
        ))
        .add_systems(Startup, spawn_camera)
        .add_systems(Update, set_title);
    app
}

fn spawn_camera(
    mut commands: Commands,
    mut quality: ResMut<Quality>,
    mut setup: ResMut<setup::Setup>,
    physics: Res<physics::Physics>,
    adapter: Option<Res<RenderAdapterInfo>>,
) {
    *quality = graphics::quality(adapter.as_deref());
    if *quality == Quality::PLAIN {
        // The window is drawn by the same processor, and must stay quick to answer: a core is left to it.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        setup.threads = cores.saturating_sub(1).max(1);
        physics.send(physics::Command::StandBack);
        physics.send(physics::Command::Threads(setup.threads));
    }
    commands.spawn(graphics::camera(*quality));
}

fn set_title(scenes: Res<scenes::Scenes>, mut windows: Query<&mut Window>) {
    if !scenes.is_changed() {
        return;
    }
    if let (Some(scene), Ok(mut window)) = (&scenes.scene, windows.single_mut()) {
        let name = if scene.name.is_empty() {
            scene.id()
        } else {
            &scene.name
        };
        let title = format!("{name} – Moreau");
        if window.title != title {
            window.title = title;
        }
    }
}

#[cfg(test)]
mod flow;
