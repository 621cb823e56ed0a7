//! A run: its stages, one after the other, on every worker. A stage whose result is complete is
//! not run again.
//!
//! ```text
//! ingest ─▶ corpus/   sample, train ─▶ model/   project ─▶ documents/, document_topics/   finish
//! ```

use std::sync::Arc;
use std::time::Instant;

use timely::worker::Worker;

use super::coherence::coherence;
use super::error::RunError;
use super::finish::{self, TrainingRecord};
use super::gather::{all_gather, barrier};
use super::ingest::{IngestShared, ingest};
use super::process::{Once, Process, Tickets};
use super::process_model::ProcessModel;
use super::project::{ProjectPlan, Tally, project};
use super::sample::{Sample, SampleShared, load_sample, sample_rule};
use super::train::{CHECKPOINT, TrainPlan, save, train};
use crate::checkpoint::{self, Saved};
use crate::cluster::{ClusterError, DEFAULT_DEADLINE, execute};
use crate::corpus::collection::Collection;
use crate::corpus::sample::SampleRule;
use crate::corpus::synth::synthesize;
use crate::infer::settings::Estimator;
use crate::job::{IngestSummary, ProjectSummary, Stages, Summary, TrainSummary};
use crate::model::published::{PublishedTopic, publish};
use crate::model::{Priors, settings::ModelSettings};
use crate::tables::FileMetadata;
use crate::tables::output::Output;
use crate::train::publish::published;

/// Where the finished model stands, below the output's root.
pub const MODEL: &str = "model/topics.model";

/// What the workers of a process share during a run.
#[derive(Default)]
pub struct RunShared {
    ingest: IngestShared,
    sample: SampleShared,
    saved: Once<Option<Saved>>,
    model: Once<ProcessModel>,
    coherence: Tickets,
    shards: Tickets,
}

impl RunShared {
    /// What was wrong with the first documents that could not be read.
    pub fn remarks(&self) -> Vec<String> {
        self.ingest.remarks()
    }
}

/// Runs stages of the process's job together with the other processes of the run.
///
/// # Errors
/// The processes could not come together, or what ended a run of a single worker; a worker among
/// several ends the process (`cluster::guard`).
pub fn run(
    process: &Arc<Process>,
    shared: &Arc<RunShared>,
    stages: Stages,
) -> Result<Summary, ClusterError> {
    let (process, shared) = (Arc::clone(process), Arc::clone(shared));
    let placement = process.placement.clone();
    let hash = process.hash(stages);
    let summaries = execute(&placement, hash, DEFAULT_DEADLINE, move |worker| {
        Run {
            process: &process,
            shared: &shared,
            stages,
        }
        .run(worker)
    })?;
    Ok(summaries.into_iter().next().unwrap_or_default())
}

/// A run as one worker sees it.
struct Run<'a> {
    process: &'a Process,
    shared: &'a RunShared,
    stages: Stages,
}

/// What training leaves to the stages after it.
struct Model<'a> {
    parts: &'a ProcessModel,
    priors: Priors,
    published_eta: f64,
    hash: String,
}

impl<'a> Run<'a> {
    fn run(&self, worker: &mut Worker) -> Result<Summary, RunError> {
        if self.process.placement.process > 0 {
            Output::join(self.process.output.root())?;
        }
        let mut summary = Summary {
            output: self.process.output.root().to_owned(),
            ..Summary::default()
        };
        let collection = self.ingest(worker, &mut summary)?;
        summary.documents = collection.documents;
        summary.tokens = collection.tokens_in_vocabulary;
        summary.documents_by_status = collection.documents_by_status.clone();
        if self.stages == Stages::Ingest {
            return Ok(summary);
        }
        let rule = sample_rule(worker, self.process, &self.shared.sample, &collection)?;
        let model = self.train(worker, &collection, &rule, &mut summary)?;
        let infer = &self.process.job.project.infer;
        if self.stages == Stages::Train {
            return Ok(summary);
        }
        let metadata = self.metadata(&collection, &model);
        let tally = match infer {
            Some(_) => {
                Some(self.project(worker, &collection, &rule, &model, &metadata, &mut summary)?)
            }
            None => None,
        };
        if worker.index() == 0 {
            let topics = publish_parts(model.parts, model.published_eta);
            let finished = finish::Finished {
                collection: &collection,
                metadata: &metadata,
            };
            finish::finish(
                self.process,
                &finished,
                &model.priors,
                &topics,
                tally,
                &mut summary,
            )?;
        }
        barrier(worker);
        Ok(summary)
    }

