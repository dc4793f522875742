//! Inner edges: contacts at edges that a neighbour covers, which are not there.
//!
//! A ball that rolls over two boxes side by side is near the second one's edge before it is above it, and along the line
//! from that edge to its centre the box seems to be in its way. Nothing is: where the box lies behind the plane of the
//! ball's contact with the first one, and the edge on that plane, then what stays above the plane does not meet the box.
//! The same holds between parts of a compound, triangles, and any two bodies.

use rayon::prelude::*;

use super::solid::Solid;
use crate::math::{Pose, Vec3};
use crate::problem::Contacts;
use crate::world::{Bodies, BodyKind, Geometry, Shape, World};

/// How far from a plane a surface may be and still be flush with it, as a share of half the thickness of who moves over it,
/// or half the diagonal of what it belongs to, if that is less (-): a step so high lifts nobody.
const FLUSH: f64 = 1e-3;
/// Cosine of the angle up to which contacts support a body alike, and are both kept: sides that are flush to within [`FLUSH`]
/// are turned against each other by no more.
const ALIKE: f64 = 1.0 - 2.0 * FLUSH * FLUSH;
/// Cosine of the angle between the normals beyond which one contact cannot be in the way of what the other one carries.
const AGAINST: f64 = -0.1;
/// How far above a plane a contact point must be for its body to be so, however the points of a kept manifold have moved,
/// as a multiple of [`FLUSH`] (-).
const CLEAR: f64 = 5.0;
/// Bodies per unit of parallel work.
const CHUNK: usize = 64;

/// Contacts of two parts along one normal: the first, and the one behind the last.
type Patch = [u32; 2];

/// Reusable memory.
#[derive(Default)]
pub struct Covered {
    patches: Vec<Patch>,
    /// Where each body's patches begin in `of_body`; none of bodies that have no contact at an edge.
    first: Vec<u32>,
    of_body: Vec<u32>,
    asks: Vec<bool>,
    dropped: Vec<u32>,
}

impl Covered {
    /// Takes the contacts away that others cover; `contacts` are ordered by their bodies.
    pub fn remove(&mut self, world: &World, contacts: &mut Contacts) {
        if !self.find_patches(&world.bodies, contacts) {
            return;
        }
        let (first, of_body, patches) = (&self.first, &self.of_body, &self.patches);
        let found = &*contacts;
        let slots = 0..world.bodies.slots();
        let dropped = slots
            .into_par_iter()
            .with_min_len(CHUNK)
            .map_init(Vec::new, |views, slot| {
                let own = &of_body[first[slot] as usize..first[slot + 1] as usize];
                Seen {
                    world,
                    found,
                    patches,
                    slot,
                }
                .covered(own, views)
            })
            .flatten_iter();
        self.dropped.clear();
        self.dropped.par_extend(dropped);
        if self.dropped.is_empty() {
            return;
        }
        self.dropped.sort_unstable();
        self.dropped.dedup();
        contacts.remove(&self.dropped);
    }

