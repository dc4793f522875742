// u = u_free + M⁻¹ Jᵀ Λ, body by body, each summing what acts on it in a fixed order.

@group(0) @binding(1) var<storage, read> prox: array<Prox>;
@group(0) @binding(2) var<storage, read> frames: array<Frame>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> entries: array<Entry>;
@group(0) @binding(5) var<storage, read> touches: array<u32>;
@group(0) @binding(6) var<storage, read> free: array<vec4f>;
@group(0) @binding(7) var<storage, read> lambda: array<f32>;
@group(0) @binding(8) var<storage, read_write> bodies: array<Body>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let b = number(id, groups);
    if b >= params.count || bodies[b].moves == 0.0 {
        return;
    }
    var linear = vec3f(0.0);
    var angular = vec3f(0.0);
    for (var t = touches[b]; t < touches[b + 1u]; t += 2u) {
        let block = touches[t];
        let side = touches[t + 1u];
        if (block & ROWS) != 0u {
            let row = rows[block & ~ROWS];
            let impulse = lambda[row.at];
            linear += entries[side].linear * impulse;
            angular += entries[side].angular * impulse;
        } else {
            let at = prox[block].at;
            let frame = frames[block];
            let push = force(frame, vec3f(lambda[at], lambda[at + 1u], lambda[at + 2u]));
            if side == 0u {
                linear -= push;
                angular -= cross(frame.first_arm, push);
            } else {
                linear += push;
                angular += cross(frame.second_arm, push);
            }
        }
    }
    let body = bodies[b];
    bodies[b].linear = free[2u * b].xyz + linear * body.inverse_mass;
    bodies[b].angular = free[2u * b + 1u].xyz
        + times_inertia(body.diagonal, body.across, angular);
}
