//! Ingest: turns the input into shards of bags of words, and a vocabulary.
//!
//! ```text
//! blocks ──read, tokenize──▶ drafts (a worker's own term ids)
//!                └─ counts ──differential──▶ totals ──▶ owners prune, worker 0 numbers ──▶ term ids
//!    └─ signatures ──by band──▶ pairs ──▶ duplicates, whose counts are taken back (`duplicates`)
//! drafts ──term ids──▶ shards, numbered by the rank of their block
//! ```
//!
//! If a job looks for phrases, its drafts keep the order of tokens. Their totals show which words are
//! frequent; then phrases are found and joined in the drafts (`phrases`), and the terms counted again.
//!
//! `collection.json` is written last, and the drafts are kept until then: a stopped ingest reads only blocks without a
//! sound draft (`journal`), a complete one is skipped. Which worker reads which block is left to chance; no result
//! depends on it.

mod copies;
mod counts;
mod drafts;
mod duplicates;
mod hash_filter;
mod joiner;
mod journal;
mod pairs;
mod phrases;
mod source;
mod vocabulary;

use std::path::Path;
use std::rc::Rc;

use timely::worker::Worker;

pub(super) use self::drafts::cause_first;
use self::drafts::{Drafted, WrittenShard};
use self::joiner::Joiner;
use self::journal::{Draft, DraftFolder};
use self::source::IngestInput;
use self::vocabulary::{Agreed, Listed};
use super::gather::{all_gather, gather_records, sum};
use super::process::Process;
use crate::dataflow::process::other_settings;
use crate::failure::Failure;
use crate::tables::documents::metadata_columns;
use crate::tables::output::is_gone;
use corpus::DocumentStatus;
use corpus::collection::{COLLECTION_FILE, Collection, SHARDS_FOLDER, ShardEntry};
use corpus::input::{Input, identify};
use corpus::labels::{Label, LabelCounter, differing_by_case};
use corpus::terms::TermCounter;
use corpus::value_type::TypeFinder;
use corpus::vocabulary::Vocabulary;
use corpus::vocabulary_file::{self, VOCABULARY_FILE};

/// The outcome of an ingest.
#[derive(Clone, Debug, Default)]
pub struct Ingested {
    /// The collection.
    pub collection: Collection,
    /// The errors of the first few documents that could not be read: file, place and remedy; `None` if the input was not
    /// read. The collection has the number of such documents, by status.
    pub remarks: Option<Vec<String>>,
}

