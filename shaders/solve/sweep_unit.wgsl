// A unit of blocks, one after the other; its bodies take up their impulses at once. Included behind the bindings of a
// kernel.

fn sweep_rows(first: u32, count: u32) {
    for (var k = first; k < first + count; k++) {
        let row = rows[k];
        let old = lambda[row.at];
        let result = prox_row(row, row_argument(row, old), old);
        lambda[row.at] = result;
        let step = result - old;
        for (var e = row.entries.x; e < row.entries.y; e++) {
            let entry = entries[e];
            let body = bodies[entry.body];
            if body.moves != 0.0 {
                bodies[entry.body].linear = body.linear
                    + entry.linear * (step * body.inverse_mass);
                bodies[entry.body].angular = body.angular
                    + times_inertia(body.diagonal, body.across, entry.angular * step);
            }
        }
    }
}

fn sweep_unit(unit: vec2u) {
    if (unit.x & ROWS) != 0u {
        sweep_rows(unit.x & ~ROWS, unit.y);
        return;
    }
    // Among the contacts that are bound.
    let begin = unit.x - params.span.x;
    let pair = vec2u(frames[begin].first, frames[begin].second);
    let first = bodies[pair.x];
    let second = bodies[pair.y];
    var u = array<vec3f, 4>(first.linear, first.angular, second.linear, second.angular);
    for (var c = begin; c < begin + unit.y; c++) {
        let contact = prox[c];
        let frame = frames[c];
        let at = contact.at;
        let old = vec3f(lambda[at], lambda[at + 1u], lambda[at + 2u]);
        let z = contact_argument(contact, frame, u, old);
        let result = prox_contact(contact, z, old);
        lambda[at] = result.x;
        lambda[at + 1u] = result.y;
        lambda[at + 2u] = result.z;
        let push = force(frame, result - old);
        u[0] -= push * first.inverse_mass;
        u[1] -= times_inertia(first.diagonal, first.across, cross(frame.first_arm, push));
        u[2] += push * second.inverse_mass;
        u[3] += times_inertia(second.diagonal, second.across, cross(frame.second_arm, push));
    }
    if first.moves != 0.0 {
        bodies[pair.x].linear = u[0];
        bodies[pair.x].angular = u[1];
    }
    if second.moves != 0.0 {
        bodies[pair.y].linear = u[2];
        bodies[pair.y].angular = u[3];
    }
}
