//! The label model, learnt from documents that the topic model was trained on: how many labels a document has,
//! from its terms (the Meta-Labeler of Papanikolaou 2017, §6.3, a linear regression), and which labels
//! occur together (Dependency-LDA).
//!
//! Every process gets the documents, and learns the same. The result is stored beside the topic model, where a
//! resuming run and a stream find it.

use std::sync::Arc;

use timely::worker::Worker;

use super::examples::{Example, key_bound};
use super::gather::gather_records;
use super::process::{Once, Process, Tickets};
use super::sample::for_each_document;
use crate::checkpoint::labels::{self, LABELS_FILE};
use crate::failure::Failure;
use crate::job::Job;
use crate::wire::{Wire, unpacked};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::labels::LabelReader;
use corpus::sample::{SampleRule, Split};
use corpus::shard::Columns;
use lda::bags::Bags;
use lda::infer::Bag;
use lda::infer::labels::LabelTopics;
use lda::infer::labels::{LabelModel, count_features};
use lda::model::settings::Alpha;
use lda::regression::{Examples, Linear};
use lda::train::labels::{ALPHA_SUM, label_topics};

/// The most documents used: more do not change an estimate by a label.
const DOCUMENTS: usize = 50_000;

/// σ² of the prior of the regression's weights.
const PRIOR_VARIANCE: f64 = 0.1;

/// The most steps of conjugate gradients.
const ITERATIONS: u32 = 100;

/// The state that the workers of a process share.
#[derive(Debug, Default)]
pub(crate) struct LabelShared {
    found: Once<Option<Arc<LabelModel>>>,
    bound: Once<u64>,
    shards: Tickets,
    learnt: Once<Arc<LabelModel>>,
}

/// The documents that a worker has read, packed.
#[derive(Default)]
struct Documents {
    /// Terms, and the number of labels.
    terms: Vec<u64>,
    /// Labels, as if they were terms.
    labels: Vec<u64>,
}

/// Reads or learns the label model that the job needs. All workers must call this. `model_hash` names the topic model.
///
/// # Errors
/// A file cannot be read or written, a regression cannot be fitted, or a draw cannot be made.
pub(crate) fn label_model(
    worker: &mut Worker,
    process: &Process,
    (collection, rule): (&Collection, &SampleRule),
    model_hash: &str,
    shared: &LabelShared,
) -> Result<Arc<LabelModel>, Failure> {
    let (project, output) = (&process.job.project, &process.output);
    let Some(reader) = LabelReader::new(&process.job.corpus, &collection.labels) else {
        return Ok(Arc::default());
    };
    if !project.needs_label_model() {
        if worker.index() == 0 && output.is_published(LABELS_FILE)? {
            output.remove(LABELS_FILE)?;
        }
        return Ok(Arc::default());
    }
    let is_published = process.is_published(worker, LABELS_FILE)?;
    let found = || {
        let (hash, found) = labels::read(&output.local(LABELS_FILE)?)?;
        let wanted = project.label_model(found.clone(), collection.labels.len());
        let is_ours = hash == model_hash && wanted.as_ref() == Some(&found);
        Ok::<_, Failure>(is_ours.then(|| Arc::new(found)))
    };
    if is_published && let Some(found) = shared.found.get(found)? {
        return Ok(Arc::clone(found));
    }
    let read = read(worker, (process, collection, rule), &reader, shared)?;
    let terms = (project.estimates_label_count()).then(|| gather_records(worker, &read.terms));
    let labels = (project.label_topics > 0).then(|| gather_records(worker, &read.labels));
    let learnt = shared.learnt.get(|| {
        let topics = |labels| topics(labels, &process.job, collection.labels.len());
        Ok::<_, Failure>(Arc::new(LabelModel {
            count: terms.as_deref().map(fit).transpose()?,
            topics: labels.as_deref().map(topics).transpose()?,
        }))
    })?;
    if worker.index() == 0 {
        let temporary = output.temporary_path("labels-model");
        labels::write(&temporary, model_hash, learnt)?;
        output.publish(&temporary, LABELS_FILE)?;
    }
    Ok(Arc::clone(learnt))
}

/// Reads this worker's share of the documents that were trained on.
fn read(
    worker: &mut Worker,
    (process, collection, rule): (&Process, &Collection, &SampleRule),
    reader: &LabelReader,
    shared: &LabelShared,
) -> Result<Documents, Failure> {
    let seed = process.job.model.seed;
    let bound = || key_bound(seed, collection, rule, DOCUMENTS as u64);
    let bound = *shared.bound.make(bound);
    process.begin_documents("labels", collection);
    let (mut read, mut labels) = (Documents::default(), Vec::new());
    let columns = Columns::CountsAnd(reader.column);
    let visit = |number: u64, document: &ShardDocument| {
        process.progress.add(1);
        if !document.status.has_terms() || SampleRule::key(seed, number) > bound {
            return Ok(());
        }
        reader.read(&document.metadata, &mut labels);
        if rule.split_of(number, Some(&labels)) == Split::Sample {
            let (bag, proportions) = (document.bag(), &[labels.len() as f32][..]);
            Example { number, bag, proportions }.pack(&mut read.terms);
            let terms: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
            let bag = Bag { terms: &terms, counts: &vec![1; labels.len()] };
            Example { number, bag, proportions: &[] }.pack(&mut read.labels);
        }
        Ok(())
    };
    for_each_document(worker, process, &shared.shards, collection, columns, visit)?;
    Ok(read)
}

/// Fits the regression from terms to the number of labels.
fn fit(words: &[u64]) -> Result<Linear, Failure> {
    let mut examples = Examples::new(1);
    for document in in_order(words) {
        examples.push(count_features(document.bag), document.proportions);
    }
    Linear::fit(&examples, PRIOR_VARIANCE, ITERATIONS)
        .map_err(|error| Failure::data(format!("the number of labels: {error}")))
}

/// Learns topics over the `count` labels.
fn topics(words: &[u64], job: &Job, count: usize) -> Result<LabelTopics, Failure> {
    let alpha = job.model.alpha.clone().unwrap_or(Alpha::Sum(ALPHA_SUM));
    let alpha_sum = alpha.values(count).iter().sum();
    let size = [count, job.project.label_topics];
    Ok(label_topics(&bags(words), size, alpha_sum, job.model.seed)?)
}

/// Returns the documents as bags of labels.
fn bags(words: &[u64]) -> Bags {
    let mut bags = Bags::default();
    for document in in_order(words) {
        bags.push(document.number, document.bag.terms, document.bag.counts);
    }
    bags
}

fn in_order(words: &[u64]) -> Vec<Example<'_>> {
    let mut documents: Vec<Example<'_>> = unpacked(words).collect();
    documents.sort_unstable_by_key(|document| document.number);
    documents
}
