//! R-factors beyond the local ones that packing gives, and the relaxation by degree.

use rayon::prelude::*;

use super::block::PackedContact;
use super::form::Packs;
use super::pack::{Block, Packed};
use crate::problem::delassus::Delassus;

/// R = 2α/(λ_min + λ_max), the best R for a linear problem (Nützi 2011, 4.6.1), for every row of an
/// island.
pub fn use_global_r(problem: &impl Packs, packed: &mut Packed, alpha: f64) {
    let this = &*packed;
    let spectra: Vec<_> = (0..this.islands())
        .into_par_iter()
        .map(|island| problem.spectrum(this, island))
        .collect();
    for (island, spectrum) in spectra.into_iter().enumerate() {
        let Some(spectrum) = spectrum else {
            continue;
        };
        let r = 2.0 * alpha / (spectrum.smallest + spectrum.largest);
        let (contacts, rows) = (packed.contacts_of(island), packed.rows_of(island));
        for contact in &mut packed.contacts[contacts] {
            // Without friction the friction rows have R = 0.
            let friction = if packed.frictionless { 0.0 } else { 1.0 };
            contact.r = [r, friction * r];
            contact.inverse_r = [1.0 / r, friction / r];
        }
        for row in &mut packed.rows[rows] {
            row.r = r;
            row.inverse_r = 1.0 / r;
        }
    }
}

/// The smaller of two pairs of R, of those that are not zero.
pub fn smaller_r([rn, rt]: [f64; 2], contact: [f64; 2]) -> [f64; 2] {
    let smaller = |r: f64, of: f64| if of > 0.0 { r.min(of) } else { r };
    [smaller(rn, contact[0]), smaller(rt, contact[1])]
}

/// Gives a contact these R in place of its own, where those are not zero.
pub fn give_r(contact: &mut PackedContact, r: [f64; 2]) {
    for (k, r) in r.into_iter().enumerate() {
        if contact.r[k] > 0.0 {
            contact.r[k] = r;
            contact.inverse_r[k] = 1.0 / r;
        }
    }
}

/// The smallest R of an island's contacts for all of them: what Poulsen's tables come out with. General rows keep theirs.
pub fn use_uniform_r(packed: &mut Packed) {
    for island in 0..packed.islands() {
        let contacts = packed.contacts_of(island);
        let contacts = &mut packed.contacts[contacts];
        let each = contacts.iter().map(|contact| contact.r);
        let r = each.fold([f64::INFINITY; 2], smaller_r);
        contacts.iter_mut().for_each(|contact| give_r(contact, r));
    }
}

/// ω = 1/max(1, adjacent blocks) for the blocks of every island, rows first, `size` of them at a time:
/// only blocks of the same group count, since only they are projected from the same velocities.
/// Bodies that do not move couple nothing.
pub fn use_degree(packed: &mut Packed, size: usize) {
    let [mut contacts, mut rows] = std::mem::take(&mut packed.omega);
    contacts.clear();
    contacts.resize(packed.contacts.len(), 1.0);
    rows.clear();
    rows.resize(packed.rows.len(), 1.0);
    let mut touches = vec![0u32; packed.template.len()];
    for island in 0..packed.islands() {
        let all = packed.bodies_of(island);
        let bodies = |block: Block| {
            let bodies = packed.bodies(block).map(|body| all.start + body as usize);
            bodies.filter(|body| *body != all.end - 1)
        };
        let mut blocks = packed.sequence(island);
        while blocks.clone().next().is_some() {
            let group = blocks.clone().take(size);
            group
                .clone()
                .flat_map(bodies)
                .for_each(|body| touches[body] += 1);
            for block in group {
                let adjacent: u32 = bodies(block).map(|body| touches[body] - 1).sum();
                let omega = match block {
                    Block::Contact(c) => &mut contacts[c],
                    Block::Row(r) => &mut rows[r],
                };
                *omega = 1.0 / f64::from(adjacent.max(1));
            }
            let group = blocks.by_ref().take(size);
            group.flat_map(bodies).for_each(|body| touches[body] = 0);
        }
    }
    packed.omega = [contacts, rows];
}

/// The same for a packed A, whose first sources are `contacts` contacts: adjacent is what a block row has entries of.
pub fn use_degree_of_matrix(packed: &mut Packed, a: &Delassus, contacts: usize) {
    let [mut of_contacts, mut of_rows] = std::mem::take(&mut packed.omega);
    of_contacts.clear();
    of_rows.clear();
    for (b, source) in a.source.iter().enumerate() {
        let adjacent = a.start[b + 1] - a.start[b] - 1;
        let omega = 1.0 / adjacent.max(1) as f64;
        if (*source as usize) < contacts {
            of_contacts.push(omega);
        } else {
            of_rows.push(omega);
        }
    }
    packed.omega = [of_contacts, of_rows];
}
