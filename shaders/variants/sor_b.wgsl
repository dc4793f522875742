// SOR Prox, step B (Nützi 2011, 5.3): t + T Λ with the new impulses of a diagonal block, for all rows, or for those
// outside of the block.

@group(0) @binding(6) var<storage, read_write> accumulator: array<real>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let k = index_of(group, groups) * THREADS + lane;
    let row = select(k, k + params.count, SKIPS_BLOCK && k >= params.first);
    let has_row = row < params.rows;
    let sum = product_of(row, lane, has_row, params.first, params.first + params.count);
    if has_row {
        accumulator[row] += sum;
    }
}
