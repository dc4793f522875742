// y = T Λ with T row by row, in the place of CUBLAS: a workgroup for each row, whose invocations take four columns each
// in turn, so that a small T fills a large device too. The padding of T and of Λ is zero.

@group(0) @binding(1) var<storage, read> value: array<vec4<real>>;
@group(0) @binding(4) var<storage, read> lambda: array<vec4<real>>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;

var<workgroup> sums: array<real, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let row = index_of(group, groups);
    let width = (params.rows + 3u) / 4u;
    var sum = vec4<real>();
    if row < params.rows {
        let begin = row * (params.stride / 4u);
        var x = lane;
        // Four loads are under way at once.
        for (; x + 3u * THREADS < width; x += 4u * THREADS) {
            let a = value[begin + x];
            let b = value[begin + x + THREADS];
            let c = value[begin + x + 2u * THREADS];
            let d = value[begin + x + 3u * THREADS];
            sum += a * lambda[x];
            sum += b * lambda[x + THREADS];
            sum += c * lambda[x + 2u * THREADS];
            sum += d * lambda[x + 3u * THREADS];
        }
        for (; x < width; x += THREADS) {
            sum += value[begin + x] * lambda[x];
        }
    }
    sums[lane] = (sum.x + sum.y) + (sum.z + sum.w);
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if lane < half {
            sums[lane] += sums[lane + half];
        }
        workgroupBarrier();
    }
    if lane == 0u && row < params.rows {
        result[row] = sums[0];
    }
}
