// JOR Prox without a matrix, first half: every block from the velocities of the last iteration (Nützi 2011, 4.40).

@group(0) @binding(1) var<storage, read> prox: array<Prox>;
@group(0) @binding(2) var<storage, read> frames: array<Frame>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> entries: array<Entry>;
@group(0) @binding(5) var<storage, read> bodies: array<Body>;
@group(0) @binding(6) var<storage, read_write> lambda: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k >= params.count {
        return;
    }
    if k < params.contacts {
        let contact = prox[k];
        let frame = frames[k];
        let at = contact.at;
        let old = vec3f(lambda[at], lambda[at + 1u], lambda[at + 2u]);
        let velocities = array<vec3f, 4>(
            bodies[frame.first].linear,
            bodies[frame.first].angular,
            bodies[frame.second].linear,
            bodies[frame.second].angular,
        );
        let z = contact_argument(contact, frame, velocities, old);
        let result = prox_contact(contact, z, old);
        lambda[at] = result.x;
        lambda[at + 1u] = result.y;
        lambda[at + 2u] = result.z;
        return;
    }
    let row = rows[k - params.contacts];
    let old = lambda[row.at];
    lambda[row.at] = prox_row(row, row_argument(row, old), old);
}
