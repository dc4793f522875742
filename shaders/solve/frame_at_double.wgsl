// Where the k-th contact that is bound is, and what it joins. Included behind the bindings of a kernel.

fn frame_at(k: u32) -> Frame {
    return frames[k];
}

// The two bodies that it joins.
fn pair_at(k: u32) -> vec2u {
    return vec2u(frames[k].first, frames[k].second);
}