    /// The patches of each body that touches an edge and something else; false where there is none.
    fn find_patches(&mut self, bodies: &Bodies, contacts: &Contacts) -> bool {
        let side_asks = |pair: &[u32; 2], side: usize| {
            let [slot, other] = [side, 1 - side].map(|k| pair[k] as usize);
            bodies.kind[slot] == BodyKind::Dynamic && has_edges(bodies, other)
        };
        self.asks.clear();
        self.asks.resize(bodies.slots(), false);
        let mut asks_any = false;
        for pair in contacts.bodies.chunk_by(|a, b| a == b).map(|pair| &pair[0]) {
            for side in 0..2 {
                if side_asks(pair, side) {
                    self.asks[pair[side] as usize] = true;
                    asks_any = true;
                }
            }
        }
        if !asks_any {
            return false;
        }
        self.patches.clear();
        let mut begin = 0;
        let is_one = |a: usize, b: usize| {
            contacts.bodies[a] == contacts.bodies[b]
                && contacts.parts[a] == contacts.parts[b]
                && contacts.frame[a].normal == contacts.frame[b].normal
        };
        while begin < contacts.len() {
            let others = begin + 1..contacts.len();
            let end = others.take_while(|k| is_one(*k, begin)).last();
            let end = end.map_or(begin + 1, |last| last + 1);
            let pair = contacts.bodies[begin];
            if pair.iter().any(|slot| self.asks[*slot as usize]) {
                self.patches.push([begin as u32, end as u32]);
            }
            begin = end;
        }
        self.first.clear();
        self.first.resize(bodies.slots() + 1, 0);
        let (asks, first) = (&self.asks, &mut self.first);
        let slots = |patch: &Patch| {
            let slots = contacts.bodies[patch[0] as usize].map(|b| b as usize);
            slots.into_iter().filter(|slot| asks[*slot])
        };
        for slot in self.patches.iter().flat_map(slots) {
            first[slot + 1] += 1;
        }
        for slot in 0..bodies.slots() {
            first[slot + 1] += first[slot];
        }
        self.of_body.resize(first[bodies.slots()] as usize, 0);
        for (k, patch) in self.patches.iter().enumerate() {
            for slot in slots(patch) {
                self.of_body[first[slot] as usize] = k as u32;
                first[slot] += 1;
            }
        }
        // Each body's place is now where the next one's was.
        first.rotate_right(1);
        first[0] = 0;
        true
    }
}

/// A body, and what it touches.
struct Seen<'a> {
    world: &'a World,
    found: &'a Contacts,
    patches: &'a [Patch],
    slot: usize,
}

/// A patch as the body sees it.
#[derive(Clone, Copy)]
struct View {
    patch: u32,
    /// Unit normal towards the body.
    normal: Vec3,
    /// Where the other body's surface is, at the deepest contact, and in the middle of all.
    at: Vec3,
    middle: Vec3,
    /// The other body, and its part.
    other: usize,
    part: usize,
    /// Whether all its contacts are covered.
    is_gone: bool,
}

