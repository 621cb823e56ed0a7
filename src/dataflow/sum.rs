//! Sums over all workers. Integers only: their sums do not depend on the order.

use timely::worker::Worker;

use super::gather::gather_records;

/// Sums all workers' `values`, place by place; every worker must pass the same number of them.
pub(crate) fn sum(worker: &mut Worker, values: &[i64]) -> Vec<i64> {
    let mut total = vec![0; values.len()];
    for all in gather_records(worker, values).chunks(values.len().max(1)) {
        for (sum, value) in total.iter_mut().zip(all) {
            *sum += value;
        }
    }
    total
}
