// SOR Prox with T as a whole, step B (Nützi 2011, 5.3.1): all rows but those of the diagonal block see its impulses; those
// of a group that was projected together see them too (5.3.2).

@group(0) @binding(1) var<storage, read> units: array<vec2u>;
@group(0) @binding(2) var<storage, read> value: array<real>;
@group(0) @binding(3) var<storage, read> lambda: array<real>;
@group(0) @binding(4) var<storage, read_write> argument: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let begin = units[params.first].y;
    let last = units[params.first + params.count - 1u];
    let end = last.y + select(3u, 1u, (last.x & ROWS) != 0u);
    let k = number(id, groups);
    let height = params.span.y;
    let row = params.span.x + k;
    if k >= height || (params.others == 0u && row >= begin && row < end) {
        return;
    }
    var sum = real(0.0);
    for (var x = begin; x < end; x++) {
        sum += value[x * height + k] * lambda[x];
    }
    argument[row] += sum;
}
