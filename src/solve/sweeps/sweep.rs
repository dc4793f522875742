//! One Gauss–Seidel sweep over an island, or over any other group of blocks.

use super::block::{Change, PackedBody, PackedContact, Sweep};
use super::matrix::Matrix;
use super::pack::Packed;
use crate::math::Vec3;
use crate::problem::FrictionLaw;

/// Λ_k ← prox(Λ_k − R_k (A Λ + b)_k) for every general row and then every contact in turn; u follows
/// at once (Poulsen 2010, 3.9; Nützi 2011, 4.48).
pub fn factorized(
    packed: &Packed,
    island: usize,
    bodies: &mut [PackedBody],
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let (rows, contacts) = (packed.rows_of(island), packed.contacts_of(island));
    for (r, lambda) in rows.zip(&mut lambda[packed.first_row(island)..]) {
        row(packed, r, bodies, lambda, sweep, change);
    }
    if !packed.is_uniform() || !packed.contact_blocks.is_empty() {
        for c in contacts {
            let block = &mut lambda[packed.block(island, c)];
            contact(packed, c, bodies, block, sweep, change);
        }
        return;
    }
    let (blocks, _) = lambda.as_chunks_mut::<3>();
    let contacts = contacts.zip(blocks);
    if packed.frictionless {
        plain(
            packed,
            contacts,
            bodies,
            sweep,
            |contact, pair, block, sweep| contact.normal_step(pair, &mut block[0], sweep, change),
        );
    } else {
        plain(
            packed,
            contacts,
            bodies,
            sweep,
            |contact, pair, block, sweep| contact.disc_step(pair, block, sweep, change),
        );
    }
}

/// Contacts without compliance in turn: `step` says the change of a contact's impulse on its second body. What the contacts
/// are is asked outside of the loop, which is 1 to 2 % faster so.
#[inline(always)]
fn plain<'a>(
    packed: &Packed,
    contacts: impl Iterator<Item = (usize, &'a mut [f64; 3])>,
    bodies: &mut [PackedBody],
    sweep: &Sweep,
    mut step: impl FnMut(&PackedContact, [&PackedBody; 2], &mut [f64; 3], &Sweep) -> Vec3,
) {
    for (c, block) in contacts {
        let contact = &packed.contacts[c];
        let [i, j] = contact.bodies.map(|b| b as usize);
        let sweep = packed.contact_sweep(c, sweep);
        let p = step(contact, [&bodies[i], &bodies[j]], block, &sweep);
        bodies[i].push(-p, contact.frame.arms[0]);
        bodies[j].push(p, contact.frame.arms[1]);
    }
}

/// [`factorized`] in the opposite order.
pub fn backward(
    packed: &Packed,
    island: usize,
    bodies: &mut [PackedBody],
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    for c in packed.contacts_of(island).rev() {
        let block = &mut lambda[packed.block(island, c)];
        contact(packed, c, bodies, block, sweep, change);
    }
    let of_rows = lambda[packed.first_row(island)..].iter_mut();
    for (r, lambda) in packed.rows_of(island).zip(of_rows).rev() {
        row(packed, r, bodies, lambda, sweep, change);
    }
}

/// The step of one general row.
#[inline(always)]
fn row(
    packed: &Packed,
    r: usize,
    bodies: &mut [PackedBody],
    lambda: &mut f64,
    sweep: &Sweep,
    change: &mut Change,
) {
    let row = &packed.rows[r];
    let entries = packed.entries(row);
    let w = row.velocity(entries, bodies, *lambda);
    let delta = row.step(w, lambda, &packed.row_sweep(r, sweep), change);
    for entry in entries {
        entry.push(delta, &mut bodies[entry.body as usize]);
    }
}

/// The step of one contact of any law.
#[inline(always)]
fn contact(
    packed: &Packed,
    c: usize,
    bodies: &mut [PackedBody],
    block: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let contact = &packed.contacts[c];
    let [i, j] = contact.bodies.map(|b| b as usize);
    let (pair, sweep) = ([&bodies[i], &bodies[j]], packed.contact_sweep(c, sweep));
    let push = packed.step(c, pair, block, &sweep, change);
    contact.apply(0, &push, &mut bodies[i]);
    contact.apply(1, &push, &mut bodies[j]);
}

/// The same sweep with w = A Λ + b, or z = T Λ − R b, from a stored matrix (Poulsen 2010, 3.6 and
/// 3.10 to 3.12).
pub fn stored(
    packed: &Packed,
    matrix: &Matrix,
    island: usize,
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    for r in packed.rows_of(island) {
        stored_row(packed, matrix, island, r, lambda, sweep, change);
    }
    for c in packed.contacts_of(island) {
        stored_contact(packed, matrix, island, c, lambda, sweep, change);
    }
}

/// The same in the opposite order.
pub fn stored_backward(
    packed: &Packed,
    matrix: &Matrix,
    island: usize,
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    for c in packed.contacts_of(island).rev() {
        stored_contact(packed, matrix, island, c, lambda, sweep, change);
    }
    for r in packed.rows_of(island).rev() {
        stored_row(packed, matrix, island, r, lambda, sweep, change);
    }
}

#[inline(always)]
fn stored_row(
    packed: &Packed,
    matrix: &Matrix,
    island: usize,
    r: usize,
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let at = packed.first_row(island) + r - packed.rows_of(island).start;
    let w = matrix.row_velocity(packed, island, r, lambda);
    let sweep = packed.row_sweep(r, sweep);
    packed.rows[r].step(w, &mut lambda[at], &sweep, change);
}

#[inline(always)]
fn stored_contact(
    packed: &Packed,
    matrix: &Matrix,
    island: usize,
    c: usize,
    lambda: &mut [f64],
    sweep: &Sweep,
    change: &mut Change,
) {
    let (mut w, mut step) = ([0.0; FrictionLaw::MAX_ROWS], [0.0; FrictionLaw::MAX_ROWS]);
    let rows = packed.block(island, c);
    let (w, step) = (&mut w[..rows.len()], &mut step[..rows.len()]);
    matrix.contact_velocity(packed, island, c, lambda, w);
    let sweep = packed.contact_sweep(c, sweep);
    packed.prox(c, w, &mut lambda[rows], step, &sweep, change);
}
