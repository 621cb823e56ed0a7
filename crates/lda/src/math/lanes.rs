//! Sums over rows in eight interleaved lanes, so that a processor handles several topics at a time. The order of
//! additions is fixed, so results are the same everywhere.

use std::iter::Sum;
use std::ops::{AddAssign, Mul};

/// Σ_k a_k b_k.
pub(crate) fn dot<T: Copy + Default + AddAssign + Mul<Output = T> + Sum>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::default(); 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest = rest.map(|(&x, &y)| x * y).sum();
    for (x, y) in a.zip(b) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.into_iter().chain([rest]).sum()
}

/// Σ_k a_k.
pub(crate) fn sum(a: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let a = a.chunks_exact(8);
    let rest: f32 = a.remainder().iter().sum();
    for x in a {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().sum::<f32>() + rest
}

/// sums_k += ratio · row_k.
pub(crate) fn add_scaled<T: Copy + AddAssign + Mul<Output = T>>(
    sums: &mut [T],
    ratio: T,
    row: &[T],
) {
    for (sum, &factor) in sums.iter_mut().zip(row) {
        *sum += ratio * factor;
    }
}
