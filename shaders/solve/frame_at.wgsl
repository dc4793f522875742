// Where the k-th contact that is bound is, and what it joins. Included behind the bindings of a kernel.

fn frame_at(k: u32) -> Frame {
    let a = frames[tile(k, 4u, 0u)];
    let b = frames[tile(k, 4u, 1u)];
    let c = frames[tile(k, 4u, 2u)];
    let d = frames[tile(k, 4u, 3u)];
    return Frame(a.xyz, bitcast<u32>(a.w), b.xyz, bitcast<u32>(b.w), c.xyz, c.w, d.xyz, d.w);
}
