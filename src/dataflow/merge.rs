//! The owners' side of a round: all workers send their statistics of a term to its owner, which sums
//! them. Between processes of several threads, a process sums its threads' statistics before it
//! sends them.

use std::collections::BTreeMap;

use timely::dataflow::Stream;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::Operator;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::exchange::{BlockBuilder, route, route_within};
use lda::model::statistics::{Aggregator, Assigned};

/// The low bits of a block's tag are the kind of its content, a number below this; the bits above
/// them number the piece of a vector.
pub(super) const KINDS: u64 = 16;
/// Entries.
pub(super) const ENTRIES: u64 = 0;
/// No content: a request that all workers stop.
pub(super) const INTERRUPT: u64 = 1;
/// Part of a vector that is summed over all workers.
pub(super) const SUM: u64 = 2;
/// Part of the sums of an owner's entries, one for each topic.
pub(super) const TOPIC_COUNTS: u64 = 3;

/// The merged statistics of a round, as every worker receives them.
#[derive(Default)]
pub struct Merged {
    /// Entries of the terms that worker o owns are in the blocks with source o, ascending.
    pub blocks: Vec<Block>,
    /// The sum of all entries of each topic.
    pub(crate) topic_counts: Vec<i64>,
    /// True if some worker requested a stop: all workers learn of it in the same round.
    pub(crate) is_interrupted: bool,
    /// The sum of the vectors that workers sent.
    pub(crate) sums: Vec<i64>,
}

impl Merged {
    /// Adds a block of the round.
    pub(super) fn take(&mut self, block: Block) {
        match block.tag() % KINDS {
            ENTRIES => self.blocks.push(block),
            INTERRUPT => self.is_interrupted = true,
            SUM => add_piece(&mut self.sums, &block),
            _ => add_piece(&mut self.topic_counts, &block),
        }
    }
}

/// Adds a piece of a vector at its place.
pub(super) fn add_piece(vector: &mut Vec<i64>, block: &Block) {
    let start = (block.tag() / KINDS) as usize * MAX_BLOCK_WORDS;
    let end = start + block.words().len();
    if vector.len() < end {
        vector.resize(end, 0);
    }
    for (sum, &word) in vector[start..end].iter_mut().zip(block.words()) {
        *sum += word as i64;
    }
}

/// Sums the statistics of a process's threads, and passes everything on: thread i handles those entries
/// that the i-th threads of all processes own. The targets of blocks are the entries' owners, before and
/// after.
pub(super) fn combine_in_process<'scope>(
    stream: Stream<'scope, u64, Block>,
    mut combiner: Combiner,
) -> Stream<'scope, u64, Block> {
    let pact = route_within(combiner.index, combiner.threads);
    at_end_of_round(stream, pact, "combine", move |blocks, give| {
        combiner.combine(blocks, give);
    })
}

/// Sends blocks to the workers in their headers; once all of a round have arrived, each worker merges
/// its own and outputs the result in blocks for all workers.
pub(super) fn merge_at_owners<'scope>(
    stream: Stream<'scope, u64, Block>,
    mut owner: Owner,
) -> Stream<'scope, u64, Block> {
    at_end_of_round(stream, route(), "merge", move |blocks, give| {
        owner.merge(blocks, give);
    })
}

/// Collects the blocks of each round, and passes them to `work` once all have arrived.
fn at_end_of_round<'scope>(
    stream: Stream<'scope, u64, Block>,
    pact: impl ParallelizationContract<u64, Block>,
    name: &str,
    mut work: impl FnMut(Vec<Block>, &mut dyn FnMut(Block)) + 'static,
) -> Stream<'scope, u64, Block> {
    stream.unary_frontier::<BlockBuilder, _, _, _>(pact, name, |_, _| {
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
                work(blocks, &mut |mut block| session.give_container(&mut block));
            }
        }
    })
}

