//! How blocks get from worker to worker: each to one, or each to all.
//!
//! [`route`] sends whole blocks to the worker in their header. [`Broadcast`] sends a block once to
//! each *process*, whose workers share it: timely's stock broadcast makes a copy for each worker and each record. Its
//! trick is in the bookkeeping: a block counts as many records as there are workers before the
//! pact and as one behind it, so that what is produced equals what is consumed over all workers.

use std::rc::Rc;

use timely::communication::{Pull, Push};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::Message;
use timely::dataflow::channels::pact::{DistributorPact, LogPuller, ParallelizationContract};
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::logging::TimelyLogger;
use timely::progress::Timestamp;
use timely::worker::Worker;

use super::block::Block;

/// The container builder of operators that give blocks: `output.session(&time).give_container(&mut block)`.
pub type BlockBuilder = CapacityContainerBuilder<Block>;

/// An input for blocks: `input.send_batch(&mut block)`; what is left in `block` is of no use.
pub type BlockInput<T> = InputHandle<T, BlockBuilder>;

/// The pact that sends each block to the worker in its header.
///
/// As with every pact, blocks of a later time may arrive before the current time is over: a worker that is
/// ahead sends them. Keep blocks by time until the frontier has passed it.
pub fn route() -> DistributorPact<fn(usize) -> ByHeader> {
    DistributorPact(|_peers| ByHeader)
}

/// Gives each block to the pusher of its target.
#[derive(Debug)]
pub struct ByHeader;

impl Distributor<Block> for ByHeader {
    fn partition<T: Clone, P: Push<Message<T, Block>>>(
        &mut self,
        block: &mut Block,
        time: &T,
        pushers: &mut [P],
    ) {
        let target = block.target().expect("a routed block is made by Block::to_worker");
        Message::push_at(block, time.clone(), &mut pushers[target]);
    }

    fn flush<T: Clone, P: Push<Message<T, Block>>>(&mut self, _time: &T, _pushers: &mut [P]) {}
}

/// The pact that delivers each block to every worker, the sender included.
///
/// Blocks of one sender arrive in the order in which they were sent; those of different senders
/// mix in any order.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast;

impl<T> ParallelizationContract<T, Block> for Broadcast
where
    T: Timestamp,
{
    type Pusher = BroadcastPusher<T>;
    type Puller = LogPuller<Box<dyn Pull<Message<T, Block>>>>;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (inner, puller) = worker.broadcast::<Message<T, Block>>(identifier, address);
        let pusher =
            BroadcastPusher { inner, worker: worker.index(), peers: worker.peers(), sent: 0 };
        let puller = LogPuller::new(puller, worker.index(), identifier, logging);
        (pusher, puller)
    }
}

/// The sending end of a [`Broadcast`].
pub struct BroadcastPusher<T> {
    inner: Box<dyn Push<Message<T, Block>>>,
    worker: usize,
    peers: usize,
    sent: usize,
}

