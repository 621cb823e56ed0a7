//! Checks that a sample can be trained on with the job's settings.

use timely::worker::Worker;

use super::Run;
use crate::dataflow::gather::sum;
use crate::dataflow::sample::Sample;
use crate::failure::Failure;
use corpus::collection::Collection;
use lda::infer::settings::Estimator;
use lda::model::settings::ModelSettings;
use lda::train::schedule::Schedule;
use lda::train::settings::TrainSettings;

impl Run<'_> {
    /// Checks that a method that always remembers something does not remember more, over all processes, than the job
    /// allows.
    pub(super) fn check_shares(&self, worker: &mut Worker, sample: &Sample) -> Result<(), Failure> {
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
}

pub(super) fn check_sample(
    sample: &Sample,
    collection: &Collection,
    &ModelSettings { topics, .. }: &ModelSettings,
) -> Result<(), Failure> {
    if topics as u64 > collection.terms_kept {
        let (documents, with_terms) = (collection.documents, collection.documents_with_terms);
        if 2 * with_terms < documents {
            return Err(Failure::data(format!(
                "only {with_terms} of {documents} documents have terms, {} in all, too few for {topics} topics: look at \
                 the others first; a job with [project] method = \"none\" and fewer topics writes why each has none \
                 to the table `documents`",
                collection.terms_kept
            )));
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
pub(super) fn check_estimator(
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
