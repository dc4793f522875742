// What all kernels of the dense variants share (Nützi 2011, table 6.1). The host puts the number type `real`, `rsqrt`
// and the settings of the kernel before this text.

struct Params {
    // Rows of T, which has as many columns.
    rows: u32,
    // Values from one column of T to the next, or from one row to the next where T lies row by row.
    stride: u32,
    // The rows of the diagonal block that the dispatch is about.
    first: u32,
    count: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Which workgroup this is of a grid that may be folded.
fn index_of(group: vec3u, groups: vec3u) -> u32 {
    return group.x + group.y * groups.x;
}

// The disc of a contact's friction.
fn to_disc(friction: vec2<real>, radius: real) -> vec2<real> {
    let square = friction.x * friction.x + friction.y * friction.y;
    if square > radius * radius {
        return friction * (radius * rsqrt(square));
    }
    return friction;
}