    /// Makes the job's own corpus if it has one, then ingests; or finds that done.
    fn ingest(&self, worker: &mut Worker, summary: &mut Summary) -> Result<Collection, RunError> {
        let job = &self.process.job;
        if !self.stages.ingests() {
            return Ok(Collection::read(self.process.output.root())?);
        }
        if let Some(synth) = &job.synth {
            if worker.index() == 0 {
                let progress = &self.process.progress;
                progress.begin("synth", "documents", Some(synth.settings.documents));
                synthesize(&synth.settings, &synth.path, &mut |n| progress.set(n))?;
            }
            barrier(worker);
        }
        let was_complete = self
            .process
            .output
            .is_published(crate::corpus::collection::COLLECTION_FILE);
        barrier(worker);
        let started = Instant::now();
        let collection = ingest(worker, self.process, &self.shared.ingest)?;
        if was_complete {
            summary.already_complete.push("ingest".to_owned());
            return Ok(collection);
        }
        let seconds = started.elapsed().as_secs_f64();
        summary.ingest = Some(IngestSummary {
            seconds,
            bytes: collection.input_bytes,
            documents_per_second: collection.documents as f64 / seconds,
            bytes_per_second: collection.input_bytes as f64 / seconds,
            tokens_total: collection.tokens_total,
            terms: collection.terms_kept,
        });
        Ok(collection)
    }

    /// Trains, from the start or the newest checkpoint; or finds the model complete.
    fn train(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        rule: &SampleRule,
        summary: &mut Summary,
    ) -> Result<Model<'a>, RunError> {
        let output = &self.process.output;
        let is_complete = output.is_published(MODEL);
        barrier(worker);
        if !is_complete && !self.stages.trains() {
            return Err(RunError::Data(format!(
                "{} has no model yet: run `topicmill train` or `topicmill run` first",
                output.root().display()
            )));
        }
        let path = if is_complete { MODEL } else { CHECKPOINT };
        let saved = self
            .shared
            .saved
            .get(|| self.read_saved(path, collection))?
            .as_ref();
        if let (true, Some(saved)) = (is_complete, saved) {
            summary.already_complete.push("train".to_owned());
            let model = self.model(collection, Some(saved))?;
            let published_eta = saved
                .header
                .published_eta
                .unwrap_or(saved.header.priors.eta);
            let (priors, hash) = (saved.header.priors.clone(), saved.hash.clone());
            return Ok(Model {
                parts: model,
                priors,
                published_eta,
                hash,
            });
        }
        let shared = &self.shared.sample;
        let sample = load_sample(worker, self.process, shared, collection, rule)?;
        self.train_on(worker, collection, sample, saved, summary)
    }

    fn train_on(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        sample: Sample<'_>,
        saved: Option<&Saved>,
        summary: &mut Summary,
    ) -> Result<Model<'a>, RunError> {
        let settings = &self.process.job.model;
        check_sample(&sample, collection)?;
        let vocabulary_size = collection.terms_kept as usize;
        let priors = match saved {
            Some(saved) => saved.header.priors.clone(),
            None => Priors::new(settings, vocabulary_size, sample.training_tokens),
        };
        let model = self.model(collection, saved)?;
        let settings_hash = self.process.job.train_hash();
        let plan = TrainPlan {
            process: self.process,
            model,
            sample,
            priors: &priors,
            settings_hash: &settings_hash,
            vocabulary_hash: &collection.vocabulary_fingerprint,
        };
        let trained = train(worker, plan, saved)?;
        let published_eta = trained.header.published_eta.unwrap_or(priors.eta);
        let topics = publish_parts(model, published_eta);
        let tickets = &self.shared.coherence;
        let coherence = coherence(
            worker,
            self.process,
            tickets,
            sample.training,
            &topics,
            vocabulary_size,
        );
        let mut hash = String::new();
        if worker.index() == 0 {
            let record = TrainingRecord::new(&sample, &trained, coherence);
            let mut header = trained.header;
            let log = std::mem::take(&mut header.log);
            finish::write_training(self.process, &record, &log, collection)?;
            hash = save(self.process, model, &header, MODEL)?;
            summary.train = Some(train_summary(&record, &log, settings));
        }
        let hashes = all_gather(worker, hash.as_bytes());
        let hash = String::from_utf8_lossy(&hashes[0]).into_owned();
        Ok(Model {
            parts: model,
            priors,
            published_eta,
            hash,
        })
    }

    /// The process's model: what was saved, or one with nothing learnt.
    fn model(
        &self,
        collection: &Collection,
        saved: Option<&Saved>,
    ) -> Result<&'a ProcessModel, RunError> {
        let (topics, threads) = (
            self.process.job.model.topics,
            self.process.placement.threads,
        );
        let terms = collection.terms_kept as usize;
        self.shared
            .model
            .get(|| Ok(ProcessModel::new(topics, terms, threads, saved)))
    }

    /// The model or checkpoint at `path`, if there is one; it must be of these settings.
    fn read_saved(&self, path: &str, collection: &Collection) -> Result<Option<Saved>, RunError> {
        let output = &self.process.output;
        if !output.is_published(path) {
            return Ok(None);
        }
        let saved = checkpoint::read(&output.path(path))?;
        let header = &saved.header;
        let is_ours = header.settings_hash == self.process.job.train_hash()
            && header.vocabulary_hash == collection.vocabulary_fingerprint;
        if !is_ours {
            return Err(RunError::OtherSettings {
                path: output.path(path),
                what: "sample, model or train",
            });
        }
        Ok(Some(saved))
    }

    /// Projects every document on the model.
    fn project(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        rule: &SampleRule,
        model: &Model<'_>,
        metadata: &FileMetadata,
        summary: &mut Summary,
    ) -> Result<Tally, RunError> {
        let process = self.process;
        let Some(infer) = &process.job.project.infer else {
            return Err(RunError::Data("project.method is \"none\"".to_owned()));
        };
        let started = Instant::now();
        process
            .progress
            .begin("project", "documents", Some(collection.documents));
        let part = worker.index() % process.placement.threads;
        model
            .parts
            .prepare(part, &published(&model.priors, model.published_eta), |_| {
                true
            });
        process.meet();
        let plan = ProjectPlan {
            process,
            model: model.parts,
            collection,
            rule,
            infer,
            metadata,
        };
        let tally = project(worker, plan, &self.shared.shards)?;
        let seconds = started.elapsed().as_secs_f64();
        summary.project = Some(ProjectSummary {
            seconds,
            documents_per_second: collection.documents as f64 / seconds,
            tokens_per_second: collection.tokens_in_vocabulary as f64 / seconds,
        });
        Ok(tally)
    }

    fn metadata(&self, collection: &Collection, model: &Model<'_>) -> FileMetadata {
        let job = &self.process.job;
        let estimator = job
            .project
            .infer
            .as_ref()
            .map(|infer| match infer.estimator {
                Estimator::Soft => "soft".to_owned(),
                Estimator::Counts => "counts".to_owned(),
            });
        FileMetadata {
            job_id: finish::job_id(job),
            settings_hash: job.project_hash(),
            model_hash: Some(model.hash.clone()),
            seed: job.model.seed,
            estimator,
            threshold: Some(job.project.threshold),
            topic_count: Some(job.model.topics),
            vocabulary_size: Some(collection.terms_kept as usize),
        }
    }
}

