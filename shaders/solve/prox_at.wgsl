// What a contact's projection needs, of the k-th contact that is bound. Included behind the bindings of a kernel.

fn prox_at(k: u32) -> Prox {
    let a = prox[tile(k, 3u, 0u)];
    let b = prox[tile(k, 3u, 1u)];
    let c = prox[tile(k, 3u, 2u)];
    let words = bitcast<vec2u>(c.zw);
    return Prox(a.xy, a.zw, b.xy, b.z, b.w, c.xy, words.x, words.y);
}
