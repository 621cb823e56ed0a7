//! The outcome of a job: its final figures, as plain data.
//!
//! Serialized, this is the last line of `--json`; other programs rely on the names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::tables::drift::DriftRow;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::topics::TopicLine;
use crate::tables::warnings::Warning;
use corpus::boilerplate::LeftOut;

/// The outcome of a job. Stages that did not run in this command are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Documents of the input, of any status.
    pub(crate) documents: u64,
    /// Tokens in the vocabulary.
    pub(crate) tokens: u64,
    /// Documents by status; statuses without documents may be left out.
    pub(crate) documents_by_status: BTreeMap<String, u64>,
    /// Documents that nearly repeat an earlier one; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicates: Option<u64>,
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
    /// What a reader of the result should know; absent unless this command finished it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) findings: Option<Vec<Warning>>,
    /// How far the documents that were not trained on have moved from those that were; absent if there are none.
    pub(crate) drift: Option<DriftSummary>,
    /// Every figure of quality: the rows of the table `evaluation`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evaluation: Vec<EvaluationRow>,
    /// The numbers of recovered and of planted topics, in jobs that generate their own corpus.
    pub(crate) planted_found: Option<(usize, usize)>,
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
    /// Words of the stop lists, those of all languages included if each document has its own.
    pub(crate) stop_words: u64,
    /// Whether the language of each document decides on its stop words.
    pub(crate) by_language: bool,
    /// Whether names are stop words, too.
    pub(crate) drops_names: bool,
    /// Tokens that are stop words.
    pub(crate) tokens_stopped: u64,
    /// Terms in the vocabulary.
    pub(crate) terms: u64,
    /// What was left out of texts, by rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<LeftOut>,
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
    /// Documents among these of which only `train.max_document_tokens` tokens were trained on.
    pub(crate) thinned_documents: u64,
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
    /// Their row of the table `drift`.
    #[serde(flatten)]
    pub(crate) run: DriftRow,
    /// Whether all of them were held out of the sample.
    pub(crate) are_held_out: bool,
    /// Groups of the documents that have rows in the table `drift`.
    pub(crate) groups: usize,
    /// Groups among these for which the model should be retrained.
    pub(crate) groups_to_retrain: usize,
    /// True if there are too many groups for one row each.
    pub(crate) too_many_groups: bool,
}
