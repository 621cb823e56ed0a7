//! `topicmill evaluate`: figures of quality of a job's own model, or of an external one, on
//! documents of its collection, by all workers.
//!
//! ```text
//! model, vocabulary ─▶ factors    shards ─▶ documents of the split ─▶ measures ─▶ sums ─▶ figures
//!        └─▶ top terms            sample, or texts ─▶ counts ─▶ sums ─▶ scores of topics ─▶
//! ```
//!
//! The job's output is only read. The result is a separate output folder: `evaluation`,
//! `topic_scores`, and `document_scores`, one part per shard with a scored document.

mod coherence;
mod model;
mod score;

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::gather::{all_gather, barrier, sum};
use super::ingest::read_collection;
use super::process::{Once, Process, Tickets};
use super::sample::{SampleShared, Splits, sample_rule};
use crate::config::Stages;
use crate::evaluate::measure::{Figure, TopicScores, measures};
use crate::failure::Failure;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::output::{JOB_FILE, MANIFEST};
use crate::tables::topic_scores::TopicScoreRow;
use crate::tables::{FileMetadata, Manifest};
use coherence::{CoherenceScores, Texts, wants_sample};
use corpus::collection::Collection;
use mesh::{ClusterError, ClusterSettings};
use model::Loaded;
use score::{Chosen, Shards};

/// A process's part in an evaluation.
pub(crate) struct Evaluation {
    /// The job, with the output that the result is written to.
    pub(crate) process: Arc<Process>,
    /// The same job, with its own output, which is only read.
    pub(crate) run: Process,
    /// The file or folder of the model, if it is not the job's own.
    pub(crate) model: Option<PathBuf>,
    shared: EvaluationShared,
}

/// The state that the workers of a process share.
#[derive(Default)]
struct EvaluationShared {
    sample: SampleShared,
    model: Once<Loaded>,
    /// For choosing documents, and for scoring them.
    shards: [Tickets; 2],
    coherence: Tickets,
    texts: Once<Texts>,
}

/// The result of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct EvaluationSummary {
    /// The figures, in the order of the metrics.
    pub(crate) figures: Vec<Figure>,
    /// The documents evaluated on.
    pub(crate) split: &'static str,
    /// Remarks: the model, the terms of the collection that it lacks, and the source of its prior.
    pub(crate) notes: Vec<String>,
    /// The result's folder.
    pub(crate) output: PathBuf,
}

/// The workers' results, before they are written.
struct Made {
    figures: Vec<Figure>,
    /// Scores of topics, by metric.
    scores: Vec<TopicScores>,
    /// For display.
    notes: Vec<String>,
}

impl Evaluation {
    /// Creates an evaluation that has not begun.
    pub(crate) fn new(process: Arc<Process>, run: Process, model: Option<PathBuf>) -> Self {
        Self { process, run, model, shared: EvaluationShared::default() }
    }
}

/// Evaluates, together with the other processes, which `settings` locate.
///
/// # Errors
/// Errors of [`Process::execute`].
pub(crate) fn evaluate(
    evaluation: &Arc<Evaluation>,
    settings: ClusterSettings,
) -> Result<EvaluationSummary, ClusterError> {
    let settings = ClusterSettings { hash: evaluation.hash(), ..settings };
    let shared = Arc::clone(evaluation);
    (evaluation.process).execute(&settings, move |worker| shared.on_worker(worker))
}

impl Evaluation {
    /// Returns a hash that must be equal on all processes; whether they read the same model is checked later.
    fn hash(&self) -> [u8; 32] {
        let job = &self.process.job;
        let text = format!("{} {:?} {}", job.evaluate_hash(""), self.model, Stages::Evaluate);
        Sha256::digest(text).into()
    }

    fn on_worker(&self, worker: &mut Worker) -> Result<EvaluationSummary, Failure> {
        let process = &self.process;
        process.join(worker)?;
        let collection = read_collection(&self.run)?;
        process.progress.begin("model", "topics", None);
        let model = self.shared.model.get(|| {
            let model = self.model.as_deref();
            model::load(&self.run, &collection, model, self.most_terms())
        })?;
        agree(worker, &model.fingerprint, "models")?;
        if worker.index() == 0 {
            self.refuse_other(model)?;
        }
        barrier(worker);
        let metadata = self.metadata(&collection, model);
        let made = self.figures(worker, &collection, model, &metadata)?;
        if worker.index() == 0 {
            self.finish(&made, &collection, model, &metadata)?;
        }
        barrier(worker);
        Ok(EvaluationSummary {
            figures: made.figures,
            split: process.job.evaluate.split_name(),
            notes: [&model.notes[..], &made.notes].concat(),
            output: process.output.root().to_owned(),
        })
    }

    /// Computes all figures, in the order of the metrics.
    fn figures(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        model: &Loaded,
        metadata: &FileMetadata,
    ) -> Result<Made, Failure> {
        let process = &self.process;
        let job = &process.job;
        let settings = &job.evaluate;
        let splits = self.splits(worker, collection)?;
        let chosen = self.choose(worker, collection, splits.as_ref())?;
        let CoherenceScores { scores, notes } =
            self.coherence(worker, collection, splits.as_ref(), model)?;
        if worker.index() == 0 {
            self.make_room()?;
        }
        barrier(worker);
        // If the output was complete, the others have no folder to write to.
        process.join(worker)?;
        let mut measures = measures(settings, job.sample_seed());
        if !measures.is_empty() {
            let shards = Shards { evaluation: self, collection, metadata };
            let seen = shards.score(worker, &chosen, model, &mut measures)?;
            if sum(worker, &[seen])[0] == 0 {
                return Err(self.no_documents());
            }
        }
        let mut figures = Vec::new();
        for &metric in &settings.metrics {
            for (_, measure) in measures.iter().filter(|(of, _)| *of == metric) {
                let sums = sum(worker, &measure.sums());
                figures.extend(measure.figures(&sums));
            }
            let scores = scores.iter().filter(|scores| scores.metric == metric);
            figures.extend(scores.filter_map(TopicScores::figure));
        }
        Ok(Made { figures, scores, notes })
    }

