//! Loads the sample: every worker reads shards, and each sampled document goes to the process that
//! will train on it.
//!
//! That process depends on the document's number alone, so that the sample is spread evenly,
//! however few shards there are. Within a process the threads share the sample.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use timely::worker::Worker;

use super::block::{Block, MAX_BLOCK_WORDS};
use super::exchange::route;
use super::gather::{Delivery, gather_records, sum};
use super::outbox::Outbox;
use super::process::{HELD_OUT_FILE, Once, Process, TRAINING_FILE, Tickets};
use super::shares::Shares;
use crate::failure::Failure;
use crate::wire::{packed, unpacked};
use corpus::ShardDocument;
use corpus::collection::{Collection, SampledDocuments};
use corpus::labels::LabelReader;
use corpus::minibatches::{MinibatchBuilder, Minibatches};
use corpus::sample::{SampleRule, SmallestKeys, Split, sample_bound};
use corpus::settings::{CorpusSettings, SampleSize};
use corpus::shard::Columns;
use lda::bags::{Bag, thinned};
use lda::math::random::{Stage, Stream};
use lda::train::document_schedule::DocumentSchedule;
use lda::train::minibatches::{CELLS, Deal, cell, place, scheduled_place};
use lda::train::norms::Norms;
use lda::train::schedule::Schedule;
use lda::train::warm_start::WarmStart;

/// Held-out documents in a minibatch, the most that are read from a file at a time.
const HELD_OUT_AT_ONCE: u64 = 2048;

/// The part of the sample that this process trains on, and the figures of the whole.
#[derive(Clone, Debug)]
pub struct Sample {
    /// This process's documents to train on.
    pub training: Arc<Minibatches>,
    /// This process's documents to measure quality on, some at a time.
    pub held_out: Arc<Minibatches>,
    /// Documents to train on, over all processes (D).
    pub training_documents: u64,
    /// Tokens to train on, over all processes (N).
    pub training_tokens: u64,
    /// Documents that are visited again after a warm start, over all processes.
    pub revisited_documents: u64,
    /// Documents that are trained on in part, over all processes.
    pub thinned_documents: u64,
    /// Tokens of the shortest document to train on.
    pub least_tokens: u64,
    /// Documents to measure quality on, over all processes.
    pub held_out_documents: u64,
    /// For each label, the documents to train on that have it, over all processes; empty without labels.
    pub label_documents: Vec<u64>,
}

/// The state that the workers of a process share.
#[derive(Debug, Default)]
pub(crate) struct SampleShared {
    keys: Tickets,
    shards: Tickets,
    received: Once<Arc<Received>>,
    loaded: Once<[Arc<Minibatches>; 2]>,
}

/// The scratch files of both kinds of documents.
const FILES: [&str; 2] = [TRAINING_FILE, HELD_OUT_FILE];

/// Documents to train on, and to measure quality on.
#[derive(Debug)]
struct Received {
    builders: [Mutex<MinibatchBuilder>; 2],
    /// The first of their files that could not be written, with its error.
    failure: Mutex<Option<(usize, io::Error)>>,
}

/// Determines the sample: for a number of documents below that of documents with terms, this takes a pass over the
/// shards' statuses.
pub(crate) fn sample_rule(
    worker: &mut Worker,
    process: &Process,
    shared: &SampleShared,
    collection: &Collection,
) -> Result<SampleRule, Failure> {
    let (settings, seed) = (&process.job.sample, process.job.sample_seed());
    if let Some(SampledDocuments { documents, bound }) = collection.sampled {
        return Ok(SampleRule::new(settings, seed, bound).of_first(documents));
    }
    let wanted = match settings.size {
        SampleSize::Documents(wanted) if wanted < collection.documents_with_terms => wanted,
        _ => return Ok(SampleRule::new(settings, seed, u64::MAX)),
    };
    let mut smallest = SmallestKeys::new(wanted);
    for_each_document(
        worker,
        process,
        &shared.keys,
        collection,
        Columns::Status,
        |number, document| {
            if document.status.has_terms() && document.duplicate_of.is_none() {
                smallest.add(SampleRule::key(seed, number));
            }
            Ok(())
        },
    )?;
    let bound = smallest_bound(worker, &smallest, wanted);
    Ok(SampleRule::new(settings, seed, bound))
}

