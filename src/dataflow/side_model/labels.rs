//! The label model, learnt from documents that the topic model was trained on: how many labels a document has,
//! from its terms (the Meta-Labeler of Papanikolaou 2017, §6.3, a linear regression), and which labels
//! occur together (Dependency-LDA).

use std::path::Path;
use std::sync::Arc;

use timely::worker::Worker;

use super::{Example, SideModel, SideModelShared, side_model};
use crate::checkpoint::labels::{self, LABELS_FILE};
use crate::config::Job;
use crate::dataflow::process::{Process, Tickets};
use crate::dataflow::sample::for_each_document;
use crate::failure::Failure;
use crate::wire::Wire;
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::labels::LabelReader;
use corpus::sample::{SampleRule, Split};
use corpus::shard::Columns;
use lda::bags::Bags;
use lda::infer::labels::LabelTopics;
use lda::infer::labels::{LabelModel, count_features};
use lda::model::settings::Alpha;
use lda::regression::{Examples, Linear};
use lda::train::labels::{ALPHA_SUM, label_topics};

/// The most documents used: more do not change an estimate by a label.
const DOCUMENTS: u64 = 50_000;

/// σ² of the prior of the regression's weights.
const PRIOR_VARIANCE: f64 = 0.1;

/// The most steps of conjugate gradients.
const ITERATIONS: u32 = 100;

/// The training documents of the label model, and the topic model that it is for.
struct LabelPlan<'a> {
    process: &'a Process,
    collection: &'a Collection,
    rule: &'a SampleRule,
    model_hash: &'a str,
    reader: LabelReader,
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
    shared: &SideModelShared<LabelModel>,
) -> Result<Arc<LabelModel>, Failure> {
    let Some(reader) = LabelReader::new(&process.job.corpus, &collection.labels) else {
        return Ok(Arc::default());
    };
    let plan = LabelPlan { process, collection, rule, model_hash, reader };
    let found = side_model(worker, &plan, process, (collection, rule), shared)?;
    Ok(found.unwrap_or_default())
}

impl SideModel for LabelPlan<'_> {
    type Learnt = LabelModel;
    const FILE: &'static str = LABELS_FILE;
    const STAGE: &'static str = "labels";

    fn is_needed(&self) -> bool {
        self.process.job.project.needs_label_model()
    }

    fn read(&self, path: &Path) -> Result<Option<LabelModel>, Failure> {
        let (hash, found) = labels::read(path)?;
        let project = &self.process.job.project;
        let wanted = project.label_model(found.clone(), self.collection.labels.len());
        let is_ours = hash == self.model_hash && wanted.as_ref() == Some(&found);
        Ok(is_ours.then_some(found))
    }

    fn wanted(&self) -> u64 {
        DOCUMENTS
    }

    fn examples(
        &self,
        worker: &mut Worker,
        shards: &Tickets,
        bound: u64,
    ) -> Result<Vec<u64>, Failure> {
        let Self { process, collection, rule, reader, .. } = self;
        let (mut words, mut labels) = (Vec::new(), Vec::new());
        let columns = Columns::CountsAnd(reader.column);
        let visit = |number: u64, document: &ShardDocument| {
            process.progress.add(1);
            let key = SampleRule::key(process.job.model.seed, number);
            if !document.status.has_terms() || key > bound {
                return Ok(());
            }
            reader.read(&document.metadata, &mut labels);
            if rule.split_of(number, document, Some(&labels)) == Split::Sample {
                let target: Vec<f32> = labels.iter().map(|&label| f32::from(label)).collect();
                Example { number, bag: document.bag(), target: &target }.pack(&mut words);
            }
            Ok(())
        };
        for_each_document(worker, process, shards, collection, columns, visit)?;
        Ok(words)
    }

    fn learn(&self, documents: Vec<Example<'_>>) -> Result<LabelModel, Failure> {
        let (job, labels) = (&self.process.job, self.collection.labels.len());
        let count = job.project.estimates_label_count().then(|| fit(&documents)).transpose()?;
        let has_topics = job.project.label_topics > 0;
        let topics = has_topics.then(|| topics(&documents, job, labels)).transpose()?;
        Ok(LabelModel { count, topics })
    }

    fn write(&self, path: &Path, learnt: &LabelModel) -> Result<(), Failure> {
        labels::write(path, self.model_hash, learnt)
    }
}

/// Fits the regression from terms to the number of labels.
fn fit(documents: &[Example<'_>]) -> Result<Linear, Failure> {
    let mut examples = Examples::new(1);
    for document in documents {
        examples.push(count_features(document.bag), &[document.target.len() as f32]);
    }
    Linear::fit(&examples, PRIOR_VARIANCE, ITERATIONS)
        .map_err(|error| Failure::data(format!("the number of labels: {error}")))
}

/// Learns topics over the `count` labels.
fn topics(documents: &[Example<'_>], job: &Job, count: usize) -> Result<LabelTopics, Failure> {
    let alpha = job.model.alpha.clone().unwrap_or(Alpha::Sum(ALPHA_SUM));
    let alpha_sum = alpha.values(count).iter().sum();
    let size = [count, job.project.label_topics];
    let mut bags = Bags::default();
    for document in documents {
        let terms: Vec<u32> = document.target.iter().map(|&label| label as u32).collect();
        bags.push(document.number, &terms, &vec![1; terms.len()]);
    }
    Ok(label_topics(&bags, size, alpha_sum, job.model.seed)?)
}
