// The changes of all workgroups together, by one workgroup.

@group(0) @binding(1) var<storage, read> partial: array<Change>;
@group(0) @binding(2) var<storage, read_write> total: array<Change>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
    var change = no_change();
    for (var k = lane; k < params.count; k += 64u) {
        change = united(change, partial[k]);
    }
    reduce(lane, change);
    if lane == 0u {
        total[0] = shared_change[0];
    }
}