/// Returns the `wanted`-th smallest of all keys, of which each worker has kept that many; `u64::MAX`
/// if there are fewer. Few of the keys are sent: those with the prefix of the bound.
pub(super) fn smallest_bound(worker: &mut Worker, kept: &SmallestKeys, wanted: u64) -> u64 {
    let counts = sum(worker, &kept.prefix_counts());
    let own = kept.candidates(&counts);
    sample_bound(&counts, gather_records(worker, &own), wanted)
}

/// Reads this worker's share of the shards, and passes the `columns` of every document to `visit`. The
/// same process reads a shard as in projection.
pub(super) fn for_each_document(
    worker: &mut Worker,
    process: &Process,
    tickets: &Tickets,
    collection: &Collection,
    columns: Columns,
    mut visit: impl FnMut(u64, &ShardDocument) -> Result<(), Failure>,
) -> Result<(), Failure> {
    while let Some(number) = next_shard(process, tickets, collection) {
        read_shard(process, collection, number, columns, &mut visit)?;
        worker.step();
    }
    Ok(())
}

/// Takes the next shard of the process that none of its threads has taken.
pub(super) fn next_shard(
    process: &Process,
    tickets: &Tickets,
    collection: &Collection,
) -> Option<usize> {
    Shares::of(process, collection).shards.get(tickets.take()).copied()
}

/// Visits the documents of a shard, with their numbers, in order.
pub(super) fn read_shard(
    process: &Process,
    collection: &Collection,
    number: usize,
    columns: Columns,
    mut visit: impl FnMut(u64, &ShardDocument) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let path = process.output.local(&Collection::shard_name(number))?;
    let entry = &collection.shards[number];
    let mut reader = entry.open(&path, columns)?;
    let mut document = ShardDocument::default();
    let mut next = entry.first_document;
    while reader.read_into(&mut document)? {
        visit(next, &document)?;
        next += 1;
    }
    Ok(())
}

