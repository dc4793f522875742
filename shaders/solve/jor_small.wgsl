// JOR Prox without a matrix for a small problem: whole iterations, by one workgroup.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> frames: array<FrameWords>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> entries: array<Entry>;
@group(0) @binding(5) var<storage, read> touches: array<u32>;
@group(0) @binding(6) var<storage, read> free: array<real4>;
@group(0) @binding(7) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(8) var<storage, read_write> lambda: array<real>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var k = 0u; k < params.repeat; k++) {
        if lane < params.count {
            project_block(lane);
        }
        storageBarrier();
        if lane < params.others {
            gather_body(lane);
        }
        storageBarrier();
    }
}
