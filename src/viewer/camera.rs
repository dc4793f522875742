//! The camera: orbit, pan, zoom, fly, and framing of what there is to see.

use bevy::input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollUnit};
use bevy::math::DVec3;
use bevy::prelude::*;

pub use super::bounds::Bounds;
use super::hands::{self, Hands};
use super::inspect::Picked;
use super::keys::Action;
use super::playback::{Begun, Playback};
use crate::scene::Camera;
use crate::world::BodyId;

/// Distance of the near plane, as a share of the distance to the focus.
const NEAR_SHARE: f32 = 0.01;
/// How far the mouse turns the camera (rad per pixel).
const TURN: f32 = 0.0055;
const PITCH_LIMIT: f32 = 1.54;

/// Width over height of the pictures that scenes are framed for (-).
const FRAMED: f32 = 16.0 / 9.0;

/// Where the scene is seen from.
#[derive(Resource, Clone, Debug)]
pub struct Eye {
    pub position: Vec3,
    /// Camera to world; it looks along −z.
    pub rotation: Quat,
    /// Vertical angle of view (rad) of pictures that are as wide as scenes are framed for, or wider.
    pub fov: f32,
    /// Distance to what it orbits around (m).
    pub focus_distance: f32,
    /// The part of the window that shows the scene, in physical pixels.
    pub viewport: URect,
    /// Worlds that are seen side by side, each in a cell of the viewport.
    pub worlds: u32,
    pub flying: bool,
    /// Whether it goes wherever the selected body goes.
    pub following: bool,
    start: Camera,
    opened: bool,
}

#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Pointer {
    /// In physical pixels from the window's upper left corner.
    pub position: Option<Vec2>,
    /// Whether it is over the scene, not over a panel.
    pub over_scene: bool,
}

impl Default for Eye {
    fn default() -> Self {
        let mut eye = Self {
            position: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            fov: 1.0,
            focus_distance: 1.0,
            viewport: URect::new(0, 0, 1, 1),
            worlds: 1,
            flying: false,
            following: false,
            start: Camera::default(),
            opened: false,
        };
        eye.begin();
        eye
    }
}

impl Eye {
    /// Another scene is on its way: its view is taken when its first frame arrives.
    pub fn open(&mut self, start: Camera) {
        self.start = start;
        self.opened = true;
    }

    /// Columns and rows of cells: two side by side, more in two rows.
    pub fn cells(&self) -> UVec2 {
        match self.worlds {
            0 | 1 => UVec2::ONE,
            2 => UVec2::new(2, 1),
            n => UVec2::new(n.div_ceil(2), 2),
        }
    }

    /// Size of a cell (pixels).
    pub fn cell_size(&self) -> Vec2 {
        let size = self.viewport.size().max(UVec2::ONE).as_vec2();
        size / self.cells().as_vec2()
    }

    /// Half the height of the picture, at a distance of 1. A picture narrower than scenes are framed for sees as much to the
    /// sides, and more above and below.
    pub fn rise(&self) -> f32 {
        let size = self.cell_size();
        (0.5 * self.fov).tan() * (FRAMED / (size.x / size.y)).max(1.0)
    }

    pub fn focus(&self) -> Vec3 {
        self.position + self.rotation * Vec3::NEG_Z * self.focus_distance
    }

    pub fn view_from_world(&self) -> Mat4 {
        Mat4::from_rotation_translation(self.rotation, self.position).inverse()
    }

    /// Perspective with reversed depth and no far plane.
    pub fn clip_from_view(&self, aspect: f32) -> Mat4 {
        let near = (NEAR_SHARE * self.focus_distance).clamp(1e-3, 0.5);
        Mat4::perspective_infinite_reverse_rh(2.0 * self.rise().atan(), aspect, near)
    }

    /// The ray through a point of the window given in physical pixels: origin and unit direction.
    pub fn ray(&self, pixel: Vec2) -> (Vec3, Vec3) {
        let size = self.cell_size();
        // All cells look at the same place.
        let within = (pixel - self.viewport.min.as_vec2()).rem_euclid(size);
        let at = within / size * 2.0 - 1.0;
        let rise = self.rise();
        let local = Vec3::new(at.x * rise * size.x / size.y, -at.y * rise, -1.0);
        (self.position, (self.rotation * local).normalize())
    }

    /// The pixel of the window at which a place is seen; none where it is behind the eye.
    pub fn pixel_of(&self, place: Vec3) -> Option<Vec2> {
        let size = self.viewport.size().max(UVec2::ONE).as_vec2();
        let seen = self.view_from_world().transform_point3(place);
        let rise = self.rise() * -seen.z;
        let at = Vec2::new(seen.x * size.y / size.x, -seen.y) / rise;
        (seen.z < 0.0).then(|| self.viewport.min.as_vec2() + 0.5 * (at + 1.0) * size)
    }

