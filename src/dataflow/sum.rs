//! Sums over all workers. Integers only: their sums do not depend on the order.

use timely::worker::Worker;

use super::gather::all_gather;

/// Adds up all workers' `values`, place by place; every worker must pass the same number of them.
pub(crate) fn sum(worker: &mut Worker, values: &[i64]) -> Vec<i64> {
    let mut total = vec![0; values.len()];
    for bytes in all_gather(worker, bytemuck::cast_slice(values)) {
        for (sum, eight) in total.iter_mut().zip(bytes.chunks_exact(8)) {
            let word: [u8; 8] = eight.try_into().expect("chunks of eight bytes");
            *sum += i64::from_ne_bytes(word);
        }
    }
    total
}