/// Loads the sample, distributed over the processes; the workers of a process share theirs. Also
/// returns the schedule, which follows from the size of the sample.
pub(crate) fn load_sample(
    worker: &mut Worker,
    process: &Process,
    shared: &SampleShared,
    collection: &Collection,
    rule: &SampleRule,
    warm_start: Option<&WarmStart>,
) -> Result<(Sample, Schedule), Failure> {
    let received = shared.received.get(|| Received::new(process))?;
    let keeping = Arc::clone(received);
    let keep = move |block: Block| keeping.unpack(block.words());
    let mut delivery = Delivery::new(worker, "sample", route(), keep);
    let mut outbox = Outbox::new([worker.index(), worker.peers()]);
    process.begin_documents("sample", collection);
    let mut counted = SampleCounts::new(process, collection, warm_start);
    let reader = LabelReader::new(&process.job.corpus, &collection.labels);
    let columns = (reader.as_ref()).map_or(Columns::Counts, |it| Columns::CountsAnd(it.column));
    let (settings, seed) = (&process.job.train, process.job.model.seed);
    let mut labels = Vec::new();
    let visit = |number: u64, document: &ShardDocument| {
        process.progress.add(1);
        if let Some(reader) = &reader {
            reader.read(&document.metadata, &mut labels);
        }
        let split = rule.split_of(number, document, reader.as_ref().map(|_| &labels[..]));
        if document.status.has_terms() && split != Split::Projected {
            let labels = if split == Split::Sample { &labels[..] } else { &[] };
            let is_held_out = split == Split::HeldOut;
            let (most, bag) = (u64::from(settings.max_document_tokens), document.bag());
            let drawn = (most > 0 && !is_held_out && bag.token_count() > most)
                .then(|| thinned(bag, most, &mut Stream::keyed(seed, Stage::Thin, 0, number)));
            counted.sizes[5] += i64::from(drawn.is_some());
            let bag = drawn.as_ref().map_or(bag, |(terms, counts)| Bag { terms, counts });
            let place = counted.add(number, split, labels, bag);
            send(&mut outbox, [place, number], is_held_out, labels, bag);
            delivery.send(outbox.full());
        }
        Ok(())
    };
    for_each_document(worker, process, &shared.shards, collection, columns, visit)?;
    delivery.send(outbox.all());
    delivery.finish(worker);
    let [documents, tokens, held_out_documents, r0, r1, thinned_documents] =
        sums(worker, counted.sizes);
    let revisited = [r0, r1];
    let norms = Norms::from_words(sums(worker, counted.norms.to_words()));
    let schedule = if warm_start.is_some_and(WarmStart::is_partial) {
        Schedule::partial(settings, documents, revisited, norms)
    } else {
        Schedule::new(settings, documents, tokens, norms)
            .with_spare_topics(settings.spare(&process.job.model))
    };
    let in_cell = sum(worker, &counted.in_cell);
    let deals =
        [Deal::new(&schedule, &in_cell), Deal::Even(held_out_documents.div_ceil(HELD_OUT_AT_ONCE))];
    let loaded = (shared.loaded).get(|| received.finish(process, &deals))?;
    let [training, held_out] = loaded.clone();
    let sample = Sample {
        training,
        held_out,
        training_documents: documents,
        training_tokens: tokens,
        revisited_documents: revisited[0],
        thinned_documents,
        least_tokens: (gather_records(worker, &[counted.least_tokens]).into_iter())
            .fold(u64::MAX, u64::min),
        held_out_documents,
        label_documents: bytemuck::cast_vec(sum(worker, &counted.label_documents)),
    };
    Ok((sample, schedule))
}

/// The sampled documents that a worker has read.
struct SampleCounts<'a> {
    seed: u64,
    order: &'static DocumentSchedule,
    warm_start: Option<&'a WarmStart>,
    /// Documents and tokens to train on, documents held out; documents and tokens to train on that are
    /// visited again after a warm start; documents to train on in part.
    sizes: [i64; 6],
    /// Norms of the documents that passes visit.
    norms: Norms,
    /// Tokens of the shortest document to train on.
    least_tokens: u64,
    /// Documents to train on by the cell of their place, if they are ordered.
    in_cell: Vec<i64>,
    /// Documents to train on that have each label.
    label_documents: Vec<i64>,
}

impl<'a> SampleCounts<'a> {
    fn new(process: &Process, collection: &Collection, warm_start: Option<&'a WarmStart>) -> Self {
        let order = process.job.train.schedule;
        Self {
            seed: process.job.model.seed,
            order,
            warm_start,
            sizes: [0; 6],
            norms: Norms::default(),
            least_tokens: u64::MAX,
            in_cell: vec![0; if order.is_ordered() { CELLS } else { 0 }],
            label_documents: vec![0; collection.labels.len()],
        }
    }

    /// Counts a document of the sample; returns its place in the order of minibatches.
    fn add(&mut self, number: u64, split: Split, labels: &[u16], bag: Bag<'_>) -> u64 {
        if split == Split::HeldOut {
            self.sizes[2] += 1;
            return place(self.seed, number);
        }
        self.sizes[0] += 1;
        self.sizes[1] += bag.token_count() as i64;
        let revisits = self.warm_start.map(|start| start.revisits(bag));
        if revisits == Some(true) {
            self.sizes[3] += 1;
            self.sizes[4] += bag.token_count() as i64;
        }
        if revisits != Some(false) {
            self.norms.add(bag);
        }
        self.least_tokens = self.least_tokens.min(bag.token_count());
        for &label in labels {
            self.label_documents[usize::from(label)] += 1;
        }
        let place = scheduled_place(self.order, self.warm_start, [self.seed, number], bag);
        if let Some(count) = self.in_cell.get_mut(cell(place)) {
            *count += 1;
        }
        place
    }
}

