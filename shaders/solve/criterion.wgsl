// What the last iteration changed (Nützi 2011, 4.49 and 4.50), reduced within each workgroup.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> before: array<real>;
@group(0) @binding(4) var<storage, read> lambda: array<real>;
@group(0) @binding(5) var<storage, read_write> partial: array<Change>;

fn inverse(x: real) -> real {
    return select(0.0, 1.0 / x, x > 0.0);
}

@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let k = number(id, groups);
    var change = no_change();
    if k < params.count {
        if params.first + k < params.contacts {
            let contact = prox_at(k);
            let at = contact.at;
            let old = real3(before[at], before[at + 1u], before[at + 2u]);
            let result = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
            let step = result - old;
            let size = abs(step);
            let local = step / contact.omega;
            let r = real2(inverse(contact.r.x), inverse(contact.r.y));
            let beyond = size - abs(old) * real(params.relative);
            change.largest = real4(
                max(size.x, max(size.y, size.z)),
                max(abs(local.x) * r.x, length(local.yz) * r.y),
                result.x * r.x,
                max(beyond.x, max(beyond.y, beyond.z)),
            );
            change.sums = real4(size.x + size.y + size.z, dot(step, step), dot(old, old), 0.0);
        } else {
            let row = rows[params.first + k - params.contacts];
            let old = before[row.at];
            let result = lambda[row.at];
            let step = result - old;
            let r = inverse(row.r);
            change.largest = real4(
                abs(step),
                abs(step / row.omega) * r,
                abs(result) * r,
                abs(step) - abs(old) * real(params.relative),
            );
            change.sums = real4(abs(step), step * step, old * old, 0.0);
        }
    }
    reduce(lane, change);
    let place = group.x + group.y * groups.x;
    if lane == 0u && 64u * place < params.count {
        partial[params.first / 64u + place] = shared_change[0];
    }
}
