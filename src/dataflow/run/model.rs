//! The training stage of a run: reads a complete model, publishes that of another result (`model.from`), or trains from
//! the start or from the newest checkpoint, on a sample that has been checked.

use std::path::Path;
use std::sync::Arc;

use timely::worker::Worker;

use super::Run;
use super::warm_start::Planted;
use crate::assignments::Assignments;
use crate::checkpoint::{self, Header, Saved};
use crate::config::state::{
    CHECKPOINT_FOLDER, MODEL_FILE, TRAINED_FILE, checkpoint_file, checkpoint_rounds,
};
use crate::dataflow::coherence::coherence;
use crate::dataflow::gather::{all_gather, barrier, sum};
use crate::dataflow::ingest::read_vocabulary;
use crate::dataflow::process::{ASSIGNMENTS_FILE, TRAINING_FILE};
use crate::dataflow::process_model::ProcessModel;
use crate::dataflow::record::{TrainingRecord, write_trained, write_training};
use crate::dataflow::sample::{Sample, load_sample};
use crate::dataflow::train::{ActiveDocuments, TrainPlan, Wanted, choose, save, train};
use crate::failure::Failure;
use crate::observe::figures::counted;
use crate::observe::summary::{Summary, TrainSummary};
use crate::result::{OpenedResult, read_json};
use corpus::collection::Collection;
use corpus::sample::SampleRule;
use corpus::vocabulary::TermStatus;
use lda::evaluate::drift::{DriftSums, TermSet};
use lda::infer::settings::Estimator;
use lda::model::Priors;
use lda::model::published::{PublishedNode, PublishedTopic, publish, publish_nodes};
use lda::model::settings::ModelSettings;
use lda::train::active::ActiveSchedule;
use lda::train::labels::inference_alpha;
use lda::train::publish::published_priors;
use lda::train::schedule::Schedule;
use lda::train::settings::TrainSettings;
use mesh::interrupt::Deferral;

/// The result of training, for the stages after it.
pub(super) struct Model {
    pub(super) parts: Arc<ProcessModel>,
    pub(super) priors: Priors,
    pub(super) published_eta: f64,
    pub(super) hash: String,
}

impl Model {
    /// Returns the priors that φ is published with.
    pub(super) fn published(&self) -> Priors {
        published_priors(&self.priors, self.published_eta)
    }

    /// Returns for each topic the nodes of the prior's tree that have tokens.
    pub(super) fn nodes(&self) -> Vec<Vec<PublishedNode>> {
        let guards = self.parts.read_parts();
        let parts: Vec<_> = guards.iter().map(|part| &**part).collect();
        publish_nodes(&parts, &self.published())
    }
}

