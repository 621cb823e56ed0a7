//! Assembles the next result for projection: links to the files that stay, and the files that a change rewrites.
//!
//! A shard keeps its rows: a document that leaves becomes an empty row, so that the others keep their numbers, and with
//! them their places in the sample and in the tables. A batch of added documents is merged with the next one of at least
//! its size: after n additions of one document each, about log₂ n batches remain.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::GrowingResult;
use crate::config::Job;
use crate::failure::Failure;
use crate::observe::figures::counted;
use crate::result::OpenedResult;
use crate::tables::notes::PartNote;
use crate::tables::output::{NOTES_FOLDER, Output, part_name};
use corpus::collection::{COLLECTION_FILE, Collection, Generation, SampledDocuments, ShardEntry};
use corpus::sample::{SampleRule, SmallestKeys};
use corpus::settings::{SampleSize, ShardColumns};
use corpus::shard::{Columns, ShardCompression, ShardWriter};
use corpus::value_type::ValueType;
use corpus::vocabulary::TermStatus;
use corpus::vocabulary_file::{VOCABULARY_FILE, VocabularyWriter};
use corpus::{DocumentStatus, Sections, ShardDocument};
use store::{Disk, Store, create_folder, link};

/// Folders of a result whose files stay as they are.
const KEPT: [&str; 6] =
    ["model", "training_log", "topic_changes", "topic_names", "topic_passages", "topic_stability"];

/// What the names of stored sums over all documents begin with.
const SUMS: &str = "sums";

/// Tables with a part for each part of the documents.
const DOCUMENT_TABLES: [&str; 3] = ["documents", "document_topics", "predictions"];

/// The largest size in bytes of the shard that batches are merged to.
const MOST_MERGED: u64 = 4 << 20;

/// Documents that come to a result, and documents that leave it.
pub(crate) struct Change {
    /// The numbers of documents that leave; of those that come, which have the numbers after the others, of those that
    /// are left out.
    pub(crate) leaving: BTreeSet<u64>,
    /// What came and left, except the numbers of documents.
    pub(crate) generation: Generation,
}

impl Change {
    fn brings_documents(&self) -> bool {
        !self.generation.input.is_empty()
    }
}

/// The files that a shard of the next collection is made of, and their entries in the collection; more than one are
/// merged.
type Sources<'a> = Vec<(PathBuf, &'a ShardEntry)>;

/// What the documents that leave take with them.
#[derive(Default)]
struct Retraction {
    documents: u64,
    documents_with_terms: u64,
    documents_by_status: BTreeMap<String, u64>,
    duplicates: u64,
    tokens_total: u64,
    tokens_in_vocabulary: u64,
    tokens_stopped: u64,
    /// Tokens and documents of each term.
    terms: BTreeMap<u32, [u64; 2]>,
}

impl Retraction {
    fn add(&mut self, document: &ShardDocument) {
        self.documents += 1;
        self.documents_with_terms += u64::from(document.status.has_terms());
        let name = document.status.name().to_owned();
        *self.documents_by_status.entry(name).or_default() += 1;
        self.tokens_total += u64::from(document.tokens_total);
        self.tokens_in_vocabulary += document.tokens_in_vocabulary();
        self.tokens_stopped += u64::from(document.tokens_stopped);
        self.duplicates += u64::from(document.duplicate_of.is_some());
        // The vocabulary has no counts of a document that repeats another.
        let counted = document.all_terms().filter(|_| document.duplicate_of.is_none());
        for (term, count) in counted {
            let [tokens, documents] = self.terms.entry(term).or_default();
            *tokens += u64::from(count);
            *documents += 1;
        }
    }

    fn take_from(&self, collection: &mut Collection) {
        collection.documents -= self.documents;
        collection.removed += self.documents;
        collection.documents_with_terms -= self.documents_with_terms;
        collection.duplicates -= self.duplicates;
        collection.tokens_total -= self.tokens_total;
        collection.tokens_in_vocabulary -= self.tokens_in_vocabulary;
        collection.tokens_stopped -= self.tokens_stopped;
        for (status, documents) in &self.documents_by_status {
            if let Some(count) = collection.documents_by_status.get_mut(status) {
                *count -= documents;
            }
        }
    }
}

