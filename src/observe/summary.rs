//! The outcome of a job: its final figures, as plain data.
//!
//! Serialized, this is the last line of `--json`; other programs rely on the names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::tables::read::{ChangeLine, TopicLine};

/// The outcome of a job. Stages that did not run in this command are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Documents of the input, of any status.
    pub(crate) documents: u64,
    /// Tokens in the vocabulary.
    pub(crate) tokens: u64,
    /// Documents by status; statuses without documents may be left out.
    pub(crate) documents_by_status: BTreeMap<String, u64>,
    pub(crate) ingest: Option<IngestSummary>,
    pub(crate) train: Option<TrainSummary>,
    pub(crate) project: Option<ProjectSummary>,
    /// The result's folder.
    pub(crate) output: PathBuf,
    /// The page about the result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<PathBuf>,
    /// The stages that were already complete and were not run again.
    pub(crate) already_complete: Vec<String>,
    /// The errors of the first documents that could not be read; not in the JSON, because the log has them.
    #[serde(skip)]
    pub(crate) remarks: Vec<String>,
    /// The warnings that were printed.
    pub(crate) warnings: Vec<String>,
    /// The peak memory of the reporting process, in bytes; absent if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Every topic, in any order; not in the JSON, because the table `topics` has them.
    #[serde(skip)]
    pub(crate) topics: Vec<TopicLine>,
    /// How each topic has moved after a warm start; not in the JSON, because `topic_changes` has it.
    #[serde(skip)]
    pub(crate) changes: Vec<ChangeLine>,
    /// How many topics are dead, duplicates or junk, and the first of each.
    pub(crate) topic_faults: Option<TopicFaults>,
    /// How far the documents that were not trained on have moved from those that were; absent if there are none.
    pub(crate) drift: Option<DriftSummary>,
    /// How well labels were predicted; absent if documents have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<LabelSummary>,
    /// The numbers of recovered and of planted topics, in jobs that generate their own corpus.
    pub(crate) planted_found: Option<(usize, usize)>,
}

/// The labels of a collection, and how well they were predicted for the documents that have labels and were
/// not trained on; without such documents there are no figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LabelSummary {
    /// Labels of the collection, each a topic.
    pub(crate) labels: u64,
    /// Documents that have labels and were not trained on.
    pub(crate) documents: u64,
    /// Labels without a document in the sample: their topics have no terms.
    pub(crate) untrained: u64,
    /// F1 over all pairs of a document and a label.
    pub(crate) micro_f1: Option<f64>,
    /// The mean F1 over labels.
    pub(crate) macro_f1: Option<f64>,
    /// The mean F1 over documents.
    pub(crate) document_f1: Option<f64>,
}

/// Figures of ingest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct IngestSummary {
    /// Wall-clock seconds.
    pub(crate) seconds: f64,
    /// Bytes of input read, as stored on disk.
    pub(crate) bytes: u64,
    pub(crate) documents_per_second: f64,
    /// Bytes of input per second.
    pub(crate) bytes_per_second: f64,
    /// Tokens found, in the vocabulary or not.
    pub(crate) tokens_total: u64,
    /// Words of the stop lists.
    pub(crate) stop_words: u64,
    /// Tokens that are stop words.
    pub(crate) tokens_stopped: u64,
    /// Terms in the vocabulary.
    pub(crate) terms: u64,
    /// Phrases that were detected; absent if the job detects none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phrases: Option<u64>,
}

