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
            if body.angular.w != 0.0 {
                let push = entry.linear * (step * body.linear.w);
                let turn = times_inertia(body, entry.angular * step);
                bodies[entry.body].linear = body.linear + real4(push, 0.0);
                bodies[entry.body].angular = body.angular + real4(turn, 0.0);
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
    let pair = pair_at(begin);
    let first = bodies[pair.x];
    let second = bodies[pair.y];
    var u = array<real3, 4>(
        first.linear.xyz,
        first.angular.xyz,
        second.linear.xyz,
        second.angular.xyz,
    );
    for (var c = begin; c < begin + unit.y; c++) {
        let contact = prox_at(c);
        let frame = frame_at(c);
        let at = 3u * (params.span.x + c);
        let old = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
        let z = contact_argument(contact, frame, u, old);
        let result = prox_contact(contact, z, old);
        lambda[at] = result.x;
        lambda[at + 1u] = result.y;
        lambda[at + 2u] = result.z;
        let push = force(frame, result - old);
        u[0] -= push * first.linear.w;
        u[1] -= times_inertia(first, cross(frame.first_arm, push));
        u[2] += push * second.linear.w;
        u[3] += times_inertia(second, cross(frame.second_arm, push));
    }
    if first.angular.w != 0.0 {
        bodies[pair.x].linear = real4(u[0], first.linear.w);
        bodies[pair.x].angular = real4(u[1], first.angular.w);
    }
    if second.angular.w != 0.0 {
        bodies[pair.y].linear = real4(u[2], second.linear.w);
        bodies[pair.y].angular = real4(u[3], second.angular.w);
    }
}
