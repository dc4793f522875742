// A block from the velocities of its bodies. Included behind the bindings of a kernel.

// The k-th block of the dispatch; contacts are bound piece by piece.
fn project_block(k: u32) {
    if params.first + k < params.contacts {
        let bound = params.first + k - params.span.x;
        let contact = prox_at(bound);
        let frame = frame_at(bound);
        let at = 3u * (params.first + k);
        let old = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
        let velocities = array<real3, 4>(
            bodies[frame.first].linear.xyz,
            bodies[frame.first].angular.xyz,
            bodies[frame.second].linear.xyz,
            bodies[frame.second].angular.xyz,
        );
        let z = contact_argument(contact, frame, velocities, old);
        let result = prox_contact(contact, z, old);
        lambda[at] = result.x;
        lambda[at + 1u] = result.y;
        lambda[at + 2u] = result.z;
        return;
    }
    let row = rows[params.first + k - params.contacts];
    let old = lambda[row.at];
    lambda[row.at] = prox_row(row, row_argument(row, old), old);
}
