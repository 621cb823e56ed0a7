//! The dataflow of training: every worker's statistics in, the merged statistics out, everywhere.
//!
//! ```text
//! worker's entries ──route by term──▶ owner merges ──broadcast──▶ every process
//! ```
//!
//! It lives as long as training does, with one timestamp per round. A worker may send a round
//! before the previous one has come back: owners merge while workers sample. Worker o of W owns the
//! terms w with w mod W = o: all counts of such a term meet there, so that each (term, topic) is
//! changed by one addition of one integer, whichever worker sampled it. Owners also sum the counts
//! of each topic, and worker 0 sums other integers, so that no other worker has to process all of
//! them. One copy of the merged statistics goes to each process. A worker whose process has
//! received a signal says so with its entries, so that all workers learn of it in the same round.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::dataflow::operators::{Input, Operator, Probe};
use timely::dataflow::{ProbeHandle, Stream};
use timely::worker::Worker;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::exchange::{BlockBuilder, BlockInput, Broadcast, route};
use super::gather::PARK;
use lda::model::statistics::{Aggregator, Assigned};

/// What a block holds, in the low bits of its tag; above them the piece of a vector it is.
const KINDS: u64 = 4;
/// Entries.
const ENTRIES: u64 = 0;
/// Nothing: it asks everyone to leave.
const LEAVE: u64 = 1;
/// Part of a vector that is summed over all workers.
const SUM: u64 = 2;
/// Part of the sums of an owner's entries, one for each topic.
const TOPIC_COUNTS: u64 = 3;

/// What a round brings to every worker.
#[derive(Default)]
pub struct Merged {
    /// Entries of the terms that worker o owns are in the blocks with source o, ascending.
    pub blocks: Vec<Block>,
    /// The sum of all entries of each topic.
    pub topic_counts: Vec<i64>,
    /// True if some worker asked to leave: all workers hear of it in the same round.
    pub leave: bool,
    sums: Vec<i64>,
}

impl Merged {
    fn take(&mut self, block: Block) {
        match block.tag() % KINDS {
            ENTRIES => self.blocks.push(block),
            LEAVE => self.leave = true,
            SUM => add_piece(&mut self.sums, &block),
            _ => add_piece(&mut self.topic_counts, &block),
        }
    }
}

/// The statistics' dataflow, on one worker.
pub struct Rounds {
    input: BlockInput<u64>,
    probe: ProbeHandle<u64>,
    arrived: Rc<RefCell<BTreeMap<u64, Merged>>>,
    /// The first round that was not handed out yet.
    next: u64,
    topic_count: usize,
    index: usize,
    peers: usize,
}

impl Rounds {
    /// Builds the dataflow; every worker must.
    pub fn new(worker: &mut Worker, vocabulary_size: usize, topic_count: usize) -> Self {
        let (index, peers) = (worker.index(), worker.peers());
        let arrived = Rc::new(RefCell::new(BTreeMap::new()));
        let filled = Rc::clone(&arrived);
        let probe = ProbeHandle::new();
        let input = worker.dataflow_named::<u64, _, _>("rounds", |scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            let owner = Owner::new(index, peers, vocabulary_size, topic_count);
            collect_everywhere(merge_at_owners(stream, owner), filled).probe_with(&probe);
            input
        });
        Self {
            input,
            probe,
            arrived,
            next: 0,
            topic_count,
            index,
            peers,
        }
    }

    /// Sends this worker's entries of a round, for each owner. `leave` asks all to leave after it.
    pub fn send(&mut self, entries: Vec<Vec<u64>>, leave: bool) {
        for (owner, words) in entries.into_iter().enumerate() {
            for piece in words.chunks(MAX_BLOCK_WORDS) {
                self.give(owner, ENTRIES, piece.to_vec());
            }
        }
        if leave {
            self.give(self.index, LEAVE, Vec::new());
        }
        let next = *self.input.time() + 1;
        self.input.advance_to(next);
    }

    /// Waits until at most `outstanding` of the rounds sent are incomplete; returns those that are
    /// complete and were not given before, oldest first. All workers get the same.
    pub fn receive(&mut self, worker: &mut Worker, outstanding: usize) -> Vec<Merged> {
        let until = self.input.time().saturating_sub(outstanding as u64);
        while self.probe.less_than(&until) {
            worker.step_or_park(Some(PARK));
        }
        let complete = self.next..until.max(self.next);
        self.next = complete.end;
        complete.map(|round| self.take(round)).collect()
    }

    fn take(&self, round: u64) -> Merged {
        let mut merged = self.arrived.borrow_mut().remove(&round).unwrap_or_default();
        merged.blocks.sort_by_key(Block::source);
        merged.topic_counts.resize(self.topic_count, 0);
        merged
    }

    /// A round that everything else waits for: sends entries, and returns those of all workers,
    /// merged.
    pub fn exchange(&mut self, worker: &mut Worker, entries: Vec<Vec<u64>>) -> Merged {
        debug_assert_eq!(self.next, *self.input.time(), "rounds are outstanding");
        self.send(entries, false);
        self.receive(worker, 0).pop().unwrap_or_default()
    }

    /// Adds up all workers' `values`, place by place; every worker must give as many, while no round
    /// is outstanding.
    pub fn sum(&mut self, worker: &mut Worker, values: &[i64]) -> Vec<i64> {
        for (piece, values) in (0..).zip(values.chunks(MAX_BLOCK_WORDS)) {
            let words = bytemuck::cast_slice(values).to_vec();
            self.give(0, SUM + KINDS * piece, words);
        }
        let mut sums = self.exchange(worker, Vec::new()).sums;
        sums.resize(values.len(), 0);
        sums
    }

    fn give(&mut self, target: usize, tag: u64, words: Vec<u64>) {
        let mut block = Block::to_worker(self.index, target, tag, words);
        self.input.send_batch(&mut block);
    }

    /// The worker that owns a term.
    pub fn owner(&self, term: u32) -> usize {
        term as usize % self.peers
    }
}

