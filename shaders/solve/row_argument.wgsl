// z = Λ − R(J u + C Λ + bias) of a general row. Included behind the bindings of a kernel.

fn row_argument(row: Row, old: real) -> real {
    var w = real(0.0);
    for (var e = row.entries.x; e < row.entries.y; e++) {
        let entry = entries[e];
        w += dot(entry.linear, bodies[entry.body].linear.xyz);
        w += dot(entry.angular, bodies[entry.body].angular.xyz);
    }
    w += row.compliance * old + row.bias;
    return old - row.r * real(params.scale) * w;
}