fn sums<const N: usize>(worker: &mut Worker, values: [i64; N]) -> [u64; N] {
    let sums = sum(worker, &values);
    std::array::from_fn(|i| sums[i] as u64)
}

impl Received {
    fn new(process: &Process) -> Result<Arc<Self>, Failure> {
        let job = &process.job;
        let builder = |name: &str| {
            let (limit, path) = (job.train.sample_bytes, process.scratch_path(name));
            Mutex::new(MinibatchBuilder::new(limit, path))
        };
        Ok(Arc::new(Self { builders: FILES.map(builder), failure: Mutex::default() }))
    }

    /// Adds the documents of a block. [`finish`](Self::finish) returns the first error.
    fn unpack(&self, words: &[u64]) {
        for (numbers, is_held_out, labels, (terms, counts)) in unpacked::<SampledPiece<'_>>(words) {
            let kind = usize::from(is_held_out);
            let pushed = self.builders[kind].lock().push(numbers, labels, terms, counts);
            if let Err(error) = pushed {
                self.failure.lock().get_or_insert((kind, error));
            }
        }
    }

    fn finish(
        &self,
        process: &Process,
        deals: &[Deal; 2],
    ) -> Result<[Arc<Minibatches>; 2], Failure> {
        let refuse = |kind: usize, error| process.scratch_error(FILES[kind], error);
        if let Some((kind, error)) = self.failure.lock().take() {
            return Err(refuse(kind, error));
        }
        let finish = |kind: usize| {
            let finished = self.builders[kind].lock().finish(&deals[kind]);
            finished.map(Arc::new).map_err(|error| refuse(kind, error))
        };
        Ok([finish(0)?, finish(1)?])
    }
}

/// A document, or a piece of one, as it is sent: its place in the order of minibatches and its number, whether it is held
/// out, its labels, terms and counts.
type SampledPiece<'w> = ([u64; 2], bool, &'w [u16], (&'w [u32], &'w [u32]));

/// Sends a document to the worker that it belongs to. One that is longer than a block is sent in consecutive pieces,
/// with all labels in the first.
fn send(
    outbox: &mut Outbox,
    numbers: [u64; 2],
    is_held_out: bool,
    mut labels: &[u16],
    bag: Bag<'_>,
) {
    let target = outbox.target(numbers[1]);
    let pieces = bag.terms.chunks(MAX_BLOCK_WORDS / 2);
    for (terms, counts) in pieces.zip(bag.counts.chunks(MAX_BLOCK_WORDS / 2)) {
        let labels = std::mem::take(&mut labels);
        let piece: SampledPiece<'_> = (numbers, is_held_out, labels, (terms, counts));
        outbox.send(0, target, packed([piece]));
    }
}

// The splits of documents: which were trained on.

/// Determines the splits of documents, by their numbers and, if training needs labels, by whether
/// they have any.
pub(super) struct Splits {
    rule: SampleRule,
    labels: Option<LabelReader>,
}

impl Splits {
    /// Creates the splits of a collection's documents.
    pub(super) fn new(
        rule: SampleRule,
        settings: &CorpusSettings,
        collection: &Collection,
    ) -> Self {
        let labels = LabelReader::new(settings, &collection.labels);
        Self { rule, labels }
    }

    /// Returns the columns that splits need, and those of terms.
    pub(super) fn columns(&self) -> Columns {
        let labels = self.labels.as_ref();
        labels.map_or(Columns::Counts, |labels| Columns::CountsAnd(labels.column))
    }

    /// Returns the split of a document that has terms.
    pub(super) fn of(&self, number: u64, document: &ShardDocument) -> Split {
        match (self.rule.split(number), &self.labels) {
            (Split::Sample, Some(reader)) => {
                let mut labels = Vec::new();
                reader.read(&document.metadata, &mut labels);
                self.rule.split_of(number, document, Some(&labels))
            }
            _ => self.rule.split_of(number, document, None),
        }
    }
}
