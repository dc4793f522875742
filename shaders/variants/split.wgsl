// y = T Λ + d (Nützi 2011, 5.2.1).

@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let row = index_of(group, groups) * ROWS + lane;
    let has_row = lane < ROWS && row < params.rows;
    let sum = product_of(row, lane, has_row, 0u, params.rows);
    if has_row {
        result[row] = sum + offset[row];
    }
}
