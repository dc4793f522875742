// The product of T, column by column, with a part of Λ (Nützi 2011, algorithm 5.2.2): an invocation for each row, and
// the workgroup loads X_ELEMENTS impulses for each invocation at a time.

@group(0) @binding(1) var<storage, read> value: array<real>;
@group(0) @binding(4) var<storage, read> lambda: array<real>;

const CHUNK: u32 = THREADS * X_ELEMENTS;
var<workgroup> part: array<real, CHUNK>;

// Σ T Λ of a row over the columns from `first` to `end`; all invocations take part, whether they have a row or not.
fn product_of(row: u32, lane: u32, has_row: bool, first: u32, end: u32) -> real {
    var sum = real(0);
    for (var column = first; column < end; column += CHUNK) {
        workgroupBarrier();
        for (var k = 0u; k < X_ELEMENTS; k++) {
            let x = column + k * THREADS + lane;
            if x < end {
                part[k * THREADS + lane] = lambda[x];
            }
        }
        workgroupBarrier();
        if has_row {
            sum += product_of_chunk(row, column, min(CHUNK, end - column));
        }
    }
    return sum;
}

// What one chunk adds, six columns at a time: all are loaded before the first is used.
fn product_of_chunk(row: u32, column: u32, length: u32) -> real {
    let stride = params.stride;
    var at = column * stride + row;
    var sum = real(0);
    var k = 0u;
    for (; k + 6u <= length; k += 6u) {
        let a = value[at];
        let b = value[at + stride];
        let c = value[at + 2u * stride];
        let d = value[at + 3u * stride];
        let e = value[at + 4u * stride];
        let f = value[at + 5u * stride];
        sum += a * part[k];
        sum += b * part[k + 1u];
        sum += c * part[k + 2u];
        sum += d * part[k + 3u];
        sum += e * part[k + 4u];
        sum += f * part[k + 5u];
        at += 6u * stride;
    }
    for (; k < length; k++) {
        sum += value[at] * part[k];
        at += stride;
    }
    return sum;
}
