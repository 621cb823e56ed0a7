//! `topicmill evaluate`: figures of quality of a job's own model, or of one of others, on documents of
//! its collection, by all workers.
//!
//! ```text
//! model, vocabulary ─▶ factors    shards ─▶ documents of the split ─▶ measures ─▶ sums ─▶ figures
//! ```
//!
//! The job's output is only read. What comes of it is an output folder of its own: `evaluation`,
//! and `document_scores`, a part for each shard with a scored document.

mod model;
mod score;

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::error::RunError;
use super::gather::{all_gather, barrier};
use super::process::{Once, Process, Tickets};
use super::profile::Recorder;
use super::sample::{SampleShared, sample_rule};
use super::sum::sum;
use crate::cluster::{ClusterError, ClusterSettings, execute};
use crate::corpus::collection::{COLLECTION_FILE, Collection};
use crate::evaluate::measure::{Figure, Measure, measures};
use crate::job::Stages;
use crate::tables::evaluation::{EvaluationRow, EvaluationWriter};
use crate::tables::output::MANIFEST;
use crate::tables::{FileMetadata, Manifest, part_name};
use model::Loaded;
use score::{Chosen, Shards};

/// A model of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its file or folder.
    pub path: PathBuf,
    /// The list of its terms, for forms that do not name them.
    pub terms: Option<PathBuf>,
}

/// One process's part in an evaluation.
pub struct Evaluation {
    /// The job with the output that the result goes to.
    pub process: Arc<Process>,
    /// The same job with its own output, which is only read.
    pub run: Process,
    /// The model, if it is not the job's own.
    pub model: Option<Foreign>,
    /// Whether the result of another evaluation may be replaced.
    pub overwrite: bool,
    shared: Shared,
}

/// What the workers of a process share.
#[derive(Default)]
struct Shared {
    sample: SampleShared,
    model: Once<Loaded>,
    /// For choosing documents, and for scoring them.
    shards: [Tickets; 2],
}

/// What came of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct EvaluationSummary {
    /// The figures, in the order of the metrics.
    pub figures: Vec<Figure>,
    /// On which documents.
    pub split: &'static str,
    /// What the model is, what it lacks of the collection, and where its prior is from.
    pub notes: Vec<String>,
    /// The result's folder.
    pub output: PathBuf,
}

impl Evaluation {
    /// An evaluation that has not begun.
    pub fn new(process: Arc<Process>, run: Process, model: Option<Foreign>) -> Self {
        Self {
            process,
            run,
            model,
            overwrite: false,
            shared: Shared::default(),
        }
    }
}

/// Evaluates, together with the other processes, which they find as `settings` say.
///
/// # Errors
/// The processes could not come together, or what ended an evaluation of a single worker; a worker
/// among several ends the process (`cluster::guard`).
pub fn evaluate(
    evaluation: &Arc<Evaluation>,
    settings: ClusterSettings,
) -> Result<EvaluationSummary, ClusterError> {
    let placement = evaluation.process.placement.clone();
    let settings = ClusterSettings {
        hash: evaluation.hash(),
        ..settings
    };
    let shared = Arc::clone(evaluation);
    let summaries = execute(&placement, &settings, move |worker| {
        let profile = shared.process.profile.as_ref();
        let recorder = profile.map(|_| Recorder::attach(worker));
        let summary = shared.on_worker(worker)?;
        if let (Some(profile), Some(recorder)) = (profile, recorder) {
            profile.add(recorder.finish(worker));
        }
        Ok::<_, RunError>(summary)
    })?;
    evaluation.process.progress.end();
    Ok(summaries.into_iter().next().unwrap_or_default())
}

impl Evaluation {
    /// What all processes must have in common; that they read the same model is compared later.
    fn hash(&self) -> [u8; 32] {
        let job = &self.process.job;
        let text = format!(
            "{} {:?} {}",
            job.evaluate_hash(""),
            self.model,
            Stages::Evaluate
        );
        Sha256::digest(text).into()
    }

    fn on_worker(&self, worker: &mut Worker) -> Result<EvaluationSummary, RunError> {
        let process = &self.process;
        if process.placement.process > 0 {
            process.output.join()?;
        }
        process.set_joined();
        let collection = self.collection()?;
        process.progress.begin("model", "topics", None);
        let model = self.shared.model.get(|| {
            let model = self.model.as_ref();
            model::load(&self.run, &collection, model)
        })?;
        agree(worker, &model.fingerprint)?;
        if worker.index() == 0 {
            self.make_room(model)?;
        }
        barrier(worker);
        let metadata = self.metadata(&collection, model);
        let chosen = self.choose(worker, &collection)?;
        let mut measures = measures(&process.job.evaluate, process.job.model.seed);
        let shards = Shards {
            evaluation: self,
            collection: &collection,
            metadata: &metadata,
        };
        let seen = shards.score(worker, &chosen, model, &mut measures)?;
        if sum(worker, &[seen])[0] == 0 {
            return Err(self.no_documents());
        }
        let figures = figures(worker, &measures);
        if worker.index() == 0 {
            self.finish(&figures, &collection, model, &metadata)?;
        }
        barrier(worker);
        Ok(EvaluationSummary {
            figures,
            split: process.job.evaluate.split_name(),
            notes: model.notes.clone(),
            output: process.output.root().to_owned(),
        })
    }

