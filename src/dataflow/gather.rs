//! Collective operations of all workers between two stages.
//!
//! Each call builds a small dataflow, runs it to completion and returns; all workers must make the
//! same calls in the same order. Callers serialize richer values themselves.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytemuck::Pod;
use timely::dataflow::channels::pact::{ParallelizationContract, Pipeline};
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::dataflow::{ProbeHandle, Stream};
use timely::worker::Worker;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::exchange::{BlockBuilder, BlockInput, Broadcast, route};
use super::merge::{SUM, add_piece, give_vector};
use crate::wire::{OwnedWire, packed, unpacked};

/// How long a worker without work sleeps before it checks again.
pub(super) const PARK: Duration = Duration::from_millis(100);
/// Blocks that are sent before the worker steps (4 MiB).
pub(super) const BLOCKS_A_STEP: usize = 8;

/// Gathers the bytes of all workers on every worker, in the order of the workers.
///
/// Any length is allowed, even 0. Each worker gets its own copy; for more than a few megabytes use
/// [`all_gather_blocks`], whose result the workers of a process share.
pub fn all_gather(worker: &mut Worker, mine: &[u8]) -> Vec<Vec<u8>> {
    let gathered = all_gather_blocks(worker, in_pieces(&packed([mine])));
    let bytes = |blocks: &Vec<Block>| {
        let words = joined(blocks);
        let mut values = unpacked::<&[u8]>(&words);
        values.next().expect("every worker sends one value").to_vec()
    };
    gathered.iter().map(bytes).collect()
}

/// Cuts words into pieces that fit a block.
pub(super) fn in_pieces(words: &[u64]) -> Vec<Vec<u64>> {
    words.chunks(MAX_BLOCK_WORDS).map(<[u64]>::to_vec).collect()
}

/// Returns the words of all blocks.
pub(super) fn joined<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Vec<u64> {
    blocks.into_iter().map(Block::words).collect::<Vec<_>>().concat()
}

/// Gathers the words of all workers on every worker: each passes pieces of at most
/// [`MAX_BLOCK_WORDS`], and gets the pieces of all, by worker, and for each in the order in which it
/// passed them. A worker may pass none.
///
/// One copy goes to each process; its workers share it. A block may be a view into a receive
/// buffer of 1 MiB, which lives as long as the block does.
///
/// # Panics
/// Panics if a piece is too long.
pub fn all_gather_blocks(worker: &mut Worker, mine: Vec<Vec<u64>>) -> Vec<Vec<Block>> {
    let (index, peers) = (worker.index(), worker.peers());
    let block = |(number, words)| Block::to_everyone(index, peers, number, words);
    let mut gathered = vec![Vec::new(); peers];
    for block in deliver(worker, "all gather", Broadcast, (0..).zip(mine).map(block)) {
        gathered[block.source()].push(block);
    }
    gathered
}

/// Delivers blocks; returns those that arrive at this worker, by source and tag.
pub(super) fn deliver(
    worker: &mut Worker,
    name: &str,
    pact: impl ParallelizationContract<u64, Block>,
    blocks: impl IntoIterator<Item = Block>,
) -> Vec<Block> {
    let received = Rc::new(RefCell::new(Vec::new()));
    let keeping = Rc::clone(&received);
    let keep = move |block: Block| keeping.borrow_mut().push(block);
    let mut delivery = Delivery::new(worker, name, pact, keep);
    for (number, block) in blocks.into_iter().enumerate() {
        delivery.send([block]);
        if number % BLOCKS_A_STEP == BLOCKS_A_STEP - 1 {
            worker.step();
        }
    }
    delivery.finish(worker);
    let mut received = received.take();
    received.sort_by_key(|block| (block.source(), block.tag()));
    received
}

/// Gathers records of whole words of all workers on every worker, in the order of the workers.
pub(super) fn gather_records<T: Pod>(worker: &mut Worker, mine: &[T]) -> Vec<T> {
    let words = size_of::<T>() / size_of::<u64>();
    let pieces =
        mine.chunks(MAX_BLOCK_WORDS / words).map(|some| bytemuck::cast_slice(some).to_vec());
    let gathered = all_gather_blocks(worker, pieces.collect());
    let blocks = gathered.iter().flatten();
    blocks.flat_map(|block| bytemuck::cast_slice(block.words()).iter().copied()).collect()
}

