//! Pictures without a window: the same drawing on a texture, read back.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use bevy::camera::RenderTarget;
use bevy::prelude::*;
use bevy::render::render_resource::{PollType, TextureFormat, TextureUsages};
use bevy::render::renderer::RenderDevice;
use bevy::render::settings::RenderCreation;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use image::RgbImage;

use super::camera::Eye;
use super::draw::{self, Drawing, Quality};
use super::frame::{BodyTable, Frame};
use super::graphics::{self, NoAdapter};
use super::hands::Hands;
use super::observe::{Observe, fill};
use super::playback::Playback;
use crate::scene::Camera;
use crate::step::Simulation;

/// A picture takes this many updates at most; more mean that it will never come.
const MOST_UPDATES: usize = 400;
/// And this long.
const LONGEST: Duration = Duration::from_secs(120);

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// There is nothing to draw with.
    #[error(transparent)]
    NoAdapter(#[from] NoAdapter),
    /// The adapter did not deliver.
    #[error("the graphics adapter delivered no picture within {} s", LONGEST.as_secs())]
    NoPicture,
    /// What it delivered cannot be read.
    #[error("the picture cannot be read back: {0}")]
    Unreadable(String),
}

/// Draws simulations off screen.
pub struct Offscreen {
    app: App,
    target: Handle<Image>,
    load: u64,
}

impl Offscreen {
    /// Finds an adapter and prepares pictures of this size in pixels, seen by the default [`Camera`].
    ///
    /// # Errors
    /// There is no adapter.
    pub fn new(size: (u32, u32)) -> Result<Self, RenderError> {
        let resources = graphics::find()?;
        let mut app = App::new();
        app.add_plugins(graphics::plugins(RenderCreation::Manual(resources), None))
            .insert_resource(Quality::FULL)
            .insert_resource(Playback::default())
            .init_resource::<Hands>()
            .init_resource::<Eye>()
            .add_plugins(draw::plugin);
        app.finish();
        app.cleanup();

        let (width, height) = (size.0.max(1), size.1.max(1));
        let mut texture =
            Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
        texture.texture_descriptor.usage |= TextureUsages::COPY_SRC;
        let target = app.world_mut().resource_mut::<Assets<Image>>().add(texture);
        app.world_mut().spawn((
            graphics::camera(Quality::FULL),
            RenderTarget::Image(target.clone().into()),
        ));
        app.world_mut().resource_mut::<Eye>().viewport = URect::new(0, 0, width, height);
        Ok(Self {
            app,
            target,
            load: 0,
        })
    }

    /// Looks at the scene from here; without it, the default [`Camera`] does, wherever the bodies are.
    pub fn look(&mut self, camera: Camera) {
        let mut eye = self.app.world_mut().resource_mut::<Eye>();
        eye.open(camera);
        eye.begin();
    }

    /// What is drawn besides the bodies.
    pub fn show(&mut self, drawing: Drawing) {
        self.app.world_mut().insert_resource(drawing);
    }

    /// Draws the present state of a simulation.
    ///
    /// # Errors
    /// The adapter delivers no picture.
    pub fn draw(&mut self, simulation: &Simulation) -> Result<RgbImage, RenderError> {
        let world = self.app.world_mut();
        let drawing = world.resource::<Drawing>();
        let observe = Observe {
            contacts: drawing.any_contacts(),
            joints: drawing.joints || drawing.couplings,
            islands: drawing.islands,
            methods: drawing.methods,
            parts: drawing.parts || drawing.couplings,
            colors: drawing.colors,
            ..Observe::default()
        };
        self.load += 1;
        let mut frame = Frame {
            epoch: self.load,
            load: self.load,
            table: Arc::new(BodyTable::of(&simulation.world().bodies)),
            ..Frame::default()
        };
        fill(&mut frame, simulation, &observe);
        world.resource_mut::<Playback>().frame = Some(frame);

        if self.load == 1 {
            // The target has to reach the adapter before it can be copied from.
            self.app.update();
            self.app.update();
        }

        let (captured, pictures) = channel();
        self.app
            .world_mut()
            .spawn(Screenshot::image(self.target.clone()))
            .observe(move |event: On<ScreenshotCaptured>| {
                // Nobody hears of a picture that comes too late.
                let _ = captured.send(event.image.clone());
            });
        let device = self.app.world().resource::<RenderDevice>().clone();
        let start = Instant::now();
        for _ in 0..MOST_UPDATES {
            self.app.update();
            // A lost device shows as a picture that never comes.
            let _ = device.poll(PollType::wait_indefinitely());
            if let Ok(image) = pictures.try_recv() {
                return image
                    .try_into_dynamic()
                    .map(|picture| picture.to_rgb8())
                    .map_err(|e| RenderError::Unreadable(e.to_string()));
            }
            if start.elapsed() > LONGEST {
                break;
            }
        }
        Err(RenderError::NoPicture)
    }
}
