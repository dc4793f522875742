//! Small dense blocks.

/// Turns the first `columns` columns of `right` into left⁻¹ right, by Gaussian elimination with pivots from the column;
/// both have `n` rows.
pub fn eliminate<const N: usize, const M: usize>(
    left: &mut [[f64; N]; N],
    right: &mut [[f64; M]; N],
    n: usize,
    columns: usize,
) {
    for k in 0..n {
        let best = (k..n).max_by(|a, b| left[*a][k].abs().total_cmp(&left[*b][k].abs()));
        let best = best.unwrap_or(k);
        left.swap(k, best);
        right.swap(k, best);
        let (pivot, of_pivot) = (left[k], right[k]);
        let inverse = 1.0 / pivot[k];
        for i in 0..n {
            if i == k {
                continue;
            }
            let by = left[i][k] * inverse;
            for j in k..n {
                left[i][j] -= by * pivot[j];
            }
            for j in 0..columns {
                right[i][j] -= by * of_pivot[j];
            }
        }
    }
    for k in 0..n {
        let inverse = 1.0 / left[k][k];
        for x in &mut right[k][..columns] {
            *x *= inverse;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::eliminate;

    #[test]
    fn what_was_multiplied_comes_back() {
        // The first pivot is zero.
        let left = [[0.0, 2.0, 1.0], [4.0, 1.0, -1.0], [1.0, 3.0, 5.0]];
        let solutions = [[1.0, -2.0], [0.5, 3.0], [-4.0, 0.25]];
        let mut right = [[0.0; 2]; 3];
        for i in 0..3 {
            for j in 0..2 {
                right[i][j] = (0..3).map(|k| left[i][k] * solutions[k][j]).sum();
            }
        }
        eliminate(&mut left.clone(), &mut right, 3, 2);
        for (found, expected) in right.iter().flatten().zip(solutions.iter().flatten()) {
            assert!((found - expected).abs() < 1e-13, "{found}, {expected}");
        }
    }
}