/// Sums statistics on one thread for all threads of its process.
pub(super) struct Combiner {
    index: usize,
    threads: usize,
    aggregator: Aggregator,
    entries: Vec<Vec<u64>>,
}

impl Combiner {
    /// Creates one for worker `index` of `peers`, `threads` of them in each process.
    pub(super) fn new(
        [index, peers, threads]: [usize; 3],
        [vocabulary_size, topic_count]: [usize; 2],
    ) -> Self {
        Self {
            index,
            threads,
            aggregator: Aggregator::new(vocabulary_size, topic_count),
            entries: vec![Vec::new(); peers],
        }
    }

    fn combine(&mut self, blocks: Vec<Block>, give: &mut dyn FnMut(Block)) {
        for block in blocks {
            match block.tag() % KINDS {
                ENTRIES => self.aggregator.add_words(block.words()),
                _ => give(block),
            }
        }
        let (peers, entries) = (self.entries.len(), &mut self.entries);
        self.aggregator.drain(|entry| entries[entry.term as usize % peers].push(entry.word()));
        to_owners(self.index, entries).for_each(give);
    }
}

/// Returns blocks with the entries of each owner, and empties the buffers.
pub(super) fn to_owners(source: usize, entries: &mut [Vec<u64>]) -> impl Iterator<Item = Block> {
    let owners = entries.iter_mut().enumerate();
    owners.flat_map(move |(owner, words)| {
        let pieces = words.chunks(MAX_BLOCK_WORDS);
        let block = |piece: &[u64]| Block::to_worker(source, owner, ENTRIES, piece.to_vec());
        let blocks: Vec<_> = pieces.map(block).collect();
        words.clear();
        blocks
    })
}

/// Merges the blocks that are sent to a worker.
pub(super) struct Owner {
    index: usize,
    peers: usize,
    aggregator: Aggregator,
    topic_counts: Vec<i64>,
    words: Vec<u64>,
}

impl Owner {
    pub(super) fn new(
        index: usize,
        peers: usize,
        vocabulary_size: usize,
        topic_count: usize,
    ) -> Self {
        Self {
            index,
            peers,
            aggregator: Aggregator::new(vocabulary_size, topic_count),
            topic_counts: vec![0; topic_count],
            words: Vec::new(),
        }
    }

    /// Merges the blocks of a round, and passes the result to `give`: entries as one ascending run,
    /// in pieces that fit a block, and the sums.
    fn merge(&mut self, blocks: Vec<Block>, give: &mut dyn FnMut(Block)) {
        let (index, peers) = (self.index, self.peers);
        let mut give = |tag, words| give(Block::to_everyone(index, peers, tag, words));
        let mut merged = Merged::default();
        blocks.into_iter().for_each(|block| merged.take(block));
        for block in &merged.blocks {
            self.aggregator.add_words(block.words());
        }
        let (words, topic_counts) = (&mut self.words, &mut self.topic_counts);
        self.aggregator.drain(|entry: Assigned| {
            topic_counts[usize::from(entry.topic)] += i64::from(entry.count);
            words.push(entry.word());
        });
        cut_between_terms(words).for_each(|piece| give(ENTRIES, piece.to_vec()));
        if !words.is_empty() {
            give_vector(topic_counts, TOPIC_COUNTS, &mut give);
            topic_counts.fill(0);
        }
        words.clear();
        give_vector(&merged.sums, SUM, &mut give);
        if merged.is_interrupted {
            give(INTERRUPT, Vec::new());
        }
    }
}

/// Passes a vector to `give` in pieces that fit a block.
pub(super) fn give_vector(vector: &[i64], kind: u64, give: &mut impl FnMut(u64, Vec<u64>)) {
    for (piece, values) in (0..).zip(vector.chunks(MAX_BLOCK_WORDS)) {
        give(kind + KINDS * piece, bytemuck::cast_slice(values).to_vec());
    }
}

/// Cuts ascending entries into pieces that fit a block, between two terms if possible, so that a
/// term's row is merged once.
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
