// (T Λ + d)_b; a general row has one component only. Included behind the bindings of a kernel.

fn block_product(b: u32) -> real3 {
    let here = block_rows[b];
    let next = block_rows[b + 1u];
    var v = here.value;
    if next.row == here.row + 1u {
        var sum = offset[here.row];
        for (var e = here.column; e < next.column; e++) {
            let other = column[e];
            for (var x = block_rows[other].row; x < block_rows[other + 1u].row; x++) {
                sum += value[v] * lambda[x];
                v += 1u;
            }
        }
        return real3(sum, 0.0, 0.0);
    }
    var sum = real3(offset[here.row], offset[here.row + 1u], offset[here.row + 2u]);
    for (var e = here.column; e < next.column; e++) {
        let other = column[e];
        let at = block_rows[other].row;
        if block_rows[other + 1u].row == at + 1u {
            sum += real3(value[v], value[v + 1u], value[v + 2u]) * lambda[at];
            v += 3u;
        } else {
            let x = real3(lambda[at], lambda[at + 1u], lambda[at + 2u]);
            sum += real3(
                dot(real3(value[v], value[v + 1u], value[v + 2u]), x),
                dot(real3(value[v + 3u], value[v + 4u], value[v + 5u]), x),
                dot(real3(value[v + 6u], value[v + 7u], value[v + 8u]), x),
            );
            v += 9u;
        }
    }
    return sum;
}
