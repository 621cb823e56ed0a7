//! The next result before its model is trained again: the documents that are there, in the vocabulary that a run over
//! them would have.
//!
//! Shards keep their rows, and documents their numbers. Each row has the counts of all terms, so terms move between
//! those that are kept and those that are not without the texts.

use std::iter::zip;
use std::path::Path;

use super::GrowingResult;
use super::change::now;
use crate::config::{Job, Template};
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::output::Output;
use crate::tables::parts::visit_pieces;
use corpus::collection::{COLLECTION_FILE, Collection, Generation, ShardEntry};
use corpus::settings::ShardColumns;
use corpus::shard::{Columns, ShardCompression, ShardWriter};
use corpus::stop_words::StopList;
use corpus::vocabulary::{
    Fingerprint, Rank, TermMap, TermStatus, Vocabulary, VocabularyTerm, destination, names_among,
    prune, stop_names,
};
use corpus::vocabulary_file::{VOCABULARY_FILE, VocabularyWriter};
use corpus::{DocumentStatus, ShardDocument};

/// Keys of `[train]` that a warm start does not have: it has no online passes and no spare topics.
const OTHER_KEYS: [&str; 3] = ["train.online_passes", "train.spare_topics", "train.estimator"];

/// A shard whose terms have new numbers.
struct RenumberedShard {
    entry: ShardEntry,
    by_status: [u64; DocumentStatus::ALL.len()],
    tokens_stopped: u64,
}

impl GrowingResult {
    /// Whether documents have come or left since the model was trained.
    ///
    /// # Errors
    /// The collection cannot be read.
    pub(crate) fn has_changed(&self) -> Result<bool, Failure> {
        let generations = OpenedResult::at(&self.result).collection()?.generations;
        Ok(generations.last().is_some_and(|generation| !generation.trained))
    }

    /// Returns the job whose training starts from the result's model: its hashes are those of the result's `job`.
    ///
    /// # Errors
    /// The model is another result's, or its prior is a tree; it is trained by a method that cannot start from a model.
    pub(crate) fn retraining_job(&self, job: &Job) -> Result<Job, Failure> {
        let help = "run a job with this result in train.warm_start and another output.path";
        let refused = |reason: &str| {
            let message = format!("{}: {reason}", self.result.display());
            Err(Failure::usage(message).help(help))
        };
        if job.model_from.is_some() {
            return refused("its model is another result's (model.from), and is not trained here");
        }
        if job.tree.is_some() {
            return refused("the prior of its topics is a tree (tree.file)");
        }
        let mut template = Template::of(job);
        template.forget(|key| {
            let section = key.split('.').next().unwrap_or_default();
            !["corpus", "model", "train"].contains(&section)
                || OTHER_KEYS.contains(&key)
                || key == "corpus.base"
        });
        template.set("train.warm_start", self.result.to_string_lossy().into_owned())?;
        template.set("output.path", self.next.to_string_lossy().into_owned())?;
        let starting = template.job(&job.path).map_err(|failure| {
            let result = self.result.display();
            failure.context(format!("{result}: its training cannot start from a model")).help(help)
        })?;
        let mut job = job.clone();
        job.train = starting.train;
        job.warm_start = starting.warm_start;
        Ok(job)
    }