/// Adds a piece of a vector to its place.
fn add_piece(vector: &mut Vec<i64>, block: &Block) {
    let start = (block.tag() / KINDS) as usize * MAX_BLOCK_WORDS;
    let end = start + block.words().len();
    if vector.len() < end {
        vector.resize(end, 0);
    }
    for (sum, &word) in vector[start..end].iter_mut().zip(block.words()) {
        *sum += word as i64;
    }
}

/// Sends blocks to the workers in their headers; once all of a round are there, each worker merges
/// its own and gives the result in blocks for everyone.
fn merge_at_owners<'scope>(
    stream: Stream<'scope, u64, Block>,
    mut owner: Owner,
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
                owner.merge(blocks, |mut block| session.give_container(&mut block));
            }
        }
    })
}

/// What a worker does with the blocks sent to it.
struct Owner {
    index: usize,
    peers: usize,
    aggregator: Aggregator,
    topic_counts: Vec<i64>,
}

impl Owner {
    fn new(index: usize, peers: usize, vocabulary_size: usize, topic_count: usize) -> Self {
        Self {
            index,
            peers,
            aggregator: Aggregator::new(vocabulary_size, topic_count),
            topic_counts: vec![0; topic_count],
        }
    }

    /// Merges the blocks of a round, and hands the result to `give`: entries as one ascending run,
    /// in pieces that fit a block, and the sums.
    fn merge(&mut self, blocks: Vec<Block>, mut give: impl FnMut(Block)) {
        let (index, peers) = (self.index, self.peers);
        let mut give = |tag, words| give(Block::to_everyone(index, peers, tag, words));
        let mut merged = Merged::default();
        blocks.into_iter().for_each(|block| merged.take(block));
        for block in &merged.blocks {
            self.aggregator.add_words(block.words());
        }
        let mut words: Vec<u64> = Vec::new();
        let topic_counts = &mut self.topic_counts;
        self.aggregator.drain(|entry: Assigned| {
            topic_counts[usize::from(entry.topic)] += i64::from(entry.count);
            words.push(entry.word());
        });
        cut_between_terms(&words).for_each(|piece| give(ENTRIES, piece.to_vec()));
        if !words.is_empty() {
            give_vector(topic_counts, TOPIC_COUNTS, &mut give);
            topic_counts.fill(0);
        }
        give_vector(&merged.sums, SUM, &mut give);
        if merged.leave {
            give(LEAVE, Vec::new());
        }
    }
}

/// Hands over a vector in pieces that fit a block.
fn give_vector(vector: &[i64], kind: u64, give: &mut impl FnMut(u64, Vec<u64>)) {
    for (piece, values) in (0..).zip(vector.chunks(MAX_BLOCK_WORDS)) {
        give(kind + KINDS * piece, bytemuck::cast_slice(values).to_vec());
    }
}

/// Puts a copy of every block in `arrived`, by its round, on every worker.
fn collect_everywhere<'scope>(
    stream: Stream<'scope, u64, Block>,
    arrived: Rc<RefCell<BTreeMap<u64, Merged>>>,
) -> Stream<'scope, u64, Block> {
    stream.unary::<BlockBuilder, _, _, _>(Broadcast, "collect", |_, _| {
        move |input, _output| {
            input.for_each(|time, block| {
                let mut arrived = arrived.borrow_mut();
                let merged = arrived.entry(*time.time()).or_default();
                merged.take(std::mem::take(block));
            });
        }
    })
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
