// SOR Prox with T in block rows: the units of one colour; each takes its blocks in turn.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> units: array<vec2u>;
@group(0) @binding(4) var<storage, read> value: array<real>;
@group(0) @binding(5) var<storage, read> column: array<u32>;
@group(0) @binding(6) var<storage, read> block_rows: array<BlockRow>;
@group(0) @binding(7) var<storage, read> offset: array<real>;
@group(0) @binding(8) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k >= params.count {
        return;
    }
    let unit = units[params.first + k];
    let first = unit.x & ~ROWS;
    for (var c = first; c < first + unit.y; c++) {
        if (unit.x & ROWS) != 0u {
            let row = rows[c];
            let old = lambda[row.at];
            let z = block_product(row.block).x;
            lambda[row.at] = prox_row(row, towards(real3(z), real3(old)).x, old);
        } else {
            let contact = prox_at(c);
            let at = contact.at;
            let old = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
            let z = block_product(contact.block & BLOCK);
            let result = prox_contact(contact, towards(z, old), old);
            lambda[at] = result.x;
            lambda[at + 1u] = result.y;
            lambda[at + 2u] = result.z;
        }
    }
}
