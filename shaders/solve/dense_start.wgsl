// The accumulator of SOR Prox before the first row: of each row the product with what comes after it (Nützi 2011, 5.15).

@group(0) @binding(1) var<storage, read> value: array<real>;
@group(0) @binding(2) var<storage, read> column: array<u32>;
@group(0) @binding(3) var<storage, read> lambda: array<real>;
@group(0) @binding(4) var<storage, read_write> argument: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    let height = params.span.y;
    if k >= height {
        return;
    }
    let row = params.span.x + k;
    var sum = real(0.0);
    for (var x = column[row]; x < params.count; x++) {
        sum += value[x * height + k] * lambda[x];
    }
    argument[row] = sum;
}