/// Ingests the job's input, unless that has been done. All workers of all processes must call this; all get the same
/// result.
///
/// # Errors
/// The input or the disk cannot be read; the output folder contains another collection; there is no
/// document, or no term is left.
pub fn ingest(worker: &mut Worker, process: &Process) -> Result<Ingested, Failure> {
    let source = &*process.shared("input", || IngestInput::discover(process))?;
    let found = find_complete(worker, process, source)?;
    let found = found.map_or_else(|| source::reuse(worker, process, source), |it| Ok(Some(it)))?;
    if let Some(collection) = found {
        return Ok(Ingested { collection, remarks: None });
    }
    if worker.index() == 0 {
        warn_of_renamed(process, &process.job.corpus.columns());
        for names in source.input.left_out(&process.job.path) {
            process.warn(format!("corpus.input: {names}, is left out"));
        }
    }
    let copies = copies::find(worker, process, &source.input)?;
    let blocks = process.shared("blocks", || Ok(source.blocks(process, &copies)))?;
    let expected = source.input.expected_bytes() / process.placement.processes() as u64;
    begin(worker, process, ["ingest", "bytes"], expected);
    let (drafted, remarks) = drafts::draft_all(worker, process, source, &blocks)?;
    if worker.index().is_multiple_of(process.placement.threads) {
        remarks.reasons().for_each(|remark| tracing::warn!(remark, "document without text"));
    }
    let Drafted { mut folders, empty_folders, left_out, distinct } = drafted;
    let listed = Listed::of(distinct, process);
    let mut found = source.phrases.clone();
    if let Some(settings) = &process.job.phrases.detection {
        found = phrases::find(worker, process, settings, &mut folders)?;
    }
    let to_join = process.job.phrases.detection.as_ref().map(|_| &found[..]);
    let mut sums = counts::count_terms(worker, process, &mut folders, to_join, listed)?;
    let own = folders.iter().flat_map(|folder| &folder.drafts);
    let figures: Vec<Draft> = own.map(|draft| draft.figures).collect();
    let mut all = gather_records(worker, &figures);
    all.sort_unstable_by_key(|draft| draft.key);
    if all.is_empty() {
        return Err(Failure::data(no_documents(&source.input)));
    }
    number(&mut folders, &all);
    let documents: u64 = all.iter().map(|draft| draft.documents).sum();
    let duplicates = duplicates::find(worker, process, &folders, documents)?;
    if duplicates.count() > 0 {
        duplicates.retract(worker, &mut folders, to_join, &mut sums)?;
    }
    for folder in &mut folders {
        folder.terms = folder.terms.take().map(TermCounter::without_counts);
    }
    let with_tokens: u64 = all.iter().map(|draft| draft.documents_with_tokens).sum();
    let totals = sums.finish(worker);
    let documents = [with_tokens, documents, duplicates.count()];
    let (owned, agreed) = vocabulary::agree(worker, process, totals, listed, documents, &remarks)?;
    let documents = documents_here(worker, process, &folders);
    begin(worker, process, ["ingest", "documents"], documents);
    let (owned, mut written) = (Rc::new(owned), Vec::with_capacity(figures.len()));
    let mut labels = LabelCounter::default();
    let mut types = TypeFinder::new(process.job.corpus.columns().len());
    let rounds = gather_records(worker, &[folders.len() as u64]).into_iter().max();
    for round in 0..rounds.unwrap_or(0) as usize {
        let mut terms =
            folders.get_mut(round).map_or(Ok(TermCounter::new()), DraftFolder::take_terms)?;
        let mut joiner = to_join.map(|phrases| Joiner::new(phrases, &mut terms));
        let map = vocabulary::ask_owners(worker, &terms, &owned);
        drop(terms);
        for draft in folders.get(round).iter().flat_map(|folder| &folder.drafts) {
            let joiner = joiner.as_mut();
            let seen = (&mut labels, &mut types);
            written.push(drafts::rewrite(process, &map, draft, &duplicates, seen, joiner)?);
        }
    }
    let labels = gather_labels(worker, process, &labels)?;
    let types = TypeFinder::finish(&sum(worker, &types.to_sums()));
    let mut written: Vec<WrittenShard> = gather_records(worker, &written);
    written.sort_unstable_by_key(|shard| shard.number);
    let describe = || Collection {
        types,
        labels,
        phrases: found,
        duplicates: duplicates.count(),
        left_out,
        ..collection(process, source, &agreed, &all, &written)
    };
    let collection = publish(worker, process, describe)?;
    folders.iter().chain(&empty_folders).try_for_each(DraftFolder::remove)?;
    Ok(Ingested { collection, remarks: Some(remarks.reasons().cloned().collect()) })
}

/// Numbers a worker's drafts; `all` are those of all workers, in the order of their keys.
fn number(folders: &mut [DraftFolder], all: &[Draft]) {
    let first =
        |next: &mut u64, draft: &Draft| Some(std::mem::replace(next, *next + draft.documents));
    let firsts: Vec<u64> = all.iter().scan(0, first).collect();
    for draft in folders.iter_mut().flat_map(|folder| &mut folder.drafts) {
        draft.number = all.partition_point(|other| other.key < draft.figures.key);
        draft.first_document = firsts[draft.number];
    }
}

/// Warns of columns whose names the tables have already.
fn warn_of_renamed(process: &Process, columns: &[String]) {
    let renamed = columns.iter().zip(metadata_columns(columns));
    for (name, renamed) in renamed.filter(|(name, renamed)| *name != renamed) {
        process.warn(format!(
            "corpus.metadata: `{name}` is `{renamed}` in the tables, which have a `{name}` already"
        ));
    }
}

