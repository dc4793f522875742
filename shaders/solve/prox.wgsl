// Λ ← prox(z) of every block (Nützi 2011, 5.6): the second half of JOR Prox with a matrix.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> argument: array<real>;
@group(0) @binding(4) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k >= params.count {
        return;
    }
    if params.first + k < params.contacts {
        let contact = prox_at(params.first + k - params.span.x);
        let at = contact.at;
        let old = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
        let z = real3(argument[at], argument[at + 1u], argument[at + 2u]);
        let result = prox_contact(contact, towards(z, old), old);
        lambda[at] = result.x;
        lambda[at + 1u] = result.y;
        lambda[at + 2u] = result.z;
        return;
    }
    let row = rows[params.first + k - params.contacts];
    let old = lambda[row.at];
    let z = argument[row.at];
    lambda[row.at] = prox_row(row, towards(real3(z), real3(old)).x, old);
}