    /// Returns the documents' splits, if they are needed.
    fn splits(
        &self,
        worker: &mut Worker,
        collection: &Collection,
    ) -> Result<Option<Splits>, Failure> {
        let job = &self.run.job;
        if job.evaluate.split.is_none() && !wants_sample(job) {
            return Ok(None);
        }
        let rule = sample_rule(worker, &self.run, &self.shared.sample, collection)?;
        Ok(Some(Splits::new(rule, &job.corpus, collection)))
    }

    /// Chooses the documents to evaluate on.
    fn choose<'a>(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        splits: Option<&'a Splits>,
    ) -> Result<Chosen<'a>, Failure> {
        let job = &self.run.job;
        let chosen = Chosen::new(splits.zip(job.evaluate.split), job.sample_seed());
        match job.evaluate.documents {
            0 => Ok(chosen),
            most => chosen.at_most(worker, most, self, collection),
        }
    }

    fn no_documents(&self) -> Failure {
        let split = self.run.job.evaluate.split_name();
        let failure = Failure::data(format!(
            "no document to evaluate on: none with terms is in evaluate.split \"{split}\""
        ));
        failure.help(match self.run.job.model_from {
            Some(_) => "all documents of a job with model.from are projected: --set evaluate.split=projected",
            None => "choose another split, or a job with more in sample.held_out",
        })
    }
}

/// Refuses processes that have read different models, or different texts.
fn agree(worker: &mut Worker, fingerprint: &str, what: &str) -> Result<(), Failure> {
    let all = all_gather(worker, fingerprint.as_bytes());
    if all.iter().all(|other| other == fingerprint.as_bytes()) {
        Ok(())
    } else {
        Err(Failure::data(format!(
            "the processes have read different {what}: all must read the same files"
        )))
    }
}

// Writes the result of an evaluation: its tables, its job, its manifest.

impl Evaluation {
    /// Refuses to replace another evaluation without `--overwrite`.
    fn refuse_other(&self, model: &Loaded) -> Result<(), Failure> {
        let output = &self.process.output;
        if output.is_complete()? && !self.process.overwrites {
            let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
            let ours = self.process.job.evaluate_hash(&model.fingerprint);
            if manifest.settings.get("evaluate") != Some(&ours) {
                return Err(Failure::usage(format!(
                    "{} was made with different settings of evaluate, or for another model; choose another \
                     --output, or restart with --overwrite",
                    output.root().display()
                )));
            }
        }
        Ok(())
    }

    /// Removes the tables of an earlier evaluation.
    fn make_room(&self) -> Result<(), Failure> {
        let output = &self.process.output;
        for table in ["evaluation", "topic_scores", "document_scores"] {
            output.clear(table)?;
        }
        Ok(())
    }

    fn metadata(&self, collection: &Collection, model: &Loaded) -> FileMetadata {
        let job = &self.process.job;
        FileMetadata {
            job_id: job.id(),
            settings_hash: job.evaluate_hash(&model.fingerprint),
            model_hash: Some(model.fingerprint.clone()),
            seed: job.model.seed,
            topic_count: Some(model.topic_count),
            vocabulary_size: Some(collection.terms_kept as usize),
            ..FileMetadata::default()
        }
    }

    /// Writes the tables, and declares the output complete.
    fn finish(
        &self,
        made: &Made,
        collection: &Collection,
        model: &Loaded,
        metadata: &FileMetadata,
    ) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        let rows = made.figures.iter().map(|figure| EvaluationRow {
            metric: figure.metric.to_owned(),
            method: figure.method.clone(),
            split: figure.split.to_owned(),
            unit: figure.unit.to_owned(),
            value: figure.value,
            standard_error: figure.standard_error,
        });
        output.write_table(metadata, rows)?;
        self.write_scores(&made.scores, model.topic_count, metadata)?;
        output.write_atomic(JOB_FILE, job.resolved_toml().as_bytes())?;
        let fingerprint = &collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        manifest.settings = std::collections::BTreeMap::from([
            ("corpus".to_owned(), job.corpus_hash()),
            ("model".to_owned(), model.fingerprint.clone()),
            ("evaluate".to_owned(), metadata.settings_hash.clone()),
        ]);
        manifest.describe(output, &std::collections::BTreeMap::new())?;
        output.complete(&manifest)
    }

    /// Writes the scores of topics, if there are any.
    fn write_scores(
        &self,
        scores: &[TopicScores],
        topics: usize,
        metadata: &FileMetadata,
    ) -> Result<(), Failure> {
        if scores.is_empty() {
            return Ok(());
        }
        let row = |topic| {
            scores.iter().map(move |of_metric| TopicScoreRow {
                topic: topic as i32,
                metric: of_metric.name.to_owned(),
                split: of_metric.split.to_owned(),
                value: of_metric.values[topic],
            })
        };
        let rows = (0..topics).flat_map(row);
        self.process.output.write_table(metadata, rows)?;
        Ok(())
    }
}
