// Where the k-th contact that is bound is, and what it joins. Included behind the bindings of a kernel. Words are whole
// numbers until they are known to be none.

fn frame_at(k: u32) -> Frame {
    let a = frames[tile(k, 4u, 0u)];
    let b = frames[tile(k, 4u, 1u)];
    let c = bitcast<vec4f>(frames[tile(k, 4u, 2u)]);
    let d = bitcast<vec4f>(frames[tile(k, 4u, 3u)]);
    return Frame(
        bitcast<vec3f>(a.xyz),
        a.w,
        bitcast<vec3f>(b.xyz),
        b.w,
        c.xyz,
        c.w,
        d.xyz,
        d.w,
    );
}

// The two bodies that it joins.
fn pair_at(k: u32) -> vec2u {
    return vec2u(frames[tile(k, 4u, 0u)].w, frames[tile(k, 4u, 1u)].w);
}
