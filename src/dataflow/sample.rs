//! Loads the sample: every worker reads shards, and each sampled document goes to the process that
//! will train on it.
//!
//! That process depends on the document's number alone, so that the sample is spread evenly,
//! however few shards there are. Within a process the threads share the sample.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::worker::Worker;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::error::RunError;
use super::exchange::{BlockBuilder, BlockInput, route};
use super::gather::{PARK, all_gather};
use super::process::{Once, Process, Tickets};
use super::sum::sum;
use crate::corpus::ShardDocument;
use crate::corpus::collection::Collection;
use crate::corpus::sample::{Bags, SampleRule, SmallestKeys, Split, sample_bound};
use crate::corpus::settings::SampleSize;
use crate::corpus::shard::{Columns, ShardReader};

/// Words that are collected for a worker before they are sent.
const BATCH_WORDS: usize = 8 * 1024;

/// The part of the sample that this process trains on, and what is known of all of it.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// This process's documents to train on, ascending.
    pub training: &'a Bags,
    /// This process's documents to measure quality on, ascending.
    pub held_out: &'a Bags,
    /// Documents to train on, over all processes (D).
    pub training_documents: u64,
    /// Tokens to train on, over all processes (N).
    pub training_tokens: u64,
    /// Documents to measure quality on, over all processes.
    pub held_out_documents: u64,
}

/// Where the workers of a process put what they receive.
#[derive(Debug, Default)]
pub struct SampleShared {
    keys: Tickets,
    shards: Tickets,
    received: Mutex<(Bags, Bags)>,
    loaded: Once<(Bags, Bags)>,
}

/// Decides the sample: for a number of documents, that takes a pass over the shards.
pub fn sample_rule(
    worker: &mut Worker,
    process: &Process,
    shared: &SampleShared,
    collection: &Collection,
) -> Result<SampleRule, RunError> {
    let (settings, seed) = (&process.job.sample, process.job.model.seed);
    let SampleSize::Documents(wanted) = settings.size else {
        return Ok(SampleRule::new(settings, seed, u64::MAX));
    };
    let mut smallest = SmallestKeys::new(wanted);
    for_each_document(
        worker,
        process,
        &shared.keys,
        collection,
        |number, document| {
            if document.status.has_terms() {
                smallest.add(SampleRule::key(seed, number));
            }
            Ok(())
        },
    )?;
    let bound = smallest_bound(worker, &smallest, wanted);
    Ok(SampleRule::new(settings, seed, bound))
}

/// The `wanted`-th smallest of the keys that the workers have kept as many of; `u64::MAX` if there
/// are fewer. Few of the keys travel: those that begin as the bound does.
pub(super) fn smallest_bound(worker: &mut Worker, kept: &SmallestKeys, wanted: u64) -> u64 {
    let counts = sum(worker, &kept.prefix_counts());
    let own = kept.candidates(&counts);
    let candidates = all_gather(worker, bytemuck::cast_slice(&own))
        .iter()
        .flat_map(|keys| bytemuck::pod_collect_to_vec::<u8, u64>(keys))
        .collect();
    sample_bound(&counts, candidates, wanted)
}

/// Reads this worker's share of the shards and hands every document to `visit`. Which process reads
/// a shard is as in projection.
pub(super) fn for_each_document(
    worker: &mut Worker,
    process: &Process,
    tickets: &Tickets,
    collection: &Collection,
    mut visit: impl FnMut(u64, &ShardDocument) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let (first, step) = (process.placement.process, process.placement.processes());
    let mut document = ShardDocument::default();
    loop {
        let number = first + tickets.take() * step;
        let Some(shard) = collection.shards.get(number) else {
            return Ok(());
        };
        let path = process.output.local(&Collection::shard_name(number))?;
        let mut reader = ShardReader::open(&path, Columns::Counts)?;
        let mut next = shard.first_document;
        while reader.read_into(&mut document)? {
            visit(next, &document)?;
            next += 1;
        }
        worker.step();
    }
}

