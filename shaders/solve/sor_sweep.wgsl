// SOR Prox without a matrix: the units of one colour, which share no body that moves; each takes its blocks in turn, and
// the bodies take up their impulses at once.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> frames: array<FrameWords>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> entries: array<Entry>;
@group(0) @binding(5) var<storage, read> units: array<vec2u>;
@group(0) @binding(6) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(7) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let k = number(id, groups);
    if k < params.count {
        if params.others > 0u {
            sweep_unit(vec2u(params.others - 1u + k, 1u));
        } else {
            sweep_unit(units[params.first + k]);
        }
    }
}
