// z = T Λ + d by block rows (Nützi 2011, 5.4): the first half of JOR Prox with a matrix.

@group(0) @binding(1) var<storage, read> value: array<real>;
@group(0) @binding(2) var<storage, read> column: array<u32>;
@group(0) @binding(3) var<storage, read> block_rows: array<BlockRow>;
@group(0) @binding(4) var<storage, read> offset: array<real>;
@group(0) @binding(5) var<storage, read> lambda: array<real>;
@group(0) @binding(6) var<storage, read_write> argument: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k >= params.count {
        return;
    }
    let z = block_product(params.first + k);
    let at = block_rows[params.first + k].row;
    argument[at] = z.x;
    if block_rows[params.first + k + 1u].row == at + 3u {
        argument[at + 1u] = z.y;
        argument[at + 2u] = z.z;
    }
}