impl GrowingResult {
    /// Counts what comes and leaves, and removes what another change has left beside the result.
    ///
    /// # Errors
    /// A collection cannot be read, or a folder not removed.
    pub(crate) fn begin(&self, change: &mut Change) -> Result<(), Failure> {
        let [before, new] = self.collections(change)?;
        let left_out = change.leaving.range(before.numbers()..).count() as u64;
        change.generation.first_document = before.numbers();
        change.generation.documents = new.documents - left_out;
        change.generation.removed = change.leaving.len() as u64 - left_out;
        change.generation.unix_seconds = now();
        self.keep_next(&before, &change.generation)
    }

    /// Returns the result's collection, and that of the new documents, which may be none.
    fn collections(&self, change: &Change) -> Result<[Collection; 2], Failure> {
        let added = OpenedResult::at(&self.added);
        let new =
            if change.brings_documents() { added.collection()? } else { Collection::default() };
        Ok([OpenedResult::at(&self.result).collection()?, new])
    }

    /// Returns a warning for each column of metadata in which the new documents have values of another type than it has.
    ///
    /// # Errors
    /// A collection or a shard cannot be read.
    pub(crate) fn of_other_types(&self) -> Result<Vec<String>, Failure> {
        let [result, added] = [&self.result, &self.added].map(|root| OpenedResult::at(root));
        let before = result.collection()?;
        if added.collection()?.types == before.types {
            return Ok(Vec::new());
        }
        let types: Vec<ValueType> = before.value_types().collect();
        let mut others: Vec<(u64, String)> = vec![(0, String::new()); types.len()];
        added.for_each_document(Columns::All, |_, document| {
            for ((value, value_type), other) in
                document.metadata.iter().zip(&types).zip(&mut others)
            {
                let value = value.as_deref().filter(|value| !value.trim().is_empty());
                if let Some(value) = value.filter(|value| value_type.read(value).is_none()) {
                    if other.0 == 0 {
                        other.1 = format!("{value:?} of {:?}", document.source_id);
                    }
                    other.0 += 1;
                }
            }
            Ok(())
        })?;
        let all = before.metadata.iter().zip(&types).zip(others);
        let all = all.filter(|(_, (count, _))| *count > 0);
        let warning = |((name, value_type), (count, first)): (
            (&String, &ValueType),
            (u64, String),
        )| {
            format!(
                "the column `{name}` of the table documents has {}: null in {} with another value, such as {first}; to \
                 have the column as text, run a job over all documents",
                value_type.plural(),
                counted(count, "new document")
            )
        };
        Ok(all.map(warning).collect())
    }

