// z = T Λ + d with T as a whole, column by column within its segment (Nützi 2011, 5.2.1): a row for each invocation, with Λ
// brought into the workgroup's memory piece by piece.

@group(0) @binding(1) var<storage, read> value: array<f32>;
@group(0) @binding(2) var<storage, read> offset: array<f32>;
@group(0) @binding(3) var<storage, read> lambda: array<f32>;
@group(0) @binding(4) var<storage, read_write> argument: array<f32>;

var<workgroup> piece: array<f32, 64>;

@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(num_workgroups) groups: vec3u,
) {
    let k = number(id, groups);
    let height = params.segment.y;
    var sum = 0.0;
    for (var first = 0u; first < params.count; first += 64u) {
        workgroupBarrier();
        piece[lane] = 0.0;
        if first + lane < params.count {
            piece[lane] = lambda[first + lane];
        }
        workgroupBarrier();
        if k < height {
            let width = min(64u, params.count - first);
            for (var x = 0u; x < width; x++) {
                sum += value[(first + x) * height + k] * piece[x];
            }
        }
    }
    if k < height {
        let row = params.segment.x + k;
        argument[row] = sum + offset[row];
    }
}
