//! What mechanics says: rest, impact, friction, energy, and known answers.

mod compliant_contacts;
mod contacts_exact;
mod energy;
mod friction_axes;
mod physics;
mod round_shapes;
mod stands;
mod substeps;
mod verify;