    /// Fills the folder of the next result with all that stays, with the new shards, and with those that documents
    /// leave; `output` is that folder. An earlier attempt's is kept if it is complete.
    ///
    /// # Errors
    /// No document is left; a file cannot be read, linked or written.
    pub(crate) fn assemble(
        &self,
        output: &Output,
        job: &Job,
        change: &Change,
    ) -> Result<(), Failure> {
        if output.is_published(COLLECTION_FILE)? {
            return Ok(());
        }
        let Change { leaving, generation } = change;
        let [before, new] = self.collections(change)?;
        let mut collection = before.clone();
        collection.sampled = Some(match before.sampled {
            Some(sampled) => sampled,
            None => self.sampled(job, &before)?,
        });
        let merged = first_merged(&before, &new.shards);
        collection.append(new);
        let path = |number: usize| match number.checked_sub(before.shards.len()) {
            None => self.result.join(Collection::shard_name(number)),
            Some(number) => self.added.join(Collection::shard_name(number)),
        };
        let source = |number: usize| (path(number), &collection.shards[number]);
        let all = collection.shards.len();
        let apart = if merged < before.shards.len() { merged } else { all };
        let mut made_of: Vec<Sources<'_>> = (0..apart).map(|number| vec![source(number)]).collect();
        made_of.extend((apart < all).then(|| (apart..all).map(source).collect()));
        let mut retraction = Retraction::default();
        let (mut shards, mut stays) = (Vec::with_capacity(made_of.len()), Vec::new());
        let mut missing_sections = 0;
        let rewriting =
            Rewriting { leaving, columns: job.corpus.shard_columns(&collection.metadata) };
        for (number, sources) in made_of.iter().enumerate() {
            let name = Collection::shard_name(number);
            match &sources[..] {
                [(path, entry)] if !rewriting.changes(entry, missing_sections) => {
                    self.link(path, &name)?;
                    stays.push(true);
                    shards.push((*entry).clone());
                }
                _ => {
                    let temporary = output.temporary_path(&format!("shard-{number:05}"));
                    let missing = &mut missing_sections;
                    stays.push(false);
                    shards.push(rewriting.write(sources, &temporary, missing, &mut retraction)?);
                    output.publish(&temporary, &name)?;
                }
            }
        }
        retraction.take_from(&mut collection);
        collection.shards = shards;
        if collection.documents == 0 {
            let message = format!("{}: no document would be left", self.result.display());
            return Err(Failure::data(message).help("remove the folder instead"));
        }
        if apart < before.shards.len() || collection.shards.len() > before.shards.len() {
            collection.later_batches.retain(|&first| first < merged);
            collection.later_batches.push(merged);
        }
        self.link_parts(&stays[..merged.min(stays.len())])?;
        if generation.removed == 0 {
            for name in Disk.names(&self.result.join(NOTES_FOLDER))? {
                if name.starts_with(SUMS) {
                    let file = format!("{NOTES_FOLDER}/{name}");
                    self.link(&self.result.join(&file), &file)?;
                }
            }
        }
        for folder in KEPT {
            for name in Disk.names(&self.result.join(folder))? {
                let file = format!("{folder}/{name}");
                self.link(&self.result.join(&file), &file)?;
            }
        }
        self.write_vocabulary(output, change.brings_documents(), &retraction)?;
        collection.generations.push(generation.clone());
        output.write_atomic(COLLECTION_FILE, collection.to_json().as_bytes())
    }

    /// Returns what the sample of a collection that has not changed since was drawn from.
    fn sampled(&self, job: &Job, collection: &Collection) -> Result<SampledDocuments, Failure> {
        let documents = collection.numbers();
        let wanted = match job.sample.size {
            SampleSize::Documents(wanted) if wanted < collection.documents_with_terms => wanted,
            _ => return Ok(SampledDocuments { documents, bound: u64::MAX }),
        };
        let mut smallest = SmallestKeys::new(wanted);
        OpenedResult::at(&self.result).for_each_document(Columns::Status, |number, document| {
            if document.status.has_terms() && document.duplicate_of.is_none() {
                smallest.add(SampleRule::key(job.sample_seed(), number));
            }
            Ok(())
        })?;
        Ok(SampledDocuments { documents, bound: smallest.bound() })
    }

