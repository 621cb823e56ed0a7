//! The classifier of MaxEnt inference, trained between training and projection (Yao, Mimno &
//! McCallum 2009, §5.1), if the method needs one.
//!
//! Some documents that the model was trained on are inferred against it by sampling, and a regression is fitted to
//! their proportions.

use std::path::Path;

use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::{Example, SideModel};
use crate::checkpoint::classifier::{self, CLASSIFIER_FILE, ClassifierHeader};
use crate::config::Job;
use crate::dataflow::process::{Process, Tickets};
use crate::dataflow::process_model::ProcessModel;
use crate::dataflow::sample::{Splits, for_each_document};
use crate::failure::Failure;
use crate::wire::Wire;
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
    fn key(&self, document: u64) -> u64 {
        SampleRule::key(self.process.job.model.seed, document)
    }
}

impl SideModel for MaxEntPlan<'_> {
    type Learnt = (ClassifierHeader, Classifier);
    const FILE: &'static str = CLASSIFIER_FILE;
    const STAGE: &'static str = "maxent";

    fn is_needed(&self) -> bool {
        self.process.job.project.needs_classifier()
    }

    fn read(&self, path: &Path) -> Result<Option<Self::Learnt>, Failure> {
        let found = classifier::read(path)?;
        Ok(is_ours(&found.0, &self.process.job, self.model_hash).then_some(found))
    }

    fn wanted(&self) -> u64 {
        self.process.job.project.maxent.documents as u64
    }

    /// Infers the documents.
    fn examples(
        &self,
        worker: &mut Worker,
        shards: &Tickets,
        bound: u64,
    ) -> Result<Vec<u64>, Failure> {
        let process = self.process;
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
                Example { number, bag, target: proportions }.pack(&mut words);
                Ok(())
            };
            for_each_document(worker, process, shards, self.collection, splits.columns(), visit)
        })?;
        Ok(words)
    }

    /// Fits the regression to the documents with the smallest keys.
    fn learn(&self, mut documents: Vec<Example<'_>>) -> Result<Self::Learnt, Failure> {
        let process = self.process;
        let settings = &process.job.project.maxent;
        let topics = process.topic_count(self.collection);
        documents.sort_unstable_by_key(|document| self.key(document.number));
        documents.truncate(settings.documents);
        documents.sort_unstable_by_key(|document| document.number);
        let mut examples = Examples::new(topics);
        for document in &documents {
            examples.push(features(document.bag), document.target);
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
        Ok((header, made))
    }

    fn write(&self, path: &Path, (header, made): &Self::Learnt) -> Result<(), Failure> {
        classifier::write(path, header, made)
    }
}
