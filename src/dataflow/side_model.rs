//! The models beside the topic model, which are learnt from documents that it was trained on: the classifier (`maxent`)
//! and the label model (`labels`).
//!
//! The worker that reads a document packs it, and every process gets all of them once and learns the same. Process 0
//! writes the result; a run that finds one of the same settings and topic model reads it.

pub(crate) mod labels;
pub(crate) mod maxent;

use std::path::Path;
use std::sync::Arc;

use timely::worker::Worker;

use super::gather::{all_gather_blocks, in_pieces, joined};
use super::process::{Once, Process, Tickets};
use crate::failure::Failure;
use crate::wire::{Wire, unpacked};
use corpus::collection::Collection;
use corpus::sample::{SampleRule, SmallestKeys, Split};
use lda::infer::Bag;

/// A side model of a job.
pub(crate) trait SideModel {
    /// What is learnt.
    type Learnt;
    /// Its file in the output folder.
    const FILE: &'static str;
    /// The name of its stage.
    const STAGE: &'static str;

    /// Whether the job needs it.
    fn is_needed(&self) -> bool;

    /// Reads it; `None` if it belongs to another job or topic model.
    fn read(&self, path: &Path) -> Result<Option<Self::Learnt>, Failure>;

    /// Returns about how many documents it is learnt from.
    fn wanted(&self) -> u64;

    /// Packs those [`Example`]s that this worker reads whose keys are at most `bound`.
    fn examples(
        &self,
        worker: &mut Worker,
        shards: &Tickets,
        bound: u64,
    ) -> Result<Vec<u64>, Failure>;

    /// Learns it from the examples of all workers, which are in the order of their numbers.
    fn learn(&self, examples: Vec<Example<'_>>) -> Result<Self::Learnt, Failure>;

    /// Writes it.
    fn write(&self, path: &Path, learnt: &Self::Learnt) -> Result<(), Failure>;
}

/// What the workers of a process share.
#[derive(Debug)]
pub(crate) struct SideModelShared<L> {
    found: Once<Option<Arc<L>>>,
    bound: Once<u64>,
    shards: Tickets,
    learnt: Once<Arc<L>>,
}

impl<L> Default for SideModelShared<L> {
    fn default() -> Self {
        Self {
            found: Once::default(),
            bound: Once::default(),
            shards: Tickets::default(),
            learnt: Once::default(),
        }
    }
}

/// Reads or learns a side model; returns `None` if the job needs none, and then removes an earlier job's. All workers
/// must call this.
///
/// # Errors
/// A file cannot be read or written, a draw cannot be made, or there is nothing to learn from.
pub(crate) fn side_model<S: SideModel>(
    worker: &mut Worker,
    side: &S,
    process: &Process,
    (collection, rule): (&Collection, &SampleRule),
    shared: &SideModelShared<S::Learnt>,
) -> Result<Option<Arc<S::Learnt>>, Failure> {
    let output = &process.output;
    if !side.is_needed() {
        if worker.index() == 0 && output.is_published(S::FILE)? {
            output.remove(S::FILE)?;
        }
        return Ok(None);
    }
    let read = || Ok::<_, Failure>(side.read(&output.local(S::FILE)?)?.map(Arc::new));
    if process.is_published(worker, S::FILE)?
        && let Some(found) = shared.found.get(read)?
    {
        return Ok(Some(Arc::clone(found)));
    }
    let seed = process.job.model.seed;
    let bound = || Ok::<_, Failure>(key_bound(seed, collection, rule, side.wanted()));
    let bound = *shared.bound.get(bound)?;
    process.begin_documents(S::STAGE, collection);
    let mine = side.examples(worker, &shared.shards, bound)?;
    // The workers of a process share the blocks; one of them joins them.
    let gathered = all_gather_blocks(worker, in_pieces(&mine));
    drop(mine);
    let learnt = shared.learnt.get(|| {
        let words = joined(gathered.iter().flatten());
        let mut examples: Vec<Example<'_>> = unpacked(&words).collect();
        examples.sort_unstable_by_key(|example| example.number);
        Ok::<_, Failure>(Arc::new(side.learn(examples)?))
    })?;
    if worker.index() == 0 {
        let temporary = output.temporary_path(S::STAGE);
        side.write(&temporary, learnt)?;
        output.publish(&temporary, S::FILE)?;
    }
    Ok(Some(Arc::clone(learnt)))
}

/// Returns the largest key of the training documents to consider: of those, about as many as wanted have
/// terms and labels, or fewer if documents have several labels. This reads no documents.
fn key_bound(seed: u64, collection: &Collection, rule: &SampleRule, wanted: u64) -> u64 {
    let all = u128::from(collection.numbers());
    let labels = collection.labels.iter();
    let labelled = labels.map(|label| label.documents).reduce(|a, b| a + b);
    let usable = collection.documents_with_terms.saturating_sub(collection.repeated());
    let usable = labelled.map_or(usable, |labelled| labelled.min(usable));
    let looked_at = (u128::from(wanted) * all).div_ceil(u128::from(usable.max(1)));
    let mut smallest = SmallestKeys::new(looked_at.min(all) as u64);
    for document in 0..collection.numbers() {
        if rule.split(document) == Split::Sample {
            smallest.add(SampleRule::key(seed, document));
        }
    }
    smallest.bound()
}

/// A document to learn from, in the buffer that it was received in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example<'a> {
    number: u64,
    bag: Bag<'a>,
    /// Its proportions, or the numbers of its labels.
    target: &'a [f32],
}

impl<'w> Wire<'w> for Example<'w> {
    fn pack(&self, words: &mut Vec<u64>) {
        let Bag { terms, counts } = self.bag;
        (self.number, terms, counts, self.target).pack(words);
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        let (number, terms, counts, target) = Wire::unpack(words)?;
        Some(Self { number, bag: Bag { terms, counts }, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::labels::Label;
    use corpus::settings::{SampleSettings, SampleSize};

    #[test]
    fn documents_without_labels_are_not_those_that_are_wanted() {
        let settings =
            SampleSettings { size: SampleSize::Fraction(1.0), held_out: 0.0, seed: None };
        let rule = SampleRule::new(&settings, 1, u64::MAX);
        let considered = |documents: &[u64]| {
            let collection = Collection {
                documents: 1000,
                documents_with_terms: 500,
                labels: documents
                    .iter()
                    .map(|&documents| Label { label: String::new(), documents })
                    .collect(),
                ..Collection::default()
            };
            let bound = key_bound(1, &collection, &rule, 10);
            let keys = (0..1000).map(|document| SampleRule::key(1, document));
            keys.filter(|key| *key <= bound).count()
        };
        assert_eq!([considered(&[]), considered(&[400, 300])], [20, 20]);
        assert_eq!(considered(&[30, 20]), 200);
    }
}
