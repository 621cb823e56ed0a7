//! A worker's counts of documents, the sums that it owns, and the first worker's results from them.
//!
//! While documents are inferred, sums that take much memory go to the workers that own them; when all documents are
//! inferred, the rest follows. Then owners report how many keys they have, turn their sums into lines, and write those or
//! send them to the first worker, which writes the tables.

use std::any::Any;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;

use super::keyed::{KeyedSums, Pending, WORDS_A_MESSAGE, WorkerPlace, give_messages, pending};
use super::stored::{self, WrittenParts};
use super::{ProjectPlan, Projected};
use crate::dataflow::block::Block;
use crate::dataflow::merge::{KINDS, add_piece, give_vector};
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::tables::drift::Drift;
use crate::tables::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums};
use crate::tables::tally::Tally;
use crate::tables::topic_documents::TopicDocuments;
use crate::tables::{PartInfo, Row, roll_ups};
use crate::wire::{Wire, packed, unpacked};

/// The kinds of blocks, numbers below [`KINDS`] in their tags. Above them is the number of the roll-up.
const TALLY: u64 = 0;
const PARTS: u64 = 1;
const KEYED: u64 = 2;
const WHOLE: u64 = 3;
const KEYS: u64 = 4;
const LINES: u64 = 5;

/// Sums that the workers of a process share, by table.
#[derive(Debug, Default)]
pub(crate) struct SharedSums(Mutex<BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>>);

impl SharedSums {
    fn of<R: RollUp>(&self) -> Pending<R::Key, R::Sums> {
        let mut all = self.0.lock();
        let made =
            all.entry(R::Row::SPEC.name).or_insert_with(|| Arc::new(pending::<R::Key, R::Sums>()));
        let shared: &Pending<R::Key, R::Sums> =
            made.downcast_ref().expect("a table has one roll-up");
        Arc::clone(shared)
    }
}

/// A roll-up on one worker.
struct Rolled<R: RollUp> {
    roll_up: R,
    number: u64,
    keyed: KeyedSums<R::Key, R::Sums>,
    /// Sums over the worker's own documents, and over all.
    whole: [R::Whole; 2],
    /// Keys of all workers.
    keys: u64,
    /// On the first worker.
    lines: Vec<R::Line>,
}

/// A roll-up of any type.
trait AnyRollUp {
    fn add(&mut self, document: &ListedDocument<'_>, outbox: &mut Outbox);
    fn send(&mut self, outbox: &mut Outbox);
    fn receive(&mut self, kind: u64, words: &[u64]);
    fn send_count(&mut self, outbox: &mut Outbox);
    fn send_lines(
        &mut self,
        plan: &ProjectPlan,
        outbox: &mut Outbox,
        written: &mut WrittenParts,
    ) -> Result<(), Failure>;
    fn finish(&mut self, plan: &ProjectPlan, written: &mut WrittenParts) -> Result<(), Failure>;
}

impl<R: RollUp> Rolled<R> {
    fn new(roll_up: R, number: u64, plan: &ProjectPlan, worker: usize) -> Result<Self, Failure> {
        let placement = &plan.process.placement;
        let (workers, threads) = (placement.workers(), placement.threads);
        let buckets = roll_up.buckets(plan.collection.documents);
        let path = plan.process.output.temporary_path(&format!("sums-{}", R::Row::SPEC.name));
        let keyed = KeyedSums::new(
            KEYED + KINDS * number,
            WorkerPlace { index: worker, workers, threads },
            (buckets, path),
            roll_up.empty(),
            plan.sums.of::<R>(),
            R::MOST_KEYS.unwrap_or(0),
        );
        let whole = [roll_up.whole(), roll_up.before()];
        let mut rolled = Self { roll_up, number, keyed, whole, keys: 0, lines: Vec::new() };
        rolled.take_over(plan)?;
        Ok(rolled)
    }

    /// Begins with the sums that the result has stored.
    fn take_over(&mut self, plan: &ProjectPlan) -> Result<(), Failure> {
        let files = plan.stored.as_ref().map(|stored| stored.files(R::Row::SPEC.name));
        let files = files.unwrap_or_default();
        for (bucket, file) in (0..).zip(&files) {
            if bucket > 0 && !self.keyed.owns_some([bucket, files.len() as u64]) {
                continue;
            }
            let words = stored::read_words(&plan.process, file)?;
            let mut sums = &words[..];
            if bucket == 0 {
                let head = <(u64, Vec<u64>)>::unpack(&mut sums);
                let (keys, whole) = head.expect("its hash is that of what was written");
                self.keys = keys;
                self.whole[1] = self.roll_up.whole();
                unpacked(&whole).for_each(|part| self.whole[1].add(part));
            }
            self.keyed.take_over(sums);
        }
        Ok(())
    }

    /// Keeps the sums of a bucket, if there are any and documents may be added.
    fn store(
        &self,
        plan: &ProjectPlan,
        bucket: u64,
        words: &[u64],
        written: &mut WrittenParts,
    ) -> Result<(), Failure> {
        if plan.keeps_sums() && !words.is_empty() {
            let table = R::Row::SPEC.name;
            written.extend([stored::write_words(&plan.process, table, bucket, words)?]);
        }
        Ok(())
    }

