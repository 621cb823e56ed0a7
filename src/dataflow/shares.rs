//! Which shards become a part of the tables of documents, and which process projects it. Both depend on the collection
//! and the job alone, not on workers or time.

use std::ops::Range;
use std::sync::Arc;

use super::process::Process;
use corpus::collection::{Collection, ShardEntry};

/// The parts of the tables of documents, and a process's share of them.
#[derive(Debug)]
pub(crate) struct Shares {
    /// The shards of each part, in order.
    pub(super) parts: Vec<Range<usize>>,
    /// The process's parts: process p of P has every P-th.
    pub(super) own: Vec<usize>,
    /// The shards of these.
    pub(super) shards: Vec<usize>,
}

impl Shares {
    /// Returns those of a process of a run over `collection`.
    pub(super) fn of(process: &Process, collection: &Collection) -> Arc<Self> {
        let make = || {
            // Parts stay as they are when documents are added.
            let of_batch = |batch: Range<usize>| {
                let shards = &collection.shards[batch.clone()];
                let all = shards.iter().map(|shard| shard.bytes).sum();
                let parts = parts(shards, process.job.output.part_size(all)).into_iter();
                parts.map(move |part| batch.start + part.start..batch.start + part.end)
            };
            let parts: Vec<_> = collection.batches().flat_map(of_batch).collect();
            let (first, step) = (process.placement.process, process.placement.processes());
            let own: Vec<usize> = (0..parts.len()).skip(first).step_by(step).collect();
            let shards = own.iter().flat_map(|&part| parts[part].clone()).collect();
            Ok(Self { parts, own, shards })
        };
        process.shared("shares", make).expect("shares can be made")
    }
}

/// Groups consecutive shards into parts of about `size` bytes: a shard begins a part if a multiple of the size lies between
/// its beginning and that of the shard before it.
fn parts(shards: &[ShardEntry], size: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut before, mut last) = (0, None);
    for (number, shard) in shards.iter().enumerate() {
        let place = before / size;
        before += shard.bytes;
        match parts.last_mut().filter(|_| last == Some(place)) {
            Some(part) => part.end += 1,
            None => parts.push(number..number + 1),
        }
        last = Some(place);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(sizes: impl IntoIterator<Item = u64>, size: u64) -> Vec<Range<usize>> {
        let shard = |bytes| ShardEntry { bytes, ..ShardEntry::default() };
        parts(&sizes.into_iter().map(shard).collect::<Vec<_>>(), size)
    }

    #[test]
    fn parts_are_consecutive_shards_of_about_the_size() {
        assert_eq!(parts_of([], 10), []);
        assert_eq!(parts_of([1, 1, 900, 1, 1, 1], 3), [0..3, 3..4, 4..6]);
        let parts = parts_of((0..5_000).map(|number| 50 + number % 101), 1_000);
        let shards: Vec<usize> = parts.iter().flat_map(Clone::clone).collect();
        assert_eq!(shards, Vec::from_iter(0..5_000));
        assert!(parts.iter().all(|part| (6..=20).contains(&part.len())), "{parts:?}");
        assert!(parts.len().abs_diff(500) <= 1);
    }

    #[test]
    fn shards_that_are_larger_than_the_size_are_parts_of_their_own() {
        assert_eq!(parts_of([7, 9, 8], 7), [0..1, 1..2, 2..3]);
    }
}