    /// Links the parts of the tables of documents, and their notes, all of whose shards stay.
    fn link_parts(&self, stays: &[bool]) -> Result<(), Failure> {
        for (number, note) in PartNote::all(&self.result)? {
            if !stays.get(note.shards).is_some_and(|stay| stay.iter().all(|&stays| stays)) {
                continue;
            }
            let parts =
                DOCUMENT_TABLES.map(|table| format!("{table}/{}", part_name(number as u64)));
            for file in parts.into_iter().chain([PartNote::name(number)]) {
                let from = self.result.join(&file);
                if from.exists() {
                    self.link(&from, &file)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the vocabulary with the counts of the documents that came, and without those of the documents that left. A
    /// term that is in no document any more is forgotten unless it is kept; its number is not used again.
    fn write_vocabulary(
        &self,
        output: &Output,
        has_new: bool,
        retraction: &Retraction,
    ) -> Result<(), Failure> {
        let known = OpenedResult::at(&self.result).vocabulary()?;
        let added = OpenedResult::at(&self.added);
        let added = if has_new { Some(added.vocabulary()?) } else { None };
        let temporary = output.temporary_path("vocabulary.tsv");
        let mut file = VocabularyWriter::create(&temporary)?;
        let terms = added.as_ref().unwrap_or(&known).terms();
        let earlier = known.terms().iter().map(Some).chain(repeat(None));
        for ((term, earlier), number) in terms.iter().zip(earlier).zip(0..) {
            let [mut tokens, mut documents] = [term.tokens, term.documents];
            if let (Some(earlier), Some(_)) = (earlier, &added) {
                tokens += earlier.tokens;
                documents += earlier.documents;
            }
            if let Some([fewer_tokens, fewer_documents]) = retraction.terms.get(&number) {
                tokens -= fewer_tokens;
                documents -= fewer_documents;
            }
            let is_gone = documents == 0 && term.status != TermStatus::Kept;
            let status = if is_gone { TermStatus::Removed } else { term.status };
            file.write(&term.term, [tokens, documents], status)?;
        }
        file.finish()?;
        output.publish(&temporary, VOCABULARY_FILE)
    }

    fn link(&self, from: &Path, file: &str) -> Result<(), Failure> {
        let to = self.next.join(file);
        create_folder(to.parent().unwrap_or(&self.next)).map_err(Failure::io(&to))?;
        // Of a change that was killed.
        store::remove_file(&to).map_err(Failure::io(&to))?;
        link(from, &to).map_err(Failure::io(to))
    }
}

/// Returns the seconds since 1970-01-01 UTC.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Returns the first shard of the batches that are merged with the `new` shards: the last ones, as long as each is
/// smaller than all after it; the number of all shards if there are none.
fn first_merged(collection: &Collection, new: &[ShardEntry]) -> usize {
    let bytes = |shards: &[ShardEntry]| shards.iter().map(|shard| shard.bytes).sum::<u64>();
    let (mut first, mut merged) = (collection.shards.len(), bytes(new));
    for &earlier in collection.later_batches.iter().rev() {
        let batch = bytes(&collection.shards[earlier..first]);
        if batch > merged || batch + merged > MOST_MERGED {
            break;
        }
        (first, merged) = (earlier, merged + batch);
    }
    first
}

/// How shards are written again.
struct Rewriting<'a> {
    /// The numbers of the documents that leave.
    leaving: &'a BTreeSet<u64>,
    columns: ShardColumns<'a>,
}

impl Rewriting<'_> {
    /// Whether documents leave a shard, or the positions of its documents in their volume may change: `missing`
    /// documents of the last volume before it have left.
    fn changes(&self, entry: &ShardEntry, missing: u64) -> bool {
        let numbers = entry.first_document..entry.first_document + entry.documents;
        missing > 0 || self.leaving.range(numbers).next().is_some()
    }

    /// Writes the shard that several become, each document that leaves as an empty one.
    fn write(
        &self,
        sources: &Sources<'_>,
        path: &Path,
        missing: &mut u64,
        retraction: &mut Retraction,
    ) -> Result<ShardEntry, Failure> {
        let mut writer = ShardWriter::create(path, self.columns, ShardCompression::Zstd)?;
        let mut document = ShardDocument::default();
        let empty = ShardDocument {
            status: DocumentStatus::Removed,
            metadata: vec![None; self.columns.metadata.len()],
            ..ShardDocument::default()
        };
        let (_, first) = sources[0];
        let first_section = first.first_section.saturating_sub(*missing);
        for (path, entry) in sources {
            let mut reader = entry.open(path, Columns::All)?;
            let mut sections = Sections::starting(entry.first_section);
            let mut number = entry.first_document;
            while reader.read_into(&mut document)? {
                if sections.number(document.group.as_deref()) == Some(0) {
                    *missing = 0;
                }
                if self.leaving.contains(&number) {
                    *missing += u64::from(document.group.is_some());
                    retraction.add(&document);
                    writer.push(&empty)?;
                } else {
                    writer.push(&document)?;
                }
                number += 1;
            }
        }
        let info = writer.finish()?;
        Ok(ShardEntry::of(path, &info, first.first_document, first_section)?)
    }
}