impl Seen<'_> {
    /// The contacts among the body's that others of it cover.
    fn covered(&self, own: &[u32], views: &mut Vec<View>) -> Vec<u32> {
        let mut dropped = Vec::new();
        let shape = self.world.bodies.shape[self.slot].as_ref();
        let Some(shape) = shape.filter(|_| own.len() > 1) else {
            return dropped;
        };
        let normals = own.iter().map(|patch| self.normal(*patch));
        let turned = |n: Vec3| normals.clone().any(|m| may_cover(&n, &m));
        if !normals.clone().any(turned) {
            return dropped;
        }
        let clear = CLEAR * FLUSH * shape.half_thickness();
        views.clear();
        views.extend(own.iter().map(|patch| self.view(*patch)));
        for k in 0..views.len() {
            let view = views[k];
            if !has_edges(&self.world.bodies, view.other) {
                continue;
            }
            let before = dropped.len();
            for (l, by) in views.iter().enumerate() {
                // A solid reaches as far as the middle of any points of it.
                if l == k || by.is_gone || by.normal.dot(&(view.middle - by.at)) > clear {
                    continue;
                }
                if self.cover(&view, by, &mut dropped) {
                    break;
                }
            }
            let [first, end] = self.patches[view.patch as usize];
            views[k].is_gone = dropped.len() - before == (end - first) as usize;
        }
        dropped
    }

    /// The unit normal of a patch towards the body.
    fn normal(&self, patch: u32) -> Vec3 {
        let contact = self.patches[patch as usize][0] as usize;
        let normal = self.found.frame[contact].normal;
        match self.found.bodies[contact][0] as usize == self.slot {
            true => -normal,
            false => normal,
        }
    }

    fn view(&self, patch: u32) -> View {
        let [first, end] = self.patches[patch as usize];
        let contacts = first as usize..end as usize;
        let gap = |k: &usize| self.found.gap[*k];
        let deepest = contacts.clone().min_by(|a, b| gap(a).total_cmp(&gap(b)));
        let deepest = deepest.unwrap_or(contacts.start);
        let side = usize::from(self.found.bodies[deepest][0] as usize == self.slot);
        let normal = self.normal(patch);
        let points = contacts.clone().map(|k| self.surface(k, &normal));
        View {
            patch,
            normal,
            at: self.surface(deepest, &normal),
            middle: points.sum::<Vec3>() / contacts.len() as f64,
            other: self.found.bodies[deepest][side] as usize,
            part: self.found.parts[deepest][side] as usize,
            is_gone: false,
        }
    }

    /// Where the surface that the normal comes out of is, at a contact.
    fn surface(&self, k: usize, normal: &Vec3) -> Vec3 {
        let point = self.found.point(k, &self.world.bodies);
        point - normal * (0.5 * self.found.gap[k])
    }

    /// Adds to `dropped` what contacts of a patch lie on another one's plane, if their whole body is behind it.
    fn cover(&self, patch: &View, by: &View, dropped: &mut Vec<u32>) -> bool {
        if !may_cover(&patch.normal, &by.normal) {
            return false;
        }
        let bodies = &self.world.bodies;
        let [Some(own), Some(other)] = [self.slot, patch.other].map(|k| bodies.shape[k].as_ref())
        else {
            return false;
        };
        let flush = FLUSH * own.half_thickness().min(other.half_diagonal());
        let above = |point: &Vec3| by.normal.dot(&(point - by.at));
        let [first, end] = self.patches[patch.patch as usize];
        let is_on = |k: &u32| above(&self.surface(*k as usize, &patch.normal)).abs() <= flush;
        let mut flat = (first..end).filter(is_on).peekable();
        let height = || self.highest(patch, &by.normal);
        let level = by.normal.dot(&by.at) + flush;
        if flat.peek().is_none() || height().is_none_or(|height| height > level) {
            return false;
        }
        dropped.extend(flat);
        true
    }

    /// How far the other body's part reaches along a direction; none where that is without end.
    fn highest(&self, patch: &View, n: &Vec3) -> Option<f64> {
        let bodies = &self.world.bodies;
        let shape = bodies.shape[patch.other].as_ref()?;
        let pose = bodies.shape_pose(patch.other);
        if let Some(corners) = triangle(shape, patch.part) {
            let along = corners.map(|corner| n.dot(&pose.transform_point(corner)));
            return Some(along[0].max(along[1]).max(along[2]));
        }
        let solid = solid(shape, patch.part, &pose)?;
        Some(n.dot(&solid.support(n)) + solid.radius)
    }
}

/// Whether a contact with one of two normals may cover one with the other.
fn may_cover(a: &Vec3, b: &Vec3) -> bool {
    (AGAINST..=ALIKE).contains(&a.dot(b))
}

/// Whether a body has edges, or rims, that another one may cover.
fn has_edges(bodies: &Bodies, slot: usize) -> bool {
    let shape = bodies.shape[slot].as_ref();
    shape.is_some_and(|shape| {
        !matches!(
            shape.geometry(),
            Geometry::Ball { .. } | Geometry::Capsule { .. } | Geometry::HalfSpace { .. }
        )
    })
}

/// A convex part in the world.
fn solid<'a>(shape: &'a Shape, part: usize, pose: &Pose) -> Option<Solid<'a>> {
    let pose = pose.compose(&shape.part_pose(part));
    Solid::new(shape.part(part), shape.hull(part), &pose)
}

/// A triangle of a mesh or a height field, in its frame.
fn triangle(shape: &Shape, part: usize) -> Option<[Vec3; 3]> {
    let parry = shape.parry();
    let triangle = match (parry.as_trimesh(), parry.as_heightfield()) {
        (Some(mesh), _) => mesh.triangle(part as u32),
        (_, Some(field)) => field.triangle_at_id(part as u32)?,
        _ => return None,
    };
    Some([triangle.a, triangle.b, triangle.c].map(Vec3::from))
}