impl<T> Push<Message<T, Block>> for BroadcastPusher<T> {
    fn push(&mut self, message: &mut Option<Message<T, Block>>) {
        if let Some(message) = message {
            assert!(
                message.data.deliveries() == self.peers,
                "a broadcast block is made by Block::to_everyone, with the number of workers"
            );
            message.data.count_once();
            message.from = self.worker;
            message.seq = self.sent;
            self.sent += 1;
        }
        self.inner.push(message);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use timely::dataflow::ProbeHandle;
    use timely::dataflow::operators::{Input, Operator, Probe};

    use super::*;
    use crate::cluster::{DEFAULT_DEADLINE, Failure, Placement, execute};

    /// A block as the receiver sees it: round, source, target, tag, first word.
    type Seen = (u64, usize, Option<usize>, u64, u64);

    /// Rounds of `blocks(worker, peers, round)` over a pact; what each worker has received when
    /// the probe says that the round is over.
    fn rounds<P>(
        worker: &mut Worker,
        pact: P,
        count: u64,
        blocks: impl Fn(usize, usize, u64) -> Vec<Block>,
    ) -> Vec<Vec<Seen>>
    where
        P: ParallelizationContract<u64, Block>,
    {
        let received: Rc<RefCell<Vec<Seen>>> = Rc::default();
        let filled = Rc::clone(&received);
        let mut probe = ProbeHandle::new();
        let mut input: BlockInput<u64> = worker.dataflow(|scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            stream
                .unary::<BlockBuilder, _, _, _>(pact, "collect", |_, _| {
                    move |input, _output| {
                        input.for_each(|time, block| {
                            let first = block.words().first().copied().unwrap_or(0);
                            let seen = (*time.time(), block.source(), block.target(), block.tag());
                            let (round, source, target, tag) = seen;
                            filled.borrow_mut().push((round, source, target, tag, first));
                        });
                    }
                })
                .probe_with(&mut probe);
            input
        });
        let mut seen = Vec::new();
        for round in 0..count {
            for mut block in blocks(worker.index(), worker.peers(), round) {
                input.send_batch(&mut block);
            }
            input.advance_to(round + 1);
            while probe.less_than(&(round + 1)) {
                worker.step_or_park(Some(Duration::from_millis(100)));
            }
            // A faster worker may have sent blocks of the next round already.
            let (mut now, later): (Vec<Seen>, Vec<Seen>) =
                received.take().into_iter().partition(|block| block.0 == round);
            received.replace(later);
            now.sort_unstable();
            seen.push(now);
        }
        seen
    }

    /// The rounds as seen by all workers of one process.
    fn on_threads<P, M>(
        threads: usize,
        count: u64,
        pact: M,
        blocks: fn(usize, usize, u64) -> Vec<Block>,
    ) -> Vec<Vec<Vec<Seen>>>
    where
        P: ParallelizationContract<u64, Block>,
        M: Fn() -> P + Send + Sync + 'static,
    {
        let placement = Placement::single(threads);
        execute(&placement, [0; 32], DEFAULT_DEADLINE, move |worker| {
            Ok::<_, Failure>(rounds(worker, pact(), count, blocks))
        })
        .unwrap()
    }

    /// One block a round for each worker, its words telling whence and whither; every third is empty.
    fn to_each(source: usize, peers: usize, round: u64) -> Vec<Block> {
        let block = |target: usize| {
            let word = (source * 100 + target) as u64 + round * 10_000;
            let words = if target % 3 == 2 { vec![] } else { vec![word; 5] };
            Block::to_worker(source, target, round, words)
        };
        (0..peers).map(block).collect()
    }

    #[test]
    fn route_delivers_each_block_once_to_its_target() {
        for threads in 1..=3 {
            let seen = on_threads(threads, 4, route, to_each);
            for (me, rounds) in seen.iter().enumerate() {
                for (round, blocks) in (0..).zip(rounds) {
                    let sent = |source: usize| to_each(source, threads, round).swap_remove(me);
                    let mut expected: Vec<Seen> = (0..threads)
                        .map(|source| {
                            let word = sent(source).words().first().copied().unwrap_or(0);
                            (round, source, Some(me), round, word)
                        })
                        .collect();
                    expected.sort_unstable();
                    assert_eq!(blocks, &expected, "{threads} threads, worker {me}");
                }
            }
        }
    }

    /// Source + 1 blocks a round for everyone.
    fn for_all(source: usize, peers: usize, round: u64) -> Vec<Block> {
        let block = |tag: usize| {
            Block::to_everyone(source, peers, tag as u64, vec![round * 100 + source as u64])
        };
        (0..=source).map(block).collect()
    }

    #[test]
    fn broadcast_delivers_each_block_once_to_every_worker_in_every_of_200_rounds() {
        for threads in 1..=3 {
            let seen = on_threads(threads, 200, || Broadcast, for_all);
            for (me, rounds) in seen.iter().enumerate() {
                for (round, blocks) in (0..).zip(rounds) {
                    let mut expected = Vec::new();
                    for source in 0..threads {
                        for tag in 0..=source as u64 {
                            expected.push((round, source, None, tag, round * 100 + source as u64));
                        }
                    }
                    assert_eq!(blocks, &expected, "{threads} threads, worker {me}, round {round}");
                }
            }
        }
    }
}