/// Gathers values of all workers on every worker, in the order of the workers.
pub(super) fn gather_values<T: OwnedWire>(worker: &mut Worker, mine: Vec<T>) -> Vec<T> {
    let gathered = all_gather_blocks(worker, in_pieces(&packed(mine)));
    let of_worker = |blocks: &Vec<Block>| unpacked(&joined(blocks)).collect::<Vec<T>>();
    gathered.iter().flat_map(of_worker).collect()
}

/// Fewest values that a worker adds up, if there are as many.
const VALUES_A_SHARE: usize = 1 << 10;

/// Sums all workers' `values`, place by place; every worker must pass the same number of them.
pub(crate) fn sum(worker: &mut Worker, values: &[i64]) -> Vec<i64> {
    let sums = sum_blocks(worker, values);
    sums.iter().flat_map(|block| bytemuck::cast_slice(block.words())).copied().collect()
}

/// Returns the [`sum`] in blocks that the workers of a process share. Each worker adds up a contiguous share of the
/// places while blocks arrive.
pub(super) fn sum_blocks(worker: &mut Worker, values: &[i64]) -> Vec<Block> {
    let total = Rc::new(RefCell::new(Vec::new()));
    let added = Rc::clone(&total);
    let add = move |block: Block| add_piece(&mut added.borrow_mut(), &block);
    let (index, mut delivery) = (worker.index(), Delivery::new(worker, "sum", route(), add));
    let share = values.len().div_ceil(worker.peers()).max(VALUES_A_SHARE);
    for (owner, values) in values.chunks(share).enumerate() {
        give_vector(values, SUM, &mut |tag, words| {
            delivery.send([Block::to_worker(index, owner, tag, words)]);
        });
        worker.step();
    }
    delivery.finish(worker);
    let total = in_pieces(bytemuck::cast_slice(&total.take()));
    all_gather_blocks(worker, total).into_iter().flatten().collect()
}

/// Waits until every worker has called it.
pub fn barrier(worker: &mut Worker) {
    Delivery::new(worker, "barrier", Pipeline, |_| {}).finish(worker);
}

/// A dataflow that delivers blocks.
pub(crate) struct Delivery {
    input: BlockInput<u64>,
    probe: ProbeHandle<u64>,
}

impl Delivery {
    /// Builds it; every worker must. The pact determines which workers receive each block.
    pub(crate) fn new(
        worker: &mut Worker,
        name: &str,
        pact: impl ParallelizationContract<u64, Block>,
        receive: impl FnMut(Block) + 'static,
    ) -> Self {
        let probe = ProbeHandle::new();
        let input = worker.dataflow_named(name, |scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            receive_all(stream, pact, receive).probe_with(&probe);
            input
        });
        Self { input, probe }
    }

    /// Sends blocks.
    pub(crate) fn send(&mut self, blocks: impl IntoIterator<Item = Block>) {
        for mut block in blocks {
            self.input.send_batch(&mut block);
        }
    }

    /// Steps until every worker has received all blocks.
    pub(crate) fn finish(self, worker: &mut Worker) {
        self.input.close();
        while !self.probe.done() {
            worker.step_or_park(Some(PARK));
        }
    }
}

