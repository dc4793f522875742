// y + d, row by row.

@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let row = index_of(group, groups) * THREADS + lane;
    if row < params.rows {
        result[row] += offset[row];
    }
}
