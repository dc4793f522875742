//! The graphics adapter, and Bevy's plugins around it.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Mutex};

use bevy::app::PluginGroupBuilder;
use bevy::core_pipeline::tonemapping::{DebandDither, Tonemapping};
use bevy::log::LogPlugin;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy::render::renderer::{RenderAdapterInfo, initialize_renderer};
use bevy::render::settings::{Backends, RenderCreation, RenderResources, WgpuSettings};
use bevy::window::ExitCondition;
use bevy::winit::WinitPlugin;

use super::draw::Quality;

/// There is no graphics adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no graphics adapter: no driver for Vulkan, Metal, Direct3D 12 or OpenGL was found. On Linux \
     without a graphics card a software driver will do (package mesa-vulkan-drivers). `moreau run` \
     simulates without drawing"
)]
pub struct NoAdapter;

/// Finds the best adapter and opens it.
pub fn find() -> Result<RenderResources, NoAdapter> {
    let settings = WgpuSettings::default();
    let backends = settings.backends.unwrap_or(Backends::all());
    // Bevy offers no other way to hear that there is no adapter than its panic.
    let open = |backends: Backends| {
        quietly(|| bevy::tasks::block_on(initialize_renderer(backends, None, &settings)))
    };
    // OpenGL only where there is nothing else: merely asking for it makes some drivers complain.
    let in_turn = [backends.difference(Backends::GL), backends & Backends::GL];
    let mut in_turn = in_turn.into_iter().filter(|backends| !backends.is_empty());
    in_turn.find_map(|b| open(b).ok()).ok_or(NoAdapter)
}

/// Runs what may panic; the message of the panic goes to the caller instead of the terminal.
pub fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let message: Arc<Mutex<String>> = Arc::default();
    let heard = message.clone();
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        if let Ok(mut heard) = heard.lock() {
            *heard = panic.to_string();
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    set_hook(hook);
    result.map_err(|_| message.lock().map(|m| m.clone()).unwrap_or_default())
}

/// What the adapter can bear.
pub fn quality(adapter: Option<&RenderAdapterInfo>) -> Quality {
    // The type's name is all that is asked of it: a software adapter calls itself "Cpu".
    match adapter {
        Some(info) if format!("{:?}", info.device_type) == "Cpu" => Quality::PLAIN,
        _ => Quality::FULL,
    }
}

/// The camera's components that concern rendering.
pub fn camera(quality: Quality) -> impl Bundle {
    (
        Camera3d::default(),
        quality.msaa,
        Tonemapping::None,
        DebandDither::Disabled,
    )
}

/// Bevy's own plugins; without a window when there is none to open.
pub fn plugins(render_creation: RenderCreation, window: Option<Window>) -> PluginGroupBuilder {
    let off_screen = window.is_none();
    let plugins = DefaultPlugins
        .set(RenderPlugin {
            render_creation,
            // The first picture shows everything.
            synchronous_pipeline_compilation: true,
            ..default()
        })
        .set(LogPlugin {
            level: bevy::log::Level::WARN,
            filter: "wgpu=error,naga=error,winit=error,bevy_egui=error,bevy_render::renderer=error"
                .into(),
            ..default()
        })
        .set(WindowPlugin {
            primary_window: window,
            exit_condition: if off_screen {
                ExitCondition::DontExit
            } else {
                ExitCondition::OnPrimaryClosed
            },
            ..default()
        });
    if off_screen {
        // Pictures are taken one by one: no pipelining, no event loop.
        plugins
            .disable::<PipelinedRenderingPlugin>()
            .disable::<WinitPlugin>()
    } else {
        plugins
    }
}
