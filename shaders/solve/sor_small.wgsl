// SOR Prox without a matrix: several small colours, one after the other, by one workgroup; as often as a problem that has
// no others is swept.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> frames: array<FrameWords>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> entries: array<Entry>;
@group(0) @binding(5) var<storage, read> units: array<vec2u>;
// First unit of each colour, and how many it has.
@group(0) @binding(6) var<storage, read> colors: array<vec2u>;
@group(0) @binding(7) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(8) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var k = 0u; k < params.repeat; k++) {
        for (var c = params.first; c < params.first + params.count; c++) {
            let color = colors[c];
            if lane < color.y {
                sweep_unit(units[color.x + lane]);
            }
            storageBarrier();
        }
    }
}
