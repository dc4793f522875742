// z = T Λ + d with T as a whole, row by row (Nützi 2011, 5.2.1): a workgroup for each row, whose invocations take four
// columns each in turn, so that a small T fills the device too.

@group(0) @binding(1) var<storage, read> value: array<real4>;
@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(3) var<storage, read> lambda: array<real4>;
@group(0) @binding(4) var<storage, read_write> argument: array<real>;

var<workgroup> sums: array<real, 64>;

@compute @workgroup_size(64)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let k = group.x + group.y * groups.x;
    let whole = params.count / 4u;
    let width = (params.count + 3u) / 4u;
    var sum = real(0.0);
    if k < params.span.y {
        let begin = k * width;
        for (var x = lane; x < whole; x += 64u) {
            sum += dot(value[begin + x], lambda[x]);
        }
        // What lies behind the last impulse is no number.
        if lane < params.count - 4u * whole {
            sum += value[begin + whole][lane] * lambda[whole][lane];
        }
    }
    sums[lane] = sum;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if lane < half {
            sums[lane] += sums[lane + half];
        }
        workgroupBarrier();
    }
    if lane == 0u && k < params.span.y {
        let row = params.span.x + k;
        argument[row] = sums[0] + offset[row];
    }
}