    /// What ingest has left, if it is this job's.
    fn collection(&self) -> Result<Collection, RunError> {
        let root = self.run.output.local_root(&[COLLECTION_FILE])?;
        let collection = Collection::read(root)?;
        match collection.settings_hash == self.run.job.corpus_hash() {
            true => Ok(collection),
            false => Err(RunError::OtherSettings {
                path: self.run.output.root().to_owned(),
                what: "corpus, tokens or vocabulary",
            }),
        }
    }

    /// Which documents are evaluated on.
    fn choose(&self, worker: &mut Worker, collection: &Collection) -> Result<Chosen, RunError> {
        let job = &self.run.job;
        let rule = match job.evaluate.split {
            Some(split) => {
                let sample = &self.shared.sample;
                Some((sample_rule(worker, &self.run, sample, collection)?, split))
            }
            None => None,
        };
        let chosen = Chosen::new(rule, job.model.seed);
        match job.evaluate.documents {
            0 => Ok(chosen),
            most => chosen.at_most(worker, most, self, collection),
        }
    }

    fn no_documents(&self) -> RunError {
        let split = self.run.job.evaluate.split_name();
        RunError::Data(format!(
            "no document to evaluate on: none with terms is in evaluate.split \"{split}\"; choose \
             another, or a job with more in sample.held_out"
        ))
    }

    /// Takes away what an earlier evaluation has left, if it may.
    fn make_room(&self, model: &Loaded) -> Result<(), RunError> {
        let output = &self.process.output;
        if output.is_complete()? && !self.overwrite {
            let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
            let ours = self.process.job.evaluate_hash(&model.fingerprint);
            if manifest.settings.get("evaluate") != Some(&ours) {
                let path = output.root().to_owned();
                let what = "evaluate, or of another model (--output names another folder)";
                return Err(RunError::OtherSettings { path, what });
            }
        }
        for table in ["evaluation", "document_scores"] {
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

    /// Writes the figures, and declares the output complete.
    fn finish(
        &self,
        figures: &[Figure],
        collection: &Collection,
        model: &Loaded,
        metadata: &FileMetadata,
    ) -> Result<(), RunError> {
        let (job, output) = (&self.process.job, &self.process.output);
        let temporary = output.temporary_path("evaluation");
        let mut writer = EvaluationWriter::create(&temporary, metadata)?;
        for figure in figures {
            writer.push(&EvaluationRow {
                metric: figure.metric,
                method: &figure.method,
                split: job.evaluate.split_name(),
                unit: figure.unit,
                value: figure.value,
                standard_error: figure.standard_error,
            })?;
        }
        writer.finish()?;
        output.publish(&temporary, &format!("evaluation/{}", part_name(0)))?;
        output.write_atomic("job.toml", job.resolved_toml().as_bytes())?;
        let fingerprint = &collection.input_fingerprint;
        let mut manifest = Manifest::new(&job.id(), job.model.seed, fingerprint);
        manifest.settings = std::collections::BTreeMap::from([
            ("corpus".to_owned(), job.corpus_hash()),
            ("model".to_owned(), model.fingerprint.clone()),
            ("evaluate".to_owned(), metadata.settings_hash.clone()),
        ]);
        manifest.describe(output, &std::collections::BTreeMap::new())?;
        Ok(output.complete(&manifest)?)
    }
}

/// Refuses processes that have read different models.
fn agree(worker: &mut Worker, fingerprint: &str) -> Result<(), RunError> {
    let all = all_gather(worker, fingerprint.as_bytes());
    match all.iter().all(|other| other == fingerprint.as_bytes()) {
        true => Ok(()),
        false => Err(RunError::Data(
            "the processes have read different models: let all read the same files".to_owned(),
        )),
    }
}

/// The figures of all measures, from the sums over all workers.
fn figures(worker: &mut Worker, measures: &[Box<dyn Measure>]) -> Vec<Figure> {
    let each = measures.iter();
    each.flat_map(|measure| {
        let all = sum(worker, &measure.sums());
        measure.figures(&all)
    })
    .collect()
}
