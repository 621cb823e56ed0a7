//! The outcome of a job: its final figures, as plain data.
//!
//! Serialized, this is the last line of `--json`; other programs rely on the names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::tables::read::ChangeLine;

/// The outcome of a job. Stages that did not run in this command are absent.
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
    /// The page about the result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<PathBuf>,
    /// The stages whose result was complete before, so that they were not run again.
    pub already_complete: Vec<String>,
    /// The most bytes of memory that the process which tells this ever had in use; absent where
    /// the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Every topic, in any order; not in the JSON, since the table `topics` has them.
    #[serde(skip)]
    pub topics: Vec<TopicSummary>,
    /// How each topic has moved, after a warm start; not in the JSON either, since `topic_changes` has it.
    #[serde(skip)]
    pub changes: Vec<ChangeLine>,
    /// How many of the topics are dead, duplicates or junk, and the first of each.
    pub topic_faults: Option<TopicFaults>,
    /// How far the documents that were not trained on have moved from those that were; absent
    /// without any.
    pub drift: Option<DriftSummary>,
    /// How well labels were predicted; absent where documents have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelSummary>,
    /// Planted topics found again and planted, in jobs that make their own corpus.
    pub planted_found: Option<(usize, usize)>,
}

/// The labels of a collection, and how well they were predicted of the documents that have some and were not
/// trained on; without such documents there are no figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelSummary {
    /// Labels of the collection: topics.
    pub labels: u64,
    /// Those documents.
    pub documents: u64,
    /// Labels that no document trained on has: their topics have no terms.
    pub untrained: u64,
    /// F1 over all pairs of a document and a label.
    pub micro_f1: Option<f64>,
    /// The mean over labels.
    pub macro_f1: Option<f64>,
    /// The mean over documents.
    pub document_f1: Option<f64>,
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
    /// Phrases that were found; absent where the job looks for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phrases: Option<u64>,
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
    /// The tree that the prior over terms is, and what of its file it leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Why training ended, e.g. "10 passes done" or "no gain in 3 evaluations".
    pub ended: String,
}

/// Figures of projection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProjectSummary {
    /// Wall-clock seconds of training the classifier, where the method needs one; not in `seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxent_seconds: Option<f64>,
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
    /// Its label, where documents have labels.
    pub label: Option<String>,
    /// Its share of the tokens, 0 to 1.
    pub share: f64,
    /// Its NPMI coherence, −1 to 1, where it was computed.
    pub coherence: Option<f64>,
    /// Whether (almost) no token is left in it.
    pub dead: bool,
    /// The first earlier topic that it repeats, if there is one.
    pub duplicate_of: Option<u32>,
    /// Whether it has tokens, and says nothing: `evaluate::junk`.
    pub junk: bool,
    /// Its most probable terms, first the most probable.
    pub top_terms: Vec<String>,
}

/// How far new documents have moved from those trained on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriftSummary {
    /// New documents: not trained on, with terms of the vocabulary.
    pub documents: i64,
    /// The share of their distinct terms that the model knows.
    pub known_term_share: Option<f64>,
    /// The share of their tokens that the model knows, stop words left out.
    pub known_token_share: Option<f64>,
    /// Jensen–Shannon distance of the topics' shares from those of the training sample.
    pub topic_shift_js: Option<f64>,
    /// Log-likelihood per token minus that of the training sample, in nats.
    pub loglik_shift: Option<f64>,
    /// Whether the model should be trained again: fewer than 70 % of the distinct terms are known.
    pub retrain: bool,
    /// Groups of the documents, as far as they have rows in the table `drift`.
    pub groups: usize,
    /// Of these, groups for which the model should be trained again.
    pub groups_to_retrain: usize,
    /// True if there are too many groups for one row each.
    pub too_many_groups: bool,
}

/// Topics without use for a reader. A topic can be a duplicate and junk, but not dead as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopicFaults {
    /// Topics in all.
    pub topics: usize,
    /// Those that have (almost) no token.
    pub dead: Faulty,
    /// Those that repeat an earlier one.
    pub duplicates: Faulty,
    /// Those that have tokens, and say nothing.
    pub junk: Faulty,
}

/// Topics that have one fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faulty {
    /// How many they are.
    pub count: usize,
    /// The ids of the first five.
    pub first: Vec<u32>,
}

impl TopicFaults {
    /// What is wrong with these topics.
    pub fn of(topics: &[TopicSummary]) -> Self {
        Self {
            topics: topics.len(),
            dead: Faulty::of(topics, |topic| topic.dead),
            duplicates: Faulty::of(topics, |topic| topic.duplicate_of.is_some()),
            junk: Faulty::of(topics, |topic| topic.junk),
        }
    }

    /// The faults by name, in the order in which they are reported.
    pub fn by_name(&self) -> [(&'static str, &Faulty); 3] {
        [
            ("dead", &self.dead),
            ("duplicate", &self.duplicates),
            ("junk", &self.junk),
        ]
    }
}

impl Faulty {
    /// Topics that are named one by one.
    const MOST_NAMED: usize = 5;

    fn of(topics: &[TopicSummary], has_it: impl Fn(&TopicSummary) -> bool) -> Self {
        let faulty = || topics.iter().filter(|topic| has_it(topic));
        Self {
            count: faulty().count(),
            first: faulty().take(Self::MOST_NAMED).map(|t| t.topic).collect(),
        }
    }
}