/// Returns the labels of the collection, if the job has some; warns of labels that are probably the same.
fn gather_labels(
    worker: &mut Worker,
    process: &Process,
    counter: &LabelCounter,
) -> Result<Vec<Label>, Failure> {
    let Some(settings) = &process.job.corpus.labels else {
        return Ok(Vec::new());
    };
    let counted = all_gather(worker, &counter.to_bytes());
    let labels = LabelCounter::finish(&counted, settings).map_err(Failure::data)?;
    if let Some([one, other]) = differing_by_case(&labels).filter(|_| worker.index() == 0) {
        process.warn(format!(
            "labels {one:?} and {other:?} differ only by case: each is a topic of its own"
        ));
    }
    Ok(labels)
}

/// Reads the vocabulary of an ingested collection: every term, kept or not.
///
/// # Errors
/// It is missing or damaged.
pub fn read_vocabulary(process: &Process) -> Result<Vocabulary, Failure> {
    Ok(vocabulary_file::read(&process.output.local(VOCABULARY_FILE)?)?)
}

/// Returns the number of documents in the drafts of the process's workers.
fn documents_here(worker: &mut Worker, process: &Process, folders: &[DraftFolder]) -> u64 {
    let mut shares = vec![0; process.placement.processes()];
    let here = process.placement.process;
    let drafts = folders.iter().flat_map(|folder| &folder.drafts);
    shares[here] = drafts.map(|draft| draft.figures.documents as i64).sum();
    sum(worker, &shares)[here] as u64
}

