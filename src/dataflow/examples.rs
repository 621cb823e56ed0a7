//! Training documents as examples for the other models that are learnt from them: the worker that reads a
//! document packs it, and all workers gather them.

use crate::wire::Wire;
use corpus::collection::Collection;
use corpus::sample::{SampleRule, SmallestKeys, Split};
use lda::infer::Bag;

/// Returns the largest key of the training documents to consider: of those, about as many as wanted have
/// terms and labels, or fewer if documents have several labels. This reads no documents.
pub(super) fn key_bound(seed: u64, collection: &Collection, rule: &SampleRule, wanted: u64) -> u64 {
    let all = u128::from(collection.documents);
    let labels = collection.labels.iter();
    let labelled = labels.map(|label| label.documents).reduce(|a, b| a + b);
    let usable = collection.documents_with_terms;
    let usable = labelled.map_or(usable, |labelled| labelled.min(usable));
    let looked_at = (u128::from(wanted) * all).div_ceil(u128::from(usable.max(1)));
    let mut smallest = SmallestKeys::new(looked_at.min(all) as u64);
    for document in 0..collection.documents {
        if rule.split(document) == Split::Sample {
            smallest.add(SampleRule::key(seed, document));
        }
    }
    smallest.bound()
}

/// A document with its proportions, in the buffer that it was received in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example<'a> {
    pub(super) number: u64,
    pub(super) bag: Bag<'a>,
    pub(super) proportions: &'a [f32],
}

impl<'w> Wire<'w> for Example<'w> {
    fn pack(&self, words: &mut Vec<u64>) {
        let Bag { terms, counts } = self.bag;
        (self.number, terms, counts, self.proportions).pack(words);
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        let (number, terms, counts, proportions) = Wire::unpack(words)?;
        Some(Self { number, bag: Bag { terms, counts }, proportions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::labels::Label;
    use corpus::settings::{SampleSettings, SampleSize};

    #[test]
    fn documents_without_labels_are_not_those_that_are_wanted() {
        let settings = SampleSettings { size: SampleSize::Fraction(1.0), held_out: 0.0 };
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
