//! Coherence of the model's topics, counted by all workers: on the training sample, shard by shard,
//! or on texts, block by block.

use timely::worker::Worker;

use super::model::Loaded;
use super::{Evaluation, agree};
use crate::config::Job;
use crate::dataflow::gather::sum;
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::reference::{Reference, ReferenceCounts};
use crate::dataflow::sample::{Splits, for_each_document};
use crate::evaluate::measure::{TextCounts, TopicScores};
use crate::evaluate::settings::Metric;
use crate::failure::Failure;
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::formats::named;
use corpus::sample::Split;
use corpus::settings::CorpusSettings;
use corpus::vocabulary::Vocabulary;

/// The split of a reference corpus, in tables.
const REFERENCE: &str = "reference";

/// Texts that the workers of a process read together, with the terms to look for.
pub(super) struct Texts {
    reference: Reference,
    vocabulary: Vocabulary,
}

/// The result: coherence of the topics, and remarks.
#[derive(Default)]
pub(super) struct CoherenceScores {
    /// By metric, in the job's order.
    pub(super) scores: Vec<TopicScores>,
    /// For display.
    pub(super) notes: Vec<String>,
}

/// Whether the documents of the training sample are counted.
pub(super) fn wants_sample(job: &Job) -> bool {
    let of_sets = |metric| metric != Metric::CV;
    job.evaluate.reference.is_empty() && job.evaluate.coherences().any(of_sets)
}

/// Whether texts are read, the job's own or those of a reference corpus.
fn wants_texts(job: &Job) -> bool {
    let has_reference = !job.evaluate.reference.is_empty();
    job.evaluate.needs_windows() || (has_reference && job.evaluate.coherences().next().is_some())
}

impl Evaluation {
    /// Returns how many of each topic's heaviest terms are used.
    pub(super) fn most_terms(&self) -> usize {
        let settings = &self.process.job.evaluate;
        let terms = settings.coherences().map(|metric| settings.top_terms(metric));
        terms.max().unwrap_or(0)
    }

    /// Scores the topics by every metric of coherence. All workers must call this.
    pub(super) fn coherence(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        splits: Option<&Splits>,
        model: &Loaded,
    ) -> Result<CoherenceScores, Failure> {
        let job = &self.process.job;
        let mut coherence = CoherenceScores::default();
        let terms = collection.terms_kept as usize;
        let empty = |with_windows| {
            ReferenceCounts::new(&model.top_terms, terms, self.most_terms(), with_windows)
        };
        let of_texts = if wants_texts(job) {
            Some(self.count_texts(worker, collection, empty(job.evaluate.needs_windows()))?)
        } else {
            None
        };
        let of_sample = match splits {
            Some(splits) if wants_sample(job) => {
                Some(self.count_sample(worker, collection, splits, empty(false))?)
            }
            _ => None,
        };
        let split = if job.evaluate.reference.is_empty() { "all" } else { REFERENCE };
        for metric in job.evaluate.coherences() {
            let (split, counts) = match (metric, &of_sample, &of_texts) {
                (Metric::Umass | Metric::Npmi, Some(counts), _) => (Split::Sample.name(), counts),
                (_, _, Some(counts)) => (split, counts),
                (_, Some(counts), None) => (Split::Sample.name(), counts),
                (_, None, None) => continue,
            };
            let counted = TextCounts {
                split,
                documents: counts.documents.documents(),
                sets: &counts.documents,
                windows: counts.windows.as_ref(),
            };
            let (looked_at, topics) = (job.evaluate.top_terms(metric), model.topic_count);
            let scores = TopicScores::new(metric, looked_at, topics, counted);
            coherence.scores.push(scores);
        }
        if let Some(counts) = &of_texts {
            coherence.notes.push(note(job, counts));
        }
        Ok(coherence)
    }