/// Loads the sample into memory, spread over the processes; the workers of a process share theirs.
pub fn load_sample<'a>(
    worker: &mut Worker,
    process: &Process,
    shared: &'a SampleShared,
    collection: &Collection,
    rule: &SampleRule,
) -> Result<Sample<'a>, RunError> {
    let mut sender = Sender::new(worker);
    process
        .progress
        .begin("sample", "documents", Some(process.share(collection)));
    for_each_document(
        worker,
        process,
        &shared.shards,
        collection,
        |number, document| {
            process.progress.add(1);
            let split = rule.split(number);
            if document.status.has_terms() && split != Split::Projected {
                sender.send(number, split == Split::HeldOut, document);
            }
            Ok(())
        },
    )?;
    let (training, held_out) = sender.finish(worker);
    let counts = [
        training.len() as u64,
        training.token_count(),
        held_out.len() as u64,
    ];
    {
        let mut all = shared
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.0.append(&training);
        all.1.append(&held_out);
    }
    let totals = sum(worker, &counts.map(|n| n as i64));
    process.meet();
    let (training, held_out) = shared.loaded.get(|| {
        let mut all = shared
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (training, held_out) = std::mem::take(&mut *all);
        Ok::<_, RunError>((training.sorted(), held_out.sorted()))
    })?;
    Ok(Sample {
        training,
        held_out,
        training_documents: totals[0] as u64,
        training_tokens: totals[1] as u64,
        held_out_documents: totals[2] as u64,
    })
}

/// Sends documents to the workers they belong to, and receives those of this one.
///
/// A document travels as words: number and held-out flag, number of terms, then (term, count)
/// pairs. One that is longer than a block travels in pieces that follow each other.
struct Sender {
    input: BlockInput<u64>,
    probe: ProbeHandle<u64>,
    received: Rc<RefCell<(Bags, Bags)>>,
    waiting: Vec<Vec<u64>>,
    index: usize,
}

impl Sender {
    fn new(worker: &mut Worker) -> Self {
        let received = Rc::new(RefCell::new((Bags::default(), Bags::default())));
        let bags = Rc::clone(&received);
        let probe = ProbeHandle::new();
        let input = worker.dataflow_named::<u64, _, _>("sample", |scope| {
            let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
            stream
                .unary::<BlockBuilder, _, _, _>(route(), "keep", |_, _| {
                    move |input, _output| {
                        input.for_each(|_, block| unpack(block.words(), &mut bags.borrow_mut()));
                    }
                })
                .probe_with(&probe);
            input
        });
        let waiting = vec![Vec::new(); worker.peers()];
        Self {
            input,
            probe,
            received,
            waiting,
            index: worker.index(),
        }
    }

    fn send(&mut self, number: u64, held_out: bool, document: &ShardDocument) {
        let target = (number % self.waiting.len() as u64) as usize;
        let pieces = document.terms.chunks(MAX_BLOCK_WORDS / 2);
        for (terms, counts) in pieces.zip(document.counts.chunks(MAX_BLOCK_WORDS / 2)) {
            let waiting = &mut self.waiting[target];
            waiting.push(number << 1 | u64::from(held_out));
            waiting.push(terms.len() as u64);
            let pairs = terms.iter().zip(counts);
            waiting.extend(pairs.map(|(&w, &n)| u64::from(w) << 32 | u64::from(n)));
            if waiting.len() >= BATCH_WORDS {
                self.flush(target);
            }
        }
    }

    fn flush(&mut self, target: usize) {
        let words = std::mem::take(&mut self.waiting[target]);
        self.input
            .send_batch(&mut Block::to_worker(self.index, target, 0, words));
    }

    fn finish(mut self, worker: &mut Worker) -> (Bags, Bags) {
        (0..self.waiting.len()).for_each(|target| self.flush(target));
        self.input.close();
        while !self.probe.done() {
            worker.step_or_park(Some(PARK));
        }
        self.received.take()
    }
}

/// Adds the documents of a block to the training (0) or held-out (1) bags.
fn unpack(words: &[u64], bags: &mut (Bags, Bags)) {
    let (mut terms, mut counts) = (Vec::new(), Vec::new());
    let mut rest = words;
    while let [tagged, length, others @ ..] = rest {
        let (pairs, next) = others.split_at(*length as usize);
        terms.clear();
        counts.clear();
        terms.extend(pairs.iter().map(|pair| (pair >> 32) as u32));
        counts.extend(pairs.iter().map(|pair| *pair as u32));
        let target = if tagged & 1 == 1 {
            &mut bags.1
        } else {
            &mut bags.0
        };
        target.push(tagged >> 1, &terms, &counts);
        rest = next;
    }
}