    pub fn look(&mut self, from: Vec3, at: Vec3) {
        let distance = from.distance(at);
        if distance.is_finite() && distance > 1e-4 {
            self.position = from;
            self.focus_distance = distance;
            let way = (at - from) / distance;
            let up = if way.y.abs() > 0.999 {
                Vec3::NEG_Z
            } else {
                Vec3::Y
            };
            self.rotation = Quat::from_mat3(&Mat3::look_to_rh(way, up).transpose());
        }
    }

    /// Shows all of a sphere from the present direction.
    pub fn frame(&mut self, bounds: &Bounds) {
        let size = self.cell_size();
        let narrow = self.rise() * (size.x / size.y).min(1.0);
        // The sphere touches the edge of the picture where the sine, not the tangent, fits.
        let distance = 1.05 * bounds.radius.max(0.05) / narrow.atan().sin();
        let way = self.rotation * Vec3::NEG_Z;
        self.look(bounds.center - way * distance, bounds.center);
    }

    /// The view at the start of the scene.
    pub fn begin(&mut self) {
        let single = |v: [f64; 3]| DVec3::from(v).as_vec3();
        let Camera {
            position,
            target,
            field_of_view,
        } = self.start;
        self.fov = (field_of_view as f32).to_radians();
        self.look(single(position), single(target));
    }

    /// What one pixel covers at a place in front of the camera (m).
    pub fn pixel_at(&self, place: Vec3) -> f32 {
        let height = self.cell_size().y;
        let depth = (place - self.position).dot(self.rotation * Vec3::NEG_Z);
        2.0 * self.rise() / height * depth.max(1e-3)
    }

    fn turn(&mut self, by: Vec2) {
        let (yaw, pitch, _) = self.rotation.to_euler(EulerRot::YXZ);
        let pitch = (pitch - by.y * TURN).clamp(-PITCH_LIMIT, PITCH_LIMIT);
        self.rotation = Quat::from_euler(EulerRot::YXZ, yaw - by.x * TURN, pitch, 0.0);
    }

    fn orbit(&mut self, by: Vec2) {
        let focus = self.focus();
        self.turn(by);
        self.position = focus - self.rotation * Vec3::NEG_Z * self.focus_distance;
    }

    fn pan(&mut self, by: Vec2) {
        let metres = self.pixel_at(self.focus());
        self.position += self.rotation * Vec3::new(-by.x, by.y, 0.0) * metres;
    }

