// Relaxed SOR Prox, step A (Nützi 2011, 5.3.2): one workgroup projects a group of contacts, an invocation for each.

@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(3) var<storage, read> friction: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;
@group(0) @binding(6) var<storage, read_write> accumulator: array<real>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) lane: u32) {
    if 3u * lane >= params.count {
        return;
    }
    let at = params.first + 3u * lane;
    let normal = max(accumulator[at] + offset[at], real(0));
    let tangents = vec2<real>(
        accumulator[at + 1u] + offset[at + 1u],
        accumulator[at + 2u] + offset[at + 2u],
    );
    let projected = to_disc(tangents, friction[at / 3u] * normal);
    result[at] = normal;
    result[at + 1u] = projected.x;
    result[at + 2u] = projected.y;
    accumulator[at] = real(0);
    accumulator[at + 1u] = real(0);
    accumulator[at + 2u] = real(0);
}
