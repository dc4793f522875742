// The changes of all workgroups together, by one workgroup.

struct Change {
    largest: vec4f,
    sums: vec4f,
}

@group(0) @binding(1) var<storage, read> partial: array<Change>;
@group(0) @binding(2) var<storage, read_write> total: array<Change>;

var<workgroup> shared_change: array<Change, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
    var change = Change(vec4f(0.0, 0.0, 0.0, -3.0e38), vec4f(0.0));
    for (var k = lane; k < params.count; k += 64u) {
        change = Change(max(change.largest, partial[k].largest), change.sums + partial[k].sums);
    }
    shared_change[lane] = change;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if lane < half {
            let other = shared_change[lane + half];
            let own = shared_change[lane];
            shared_change[lane] = Change(
                max(own.largest, other.largest),
                own.sums + other.sums,
            );
        }
        workgroupBarrier();
    }
    if lane == 0u {
        total[0] = shared_change[0];
    }
}