    /// Returns what the file of a bucket begins with: in the first, the number of keys if they are too many, and the
    /// sums over all documents.
    fn head(&self, bucket: u64) -> Vec<u64> {
        if bucket > 0 {
            return Vec::new();
        }
        let mut whole = Vec::new();
        self.whole[1].clone().take(&mut |part| part.pack(&mut whole));
        packed([(if self.has_too_many_keys() { self.keys } else { 0 }, whole)])
    }

    fn has_too_many_keys(&self) -> bool {
        R::MOST_KEYS.is_some_and(|most| self.keys > most)
    }
}

impl<R: RollUp> AnyRollUp for Rolled<R> {
    fn add(&mut self, document: &ListedDocument<'_>, outbox: &mut Outbox) {
        let Self { roll_up, keyed, whole: [own, _], .. } = self;
        roll_up.add(document, own, &mut |key, count| keyed.add(key, outbox, count));
    }

    fn send(&mut self, outbox: &mut Outbox) {
        self.keyed.send(outbox);
        let (tag, mut parts) = (WHOLE + KINDS * self.number, Vec::new());
        self.whole[0].take(&mut |part| {
            part.pack(&mut parts);
            if parts.len() >= WORDS_A_MESSAGE {
                outbox.send_all(tag, std::mem::take(&mut parts));
            }
        });
        if !parts.is_empty() {
            outbox.send_all(tag, parts);
        }
    }

    fn receive(&mut self, kind: u64, words: &[u64]) {
        match kind {
            KEYED => self.keyed.receive(words),
            WHOLE => unpacked(words).for_each(|part| self.whole[1].add(part)),
            KEYS => self.keys += words[0],
            _ => self.lines.extend(unpacked(words)),
        }
    }

    fn send_count(&mut self, outbox: &mut Outbox) {
        outbox.send_all(KEYS + KINDS * self.number, vec![self.keyed.count()]);
    }

    fn send_lines(
        &mut self,
        plan: &ProjectPlan,
        outbox: &mut Outbox,
        written: &mut WrittenParts,
    ) -> Result<(), Failure> {
        if self.has_too_many_keys() {
            self.keyed.discard()?;
            let first = self.keyed.buckets().find(|&bucket| bucket == 0);
            return first.map_or(Ok(()), |_| self.store(plan, 0, &self.head(0), written));
        }
        if R::IS_IN_PARTS && self.keys == 0 {
            return Ok(());
        }
        for bucket in self.keyed.buckets() {
            let mut words = self.head(bucket);
            let (whole, mut lines) = (&self.whole[1], Vec::new());
            let roll_up = &self.roll_up;
            let visit = |key: <R::Key as ToOwned>::Owned, sums: R::Sums| {
                if plan.keeps_sums() && roll_up.is_kept(key.borrow(), &sums, whole) {
                    give_messages(key.borrow(), sums.clone(), |message| words.extend(message));
                }
                roll_up.lines(key, sums, whole, &mut lines);
            };
            self.keyed.each(bucket, visit)?;
            self.store(plan, bucket, &words, written)?;
            if R::IS_IN_PARTS {
                let rows = roll_up.rows(lines, whole);
                written.extend([plan.process.output.write_part(bucket, &plan.metadata, rows)?]);
            } else {
                let send = |line| outbox.send(LINES + KINDS * self.number, 0, packed([line]));
                lines.into_iter().for_each(send);
            }
        }
        Ok(())
    }

    fn finish(&mut self, plan: &ProjectPlan, written: &mut WrittenParts) -> Result<(), Failure> {
        if !R::IS_IN_PARTS {
            let rows = self.roll_up.rows(std::mem::take(&mut self.lines), &self.whole[1]);
            written.extend([plan.process.output.write_table(&plan.metadata, rows)?]);
        }
        Ok(())
    }
}

/// A part of a table as words: its path, rows and bytes, and its hash.
type PartWords = (String, [u64; 2], String);

/// The counters of a worker.
pub(super) struct Counters {
    plan: Rc<ProjectPlan>,
    tally: Tally,
    drift: Rolled<Drift>,
    /// The other roll-ups, by number from 1.
    others: Vec<Box<dyn AnyRollUp>>,
    /// What the worker has written and, on the first worker at the end, what all have.
    written: WrittenParts,
    /// On the first worker: the sums of all tallies.
    sums: Vec<i64>,
}

/// Starts the roll-ups of a worker.
struct Starting<'a> {
    plan: &'a ProjectPlan,
    worker: usize,
    started: Vec<Box<dyn AnyRollUp>>,
    error: Option<Failure>,
}

impl StartRollUp for Starting<'_> {
    fn start<R: RollUp>(&mut self, roll_up: R) {
        let number = self.started.len() as u64 + 1;
        match Rolled::new(roll_up, number, self.plan, self.worker) {
            Ok(rolled) => self.started.push(Box::new(rolled)),
            Err(error) => self.error = Some(error),
        }
    }
}

