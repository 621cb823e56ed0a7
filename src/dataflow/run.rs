//! A run: its stages, one after another, on every worker. A stage whose result is complete is
//! skipped.
//!
//! ```text
//! ingest ─▶ corpus/   sample, train ─▶ model/   project ─▶ documents/, document_topics/   finish
//! ```

mod model;
mod warm_start;

use std::sync::Arc;
use std::time::Instant;

use timely::worker::Worker;

use super::finish::{self, OF_MODEL};
use super::gather::{barrier, sum};
use super::ingest::{Ingested, check_input, ingest, read_collection};
use super::joint::{JointPlan, sample_together};
use super::passages::passages;
use super::process::{Process, Tickets, other_settings};
use super::project::{
    ProjectPlan, Projected, StoredSums, Trends, are_complete, project, stored_sums, trend_columns,
};
use super::sample::sample_rule;
use super::shares::Shares;
use super::side_model::labels::label_model;
use super::side_model::maxent::MaxEntPlan;
use super::side_model::side_model;
use crate::config::Stages;
use crate::failure::Failure;
use crate::grow::forget_all;
use crate::observe::summary::{IngestSummary, ProjectSummary, Summary};
use crate::tables::output::{MANIFEST, REPORT, is_gone};
use crate::tables::topic_names::TopicNameRow;
use crate::tables::{FileMetadata, Manifest, Row, TABLES};
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::input::identify;
use corpus::sample::SampleRule;
use corpus::settings::{Names, StopWords};
use corpus::stop_words;
use corpus::synth::synthesize;
use lda::infer::InferenceMethod;
use lda::infer::mean_field::TermTopics;
use lda::infer::settings::Estimator;
use mesh::spawn::launch_name;
use mesh::{ClusterError, ClusterSettings};
use model::Model;
use store::is_remote;

/// The warning that a run makes other topics than those that were named.
const NAMES_LEAVE: &str = "the names of topics (topic_names) were removed with the topics: pass the file to `topicmill \
    report OUT --names FILE` again if they are the same";

/// The file that names the launch that removed old results.
const CLEARED: &str = "logs/overwritten";

/// Runs stages of the process's job together with the other processes of the run, which `settings`
/// locate; the hash in `settings` is set here.
///
/// # Errors
/// Errors of [`Process::execute`].
pub(crate) fn run(
    process: &Arc<Process>,
    stages: Stages,
    settings: ClusterSettings,
) -> Result<Summary, ClusterError> {
    let settings = ClusterSettings { hash: process.hash(stages), ..settings };
    if process.placement.processes() > 1 {
        process.progress.begin("join", "processes", None);
    }
    let of_worker = Arc::clone(process);
    process.execute(&settings, move |worker| Run { process: &of_worker, stages }.run(worker))
}

/// A run as one worker sees it.
struct Run<'a> {
    process: &'a Arc<Process>,
    stages: Stages,
}

