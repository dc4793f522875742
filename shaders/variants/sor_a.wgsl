// Full SOR Prox, step A (Nützi 2011, algorithm 5.3.2 and listing A.2): one workgroup takes the contacts of a diagonal
// block one after the other, an invocation for each row, which sums up what its row sees. The host can leave parts out,
// to measure what they take; what is computed is wrong then.

@group(0) @binding(1) var<storage, read> value: array<real>;
@group(0) @binding(2) var<storage, read> offset: array<real>;
@group(0) @binding(3) var<storage, read> friction: array<real>;
@group(0) @binding(5) var<storage, read_write> result: array<real>;
@group(0) @binding(6) var<storage, read_write> accumulator: array<real>;

var<workgroup> accumulated: array<real, THREADS>;
var<workgroup> impulses: array<real, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) lane: u32) {
    let row = params.first + lane;
    let has_row = lane < params.count;
    let stride = params.stride;
    var at = params.first * stride + row;
    var own = real(0);
    var next = real(0);
    if has_row {
        accumulated[lane] = accumulator[row];
        own = offset[row];
    }
    if lane + 1u < params.count {
        next = offset[row + 1u];
    }
    for (var column = 0u; column < params.count; column += 3u) {
        if lane == column {
            var normal = own;
            if NORMAL {
                normal = max(own + accumulated[lane], real(0));
            }
            if WRITES {
                impulses[lane] = normal;
                accumulated[lane] = real(0);
            }
        }
        if BARRIERS {
            workgroupBarrier();
        }
        if PROPAGATE && has_row {
            accumulated[lane] += value[at] * impulses[column];
        }
        // The second friction row's sum is read by the first one's invocation.
        if BARRIERS {
            workgroupBarrier();
        }
        if lane == column + 1u {
            var tangents = vec2<real>(own, next);
            if TANGENTIAL {
                tangents += vec2<real>(accumulated[lane], accumulated[lane + 1u]);
                let radius = friction[(params.first + column) / 3u] * impulses[column];
                tangents = to_disc(tangents, radius);
            }
            if WRITES {
                impulses[lane] = tangents.x;
                impulses[lane + 1u] = tangents.y;
                accumulated[lane] = real(0);
                accumulated[lane + 1u] = real(0);
            }
        }
        if BARRIERS {
            workgroupBarrier();
        }
        if PROPAGATE && has_row {
            accumulated[lane] += value[at + stride] * impulses[column + 1u];
            accumulated[lane] += value[at + 2u * stride] * impulses[column + 2u];
        }
        at += 3u * stride;
    }
    if has_row {
        result[row] = impulses[lane];
        accumulator[row] = accumulated[lane];
    }
}
