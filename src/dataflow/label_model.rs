//! What is learnt of labels besides their topics, on documents that the model was trained on: how many labels
//! a document has, from its terms (the Meta-Labeler of Papanikolaou 2017, §6.3, a linear regression), and
//! which of them come together (Dependency-LDA).
//!
//! Documents go to every process, and each learns the same. It takes a pass over the shards and some seconds,
//! so that it is not stored: a run that resumes does it again.

use timely::worker::Worker;

use super::error::RunError;
use super::examples::{Example, gather, key_bound, pack, unpack};
use super::process::{Once, Process, Tickets};
use super::sample::for_each_document;
use crate::corpus::ShardDocument;
use crate::corpus::collection::Collection;
use crate::corpus::labels::LabelReader;
use crate::corpus::sample::{SampleRule, Split};
use crate::corpus::shard::Columns;
use lda::bags::Bags;
use lda::infer::Bag;
use lda::infer::label_topics::LabelTopics;
use lda::model::settings::Alpha;
use lda::regression::{Examples, Linear};
use lda::train::labels::{ALPHA_SUM, count_features, label_topics};

/// Documents that are looked at, at most: more change no estimate by a label.
const DOCUMENTS: usize = 50_000;

/// σ² of the prior of the regression's weights.
const PRIOR_VARIANCE: f64 = 0.1;

/// Steps of conjugate gradients, at most.
const ITERATIONS: u32 = 100;

/// What was learnt, as far as the job asks for it.
#[derive(Clone, Debug, Default)]
pub struct LabelModel {
    /// How many labels a document has.
    pub count: Option<Linear>,
    /// Topics over labels.
    pub topics: Option<LabelTopics>,
}

/// What the workers of a process share.
#[derive(Debug, Default)]
pub struct LabelShared {
    bound: Once<u64>,
    shards: Tickets,
    learnt: Once<LabelModel>,
}

/// What a worker has read, packed.
#[derive(Default)]
struct Documents {
    /// Terms, and the number of labels.
    terms: Vec<u64>,
    /// Labels, as if they were terms.
    labels: Vec<u64>,
}

/// Learns what the job asks for. All workers must call it.
///
/// # Errors
/// Files that cannot be read; a regression that cannot be fitted; a draw that cannot be made.
pub fn label_model<'s>(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    rule: &SampleRule,
    shared: &'s LabelShared,
) -> Result<&'s LabelModel, RunError> {
    let (project, model) = (&process.job.project, &process.job.model);
    let counts = project.label_count.is_none() && project.label_threshold == 0.0;
    let depends = project.label_topics > 0;
    let reader = LabelReader::new(&process.job.corpus, &collection.labels);
    let Some(reader) = reader.filter(|_| counts || depends) else {
        return shared.learnt.get(|| Ok(LabelModel::default()));
    };
    let read = read(worker, (process, collection, rule), &reader, shared)?;
    let streams = [(counts, read.terms), (depends, read.labels)].map(|(is_wanted, words)| {
        if is_wanted {
            gather(worker, &words)
        } else {
            Vec::new()
        }
    });
    shared.learnt.get(|| {
        let [terms, labels] = &streams;
        Ok(LabelModel {
            count: counts.then(|| fit(terms)).transpose()?,
            topics: depends
                .then(|| {
                    let sets = bags(labels);
                    let size = [collection.labels.len(), project.label_topics];
                    let alpha = model.alpha.clone().unwrap_or(Alpha::Sum(ALPHA_SUM));
                    let alpha_sum = alpha.values(size[0]).iter().sum();
                    label_topics(&sets, size, alpha_sum, model.seed)
                })
                .transpose()?,
        })
    })
}

/// Reads this worker's share of the documents that were trained on.
fn read(
    worker: &mut Worker,
    (process, collection, rule): (&Process, &Collection, &SampleRule),
    reader: &LabelReader,
    shared: &LabelShared,
) -> Result<Documents, RunError> {
    let seed = process.job.model.seed;
    let bound = || Ok::<_, RunError>(key_bound(seed, collection, rule, DOCUMENTS as u64));
    let bound = *shared.bound.get(bound)?;
    let total = Some(process.share(collection));
    process.progress.begin("labels", "documents", total);
    let (mut read, mut labels) = (Documents::default(), Vec::new());
    let columns = Columns::CountsAnd(reader.column);
    let visit = |number: u64, document: &ShardDocument| {
        process.progress.add(1);
        if !document.status.has_terms() || SampleRule::key(seed, number) > bound {
            return Ok(());
        }
        reader.read(&document.metadata, &mut labels);
        if rule.split_of(number, Some(&labels)) == Split::Sample {
            let (terms, counts) = (&document.terms, &document.counts);
            let target = [labels.len() as f32];
            pack(number, Bag { terms, counts }, &target, &mut read.terms);
            let terms: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
            let (terms, counts) = (&terms[..], &vec![1; labels.len()][..]);
            pack(number, Bag { terms, counts }, &[], &mut read.labels);
        }
        Ok(())
    };
    for_each_document(worker, process, &shared.shards, collection, columns, visit)?;
    Ok(read)
}

/// The regression from terms to how many labels there are.
fn fit(streams: &[Vec<u64>]) -> Result<Linear, RunError> {
    let mut examples = Examples::new(1);
    for document in in_order(streams, 1) {
        let (terms, counts, target) = document.parts();
        let (terms, counts) = (&terms[..], &counts[..]);
        examples.push(count_features(Bag { terms, counts }), &target);
    }
    Linear::fit(&examples, PRIOR_VARIANCE, ITERATIONS)
        .map_err(|error| RunError::Data(format!("the number of labels: {error}")))
}

/// The documents as bags of labels.
fn bags(streams: &[Vec<u64>]) -> Bags {
    let mut bags = Bags::default();
    for document in in_order(streams, 0) {
        let (labels, counts, _) = document.parts();
        bags.push(document.number, &labels, &counts);
    }
    bags
}

fn in_order(streams: &[Vec<u64>], targets: usize) -> Vec<Example<'_>> {
    let mut documents: Vec<_> = streams
        .iter()
        .flat_map(|words| unpack(words, targets))
        .collect();
    documents.sort_unstable_by_key(|document| document.number);
    documents
}
