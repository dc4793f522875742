//! How far a factor is from its matrix, and from a fresh factor.

use super::factor::Factorization;
use super::island::IslandMatrix;
use super::panels::{Envelope, Panels};

/// ‖L Lᵀ − A_FF‖/‖A_FF‖ and ‖L − L_fresh‖/‖L_fresh‖ (Frobenius) of a factorisation that was restricted
/// to these rows; the fresh factor is a dense one.
pub fn compare(matrix: &IslandMatrix, factor: &dyn Factorization, tight: &[bool]) -> [f64; 2] {
    let n = matrix.n;
    let mut dense = Envelope::default();
    dense.set(n, |_| n - 1);
    let mut a = vec![0.0; dense.len()];
    for k in 0..n {
        let from = &matrix.value[matrix.envelope.column(k)];
        let to = dense.column(k);
        // Both begin at the panel's first row; the envelope may end beyond the padded matrix's rows.
        let count = from.len().min(to.len());
        a[to][..count].copy_from_slice(&from[..count]);
    }
    dense.pad(n, &mut a);
    let mut fresh = Panels::default();
    if fresh.factor(&dense, &a, tight, 0).is_err() {
        return [f64::NAN; 2];
    }
    let mut l = vec![0.0; n * n];
    factor.each_entry(&mut |i, k, value| l[i * n + k] = value);
    let free: Vec<usize> = (0..n).filter(|i| !tight[*i]).collect();
    let [mut error, mut size, mut apart, mut length] = [0.0; 4];
    for (row, i) in free.iter().enumerate() {
        for k in &free[..=row] {
            // The columns are the pivots, in whatever order they were.
            let product: f64 = l[i * n..(i + 1) * n]
                .iter()
                .zip(&l[k * n..(k + 1) * n])
                .map(|(a, b)| a * b)
                .sum();
            let entry = a[dense.at(*i, *k)];
            let twice = if i == k { 1.0 } else { 2.0 };
            error += twice * (product - entry) * (product - entry);
            size += twice * entry * entry;
            let exact = fresh.value[dense.at(*i, *k)];
            let difference = l[i * n + k] - exact;
            apart += difference * difference;
            length += exact * exact;
        }
    }
    let ratio = |a: f64, b: f64| if b > 0.0 { (a / b).sqrt() } else { 0.0 };
    [ratio(error, size), ratio(apart, length)]
}