/// All topics of the process's model, published with `eta`.
fn publish_parts(model: &ProcessModel, eta: f64) -> Vec<PublishedTopic> {
    let guards = model.read_parts();
    let parts: Vec<_> = guards.iter().map(|part| &**part).collect();
    publish(&parts, eta)
}

fn check_sample(sample: &Sample<'_>, collection: &Collection) -> Result<(), RunError> {
    if sample.training_documents > 0 {
        return Ok(());
    }
    Err(RunError::Data(format!(
        "the sample holds no document to train on, of {} with terms: enlarge sample.fraction or \
         sample.documents, or lower sample.held_out",
        collection.documents_with_terms
    )))
}

fn train_summary(
    record: &TrainingRecord,
    log: &[crate::train::RoundReport],
    settings: &ModelSettings,
) -> TrainSummary {
    let seconds = log.last().map_or(0.0, |last| last.seconds);
    let tokens = log.last().map_or(0, |last| last.tokens_seen);
    let passes = log.last().map_or(0, |last| last.pass + 1);
    let ended = match record.stopped_early {
        true => "held-out quality had stopped improving".to_owned(),
        false => format!("{passes} passes done"),
    };
    TrainSummary {
        seconds,
        rounds: record.rounds,
        sample_documents: record.training_documents,
        tokens_per_second: tokens as f64 / seconds.max(1e-9),
        heldout_loglik_per_token: record.heldout.per_token(),
        heldout_method: format!(
            "document completion, {} documents, K = {}",
            record.heldout.documents, settings.topics
        ),
        ended,
    }
}
