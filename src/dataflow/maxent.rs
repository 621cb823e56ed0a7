//! The classifier of MaxEnt inference, trained between training and projection (Yao, Mimno &
//! McCallum 2009, §5.1), if the method needs one.
//!
//! Some documents that the model was trained on are inferred against it by sampling; documents and
//! proportions go to every process, and each fits the same regression to them. Process 0 writes it
//! beside the model; a run that finds a classifier of the same settings and model reads it.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::examples::{Example, key_bound};
use super::gather::gather_records;
use super::process::{Once, Process, Tickets};
use super::process_model::ProcessModel;
use super::sample::for_each_document;
use super::splits::Splits;
use crate::checkpoint::classifier::{self, CLASSIFIER_FILE, ClassifierHeader};
use crate::failure::Failure;
use crate::job::Job;
use crate::wire::{Wire, unpacked};
use corpus::collection::Collection;
use corpus::sample::{SampleRule, Split};
use lda::infer::gibbs::Gibbs;
use lda::infer::maxent::{Classifier, features};
use lda::infer::settings::{Estimator, InferSettings};
use lda::math::random::{Stage, Stream};
use lda::regression::{Examples, Settings, fit};

/// Sweeps that are discarded, and kept, for the proportions that the classifier learns.
const SWEEPS: (u32, u32) = (20, 30);

/// The training set of the classifier, and the model that it is for.
#[derive(Clone, Copy)]
pub(crate) struct MaxEntPlan<'a> {
    /// The process.
    pub(crate) process: &'a Process,
    /// Its model, with the factors of all terms prepared as they are published.
    pub(crate) model: &'a ProcessModel,
    /// The collection.
    pub(crate) collection: &'a Collection,
    /// Which documents were trained on.
    pub(crate) rule: &'a SampleRule,
    /// The hash that names the model.
    pub(crate) model_hash: &'a str,
}

/// The state that the workers of a process share.
#[derive(Debug, Default)]
pub(crate) struct MaxEntShared {
    found: Once<Option<Arc<Classifier>>>,
    bound: Once<u64>,
    shards: Tickets,
    fitted: Once<(ClassifierHeader, Arc<Classifier>)>,
}

/// Reads or trains the classifier of the job's method; returns `None` if the method needs none, and
/// then removes an earlier job's. All workers must call this.
///
/// # Errors
/// A file cannot be read or written, a draw cannot be made, or the regression is too large or has
/// nothing to learn from.
pub(crate) fn classifier(
    worker: &mut Worker,
    plan: MaxEntPlan<'_>,
    shared: &MaxEntShared,
) -> Result<Option<Arc<Classifier>>, Failure> {
    let (process, output) = (plan.process, &plan.process.output);
    if !process.job.project.needs_classifier() {
        if worker.index() == 0 && output.is_published(CLASSIFIER_FILE)? {
            output.remove(CLASSIFIER_FILE)?;
        }
        return Ok(None);
    }
    let is_published = process.is_published(worker, CLASSIFIER_FILE)?;
    if is_published && let Some(found) = shared.found.get(|| plan.read())? {
        return Ok(Some(Arc::clone(found)));
    }
    let mine = plan.infer(worker, shared)?;
    let gathered = gather_records(worker, &mine);
    let (header, fitted) = shared.fitted.get(|| plan.fit(&gathered))?;
    if worker.index() == 0 {
        let temporary = output.temporary_path("maxent");
        classifier::write(&temporary, header, fitted)?;
        output.publish(&temporary, CLASSIFIER_FILE)?;
    }
    Ok(Some(Arc::clone(fitted)))
}

/// Whether a classifier belongs to this job and the model of this hash.
pub(crate) fn is_ours(header: &ClassifierHeader, job: &Job, model_hash: &str) -> bool {
    header.settings_hash == settings_hash(job) && header.model_hash == model_hash
}

/// Hashes the settings that a job's classifier depends on, besides the model.
fn settings_hash(job: &Job) -> String {
    let maxent = &job.project.maxent;
    let text = format!(
        "topicmill maxent 1\nseed={}\ndocuments={}\nprior_variance={:?}\niterations={}\n\
         sweeps={SWEEPS:?}\n",
        job.model.seed, maxent.documents, maxent.prior_variance, maxent.iterations
    );
    hex::encode(Sha256::digest(text))
}