/// Begins a phase, for all workers of the process together.
fn begin(worker: &Worker, process: &Process, [phase, unit]: [&'static str; 2], total: u64) {
    if worker.index().is_multiple_of(process.placement.threads) {
        process.progress.begin(phase, unit, Some(total));
    }
    process.meet();
}

/// Finds a collection that is already in the output folder; refuses another job's.
///
/// Worker 0 reads and broadcasts it, so that all act alike; each checks that all see the same input.
/// If there is none, the shards of a stopped ingest are removed; otherwise its drafts.
fn find_complete(
    worker: &mut Worker,
    process: &Process,
    source: &IngestInput,
) -> Result<Option<Collection>, Failure> {
    let mut message = source.fingerprint.clone();
    let path = process.output.path(COLLECTION_FILE);
    if worker.index() == 0 {
        match std::fs::read_to_string(process.output.local(COLLECTION_FILE)?) {
            Ok(json) => {
                message.push_str(&json);
                let drafts = process.output.drafts();
                store::remove_tree(&drafts).map_err(Failure::io(drafts))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                process.output.clear(SHARDS_FOLDER)?;
            }
            Err(source) => return Err(Failure::io(path)(source)),
        }
    }
    let messages = all_gather(worker, message.as_bytes());
    let length = source.fingerprint.len();
    let other = messages.iter().position(|one| !one.starts_with(source.fingerprint.as_bytes()));
    if let Some(other) = other {
        let [mine, other] =
            [worker.index(), other].map(|worker| worker / process.placement.threads);
        return Err(Failure::data(format!(
            "processes {mine} and {other} see different input files: all hosts must see the \
             same files under the same paths, complete before the run starts"
        )));
    }
    let json = String::from_utf8_lossy(&messages[0][length..]);
    if json.is_empty() {
        return Ok(None);
    }
    check_same(Collection::from_json(&json, &path)?, process, source).map(Some)
}

/// Reads the collection that ingest has written to an output.
///
/// # Errors
/// There is none; it cannot be read; another job made it.
pub(super) fn read_collection(process: &Process) -> Result<Collection, Failure> {
    let output = &process.output;
    if output.is_complete()? && !output.is_published(COLLECTION_FILE)? {
        return Err(is_gone(&output.path(COLLECTION_FILE)));
    }
    let root = process.output.local_root(&[COLLECTION_FILE])?;
    check_settings(Collection::read(root)?, process)
}

fn check_settings(collection: Collection, process: &Process) -> Result<Collection, Failure> {
    if collection.settings_hash == process.job.corpus_hash() {
        Ok(collection)
    } else {
        Err(other_settings(&process.output.path(COLLECTION_FILE), "corpus, tokens or vocabulary"))
    }
}

/// Refuses a collection of another job or another input.
fn check_same(
    collection: Collection,
    process: &Process,
    source: &IngestInput,
) -> Result<Collection, Failure> {
    let collection = check_settings(collection, process)?;
    if collection.input_fingerprint == source.fingerprint {
        Ok(collection)
    } else {
        Err(input_has_changed(process))
    }
}

/// Refuses a complete result whose input can be read and has changed since it was ingested.
pub(super) fn check_input(process: &Process, ingested: &str) -> Result<(), Failure> {
    match identify(&process.job.corpus) {
        Ok((_, found)) if found != ingested => Err(input_has_changed(process)),
        _ => Ok(()),
    }
}

fn input_has_changed(process: &Process) -> Failure {
    Failure::data(format!(
        "{} contains a collection whose input has changed since it was ingested: choose \
         another output.path, or restart with --overwrite",
        process.output.root().display()
    ))
}

fn no_documents(input: &Input) -> String {
    format!(
        "the input contains no document (files: {}, bytes: {}): check corpus.input and \
         corpus.format",
        input.files.len(),
        input.total_bytes
    )
}

/// Writes `collection.json` on worker 0, once all shards are written; every worker receives it.
fn publish(
    worker: &mut Worker,
    process: &Process,
    describe: impl FnOnce() -> Collection,
) -> Result<Collection, Failure> {
    let mut json = String::new();
    if worker.index() == 0 {
        json = describe().to_json();
        process.output.write_atomic(COLLECTION_FILE, json.as_bytes())?;
    }
    let gathered = all_gather(worker, json.as_bytes());
    let json = String::from_utf8_lossy(&gathered[0]);
    Ok(Collection::from_json(&json, Path::new(COLLECTION_FILE))?)
}

/// Assembles the description of the collection. `drafts` and `written` are in the order of the
/// shards.
fn collection(
    process: &Process,
    source: &IngestInput,
    agreed: &Agreed,
    drafts: &[Draft],
    written: &[WrittenShard],
) -> Collection {
    let mut first_document = 0;
    // The volume of the last document that has one, and its documents so far.
    let (mut open_volume, mut open_sections) = (0, 0);
    let mut shards = Vec::with_capacity(drafts.len());
    for (draft, shard) in drafts.iter().zip(written) {
        let documents = draft.documents;
        let continues = shard.first_volume != 0 && shard.first_volume == open_volume;
        let first_section = if continues { open_sections } else { 0 };
        if shard.sections > 0 {
            let is_one_volume = shard.last_sections == shard.sections;
            open_volume = shard.last_volume;
            open_sections = shard.last_sections + if is_one_volume { first_section } else { 0 };
        }
        shards.push(ShardEntry {
            first_document,
            documents,
            documents_with_terms: DocumentStatus::with_terms(&shard.by_status),
            tokens: shard.tokens,
            first_section,
            bytes: shard.bytes,
            sha256: hex::encode(shard.sha256),
        });
        first_document += documents;
    }
    let settings = &process.job.corpus;
    Collection {
        format: Collection::FORMAT,
        settings_hash: process.job.corpus_hash(),
        input_fingerprint: source.fingerprint.clone(),
        files: source.input.digests.clone(),
        input_files: source.input.files.len() as u64,
        input_bytes: source.input.total_bytes,
        documents: first_document,
        documents_with_terms: shards.iter().map(|shard| shard.documents_with_terms).sum(),
        documents_by_status: DocumentStatus::by_name(written.iter().map(|shard| &shard.by_status)),
        duplicates: 0,
        tokens_total: written.iter().map(|shard| shard.tokens_total).sum(),
        tokens_in_vocabulary: written.iter().map(|shard| shard.tokens).sum(),
        tokens_stopped: written.iter().map(|shard| shard.tokens_stopped).sum(),
        terms_total: agreed.terms_total,
        terms_unlisted: agreed.terms_unlisted,
        terms_kept: agreed.terms_kept,
        vocabulary_fingerprint: agreed.fingerprint.clone(),
        metadata: settings.columns(),
        types: Vec::new(),
        grouped: settings.has_groups() || source.input.has_volumes(),
        labels: Vec::new(),
        phrases: Vec::new(),
        left_out: Vec::new(),
        removed: 0,
        sampled: None,
        generations: Vec::new(),
        later_batches: Vec::new(),
        shards,
    }
}
