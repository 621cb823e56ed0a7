//! What came of a job: the figures of its end, as plain data.
//!
//! Serialized, this is the last line of `--json`; the names are relied upon by other programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// What came of a job. Stages that did not run in this command are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Documents of the input, whatever their status.
    pub documents: u64,
    /// Tokens in the vocabulary.
    pub tokens: u64,
    /// Documents by status; statuses without documents may be left out.
    pub documents_by_status: BTreeMap<String, u64>,
    /// Figures of ingest.
    pub ingest: Option<IngestSummary>,
    /// Figures of training.
    pub train: Option<TrainSummary>,
    /// Figures of projection.
    pub project: Option<ProjectSummary>,
    /// The result's folder.
    pub output: PathBuf,
    /// The stages whose result was complete before, so that they were not run again.
    pub already_complete: Vec<String>,
    /// Every topic, in any order; not in the JSON, since the table `topics` has them.
    #[serde(skip)]
    pub topics: Vec<TopicSummary>,
    /// Planted topics found again and planted, in jobs that make their own corpus.
    pub planted_found: Option<(usize, usize)>,
}

/// Figures of ingest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngestSummary {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes of input read, as they lie on disk.
    pub bytes: u64,
    /// Documents per second.
    pub documents_per_second: f64,
    /// Bytes of input per second.
    pub bytes_per_second: f64,
    /// Tokens found, in the vocabulary or not.
    pub tokens_total: u64,
    /// Terms in the vocabulary.
    pub terms: u64,
}

/// Figures of training.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrainSummary {
    /// Seconds of training, without loading, evaluation and checkpoints.
    pub seconds: f64,
    /// Rounds done.
    pub rounds: u64,
    /// Documents trained on.
    pub sample_documents: u64,
    /// Tokens of the sample visited per second of training.
    pub tokens_per_second: f64,
    /// Log-likelihood per token of the held-out documents under the published model, in nats;
    /// absent when nothing was held out.
    pub heldout_loglik_per_token: Option<f64>,
    /// How that was estimated, e.g. "document completion, even/odd tokens, 20 sweeps".
    pub heldout_method: String,
    /// Why training ended, e.g. "10 passes done" or "no gain in 3 evaluations".
    pub ended: String,
}

/// Figures of projection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProjectSummary {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Documents per second.
    pub documents_per_second: f64,
    /// Tokens in the vocabulary per second.
    pub tokens_per_second: f64,
}

/// A topic as the final table shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicSummary {
    /// The topic's id, from 0.
    pub topic: u32,
    /// Its share of the tokens, 0 to 1.
    pub share: f64,
    /// Its NPMI coherence, −1 to 1, where it was computed.
    pub coherence: Option<f64>,
    /// Its most probable terms, first the most probable.
    pub top_terms: Vec<String>,
}