impl Run<'_> {
    /// Trains, from the start or the newest sound checkpoint; or reads the complete model.
    pub(super) fn train(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        rule: &SampleRule,
        summary: &mut Summary,
    ) -> Result<Model, Failure> {
        let output = &self.process.output;
        let mut is_complete = self.process.is_published(worker, MODEL_FILE)?;
        if let Some(folder) = &self.process.job.model_from
            && !is_complete
            && self.stages.trains()
        {
            if worker.index() == 0 {
                self.adopt(folder, collection)?;
            }
            barrier(worker);
            is_complete = self.process.is_published(worker, MODEL_FILE)?;
        }
        if !is_complete && !self.stages.trains() {
            return Err(Failure::data(format!(
                "{} has no model yet: run `topicmill train` or `topicmill run` first",
                output.root().display()
            )));
        }
        if is_complete {
            let saved = self.process.shared("saved", || self.process.read_model(collection))?;
            if self.process.job.model_from.is_none() {
                summary.already_complete.push("train".to_owned());
            }
            let model = self.model(collection, Some(&saved), &saved.header.priors)?;
            let published_eta = saved.header.published().eta;
            let (priors, hash) = (saved.header.priors.clone(), saved.hash.clone());
            return Ok(Model { parts: model, priors, published_eta, hash });
        }
        if worker.index() == 0 {
            self.refuse_other_settings(collection)?;
        }
        let (shared, warm_start) = (self.process.shared_default("sample"), self.warm_start()?);
        let warm_start = (*warm_start).as_ref().map(|start| &start.model);
        let (sample, schedule) =
            load_sample(worker, self.process, &shared, collection, rule, warm_start)?;
        check_sample(&sample, collection, &self.process.job.model)?;
        self.check_revisited(&sample)?;
        check_estimator(&self.process.job.train, &sample, &schedule)?;
        self.check_shares(worker, &sample)?;
        self.train_on(worker, collection, (sample, schedule), summary)
    }

    fn train_on(
        &self,
        worker: &mut Worker,
        collection: &Collection,
        (sample, schedule): (Sample, Schedule),
        summary: &mut Summary,
    ) -> Result<Model, Failure> {
        let topics = self.process.topic_count(collection);
        let settings = &ModelSettings { topics, ..self.process.job.model.clone() };
        let vocabulary_size = collection.terms_kept as usize;
        let size = [sample.training_documents, sample.training_tokens];
        let active = self.active(&sample)?;
        let assignments = if schedule.remembers() {
            Some(self.assignments(&sample, active.as_deref())?)
        } else {
            None
        };
        let wanted = Wanted {
            process: self.process,
            vocabulary_hash: &collection.vocabulary_fingerprint,
            training: &sample.training,
            assignments: assignments.as_deref(),
        };
        let candidates = self.process.shared_default("checkpoints");
        let saved = choose(worker, wanted, &candidates)?;
        let (spare, learns_alpha) = (schedule.spare_topics, schedule.learns_alpha());
        let priors = Priors::new(settings, spare, vocabulary_size, size, learns_alpha);
        let (priors, planted) = self.planted(priors, &schedule)?;
        let model = self.model(collection, saved, &priors)?;
        let inference_alpha = (!sample.label_documents.is_empty()).then(|| {
            let (prior, documents) = (settings.label_prior, &sample.label_documents);
            inference_alpha(prior, priors.alpha_sum(), documents)
        });
        let plan = TrainPlan {
            process: Arc::clone(self.process),
            model: Arc::clone(&model),
            sample: sample.clone(),
            schedule,
            assignments,
            active,
            changed_rows: self.changed_rows(&priors)?,
            inference_alpha,
            settings_hash: self.process.job.train_hash(),
            vocabulary_hash: collection.vocabulary_fingerprint.clone(),
        };
        // From here on a signal waits until the model, or a checkpoint, is complete.
        let _deferral = Deferral::begin();
        let trained = train(worker, &plan, priors, saved)?;
        let priors = trained.header.priors.clone();
        let published_eta = trained.header.published_eta.unwrap_or(priors.eta);
        let mut model = Model { parts: model, priors, published_eta, hash: String::new() };
        let topics = self.topics(&model)?;
        let tickets = self.process.shared_default("coherence");
        let training = (&*sample.training, &*tickets);
        let coherence = coherence(worker, self.process, training, &topics, vocabulary_size)?;
        let mut hash = String::new();
        if worker.index() == 0 {
            let record = TrainingRecord::new(&sample, &trained, coherence);
            let mut header = trained.header;
            let log = std::mem::take(&mut header.log);
            let changes = self.changes(&topics)?;
            write_training(self.process, &record, (&log, changes), collection)?;
            hash = save(self.process, &model.parts, &header, MODEL_FILE)?;
            summary.train = Some(TrainSummary {
                tree: (*planted).as_ref().map(Planted::to_string),
                ..train_summary(&record, &log, settings)
            });
        }
        let hashes = all_gather(worker, hash.as_bytes());
        model.hash = String::from_utf8_lossy(&hashes[0]).into_owned();
        Ok(model)
    }

    /// Returns the priors with the job's tree and, after a warm start, the α of its model.
    fn planted(
        &self,
        priors: Priors,
        schedule: &Schedule,
    ) -> Result<(Priors, Arc<Option<Planted>>), Failure> {
        let planted = self.tree(&priors, schedule.remembers())?;
        let warm_start = self.warm_start()?;
        let alpha = (*warm_start).as_ref().map(|start| start.model.alpha().to_vec());
        let priors = Priors {
            alpha: alpha.unwrap_or(priors.alpha),
            tree: (*planted).as_ref().map(|planted| Arc::clone(&planted.tree)),
            ..priors
        };
        Ok((priors, planted))
    }

    /// Returns the process's documents, if each round draws its own.
    fn active(&self, sample: &Sample) -> Result<Option<Arc<ActiveDocuments>>, Failure> {
        let settings = &self.process.job.train;
        let Some(schedule) = ActiveSchedule::new(settings, sample.least_tokens) else {
            return Ok(None);
        };
        self.process.shared("active", || ActiveDocuments::new(schedule, &sample.training)).map(Some)
    }

    /// Returns how many numbers are remembered for each of the process's documents.
    fn remembered_lengths(&self, sample: &Sample) -> Result<Vec<usize>, Failure> {
        let (process, topics) = (self.process, self.process.job.model.topics);
        let remembers = process.job.train.method.remembers;
        let length = |counts: &[u32], labels: &[u16]| remembers.length(counts, labels, topics);
        let lengths = sample.training.lengths(length);
        lengths.map_err(|e| process.scratch_error(TRAINING_FILE, e))
    }

    /// Returns room for the assignments of the process's documents.
    fn assignments(
        &self,
        sample: &Sample,
        active: Option<&ActiveDocuments>,
    ) -> Result<Arc<Assignments>, Failure> {
        let process = self.process;
        let path = process.scratch_path(ASSIGNMENTS_FILE);
        process.shared("assignments", || {
            let lengths = self.remembered_lengths(sample)?;
            let limit = process.job.train.sample_bytes;
            let assignments = Assignments::new(lengths.into_iter(), limit, &path)
                .map_err(|e| process.scratch_error(ASSIGNMENTS_FILE, e))?;
            Ok(match active {
                Some(active) => assignments.with_influences(active.influences()),
                None => assignments,
            })
        })
    }

    /// Returns all topics of the model, as published.
    pub(super) fn topics(&self, model: &Model) -> Result<Arc<Arc<[PublishedTopic]>>, Failure> {
        self.process.shared("topics", || {
            let guards = model.parts.read_parts();
            let parts: Vec<_> = guards.iter().map(|part| &**part).collect();
            Ok(publish(&parts, &model.published()).into())
        })
    }

    /// Returns the process's model: the saved one, with its `priors`, or the one from which training with
    /// them starts.
    fn model(
        &self,
        collection: &Collection,
        saved: Option<&Saved>,
        priors: &Priors,
    ) -> Result<Arc<ProcessModel>, Failure> {
        let threads = self.process.placement.threads;
        let terms = collection.terms_kept as usize;
        self.process.shared("model", || {
            let model = ProcessModel::new(priors, terms, threads, saved);
            let (job, seed) = (&self.process.job, self.process.job.model.seed);
            let rows = priors.row_count(terms);
            // A finished model does not need the result that its training started from.
            let is_finished = saved.is_some_and(|saved| saved.header.next.is_none());
            let start = if is_finished { Arc::default() } else { self.warm_start()? };
            let warm = (*start).as_ref();
            let warm = warm.filter(|warm| saved.is_none() || warm.model.is_partial());
            Ok(match (warm, saved) {
                (Some(warm), _) => {
                    model.starting_from(|part| warm.model.start(priors, seed, [part, threads]))
                }
                (None, Some(_)) => model,
                (None, None) => model.starting_from(|part| {
                    lda::train::start(job.train.method, seed, priors, rows, [part, threads])
                }),
            })
        })
    }

    /// Publishes the model of the result in `folder`, and what is known of its training, as this job's. From then on
    /// the job does not need that result.
    fn adopt(&self, folder: &Path, collection: &Collection) -> Result<(), Failure> {
        let result = OpenedResult::at(folder);
        let (saved, _) = result.model()?;
        let (job, output) = (&self.process.job, &self.process.output);
        // There are no sums if that job projected nothing.
        let trained = result.json(TRAINED_FILE)?;
        let trained = trained.unwrap_or_else(|| DriftSums::new(saved.header.topic_count, 0));
        let has_changed = saved.header.vocabulary_hash != collection.vocabulary_fingerprint
            || [saved.header.topic_count, trained.topics.len()] != [job.model.topics; 2];
        if has_changed {
            let folder = folder.display();
            return Err(Failure::data(format!(
                "model.from: {folder} is not the result whose terms were ingested, or is damaged"
            ))
            .help("run again with --overwrite"));
        }
        let record = TrainingRecord::of_result(&result)?;
        write_training(self.process, &record, (&[], None), collection)?;
        write_trained(self.process, &trained)?;
        let header = Header { settings_hash: job.train_hash(), ..saved.header.clone() };
        let temporary = output.temporary_path("model");
        checkpoint::write(&temporary, &header, &[&saved.parameters(0, 1)])?;
        job.check_result("model.from")?;
        output.publish(&temporary, MODEL_FILE)
    }

    /// Returns the sums over the documents that the model was trained on, if these are of another result: all terms
    /// of its collection count as theirs.
    pub(super) fn trained_elsewhere(&self) -> Result<Option<Arc<DriftSums>>, Failure> {
        if self.process.job.model_from.is_none() {
            return Ok(None);
        }
        let trained = self.process.shared("trained elsewhere", || {
            let path = self.process.output.local(TRAINED_FILE)?;
            let mut trained: DriftSums = read_json(&path, &path)?;
            let vocabulary = read_vocabulary(self.process)?;
            trained.terms = DriftSums::new(0, vocabulary.terms().len()).terms;
            let known = (0..).zip(vocabulary.terms());
            let known = known.filter(|(_, term)| term.status != TermStatus::Unknown);
            known.for_each(|(place, _)| trained.terms.insert(place));
            Ok(trained)
        })?;
        Ok(Some(trained))
    }

    /// Returns the terms that the collection lacked on which the model was trained, if this one has changed since.
    pub(super) fn unknown_terms(&self, collection: &Collection) -> Result<Arc<TermSet>, Failure> {
        if collection.generations.is_empty() {
            return Ok(Arc::default());
        }
        let find = || {
            let vocabulary = read_vocabulary(self.process)?;
            let mut unknown = TermSet::new(vocabulary.terms().len());
            let all = (0..).zip(vocabulary.terms());
            let new = all.filter(|(_, term)| term.status == TermStatus::Unknown);
            new.for_each(|(place, _)| unknown.insert(place));
            Ok::<_, Failure>(Arc::new(unknown))
        };
        Ok(Arc::clone(&*self.process.shared("unknown terms", find)?))
    }

    /// Checks that a method that always remembers something does not remember more, over all processes, than the job
    /// allows.
    fn check_shares(&self, worker: &mut Worker, sample: &Sample) -> Result<(), Failure> {
        let settings = &self.process.job.train;
        if !settings.method.always_remembers() {
            return Ok(());
        }
        let mine = match worker.index() % self.process.placement.threads {
            0 => self.remembered_lengths(sample)?.iter().sum::<usize>(),
            _ => 0,
        };
        let bytes = 2 * sum(worker, &[mine as i64])[0] as u64;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        if bytes <= settings.memory_bytes {
            return Ok(());
        }
        Err(Failure::data(format!(
            "train.method = \"{}\" remembers {:.1} MiB of this sample, 2 bytes for each topic (or label of its \
             own) and distinct term of a document, which are more than train.memory_mib = {}: raise it (what \
             exceeds train.sample_mib is kept on disk), or lower sample.documents or, without labels, model.topics",
            settings.method.name,
            mib(bytes),
            mib(settings.memory_bytes)
        )))
    }

    /// Refuses a checkpoint of another job before any documents are read. The code that resumes handles
    /// a damaged one.
    fn refuse_other_settings(&self, collection: &Collection) -> Result<(), Failure> {
        let output = &self.process.output;
        let Some(&newest) = checkpoint_rounds(output.names(CHECKPOINT_FOLDER)?).first() else {
            return Ok(());
        };
        let file = checkpoint_file(newest);
        match checkpoint::read_header(&output.local(&file)?) {
            Ok(header) => {
                let vocabulary = &collection.vocabulary_fingerprint;
                self.process.check_header(&header, vocabulary, output.path(&file))
            }
            Err(_) => Ok(()),
        }
    }
}