impl Counters {
    /// Creates the counters that the plan's job needs, with the sums that the result has stored.
    pub(super) fn new(plan: &Rc<ProjectPlan>, worker: usize) -> Result<Self, Failure> {
        let mut starting = Starting { plan, worker, started: Vec::new(), error: None };
        let limit = plan.process.job.project.documents_per_topic;
        starting.start(TopicDocuments::new(plan.topic_count(), limit));
        if plan.process.job.project.rollups {
            let context = RollUpContext {
                seed: plan.process.job.model.seed,
                topic_count: plan.topic_count(),
                collection: Arc::clone(&plan.collection),
                unknown: Arc::clone(&plan.unknown),
                columns: Arc::clone(&plan.trends.columns),
            };
            roll_ups(&context, &mut starting);
        }
        if let Some(error) = starting.error {
            return Err(error);
        }
        Ok(Self {
            tally: plan.tally(),
            drift: Rolled::new(plan.drift(), 0, plan, worker)?,
            others: starting.started,
            written: BTreeMap::new(),
            sums: Vec::new(),
            plan: Rc::clone(plan),
        })
    }

    fn roll_ups(&mut self) -> impl Iterator<Item = &mut dyn AnyRollUp> {
        let drift: &mut dyn AnyRollUp = &mut self.drift;
        let others = self.others.iter_mut().map(|it| &mut **it as &mut dyn AnyRollUp);
        std::iter::once(drift).chain(others)
    }

    /// Counts a document with terms, unless it is in the sums that the result has stored.
    pub(super) fn add(&mut self, document: &ListedDocument<'_>, outbox: &mut Outbox) {
        let stored = self.plan.stored.as_ref();
        if stored.is_some_and(|stored| document.number < stored.documents) {
            return;
        }
        self.roll_ups().for_each(|it| it.add(document, outbox));
    }

    /// Adds the tally of a part whose documents are all counted.
    pub(super) fn end_part(&mut self, tally: &Tally) {
        self.tally.merge(tally);
    }

    /// Adds parts that are published.
    pub(super) fn wrote(&mut self, parts: Vec<(String, PartInfo)>) {
        self.written.extend(parts);
    }

    /// Sends what has not been sent yet, once the documents of all workers are counted.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        self.roll_ups().for_each(|it| it.send(outbox));
        let to_first = &mut |tag, words| outbox.send_block(tag, 0, words);
        give_vector(&self.tally.sums(), TALLY, to_first);
    }

    /// Sends the numbers of keys to all workers, once all sums have arrived.
    pub(super) fn send_counts(&mut self, outbox: &mut Outbox) -> Result<(), Failure> {
        self.roll_ups().for_each(|it| it.send_count(outbox));
        Ok(())
    }

    /// Takes a block that a worker has sent.
    pub(super) fn receive(&mut self, block: Block) {
        match block.tag() % KINDS {
            TALLY => add_piece(&mut self.sums, &block),
            PARTS => {
                let parts = unpacked::<PartWords>(block.words());
                let info = |[rows, bytes]: [u64; 2], sha256| PartInfo { rows, bytes, sha256 };
                self.written.extend(parts.map(|(path, size, sha256)| (path, info(size, sha256))));
            }
            kind => {
                let roll_up = self.roll_ups().nth((block.tag() / KINDS) as usize);
                roll_up.expect("all workers have the same").receive(kind, block.words());
            }
        }
    }

    /// Turns the sums that this worker owns into lines, once all counts have arrived, and writes or sends them.
    pub(super) fn send_owned(&mut self, outbox: &mut Outbox) -> Result<(), Failure> {
        let plan = Rc::clone(&self.plan);
        let mut written = std::mem::take(&mut self.written);
        self.roll_ups().try_for_each(|it| it.send_lines(&plan, outbox, &mut written))?;
        for (path, PartInfo { rows, bytes, sha256 }) in written {
            outbox.send(PARTS, 0, packed([(path, [rows, bytes], sha256)]));
        }
        Ok(())
    }

    /// Writes the tables on the first worker, once everything has arrived; returns the result.
    pub(super) fn finish(&mut self) -> Result<Projected, Failure> {
        let tally = Tally::from_sums(&self.sums, &self.tally);
        let (plan, mut written) = (Rc::clone(&self.plan), std::mem::take(&mut self.written));
        let groups = (!self.drift.has_too_many_keys()).then(|| {
            let to_retrain = self.drift.lines.iter().filter(|line| line.retrain);
            [self.drift.lines.len(), to_retrain.count()]
        });
        self.roll_ups().try_for_each(|it| it.finish(&plan, &mut written))?;
        stored::describe(&plan, &mut written)?;
        let (run, whole) = (self.drift.roll_up.of_run(&self.drift.whole[1]), &self.drift.whole[1]);
        Ok(Projected { tally, drift: run, groups, trained: whole.trained.clone(), written })
    }
}