impl MaxEntPlan<'_> {
    /// Reads the classifier in the output; `None` if it belongs to another job or model.
    fn read(&self) -> Result<Option<Arc<Classifier>>, Failure> {
        let path = self.process.output.local(CLASSIFIER_FILE)?;
        let (header, found) = classifier::read(&path)?;
        let is_ours = is_ours(&header, &self.process.job, self.model_hash);
        Ok(is_ours.then(|| Arc::new(found)))
    }

    fn bound(&self) -> u64 {
        let (seed, wanted) =
            (self.process.job.model.seed, self.process.job.project.maxent.documents as u64);
        key_bound(seed, self.collection, self.rule, wanted)
    }

    fn key(&self, document: u64) -> u64 {
        SampleRule::key(self.process.job.model.seed, document)
    }

    /// Infers the documents to learn from in this worker's shards; returns them packed.
    fn infer(&self, worker: &mut Worker, shared: &MaxEntShared) -> Result<Vec<u64>, Failure> {
        let process = self.process;
        let bound = *shared.bound.make(|| self.bound());
        process.begin_documents("maxent", self.collection);
        let splits = Splits::new(*self.rule, &process.job.corpus, self.collection);
        let settings = InferSettings::gibbs(SWEEPS.0, SWEEPS.1, Estimator::Soft);
        let (mut gibbs, mut words) = (Gibbs::default(), Vec::new());
        self.model.with_table(|table| {
            let visit = |number: u64, document: &corpus::ShardDocument| {
                process.progress.add(1);
                let is_wanted = document.status.has_terms()
                    && self.key(number) <= bound
                    && splits.of(number, document) == Split::Sample;
                if !is_wanted {
                    return Ok(());
                }
                let bag = document.bag();
                let seed = process.job.model.seed;
                let mut stream = Stream::keyed(seed, Stage::MaxEnt, 0, number);
                let proportions = gibbs
                    .infer(bag, table, &settings, &mut stream)
                    .map_err(Failure::drawing("document", number))?;
                Example { number, bag, proportions }.pack(&mut words);
                Ok(())
            };
            for_each_document(
                worker,
                process,
                &shared.shards,
                self.collection,
                splits.columns(),
                visit,
            )
        })?;
        Ok(words)
    }

    /// Fits the regression to the documents of all workers: those with the smallest keys, in the
    /// order of their numbers.
    fn fit(&self, gathered: &[u64]) -> Result<(ClassifierHeader, Arc<Classifier>), Failure> {
        let process = self.process;
        let settings = &process.job.project.maxent;
        let topics = process.topic_count(self.collection);
        let mut documents: Vec<Example<'_>> = unpacked(gathered).collect();
        documents.sort_unstable_by_key(|document| self.key(document.number));
        documents.truncate(settings.documents);
        documents.sort_unstable_by_key(|document| document.number);
        let mut examples = Examples::new(topics);
        for document in &documents {
            examples.push(features(document.bag), document.proportions);
        }
        let progress = &process.progress;
        let iterations = u64::from(settings.iterations);
        progress.begin("maxent", "iterations", Some(iterations));
        let wanted = Settings {
            prior_variance: settings.prior_variance,
            iterations: settings.iterations,
            threads: process.placement.threads,
            most_bytes: settings.most_bytes,
            ..Settings::default()
        };
        let fitted = fit(&examples, &wanted, &mut |n| progress.set(u64::from(n)));
        let fitted = fitted.map_err(|error| {
            Failure::data(format!(
                "the classifier that project.method needs: {error} (vocabulary.max_terms, \
                 model.topics, maxent.memory_mib, project.method)"
            ))
        })?;
        tracing::info!(
            documents = documents.len(),
            terms = fitted.features.len(),
            iterations = fitted.iterations,
            loss = fitted.loss,
            "classifier trained"
        );
        if !fitted.is_converged {
            let (iterations, loss) = (fitted.iterations, fitted.loss);
            tracing::warn!(iterations, loss, "classifier has not converged");
        }
        let vocabulary_size = self.collection.terms_kept as usize;
        let made = Classifier::from_fitted(&fitted, vocabulary_size)
            .ok_or_else(|| Failure::data("the classifier's weights overflow"))?;
        let header = ClassifierHeader {
            settings_hash: settings_hash(&self.process.job),
            model_hash: self.model_hash.to_owned(),
            topic_count: topics,
            vocabulary_size,
            term_count: made.terms().len(),
            documents: documents.len() as u64,
            iterations: fitted.iterations,
            loss: fitted.loss,
        };
        Ok((header, Arc::new(made)))
    }
}