    /// Fills the folder of the next result, `output`, with the collection in its new vocabulary. An earlier attempt's is
    /// kept if it is complete.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn renumber(
        &self,
        output: &Output,
        job: &Job,
        threads: usize,
    ) -> Result<(), Failure> {
        if output.is_published(COLLECTION_FILE)? {
            return Ok(());
        }
        let mut collection = OpenedResult::at(&self.result).collection()?;
        let map = self.write_pruned_vocabulary(output, job, &mut collection)?;
        let numbers: Vec<usize> = (0..collection.shards.len()).collect();
        let shards = visit_pieces(threads, &numbers, |&number| {
            let name = Collection::shard_name(number);
            let temporary = output.temporary_path(&format!("shard-{number:05}"));
            let shard = renumber_shard(
                &self.result.join(&name),
                &collection.shards[number],
                &map,
                job.corpus.shard_columns(&collection.metadata),
                &temporary,
            )?;
            output.publish(&temporary, &name)?;
            Ok(shard)
        })?;
        let first_document = collection.numbers();
        collection.documents_by_status =
            DocumentStatus::by_name(shards.iter().map(|shard| &shard.by_status));
        collection.tokens_stopped = shards.iter().map(|shard| shard.tokens_stopped).sum();
        collection.shards = shards.into_iter().map(|shard| shard.entry).collect();
        collection.documents_with_terms =
            collection.shards.iter().map(|shard| shard.documents_with_terms).sum();
        collection.tokens_in_vocabulary = collection.shards.iter().map(|shard| shard.tokens).sum();
        collection.sampled = None;
        collection.generations.push(trained(first_document));
        output.write_atomic(COLLECTION_FILE, collection.to_json().as_bytes())
    }

    /// Removes what another change has left beside the result.
    ///
    /// # Errors
    /// A folder cannot be removed.
    pub(crate) fn begin_retraining(&self) -> Result<(), Failure> {
        let before = OpenedResult::at(&self.result).collection()?;
        self.keep_next(&before, &trained(before.numbers()))
    }

    /// Prunes the totals of all terms as ingest does, and writes the vocabulary. Returns the new numbers of its terms.
    fn write_pruned_vocabulary(
        &self,
        output: &Output,
        job: &Job,
        collection: &mut Collection,
    ) -> Result<TermMap, Failure> {
        let before = OpenedResult::at(&self.result).vocabulary()?;
        let terms = pruned(&before, job, collection)?;
        let kept = terms.iter().take_while(|term| term.status == TermStatus::Kept).count();
        let mut map = TermMap::new(before.terms().len(), kept);
        let mut fingerprint = Fingerprint::default();
        let temporary = output.temporary_path("vocabulary.tsv");
        let mut file = VocabularyWriter::create(&temporary)?;
        for (place, term) in zip(0.., &terms) {
            file.write(&term.term, [term.tokens, term.documents], term.status)?;
            if term.status == TermStatus::Kept {
                fingerprint.add(&term.term);
            }
            if let Some(number) = before.place(&term.term) {
                map.set(number, destination(place, term.status));
            }
        }
        file.finish()?;
        output.publish(&temporary, VOCABULARY_FILE)?;
        collection.terms_total = terms.len() as u64;
        collection.terms_kept = kept as u64;
        collection.vocabulary_fingerprint = fingerprint.finish();
        Ok(map)
    }
}

/// Returns the generation of a collection whose model is trained again; `first_document` would be the next number.
fn trained(first_document: u64) -> Generation {
    Generation { first_document, trained: true, unix_seconds: now(), ..Generation::default() }
}

/// Returns the terms that the collection has, in the order of its new vocabulary. If the job takes its terms from
/// another result, those that are kept stay.
fn pruned(
    before: &Vocabulary,
    job: &Job,
    collection: &Collection,
) -> Result<Vec<VocabularyTerm>, Failure> {
    let kept = job.vocabulary_from.as_ref().map(|_| before);
    let is_there = |term: &&VocabularyTerm| match term.status {
        TermStatus::Kept => kept.is_some() || term.documents > 0,
        status => status != TermStatus::Removed,
    };
    let mut terms: Vec<_> = before.terms().iter().filter(is_there).cloned().collect();
    if kept.is_none() {
        let without_terms = DocumentStatus::NoVocabulary.name();
        let with_tokens = collection.documents_with_terms
            + collection.documents_by_status.get(without_terms).copied().unwrap_or(0)
            - collection.repeated();
        let mut stop_list = StopList::load(&job.vocabulary, &job.tokens)?;
        stop_names(&terms, &names_among(&terms), &mut stop_list);
        prune(
            &mut terms,
            with_tokens,
            &job.vocabulary,
            &stop_list,
            |mut ranks: Vec<Rank<'_>>, n| {
                ranks.sort_unstable();
                ranks.get(n).map(|&(numbers, term)| (numbers, term.to_owned()))
            },
        );
    }
    terms.sort_by(|a, b| (a.order(kept), &a.term).cmp(&(b.order(kept), &b.term)));
    Ok(terms)
}

/// Writes the shard at `from` again, with the new numbers of its terms, to `to`.
fn renumber_shard(
    from: &Path,
    entry: &ShardEntry,
    map: &TermMap,
    columns: ShardColumns<'_>,
    to: &Path,
) -> Result<RenumberedShard, Failure> {
    let mut reader = entry.open(from, Columns::All)?;
    let mut writer = ShardWriter::create(to, columns, ShardCompression::Zstd)?;
    let mut document = ShardDocument::default();
    let mut tokens_stopped = 0;
    while reader.read_into(&mut document)? {
        (document.terms, document.counts) = document.all_terms().unzip();
        if document.status == DocumentStatus::NoVocabulary {
            // A text that was repaired is no longer known as such.
            document.status = DocumentStatus::Ok;
        }
        map.remap(&mut document);
        tokens_stopped += u64::from(document.tokens_stopped);
        writer.push(&document)?;
    }
    let info = writer.finish()?;
    let entry = ShardEntry::of(to, &info, entry.first_document, entry.first_section)?;
    Ok(RenumberedShard { entry, by_status: info.by_status, tokens_stopped })
}
