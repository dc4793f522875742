//! `moreau [SCENE]`: the viewer.

use std::path::PathBuf;

use clap::Args;
use moreau::scene::library;
use moreau::viewer::{self, ViewerError, ViewerOptions};

use super::{Failure, ViewArgs};

/// For pictures of the window itself, panels and all.
#[derive(Args, Clone, Debug)]
pub struct WindowArgs {
    /// Size of the window in pixels
    #[arg(long, default_value = "1280x720", value_name = "WxH", value_parser = super::size)]
    window: (u32, u32),
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

/// Opens the window.
pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    let scene = args.scene.as_deref().unwrap_or(library::DEFAULT_SCENE);
    // A bad scene is reported here; one that turns bad later is reported in the window.
    super::open_scene(scene)?;
    let window = &args.window;
    let options = ViewerOptions {
        scene: scene.to_owned(),
        size: window.window,
        screenshot: window.screenshot.clone().map(|path| (path, window.after)),
        panels: !window.no_panels,
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
