//! How many labels a document has, estimated from its terms: the Meta-Labeler of Papanikolaou 2017, §6.3, a
//! linear regression on documents that the model was trained on.
//!
//! Documents go to every process, and each fits the same regression. It takes a pass over the shards and
//! some seconds, so that it is not stored: a run that resumes fits it again.

use timely::worker::Worker;

use super::block::MAX_BLOCK_WORDS;
use super::error::RunError;
use super::gather::all_gather_blocks;
use super::maxent::{key_bound, pack, unpack};
use super::process::{Once, Process, Tickets};
use super::sample::for_each_document;
use crate::corpus::collection::Collection;
use crate::corpus::labels::LabelReader;
use crate::corpus::sample::{SampleRule, Split};
use crate::corpus::shard::Columns;
use lda::infer::Bag;
use lda::regression::{Examples, Linear};
use lda::train::labels::count_features;

/// Documents that it is fitted to, at most: more change no estimate by a label.
const DOCUMENTS: usize = 50_000;

/// σ² of the weights' prior.
const PRIOR_VARIANCE: f64 = 0.1;

/// Steps of conjugate gradients, at most.
const ITERATIONS: u32 = 100;

/// What the workers of a process share.
#[derive(Debug, Default)]
pub struct LabelCountShared {
    bound: Once<u64>,
    shards: Tickets,
    fitted: Once<Linear>,
}

/// The regression, if the job asks for it. All workers must call it.
///
/// # Errors
/// Files that cannot be read; a regression that cannot be fitted.
pub fn label_count<'s>(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    rule: &SampleRule,
    shared: &'s LabelCountShared,
) -> Result<Option<&'s Linear>, RunError> {
    let project = &process.job.project;
    let is_wanted = project.label_count.is_none() && project.label_threshold == 0.0;
    let reader = LabelReader::new(&process.job.corpus, &collection.labels);
    let Some(reader) = reader.filter(|_| is_wanted) else {
        return Ok(None);
    };
    let seed = process.job.model.seed;
    let bound = || Ok::<_, RunError>(key_bound(seed, collection, rule, DOCUMENTS as u64));
    let bound = *shared.bound.get(bound)?;
    let total = Some(process.share(collection));
    process.progress.begin("labels", "documents", total);
    let (mut words, mut labels) = (Vec::new(), Vec::new());
    let columns = Columns::CountsAnd(reader.column);
    for_each_document(
        worker,
        process,
        &shared.shards,
        collection,
        columns,
        |number, document| {
            process.progress.add(1);
            if !document.status.has_terms() || SampleRule::key(seed, number) > bound {
                return Ok(());
            }
            reader.read(&document.metadata, &mut labels);
            if rule.split_of(number, Some(&labels)) == Split::Sample {
                let (terms, counts) = (&document.terms, &document.counts);
                let target = [labels.len() as f32];
                pack(number, Bag { terms, counts }, &target, &mut words);
            }
            Ok(())
        },
    )?;
    let mine = words.chunks(MAX_BLOCK_WORDS).map(<[u64]>::to_vec).collect();
    let gathered = all_gather_blocks(worker, mine);
    let fitted = shared.fitted.get(|| {
        let streams: Vec<Vec<u64>> = gathered
            .iter()
            .map(|blocks| blocks.iter().flat_map(|b| b.words()).copied().collect())
            .collect();
        let mut documents: Vec<_> = streams.iter().flat_map(|words| unpack(words, 1)).collect();
        documents.sort_unstable_by_key(|document| document.number);
        let mut examples = Examples::new(1);
        for document in &documents {
            let (terms, counts, target) = document.parts();
            let (terms, counts) = (&terms[..], &counts[..]);
            examples.push(count_features(Bag { terms, counts }), &target);
        }
        Linear::fit(&examples, PRIOR_VARIANCE, ITERATIONS)
            .map_err(|error| RunError::Data(format!("the number of labels: {error}")))
    })?;
    Ok(Some(fitted))
}