/// Passes the blocks of a stream to `receive`; outputs none.
pub(super) fn receive_all<'scope>(
    stream: Stream<'scope, u64, Block>,
    pact: impl ParallelizationContract<u64, Block>,
    mut receive: impl FnMut(Block) + 'static,
) -> Stream<'scope, u64, Block> {
    stream.unary::<BlockBuilder, _, _, _>(pact, "collect", |_, _| {
        move |input, _output| input.for_each(|_, block| receive(std::mem::take(block)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use mesh::{ClusterSettings, Failure, Placement, execute};

    /// Returns bytes that encode their origin.
    fn contribution(worker: usize, length: usize) -> Vec<u8> {
        (0..length).map(|n| (n * 31 + worker * 7 + n / 256) as u8).collect()
    }

    #[test]
    fn all_workers_gather_the_same_in_worker_order() {
        for threads in 1..=3 {
            for lengths in [[0, 0, 0], [0, 1, 9], [1_500_001, 3, 600_000], [8, 0, 524_280]] {
                let gathered = execute(
                    &Placement::single(threads),
                    &ClusterSettings::default(),
                    move |worker| {
                        let index = worker.index();
                        let mine = contribution(index, lengths[index]);
                        Ok::<_, Failure>(all_gather(worker, &mine))
                    },
                )
                .unwrap();
                let expected: Vec<Vec<u8>> =
                    (0..threads).map(|worker| contribution(worker, lengths[worker])).collect();
                for got in gathered {
                    assert!(got == expected, "{threads} threads, {lengths:?}");
                }
            }
        }
    }

    #[test]
    fn threads_share_what_they_gather() {
        let placement = Placement::single(2);
        let pointers = execute(&placement, &ClusterSettings::default(), |worker| {
            let mine = vec![vec![worker.index() as u64; 10]; 3];
            let blocks = all_gather_blocks(worker, mine);
            let pointers: Vec<usize> =
                blocks.iter().flatten().map(|block| block.words().as_ptr() as usize).collect();
            // Neither may drop its blocks before both have looked.
            barrier(worker);
            drop(blocks);
            Ok::<_, Failure>(pointers)
        })
        .unwrap();
        assert_eq!(pointers[0].len(), 6);
        assert_eq!(pointers[0], pointers[1]);
    }

    #[test]
    fn a_worker_may_give_no_blocks() {
        let placement = Placement::single(3);
        let counts = execute(&placement, &ClusterSettings::default(), |worker| {
            let mine = vec![vec![]; worker.index()];
            let blocks = all_gather_blocks(worker, mine);
            Ok::<_, Failure>(blocks.iter().map(Vec::len).collect::<Vec<_>>())
        })
        .unwrap();
        assert_eq!(counts, vec![vec![0, 1, 2]; 3]);
    }

    #[test]
    fn records_are_gathered_in_the_order_of_the_workers() {
        let gathered = execute(&Placement::single(3), &ClusterSettings::default(), |worker| {
            let index = worker.index() as u64;
            let count = [0, 70_000, 1][worker.index()];
            let mine: Vec<[u64; 3]> = (0..count).map(|number| [index, number, 7]).collect();
            Ok::<_, Failure>(gather_records(worker, &mine))
        })
        .unwrap();
        let mut expected: Vec<[u64; 3]> = (0..70_000).map(|number| [1, number, 7]).collect();
        expected.push([2, 0, 7]);
        assert!(gathered.iter().all(|records| *records == expected));
    }

    #[test]
    fn sums_are_of_all_workers_place_by_place() {
        for (workers, count) in
            [(3, 0), (5, 1), (5, 2 * VALUES_A_SHARE + 1), (3, 7 * MAX_BLOCK_WORDS + 5)]
        {
            let sums =
                execute(&Placement::single(workers), &ClusterSettings::default(), move |worker| {
                    let index = worker.index() as i64;
                    let mine: Vec<i64> =
                        (0..count as i64).map(|place| index * (place - 1)).collect();
                    Ok::<_, Failure>(sum(worker, &mine))
                })
                .unwrap();
            let pairs = (workers * (workers - 1) / 2) as i64;
            let expected: Vec<i64> = (0..count as i64).map(|place| pairs * (place - 1)).collect();
            assert!(sums.iter().all(|all| *all == expected));
        }
    }

    #[test]
    fn nobody_passes_a_barrier_before_the_last_has_come() {
        let arrived = Arc::new(AtomicUsize::new(0));
        let placement = Placement::single(3);
        let seen = execute(&placement, &ClusterSettings::default(), move |worker| {
            let mut seen = Vec::new();
            for round in 1..=5 {
                if worker.index() == round % 3 {
                    std::thread::sleep(Duration::from_millis(20));
                }
                arrived.fetch_add(1, Ordering::SeqCst);
                barrier(worker);
                seen.push(arrived.load(Ordering::SeqCst) >= 3 * round);
            }
            Ok::<_, Failure>(seen)
        })
        .unwrap();
        assert_eq!(seen, vec![vec![true; 5]; 3]);
    }

    #[test]
    fn bytes_are_cut_and_joined() {
        let block = (MAX_BLOCK_WORDS) * 8;
        for length in [0, 1, 7, 8, block - 9, block - 8, block - 7, block, 3 * block + 5] {
            let bytes = contribution(0, length);
            let blocks: Vec<Block> = (0..)
                .zip(in_pieces(&packed([&bytes[..]])))
                .map(|(tag, words)| Block::to_worker(0, 0, tag, words))
                .collect();
            let words = joined(&blocks);
            assert!(unpacked::<&[u8]>(&words).eq([&bytes[..]]), "{length}");
        }
    }
}
