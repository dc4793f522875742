// Copies impulses: what the test of convergence compares with, the checkpoint, and back.

@group(0) @binding(1) var<storage, read> source: array<real>;
@group(0) @binding(2) var<storage, read_write> copy: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k < params.count {
        copy[k] = source[k];
    }
}
