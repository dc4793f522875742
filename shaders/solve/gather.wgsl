// u = u_free + M⁻¹ Jᵀ Λ, body by body.

@group(0) @binding(1) var<storage, read> frames: array<FrameWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> entries: array<Entry>;
@group(0) @binding(4) var<storage, read> touches: array<u32>;
@group(0) @binding(5) var<storage, read> free: array<real4>;
@group(0) @binding(6) var<storage, read> lambda: array<real>;
@group(0) @binding(7) var<storage, read_write> bodies: array<Body>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let b = number(id, groups);
    if b < params.count {
        gather_body(b);
    }
}