fn train_summary(
    record: &TrainingRecord,
    log: &[lda::train::RoundReport],
    settings: &ModelSettings,
) -> TrainSummary {
    let seconds = log.last().map_or(0.0, |last| last.seconds);
    let tokens = log.last().map_or(0, |last| last.tokens_seen);
    let passes = log.last().map_or(0, |last| last.pass + 1);
    let ended = if record.stopped_early {
        "held-out quality stopped improving".to_owned()
    } else {
        format!("{passes} passes done")
    };
    let heldout_documents = record.heldout.documents.unsigned_abs();
    let documents = counted(heldout_documents, "document");
    TrainSummary {
        seconds,
        rounds: record.rounds,
        sample_documents: record.training_documents,
        thinned_documents: record.thinned_documents,
        tokens_per_second: tokens as f64 / seconds.max(1e-9),
        heldout_loglik_per_token: record.heldout.per_token(),
        heldout_standard_error: record.heldout.standard_error(),
        heldout_documents,
        heldout_method: format!("document completion, {documents}, K = {}", settings.topics),
        tree: None,
        ended,
    }
}

/// Checks that a sample can be trained on with as many topics.
fn check_sample(
    sample: &Sample,
    collection: &Collection,
    &ModelSettings { topics, .. }: &ModelSettings,
) -> Result<(), Failure> {
    if topics as u64 > collection.terms_kept {
        let (documents, with_terms) = (collection.documents, collection.documents_with_terms);
        if 2 * with_terms < documents {
            let statuses = collection.documents_by_status.iter().filter(|(_, count)| **count > 0);
            let statuses: Vec<_> =
                statuses.map(|(status, count)| format!("{count} {status}")).collect();
            return Err(Failure::data(format!(
                "only {with_terms} of {documents} documents have terms, {} in all, too few for {topics} topics ({})",
                collection.terms_kept,
                statuses.join(", ")
            ))
            .help(
                "check what is read as text (corpus.format, corpus.text, corpus.encoding) and what is left out \
                 (vocabulary.min_documents, max_share, max_terms, stop_words)",
            ));
        }
        return Err(Failure::data(format!(
            "{topics} topics are more than the {} terms of the vocabulary: lower model.topics, or keep \
             more terms (vocabulary.min_documents, max_share, max_terms)",
            collection.terms_kept
        )));
    }
    if sample.training_documents > 0 {
        return Ok(());
    }
    let with = if collection.labels.is_empty() { "terms" } else { "terms (it needs a label too)" };
    Err(Failure::data(format!(
        "the sample contains no document to train on, of {} with {with}: raise sample.fraction or \
         sample.documents, or lower sample.held_out",
        collection.documents_with_terms
    )))
}

/// Checks that φ^p, if requested, can be estimated: it needs remembered assignments.
fn check_estimator(
    settings: &TrainSettings,
    sample: &Sample,
    schedule: &Schedule,
) -> Result<(), Failure> {
    if settings.estimator == Estimator::Counts || schedule.estimates() {
        return Ok(());
    }
    let tokens = sample.training_tokens;
    Err(Failure::data(if settings.remember(tokens) {
        format!(
            "train.estimator = \"soft\" needs Gibbs passes, and all {} passes are online: raise train.passes, \
             lower train.online_passes, or set train.estimator = \"counts\"",
            schedule.passes
        )
    } else {
        format!(
            "train.estimator = \"soft\" needs the assignments of all {tokens} tokens of the sample, which are \
             more than train.memory_mib: raise it, set train.memory = \"on\" or a smaller sample, or set \
             train.estimator = \"counts\""
        )
    }))
}
