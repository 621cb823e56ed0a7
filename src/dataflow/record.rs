//! The record of a finished training: the training log as a table and, beside the model, what later
//! stages need from it.

use serde::{Deserialize, Serialize};

use super::coherence::Coherence;
use super::process::Process;
use super::sample::Sample;
use super::train::TrainingOutcome;
use crate::config::state::{RECORD_FILE, TRAINED_FILE};
use crate::failure::Failure;
use crate::result::{OpenedResult, read_json};
use crate::tables::FileMetadata;
use crate::tables::output::is_gone;
use crate::tables::topic_changes::TopicChangeRow;
use crate::tables::topic_term_diagnostics::CountedTerm;
use crate::tables::training_log::TrainingLogRow;
use corpus::collection::Collection;
use lda::evaluate::completion::Completion;
use lda::evaluate::drift::DriftSums;
use lda::train::RoundReport;

/// The findings of training, kept beside the model: none depends on time or workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrainingRecord {
    /// Documents trained on.
    pub(crate) training_documents: u64,
    /// Their tokens.
    pub(crate) training_tokens: u64,
    /// Documents among these that were trained on in part.
    #[serde(default)]
    pub(crate) thinned_documents: u64,
    /// Documents held out.
    pub(crate) held_out_documents: u64,
    /// Rounds completed.
    pub(crate) rounds: u64,
    /// True if training ended because quality had stopped improving.
    pub(crate) stopped_early: bool,
    /// Score of the held-out documents with the φ that is published.
    pub(crate) heldout: Completion,
    /// UMass and NPMI coherence of each topic on the training documents.
    pub(crate) coherence: Vec<(Option<f64>, Option<f64>)>,
    /// For each topic, its heaviest terms on the training documents, by rank.
    pub(crate) top_terms: Vec<Vec<CountedTerm>>,
}

impl TrainingRecord {
    /// Creates the record of a finished training.
    pub(crate) fn new(sample: &Sample, trained: &TrainingOutcome, coherence: Coherence) -> Self {
        Self {
            training_documents: sample.training_documents,
            training_tokens: sample.training_tokens,
            thinned_documents: sample.thinned_documents,
            held_out_documents: sample.held_out_documents,
            rounds: trained.header.rounds,
            stopped_early: trained.stopped_early,
            heldout: trained.heldout,
            coherence: coherence.topics,
            top_terms: coherence.terms,
        }
    }

    /// Reads the record of an earlier run, or of an earlier stage.
    pub(crate) fn read(process: &Process) -> Result<Self, Failure> {
        let path = process.output.local(RECORD_FILE)?;
        read_json(&path, &path)
    }

    /// Reads the record of the training of another result, for a job that uses its model: nothing of its own
    /// collection was held out.
    pub(crate) fn of_result(result: &OpenedResult) -> Result<Self, Failure> {
        let record: Option<Self> = result.json(RECORD_FILE)?;
        let record = record.ok_or_else(|| is_gone(&result.root().join(RECORD_FILE)))?;
        Ok(Self { held_out_documents: 0, heldout: Completion::default(), ..record })
    }
}

/// Writes the sums over the documents trained on.
pub(crate) fn write_trained(process: &Process, trained: &DriftSums) -> Result<(), Failure> {
    let json = serde_json::to_vec(trained).expect("numbers are JSON");
    process.output.write_atomic(TRAINED_FILE, &json)
}

/// Writes the training log, how topics have moved after a warm start, and the record, before the model is published.
pub(crate) fn write_training(
    process: &Process,
    record: &TrainingRecord,
    (log, changes): (&[RoundReport], Option<Vec<TopicChangeRow>>),
    collection: &Collection,
) -> Result<(), Failure> {
    let metadata = FileMetadata {
        job_id: process.job.id(),
        settings_hash: process.job.train_hash(),
        seed: process.job.model.seed,
        topic_count: Some(process.topic_count(collection)),
        vocabulary_size: Some(collection.terms_kept as usize),
        ..FileMetadata::default()
    };
    process.output.write_table(&metadata, TrainingLogRow::all(log))?;
    if let Some(changes) = changes {
        process.output.write_table(&metadata, changes)?;
    }
    let json = serde_json::to_vec_pretty(record).expect("numbers are JSON");
    process.output.write_atomic(RECORD_FILE, &json)
}
