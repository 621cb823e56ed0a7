//! The exchange of a round: every worker's statistics in, the merged statistics out, everywhere.
//!
//! ```text
//! worker's entries ──route by term──▶ owner merges ──broadcast──▶ every process
//! ```
//!
//! Worker o of W owns the terms w with w mod W = o: all counts of such a term meet there, so that
//! each (term, topic) is changed by one addition, of one integer, whoever sampled it. One copy of
//! what is merged goes to each process. A worker whose process is asked to leave says so with its
//! entries, so that all workers hear of it in the same round.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::dataflow::operators::{Input, Operator, Probe};
use timely::dataflow::{ProbeHandle, Stream};
use timely::worker::Worker;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::exchange::{BlockBuilder, BlockInput, Broadcast, route};
use super::gather::PARK;
use crate::model::statistics::{Aggregator, Assigned};

/// The tag of a block with entries.
const ENTRIES: u64 = 0;
/// The tag of a block that asks everyone to leave.
const LEAVE: u64 = 1;

/// What a round brings to every worker.
pub struct Merged {
    /// Entries of the terms that worker o owns are in the blocks with source o, ascending.
    pub blocks: Vec<Block>,
    /// True if some worker asked to leave: all workers hear of it in the same round.
    pub leave: bool,
}

/// The statistics' dataflow, on one worker.
pub struct Rounds {
    input: BlockInput<u64>,
    probe: ProbeHandle<u64>,
    merged: Rc<RefCell<Vec<Block>>>,
    index: usize,
    peers: usize,
}

impl Rounds {
    /// Builds the dataflow; every worker must.
    pub fn new(worker: &mut Worker, vocabulary_size: usize, topic_count: usize) -> Self {
        let (index, peers) = (worker.index(), worker.peers());
        let merged = Rc::new(RefCell::new(Vec::new()));
        let arrived = Rc::clone(&merged);
        let probe = ProbeHandle::new();
        let input = worker.dataflow_named::<u64, _, _>("rounds", |scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            let aggregator = Aggregator::new(vocabulary_size, topic_count);
            let merged = merge_at_owners(stream, aggregator, index, peers);
            collect_everywhere(merged, arrived).probe_with(&probe);
            input
        });
        Self {
            input,
            probe,
            merged,
            index,
            peers,
        }
    }

    /// Gives this worker's entries, for each owner, and waits for everybody's, merged; all workers
    /// get the same. `leave` asks them to leave after this round.
    pub fn exchange(&mut self, worker: &mut Worker, entries: Vec<Vec<u64>>, leave: bool) -> Merged {
        for (owner, words) in entries.into_iter().enumerate() {
            for piece in words.chunks(MAX_BLOCK_WORDS) {
                let mut block = Block::to_worker(self.index, owner, ENTRIES, piece.to_vec());
                self.input.send_batch(&mut block);
            }
        }
        if leave {
            let mut block = Block::to_worker(self.index, self.index, LEAVE, Vec::new());
            self.input.send_batch(&mut block);
        }
        let next = *self.input.time() + 1;
        self.input.advance_to(next);
        while self.probe.less_than(&next) {
            worker.step_or_park(Some(PARK));
        }
        let mut blocks = self.merged.take();
        let leave = blocks.iter().any(|block| block.tag() == LEAVE);
        blocks.retain(|block| block.tag() == ENTRIES);
        blocks.sort_by_key(Block::source);
        Merged { blocks, leave }
    }

    /// The worker that owns a term.
    pub fn owner(&self, term: u32) -> usize {
        term as usize % self.peers
    }
}

/// Sends blocks to the workers in their headers; once all of a round are there, each worker merges
/// its own and gives the result in blocks for everyone.
fn merge_at_owners<'scope>(
    stream: Stream<'scope, u64, Block>,
    mut aggregator: Aggregator,
    index: usize,
    peers: usize,
) -> Stream<'scope, u64, Block> {
    stream.unary_frontier::<BlockBuilder, _, _, _>(route(), "merge", |_, _| {
        let mut waiting = BTreeMap::new();
        move |(input, frontier), output| {
            input.for_each(|time, block| {
                let kept = waiting.entry(*time.time());
                let (_, blocks) = kept.or_insert_with(|| (time.retain(0), Vec::new()));
                blocks.push(std::mem::take(block));
            });
            while let Some(first) = waiting.first_entry()
                && !frontier.less_equal(first.key())
            {
                let (time, blocks) = first.remove();
                let mut session = output.session(&time);
                for words in merge(&mut aggregator, &blocks) {
                    session.give_container(&mut Block::to_everyone(index, peers, ENTRIES, words));
                }
                if blocks.iter().any(|block| block.tag() == LEAVE) {
                    let words = Vec::new();
                    session.give_container(&mut Block::to_everyone(index, peers, LEAVE, words));
                }
            }
        }
    })
}

/// Puts a copy of every block in `arrived` on every worker.
fn collect_everywhere<'scope>(
    stream: Stream<'scope, u64, Block>,
    arrived: Rc<RefCell<Vec<Block>>>,
) -> Stream<'scope, u64, Block> {
    stream.unary::<BlockBuilder, _, _, _>(Broadcast, "collect", |_, _| {
        move |input, _output| {
            input.for_each(|_, block| arrived.borrow_mut().push(std::mem::take(block)));
        }
    })
}

/// The entries of some blocks as one ascending run, in pieces that fit a block.
fn merge(aggregator: &mut Aggregator, blocks: &[Block]) -> Vec<Vec<u64>> {
    for block in blocks {
        aggregator.add_words(block.words());
    }
    let mut words: Vec<u64> = Vec::new();
    aggregator.drain(|entry: Assigned| words.push(entry.word()));
    cut_between_terms(&words).map(<[u64]>::to_vec).collect()
}

/// Cuts ascending entries into pieces that fit a block, between two terms where that is possible:
/// a term's row is then merged once.
fn cut_between_terms(words: &[u64]) -> impl Iterator<Item = &[u64]> {
    let mut rest = words;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut length = rest.len().min(MAX_BLOCK_WORDS);
        if length < rest.len() {
            let term = Assigned::from_word(rest[length]).term;
            let start = rest[..length].partition_point(|&w| Assigned::from_word(w).term < term);
            length = if start > 0 { start } else { length };
        }
        let (piece, others) = rest.split_at(length);
        rest = others;
        Some(piece)
    })
}