impl Run<'_> {
    fn run(&self, worker: &mut Worker) -> Result<Summary, Failure> {
        let mut is_complete = self.process.join(worker)?;
        if self.process.overwrites {
            if worker.index() == 0 {
                self.clear_once()?;
            }
            barrier(worker);
            is_complete = self.process.join(worker)?;
        }
        let mut summary =
            Summary { output: self.process.output.root().to_owned(), ..Summary::default() };
        if is_complete {
            self.find_complete(worker, &mut summary)?;
            return Ok(summary);
        }
        let collection = Arc::new(self.ingest(worker, &mut summary)?);
        summary.documents = collection.documents;
        summary.tokens = collection.tokens_in_vocabulary;
        summary.documents_by_status = collection.documents_by_status.clone();
        summary.duplicates = Some(collection.duplicates).filter(|&count| count > 0);
        if self.stages == Stages::Ingest {
            return Ok(summary);
        }
        let (mut stored, mut trends) = (None, Trends::default());
        if self.stages.projects() {
            stored = stored_sums(worker, self.process, &collection)?;
            // Before training, so that a problem with a column is found early.
            let shards = self.process.shared_default::<[Tickets; 2]>("values");
            trends = trend_columns(worker, self.process, &collection, &shards, stored.as_ref())?;
        }
        let shared = self.process.shared_default("sample");
        let rule = sample_rule(worker, self.process, &shared, &collection)?;
        let model = self.train(worker, &collection, &rule, &mut summary)?;
        let infer = &self.process.job.project.infer;
        if self.stages == Stages::Train {
            return Ok(summary);
        }
        let metadata = self.metadata(&collection, &model);
        let projected = match infer {
            Some(_) => {
                let stored = stored.filter(|it| it.fit(&metadata, &trends.columns));
                let counted = (trends, stored);
                let documents = (&collection, &rule);
                self.project(worker, documents, counted, &model, &metadata, &mut summary)?
            }
            None => None,
        };
        let topics = &*self.topics(&model)?;
        let model_topics = (topics, &*model.hash);
        let passages =
            passages(worker, self.process, &collection, model_topics, projected.as_ref())?;
        if worker.index() == 0 {
            let finished = finish::Finished {
                collection: &collection,
                metadata: &metadata,
                projected: projected.as_ref(),
                nodes: model.nodes(),
                passages,
            };
            finish::finish(self.process, &finished, &model.priors, topics, &mut summary)?;
        }
        barrier(worker);
        Ok(summary)
    }

    /// Summarises a complete output; fails if another job made it, or if its input has changed.
    fn find_complete(&self, worker: &mut Worker, summary: &mut Summary) -> Result<(), Failure> {
        let output = &self.process.output;
        for file in [MANIFEST, COLLECTION_FILE] {
            if !output.is_published(file)? {
                return Err(is_gone(&output.path(file)));
            }
        }
        let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
        for file in manifest.files.iter().filter(|file| file.path.starts_with("model/")) {
            if !output.is_published(&file.path)? {
                return Err(is_gone(&output.path(&file.path)));
            }
        }
        let ours = finish::settings(&self.process.job);
        for (section, what) in [
            ("corpus", "corpus, tokens or vocabulary"),
            ("train", "sample, model or train"),
            ("project", "project"),
        ] {
            if manifest.settings.get(section) != ours.get(section) {
                let failure = other_settings(output.root(), what);
                return Err(match section {
                    "project" => {
                        failure.help("`topicmill project JOB --overwrite` keeps the model")
                    }
                    _ => failure,
                });
            }
        }
        if worker.index() == 0 && self.stages.ingests() {
            check_input(self.process, &manifest.input_fingerprint)?;
        }
        barrier(worker);
        let stages = ["ingest", "train", "project"];
        summary.already_complete = stages.map(str::to_owned).to_vec();
        summary.documents = manifest.documents_by_status.values().sum();
        let collection = read_collection(self.process)?;
        summary.tokens = collection.tokens_in_vocabulary;
        summary.duplicates = Some(collection.duplicates).filter(|&count| count > 0);
        summary.documents_by_status = manifest.documents_by_status;
        summary.report =
            if output.is_published(REPORT)? { Some(output.path(REPORT)) } else { None };
        Ok(())
    }

    /// Removes what the stages will write again; not in later attempts of a launch, which resume.
    fn clear_once(&self) -> Result<(), Failure> {
        let output = &self.process.output;
        let launch = launch_name().unwrap_or_default();
        let cleared = output.local(CLEARED)?;
        if !launch.is_empty() && std::fs::read_to_string(cleared).is_ok_and(|text| text == launch) {
            return Ok(());
        }
        self.clear()?;
        output.write_atomic(CLEARED, launch.as_bytes())
    }

    /// Removes what the stages will write again, once it is certain that they can: only files that topicmill wrote.
    fn clear(&self) -> Result<(), Failure> {
        let (job, output) = (&self.process.job, &self.process.output);
        if self.stages.ingests() {
            if job.synth.is_none() {
                identify(&job.corpus)?;
            }
            if output.is_published(TopicNameRow::SPEC.name)? {
                self.process.warn(NAMES_LEAVE.to_owned());
            }
            // A damaged one is made again.
            if let Ok(collection) = Collection::read(output.local_root(&[COLLECTION_FILE])?) {
                self.warn_of_changes(&collection);
            }
            if !is_remote(output.root()) {
                forget_all(output.root())?;
            }
            return output.clear_all();
        }
        let collection = read_collection(self.process)?;
        if !self.stages.trains() {
            self.process.read_model(&collection)?;
        }
        output.check_tables()?;
        output.reopen()?;
        let stays =
            |name: &str| (name == "model" || OF_MODEL.contains(&name)) && !self.stages.trains();
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(["checkpoints", "model"]) {
            if !stays(name) {
                output.clear(name)?;
            }
        }
        Ok(())
    }

    /// Warns of documents that are not in the job's input, or that are still there but were removed from the result.
    fn warn_of_changes(&self, collection: &Collection) {
        let generations = &collection.generations;
        let added: u64 = generations.iter().map(|generation| generation.documents).sum();
        if added > 0 {
            let input = generations.iter().flat_map(|generation| &generation.input);
            self.process.warn(format!(
                "{added} documents that `topicmill add` has added to the result are not in this job's input; to have \
                 them again, add {}",
                input.cloned().collect::<Vec<_>>().join(", ")
            ));
        }
        let removed: u64 = generations.iter().map(|generation| generation.removed).sum();
        if removed > 0 {
            self.process.warn(format!(
                "{removed} documents were removed from the result: it has them again if they are still in the job's input"
            ));
        }
    }

    /// Generates the job's own corpus if it has one, then ingests, unless that has been done.
    fn ingest(&self, worker: &mut Worker, summary: &mut Summary) -> Result<Collection, Failure> {
        let job = &self.process.job;
        if !self.stages.ingests() {
            return read_collection(self.process);
        }
        if let Some(synth) = &job.synth {
            if worker.index() == 0 {
                let progress = &self.process.progress;
                progress.begin("synth", "documents", Some(synth.settings.documents));
                synthesize(&synth.settings, &synth.path, &mut |n| progress.set(n))?;
            }
            barrier(worker);
        }
        let started = Instant::now();
        let Ingested { collection, remarks } = ingest(worker, self.process)?;
        let Some(remarks) = remarks else {
            summary.already_complete.push("ingest".to_owned());
            return Ok(collection);
        };
        summary.remarks = remarks;
        let seconds = started.elapsed().as_secs_f64();
        summary.ingest = Some(IngestSummary {
            seconds,
            bytes: collection.input_bytes,
            documents_per_second: collection.documents as f64 / seconds,
            bytes_per_second: collection.input_bytes as f64 / seconds,
            tokens_total: collection.tokens_total,
            stop_words: stop_words::load(&job.vocabulary.stop_words, &job.tokens)?.len() as u64,
            by_language: job.vocabulary.stop_words.contains(&StopWords::ByLanguage),
            drops_names: job.vocabulary.names == Names::Drop,
            tokens_stopped: collection.tokens_stopped,
            terms: collection.terms_kept,
            left_out: collection.left_out.clone(),
            phrases: (job.phrases.detection).map(|_| collection.phrases.len() as u64),
        });
        Ok(collection)
    }

    /// Projects every document onto the model; returns the sums on the first worker.
    fn project(
        &self,
        worker: &mut Worker,
        (collection, rule): (&Arc<Collection>, &SampleRule),
        (trends, stored): (Trends, Option<StoredSums>),
        model: &Model,
        metadata: &FileMetadata,
        summary: &mut Summary,
    ) -> Result<Option<Projected>, Failure> {
        let process = self.process;
        let Some(infer) = &process.job.project.infer else {
            return Err(Failure::data("project.method is \"none\""));
        };
        let started = Instant::now();
        let joint = JointPlan {
            process,
            trained: &model.parts,
            priors: &model.priors,
            published_eta: model.published_eta,
            collection,
            rule,
            infer,
        };
        let is_wanted =
            infer.method.is_joint() && !self.is_projected(worker, collection, metadata)?;
        let together = if is_wanted {
            Some(sample_together(worker, joint, &process.shared_default("joint"))?)
        } else {
            None
        };
        let part = worker.index() % process.placement.threads;
        model.parts.prepare_all(process, part, &model.published());
        let maxent =
            MaxEntPlan { process, model: &model.parts, collection, rule, model_hash: &model.hash };
        let topics = self.term_topics(collection, model, infer.method)?;
        let before = Instant::now();
        let documents = (&**collection, rule);
        let classifier =
            side_model(worker, &maxent, process, documents, &process.shared_default("maxent"))?;
        let training = before.elapsed().as_secs_f64();
        let labels = process.shared_default("labels");
        let labels = label_model(worker, process, documents, &model.hash, &labels)?;
        process.begin_documents("project", collection);
        let maxent_seconds = classifier.as_ref().map(|_| training);
        let plan = ProjectPlan {
            process: Arc::clone(process),
            model: Arc::clone(&model.parts),
            published: Arc::clone(&*self.topics(model)?),
            collection: Arc::clone(collection),
            rule: *rule,
            infer: infer.clone(),
            term_topics: topics,
            classifier,
            labels,
            together,
            trained: self.trained_elsewhere()?,
            unknown: self.unknown_terms(collection)?,
            shares: Shares::of(process, collection),
            parts: process.shared_default("projected parts"),
            trends,
            stored,
            sums: process.shared_default("sums"),
            metadata: metadata.clone(),
        };
        let projected = project(worker, plan)?;
        let seconds = started.elapsed().as_secs_f64() - training;
        summary.project = Some(ProjectSummary {
            seconds,
            maxent_seconds,
            documents_per_second: collection.documents as f64 / seconds,
            tokens_per_second: collection.tokens_in_vocabulary as f64 / seconds,
        });
        Ok(projected)
    }

    /// Whether every part is projected: then no documents need to be sampled together.
    fn is_projected(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        metadata: &FileMetadata,
    ) -> Result<bool, Failure> {
        let is_missing = worker.index() == 0 && !are_complete(self.process, collection, metadata)?;
        Ok(sum(worker, &[is_missing.into()])[0] == 0)
    }

    /// Returns the factors without small entries, if the method uses those.
    fn term_topics(
        &self,
        collection: &Collection,
        model: &Model,
        method: &InferenceMethod,
    ) -> Result<Arc<TermTopics>, Failure> {
        let terms = collection.terms_kept as usize;
        let make = || Ok(model.parts.with_table(|table| method.term_topics(table, terms)));
        self.process.shared("term topics", make)
    }

    fn metadata(&self, collection: &Collection, model: &Model) -> FileMetadata {
        let job = &self.process.job;
        let infer = job.project.infer.as_ref();
        let sampling = infer.filter(|infer| infer.method.samples());
        let estimator = sampling.map(|infer| match infer.estimator {
            Estimator::Soft => "soft".to_owned(),
            Estimator::Counts => "counts".to_owned(),
        });
        FileMetadata {
            job_id: job.id(),
            settings_hash: job.project_hash(),
            model_hash: Some(model.hash.clone()),
            seed: job.model.seed,
            estimator,
            threshold: Some(job.project.threshold),
            topic_count: Some(self.process.topic_count(collection)),
            vocabulary_size: Some(collection.terms_kept as usize),
        }
    }
}
