// SOR Prox with T as a whole, step A (Nützi 2011, 5.3.1): one workgroup takes the blocks of a diagonal block one after
// the other, a row for each invocation, which sums up what its row sees.

@group(0) @binding(1) var<storage, read> prox: array<ProxWords>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> units: array<vec2u>;
@group(0) @binding(4) var<storage, read> value: array<real>;
@group(0) @binding(5) var<storage, read> offset: array<real>;
@group(0) @binding(6) var<storage, read_write> argument: array<real>;
@group(0) @binding(7) var<storage, read_write> lambda: array<real>;

var<workgroup> accumulated: array<real, THREADS>;
var<workgroup> impulses: array<real, THREADS>;

// z of a row of the diagonal block.
fn argument_of(lane: u32, row: u32) -> real {
    let z = accumulated[lane] + offset[row];
    return towards(real3(z), real3(impulses[lane])).x;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) lane: u32) {
    let begin = units[params.first].y;
    let last = units[params.first + params.count - 1u];
    let end = last.y + select(3u, 1u, (last.x & ROWS) != 0u);
    let row = begin + lane;
    let height = params.span.y;
    // Where this row's values begin.
    let base = row - params.span.x;
    let is_mine = row < end;
    if is_mine {
        accumulated[lane] = argument[row];
        impulses[lane] = lambda[row];
    }
    workgroupBarrier();
    for (var u = params.first; u < params.first + params.count; u++) {
        let unit = units[u];
        let own = unit.y - begin;
        if (unit.x & ROWS) != 0u {
            if lane == own {
                let z = argument_of(own, unit.y);
                impulses[own] = prox_row(rows[unit.x & ~ROWS], z, impulses[own]);
                accumulated[own] = 0.0;
            }
            workgroupBarrier();
            if is_mine {
                accumulated[lane] += value[unit.y * height + base] * impulses[own];
            }
            workgroupBarrier();
            continue;
        }
        // The normal row, which all others see at once.
        if lane == own {
            impulses[own] = max(argument_of(own, unit.y), 0.0);
            accumulated[own] = 0.0;
        }
        workgroupBarrier();
        if is_mine {
            accumulated[lane] += value[unit.y * height + base] * impulses[own];
        }
        workgroupBarrier();
        // Both friction rows.
        if lane == own + 1u {
            let contact = prox_at(unit.x);
            let z = real2(
                argument_of(own + 1u, unit.y + 1u),
                argument_of(own + 2u, unit.y + 2u),
            );
            let friction =
                project_friction(contact.block >> 30u, z, contact.mu, impulses[own]);
            impulses[own + 1u] = friction.x;
            impulses[own + 2u] = friction.y;
            accumulated[own + 1u] = 0.0;
            accumulated[own + 2u] = 0.0;
        }
        workgroupBarrier();
        if is_mine {
            accumulated[lane] += value[(unit.y + 1u) * height + base] * impulses[own + 1u]
                + value[(unit.y + 2u) * height + base] * impulses[own + 2u];
        }
        workgroupBarrier();
    }
    if is_mine {
        argument[row] = accumulated[lane];
        lambda[row] = impulses[lane];
    }
}