/// Figures of training.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct TrainSummary {
    /// Seconds of training, without loading, evaluation and checkpoints.
    pub(crate) seconds: f64,
    /// Rounds done.
    pub(crate) rounds: u64,
    /// Documents trained on.
    pub(crate) sample_documents: u64,
    /// Tokens of the sample visited per second of training.
    pub(crate) tokens_per_second: f64,
    /// Log-likelihood per token of the held-out documents under the published model, in nats; absent if no
    /// document was held out.
    pub(crate) heldout_loglik_per_token: Option<f64>,
    /// Its standard error over samples of documents; absent for fewer than two.
    pub(crate) heldout_standard_error: Option<f64>,
    /// The documents that were held out and scored.
    pub(crate) heldout_documents: u64,
    /// How that was estimated, e.g. "document completion, even/odd tokens, 20 sweeps".
    pub(crate) heldout_method: String,
    /// The tree-structured prior over terms, and what of its file it leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<String>,
    /// Why training ended, e.g. "10 passes done" or "no gain in 3 evaluations".
    pub(crate) ended: String,
}

/// Figures of projection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ProjectSummary {
    /// Wall-clock seconds of training the classifier, if the method needs one; not included in `seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maxent_seconds: Option<f64>,
    /// Wall-clock seconds.
    pub(crate) seconds: f64,
    pub(crate) documents_per_second: f64,
    /// Tokens in the vocabulary per second.
    pub(crate) tokens_per_second: f64,
}

/// How far new documents have moved from those trained on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct DriftSummary {
    /// New documents: not trained on, with terms of the vocabulary.
    pub(crate) documents: i64,
    /// Whether all of them were held out of the sample.
    pub(crate) are_held_out: bool,
    /// The share of their distinct terms that the model knows.
    pub(crate) known_term_share: Option<f64>,
    /// The share of their tokens, without stop words, that the model knows.
    pub(crate) known_token_share: Option<f64>,
    /// Jensen–Shannon distance of the topics' shares from those of the training sample.
    pub(crate) topic_shift_js: Option<f64>,
    /// Log-likelihood per token minus that of the training sample, in nats.
    pub(crate) loglik_shift: Option<f64>,
    /// Whether the model should be trained again: fewer than 70 % of the distinct terms are known, and there are
    /// documents beyond the sample.
    pub(crate) retrain: bool,
    /// Groups of the documents that have rows in the table `drift`.
    pub(crate) groups: usize,
    /// Groups among these for which the model should be retrained.
    pub(crate) groups_to_retrain: usize,
    /// True if there are too many groups for one row each.
    pub(crate) too_many_groups: bool,
}

/// Topics without use for a reader. A topic can be a duplicate and junk, but not dead as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TopicFaults {
    /// Number of topics.
    pub(crate) topics: usize,
    /// Those with (almost) no token.
    pub(crate) dead: Faulty,
    /// Those that repeat an earlier one.
    pub(crate) duplicates: Faulty,
    /// Those that have tokens but no meaning of their own.
    pub(crate) junk: Faulty,
}

/// The topics with one fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Faulty {
    /// Their number.
    pub(crate) count: usize,
    /// The ids of the first five.
    pub(crate) first: Vec<i32>,
}

impl TopicFaults {
    /// Returns the faults of these topics.
    pub(crate) fn of(topics: &[TopicLine]) -> Self {
        Self {
            topics: topics.len(),
            dead: Faulty::of(topics, |topic| topic.dead),
            duplicates: Faulty::of(topics, |topic| topic.duplicate_of.is_some()),
            junk: Faulty::of(topics, |topic| topic.junk),
        }
    }

    /// Returns the faults by name, in the order in which they are reported.
    pub(crate) fn by_name(&self) -> [(&'static str, &Faulty); 3] {
        [("dead", &self.dead), ("duplicate", &self.duplicates), ("junk", &self.junk)]
    }
}

impl Faulty {
    /// Maximum number of topics listed one by one.
    const MOST_NAMED: usize = 5;

    fn of(topics: &[TopicLine], has_it: impl Fn(&TopicLine) -> bool) -> Self {
        let faulty = || topics.iter().filter(|topic| has_it(topic));
        Self {
            count: faulty().count(),
            first: faulty().take(Self::MOST_NAMED).map(|t| t.topic).collect(),
        }
    }
}