    fn zoom(&mut self, notches: f32) {
        let focus = self.focus();
        self.focus_distance = (self.focus_distance * 0.88f32.powf(notches)).clamp(0.02, 5e4);
        self.position = focus - self.rotation * Vec3::NEG_Z * self.focus_distance;
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Eye>()
        .init_resource::<Pointer>()
        .add_systems(
            Update,
            (begin, follow, steer, fly).chain().after(hands::drag),
        );
}

fn begin(mut begun: MessageReader<Begun>, mut eye: ResMut<Eye>) {
    if begun.read().any(|b| b.loaded) && eye.opened {
        eye.opened = false;
        eye.begin();
    }
}

/// Moves the eye as the selected body moves, so that it keeps its offset while orbiting goes on.
fn follow(
    mut eye: ResMut<Eye>,
    hands: Res<Hands>,
    playback: Res<Playback>,
    mut begun: MessageReader<Begun>,
    mut last: Local<Option<(BodyId, Vec3)>>,
) {
    let is_loaded = begun.read().any(|b| b.loaded);
    let place = |id: BodyId| {
        let frame = playback.frame.as_ref()?;
        frame.table.get(id)?;
        Some((id, Vec3::from(playback.pose(id.index()).translation)))
    };
    let now = hands.selected.and_then(place);
    if let (Some((body, now)), Some((before, then))) = (now, *last)
        && eye.following
        && body == before
        && !is_loaded
        && now.is_finite()
        && then.is_finite()
    {
        eye.position += now - then;
    }
    *last = now;
}

#[expect(clippy::too_many_arguments, reason = "a system takes what it reads")]
fn steer(
    mut eye: ResMut<Eye>,
    mut actions: MessageReader<Action>,
    bounds: Res<Bounds>,
    hands: Res<Hands>,
    picked: Res<Picked>,
    pointer: Res<Pointer>,
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    motion: Res<AccumulatedMouseMotion>,
    scroll: Res<AccumulatedMouseScroll>,
    mut grabbed: Local<bool>,
) {
    for action in actions.read() {
        match action {
            Action::FrameAll => eye.frame(&bounds),
            Action::StartView => eye.begin(),
            Action::Fly => eye.flying = !eye.flying,
            Action::Follow => eye.following = !eye.following,
            Action::Escape => eye.flying = false,
            _ => {}
        }
    }
    let held = [MouseButton::Left, MouseButton::Right, MouseButton::Middle];
    // A drag that began over the scene goes on over the panels, and the other way round.
    if buttons.any_just_pressed(held) {
        *grabbed = pointer.over_scene && !picked.hit();
    }
    if !buttons.any_pressed(held) {
        *grabbed = false;
    }
    let shift = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    let by = motion.delta;
    if *grabbed && by != Vec2::ZERO {
        let right = buttons.pressed(MouseButton::Right);
        let left = buttons.pressed(MouseButton::Left) && hands.grip.is_none();
        if buttons.pressed(MouseButton::Middle) || right && shift {
            eye.pan(by);
        } else if right || left {
            if eye.flying {
                eye.turn(by);
            } else {
                eye.orbit(by);
            }
        }
    }
    if pointer.over_scene && scroll.delta.y != 0.0 {
        let notches = match scroll.unit {
            MouseScrollUnit::Line => scroll.delta.y,
            MouseScrollUnit::Pixel => scroll.delta.y / 50.0,
        };
        eye.zoom(notches.clamp(-10.0, 10.0));
    }
}

fn fly(
    mut eye: ResMut<Eye>,
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<bevy_egui::input::EguiWantsInput>,
    time: Res<Time<Real>>,
) {
    if !eye.flying || egui.wants_keyboard_input() {
        return;
    }
    let axis = |plus, minus| f32::from(keys.pressed(plus)) - f32::from(keys.pressed(minus));
    let way = Vec3::new(
        axis(KeyCode::KeyD, KeyCode::KeyA),
        axis(KeyCode::KeyE, KeyCode::KeyQ),
        axis(KeyCode::KeyS, KeyCode::KeyW),
    );
    let fast = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    let step = eye.rotation * way.normalize_or_zero();
    let speed = if fast { 3.2 } else { 0.8 } * eye.focus_distance;
    eye.position += step * speed * time.delta_secs().min(0.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eye() -> Eye {
        Eye {
            viewport: URect::new(100, 50, 900, 650),
            ..Eye::default()
        }
    }

    #[test]
    fn the_ray_through_the_middle_goes_to_the_focus() {
        let eye = eye();
        let (origin, way) = eye.ray(Vec2::new(500.0, 350.0));
        assert!((origin + way * eye.focus_distance).distance(eye.focus()) < 1e-4);
    }

    #[test]
    fn rays_and_the_projection_agree() {
        let eye = eye();
        let pixel = Vec2::new(320.0, 500.0);
        let (origin, way) = eye.ray(pixel);
        let clip = eye.clip_from_view(800.0 / 600.0)
            * eye.view_from_world()
            * (origin + way * 7.0).extend(1.0);
        let ndc = clip.truncate() / clip.w;
        let back = Vec2::new(100.0 + 400.0 * (1.0 + ndc.x), 50.0 + 300.0 * (1.0 - ndc.y));
        assert!(back.distance(pixel) < 0.01, "{back}");
        let seen = eye.pixel_of(origin + way * 7.0).expect("in front");
        assert!(seen.distance(pixel) < 0.01, "{seen}");
        assert_eq!(eye.pixel_of(origin - way), None);
    }

    /// The eye goes with the body, however it is turned meanwhile, and stays where another is selected.
    #[test]
    fn the_eye_follows_the_selected_body() {
        let id = |slot| BodyId {
            slot,
            generation: 0,
        };
        let mut world = crate::world::World::new(crate::world::Settings::default());
        for _ in 0..2 {
            let spec = crate::world::BodySpec {
                kind: crate::world::BodyKind::Fixed,
                ..Default::default()
            };
            world.add_body(spec).expect("a body");
        }
        let mut frame = crate::viewer::frame::Frame {
            table: std::sync::Arc::new(crate::viewer::frame::BodyTable::of(&world.bodies)),
            ..Default::default()
        };
        frame.poses = vec![Isometry3d::IDENTITY; 2];
        let mut app = App::new();
        app.add_message::<Begun>()
            .init_resource::<Hands>()
            .insert_resource(Eye {
                following: true,
                ..eye()
            })
            .init_resource::<Playback>()
            .add_systems(Update, follow);
        app.world_mut().resource_mut::<Playback>().frame = Some(frame);
        let mut step = |selected, place: Vec3| {
            app.world_mut().resource_mut::<Hands>().selected = Some(id(selected));
            let mut playback = app.world_mut().resource_mut::<Playback>();
            let poses = &mut playback.frame.as_mut().expect("a frame").poses;
            poses[0] = Isometry3d::from_translation(place);
            app.update();
            let mut eye = app.world_mut().resource_mut::<Eye>();
            eye.orbit(Vec2::new(30.0, 0.0));
            eye.focus()
        };
        let start = step(0, Vec3::ZERO);
        let moved = Vec3::new(3.0, -1.0, 2.0);
        assert!(step(0, moved).distance(start + moved) < 1e-4);
        assert!(step(1, 2.0 * moved).distance(start + moved) < 1e-4);
        assert!(step(0, 3.0 * moved).distance(start + moved) < 1e-4);
    }

    #[test]
    fn orbiting_keeps_the_focus_and_looking_straight_down_is_fine() {
        let mut eye = eye();
        let focus = eye.focus();
        eye.orbit(Vec2::new(123.0, -40.0));
        assert!(eye.focus().distance(focus) < 1e-4);
        eye.look(Vec3::new(0.0, 9.0, 0.0), Vec3::ZERO);
        assert!(eye.rotation.is_finite() && eye.focus().length() < 1e-4);
    }
}
