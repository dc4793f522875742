// The velocity of a body, summing what acts on it in a fixed order. Included behind the bindings of a kernel.

// Contacts may be bound piece by piece: the first piece begins at u_free and has all rows, the others go on.
fn gather_body(b: u32) {
    let body = bodies[b];
    if body.angular.w == 0.0 {
        return;
    }
    let is_first = params.span.x == 0u;
    var linear = real3(0.0);
    var angular = real3(0.0);
    for (var t = touches[b]; t < touches[b + 1u]; t += 2u) {
        let block = touches[t];
        let side = touches[t + 1u];
        if (block & ROWS) != 0u {
            if is_first {
                let row = rows[block & ~ROWS];
                let impulse = lambda[row.at];
                linear += entries[side].linear * impulse;
                angular += entries[side].angular * impulse;
            }
            continue;
        }
        // Below the first one the difference is larger than any number of contacts.
        let k = block - params.span.x;
        if k < params.span.y {
            let at = 3u * block;
            let frame = frame_at(k);
            let push = force(frame, real3(lambda[at], lambda[at + 1u], lambda[at + 2u]));
            if side == 0u {
                linear -= push;
                angular -= cross(frame.first_arm, push);
            } else {
                linear += push;
                angular += cross(frame.second_arm, push);
            }
        }
    }
    var begin = array<real3, 2>(free[2u * b].xyz, free[2u * b + 1u].xyz);
    if !is_first {
        begin = array<real3, 2>(body.linear.xyz, body.angular.xyz);
    }
    bodies[b].linear = real4(begin[0] + linear * body.linear.w, body.linear.w);
    bodies[b].angular = real4(begin[1] + times_inertia(body, angular), body.angular.w);
}
