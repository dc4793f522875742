// What a contact's projection needs, of the k-th contact that is bound. Included behind the bindings of a kernel. Words are
// whole numbers until they are known to be none: a small whole number, taken for a float, may be flushed to zero.

fn prox_at(k: u32) -> Prox {
    let a = bitcast<vec4f>(prox[tile(k, 3u, 0u)]);
    let b = bitcast<vec4f>(prox[tile(k, 3u, 1u)]);
    let c = prox[tile(k, 3u, 2u)];
    return Prox(a.xy, a.zw, b.xy, b.z, b.w, bitcast<vec2f>(c.xy), c.z, c.w);
}
