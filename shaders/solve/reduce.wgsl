// What blocks changed, brought together within a workgroup. Included behind the bindings of a kernel.

struct Change {
    // ‖ΔΛ‖∞, largest ‖ΔΛ‖/R, largest Λ_N/R_N, largest |ΔΛ| − |Λ| T_rel.
    largest: real4,
    // Σ|ΔΛ|, Σ ΔΛ², Σ Λ², and 0.
    sums: real4,
}

var<workgroup> shared_change: array<Change, 64>;

fn no_change() -> Change {
    return Change(real4(0.0, 0.0, 0.0, -3.0e38), real4(0.0));
}

fn united(a: Change, b: Change) -> Change {
    return Change(max(a.largest, b.largest), a.sums + b.sums);
}

// The changes of all invocations together, in the first one.
fn reduce(lane: u32, change: Change) {
    shared_change[lane] = change;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if lane < half {
            shared_change[lane] = united(shared_change[lane], shared_change[lane + half]);
        }
        workgroupBarrier();
    }
}