    /// Counts the documents that were trained on.
    fn count_sample(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        splits: &Splits,
        mut counts: ReferenceCounts,
    ) -> Result<ReferenceCounts, Failure> {
        let process = &self.process;
        process.begin_documents("coherence", collection);
        let mut mine = counts.clone();
        let tickets = &self.shared.coherence;
        let visit = |number: u64, document: &ShardDocument| {
            process.progress.add(1);
            if document.status.has_terms() && splits.of(number, document) == Split::Sample {
                mine.documents.add_document(&document.terms);
            }
            Ok(())
        };
        let columns = splits.columns();
        for_each_document(worker, &self.run, tickets, collection, columns, visit)?;
        counts.add_words(&sum(worker, &mine.words()));
        Ok(counts)
    }

    /// Counts texts, those of the reference corpus or the job's own input.
    fn count_texts(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        mut counts: ReferenceCounts,
    ) -> Result<ReferenceCounts, Failure> {
        self.process.progress.begin("coherence", "", None);
        let texts = self.shared.texts.get(|| self.open_texts(collection))?;
        agree(worker, &texts.reference.fingerprint, "reference corpora")?;
        let mut mine = counts.clone();
        let term_of = |word: &str| texts.vocabulary.id(word);
        texts.reference.count(&term_of, &mut mine)?;
        counts.add_words(&sum(worker, &mine.words()));
        if counts.documents.documents() == 0 {
            return Err(Failure::data(
                "the reference corpus has no readable document: check \
                 evaluate.reference, corpus.format and corpus.text",
            ));
        }
        Ok(counts)
    }

    fn open_texts(&self, collection: &Collection) -> Result<Texts, Failure> {
        let job = &self.run.job;
        let own = job.evaluate.reference.is_empty();
        let corpus = if own { job.corpus.clone() } else { reference_settings(job) };
        let share = self.process.input_share();
        let reference = Reference::open(&corpus, job.tokenizer(&collection.phrases)?, share);
        let reference = reference.map_err(|error| match Failure::from(error) {
            failure if own => failure,
            failure => failure.context("evaluate.reference (--reference)"),
        })?;
        let needs_order = job.evaluate.needs_windows();
        if let Some(file) = reference.without_order().filter(|_| needs_order) {
            return Err(Failure::data(format!(
                "{file} holds counts of words, without the order that the windows of \"c_v\" slide \
                 over: name texts by evaluate.reference (--reference), or take \"c_v\" out of \
                 evaluate.metrics"
            )));
        }
        if own && reference.fingerprint != collection.input_fingerprint {
            return Err(Failure::data(
                "the input has changed since it was ingested, and \"c_v\" reads it again: name texts \
                 by evaluate.reference (--reference), or run the job again with --overwrite",
            ));
        }
        Ok(Texts { reference, vocabulary: read_vocabulary(&self.run)? })
    }
}

/// Returns the settings for a reference corpus: the job's own, except for files and columns.
fn reference_settings(job: &Job) -> CorpusSettings {
    let has_texts =
        |word: &String| named(word).is_some_and(|format| !format.gives_counts(&job.corpus));
    CorpusSettings {
        input: job.evaluate.reference.clone(),
        exclude: Vec::new(),
        // C_V needs texts, even beside bags of words; without a format, the files' names determine it.
        format: job.corpus.format.clone().filter(has_texts),
        group: None,
        metadata: Vec::new(),
        ..job.corpus.clone()
    }
}

fn note(job: &Job, counts: &ReferenceCounts) -> String {
    let (documents, unreadable) = (counts.documents.documents(), counts.unreadable);
    let files = match &job.evaluate.reference[..] {
        [] => "the job's own input".to_owned(),
        names => names.join(", "),
    };
    let windows = counts
        .windows
        .as_ref()
        .map_or_else(String::new, |windows| format!(", {} windows", windows.windows().documents()));
    let absent = match counts.documents.absent_terms() {
        0 => String::new(),
        terms => format!(
            "; {terms} of the topics' first words are in none of them, which flatters UMass"
        ),
    };
    format!("coherence on {files}: {documents} documents{windows}; {unreadable} unreadable{absent}")
}
