// prox of each contact, an invocation for each (Nützi 2011, listing 5.1); with ADD it adds d before.

@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(3) var<storage, read> friction: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let contact = index_of(group, groups) * THREADS + lane;
    let at = 3u * contact;
    if at >= params.rows {
        return;
    }
    var normal = result[at];
    var tangents = vec2<real>(result[at + 1u], result[at + 2u]);
    if ADD {
        normal += offset[at];
        tangents += vec2<real>(offset[at + 1u], offset[at + 2u]);
    }
    normal = max(normal, real(0));
    tangents = to_disc(tangents, friction[contact] * normal);
    result[at] = normal;
    result[at + 1u] = tangents.x;
    result[at + 2u] = tangents.y;
}
