// SOR Prox with relaxed dependencies and T as a whole, step A (Nützi 2011, 5.3.2): the blocks of a group at once, an
// invocation for each, from what their rows have summed up.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> units: array<vec2u>;
@group(0) @binding(4) var<storage, read> offset: array<real>;
@group(0) @binding(5) var<storage, read_write> argument: array<real>;
@group(0) @binding(6) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k >= params.count {
        return;
    }
    let unit = units[params.first + k];
    let at = unit.y;
    if (unit.x & ROWS) != 0u {
        let old = lambda[at];
        let z = argument[at] + offset[at];
        lambda[at] = prox_row(rows[unit.x & ~ROWS], towards(real3(z), real3(old)).x, old);
        argument[at] = 0.0;
        return;
    }
    let old = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
    let z = real3(
        argument[at] + offset[at],
        argument[at + 1u] + offset[at + 1u],
        argument[at + 2u] + offset[at + 2u],
    );
    let result = prox_contact(prox_at(unit.x), towards(z, old), old);
    for (var x = 0u; x < 3u; x++) {
        lambda[at + x] = result[x];
        argument[at + x] = 0.0;
    }
}
