//! `moreau [SCENE]`: the viewer.

use std::path::PathBuf;

use clap::Args;
use moreau::scene::library;
use moreau::session::DEFAULT_LIMIT;
use moreau::viewer::{self, ViewerError, ViewerOptions};

use super::{Failure, ViewArgs};

/// For pictures of the window itself, panels and all.
#[derive(Args, Clone, Debug)]
pub struct WindowArgs {
    /// Size of the window in pixels [default: the last one, at first 1280x720]
    #[arg(long, value_name = "WxH", value_parser = super::size)]
    window: Option<(u32, u32)>,
    /// How large texts are, 0.5 to 4 (Ctrl + and Ctrl - too) [default: as the last time, or as the display asks for]
    #[arg(long, value_name = "X", value_parser = ui_scale)]
    ui_scale: Option<f32>,
    /// Begin as if for the first time, and remember nothing
    #[arg(long)]
    fresh: bool,
    /// Memory for the states that one can go back to, in MiB; for those of worlds beside it as much again
    #[arg(long, value_name = "MIB", default_value_t = (DEFAULT_LIMIT >> 20) as u32,
          value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    past: u32,
    /// Save a picture of the window and end
    #[arg(long, value_name = "PNG", hide = true)]
    screenshot: Option<PathBuf>,
    /// Seconds that the scene runs before that
    #[arg(long, default_value_t = 3.0, requires = "screenshot", value_parser = super::seconds, hide = true)]
    after: f64,
    /// Begin without the panels (Tab shows them)
    #[arg(long, hide = true)]
    no_panels: bool,
}

/// A scale that texts can be read at.
fn ui_scale(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(scale) if (0.5..=4.0).contains(&scale) => Ok(scale),
        _ => Err("expected a number from 0.5 to 4, such as 1.5".into()),
    }
}

/// Opens the window.
pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    // A bad scene is reported here; one that turns bad later is reported in the window.
    match &args.scene {
        // Recordings and states are opened in the window too.
        Some(path) if viewer::is_kept(path.as_ref()) => {
            let opened = std::fs::File::open(path);
            opened.map_err(|e| Failure::Input(format!("{path}: cannot be read: {e}")))?;
        }
        Some(scene) => {
            super::open_scene(scene)?;
        }
        None => {}
    }
    let scene = args.scene.as_deref().unwrap_or(library::DEFAULT_SCENE);
    let window = &args.window;
    let options = ViewerOptions {
        scene: args.scene.clone(),
        ui_scale: window.ui_scale,
        // A picture shows what everybody sees.
        fresh: window.fresh || window.screenshot.is_some(),
        size: window.window,
        screenshot: window.screenshot.clone().map(|path| (path, window.after)),
        panels: !window.no_panels,
        past: (window.past as usize) << 20,
    };
    viewer::run(options).map_err(|error| {
        let hint = match error {
            ViewerError::NoDisplay(_) => format!(
                "; `moreau run {scene}` simulates without drawing, and `moreau render {scene} --out \
                 picture.png` draws without a window"
            ),
            _ => String::new(),
        };
        Failure::Work(format!("{error}{hint}"))
    })
}
