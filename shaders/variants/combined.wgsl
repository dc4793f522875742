// prox(T Λ + d) at once (Nützi 2011, 5.2.2): a workgroup has the rows of whole contacts.

@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(3) var<storage, read> friction: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;

var<workgroup> sums: array<real, ROWS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let begin = index_of(group, groups) * ROWS;
    let row = begin + lane;
    let has_row = lane < ROWS && row < params.rows;
    let sum = product_of(row, lane, has_row, 0u, params.rows);
    if has_row {
        sums[lane] = sum + offset[row];
    }
    workgroupBarrier();
    let at = begin + 3u * lane;
    if 3u * lane < ROWS && at < params.rows {
        let normal = max(sums[3u * lane], real(0));
        let tangents = vec2<real>(sums[3u * lane + 1u], sums[3u * lane + 2u]);
        let projected = to_disc(tangents, friction[at / 3u] * normal);
        result[at] = normal;
        result[at + 1u] = projected.x;
        result[at + 2u] = projected.y;
    }
}
