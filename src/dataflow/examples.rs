//! Training documents as examples for the other models that are learnt from them: the worker that reads a
//! document packs it, and all workers gather them.

use bytemuck::{cast_slice, pod_collect_to_vec};

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

/// Packs a document: its number, the number of its terms, terms, counts, proportions.
pub(super) fn pack(number: u64, bag: Bag<'_>, proportions: &[f32], words: &mut Vec<u64>) {
    words.extend([number, bag.terms.len() as u64]);
    words.extend(pod_collect_to_vec::<_, u64>(bag.terms));
    words.extend(pod_collect_to_vec::<_, u64>(bag.counts));
    words.extend(pod_collect_to_vec::<_, u64>(proportions));
}

/// A document with its proportions, in the buffer that it was received in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example<'a> {
    pub(super) number: u64,
    pub(super) bag: Bag<'a>,
    pub(super) proportions: &'a [f32],
}

/// Unpacks documents packed by `pack`.
pub(super) fn unpack(words: &[u64], topics: usize) -> Vec<Example<'_>> {
    let (mut documents, mut rest) = (Vec::new(), words);
    while let [number, length, others @ ..] = rest {
        let length = *length as usize;
        let (terms, others) = others.split_at(length.div_ceil(2));
        let (counts, others) = others.split_at(length.div_ceil(2));
        let (proportions, others) = others.split_at(topics.div_ceil(2));
        documents.push(Example {
            number: *number,
            bag: Bag { terms: &cast_slice(terms)[..length], counts: &cast_slice(counts)[..length] },
            proportions: &cast_slice(proportions)[..topics],
        });
        rest = others;
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::labels::Label;
    use corpus::settings::{SampleSettings, SampleSize};
    use lda::regression::Examples;

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

    #[test]
    fn documents_come_out_as_they_were_packed() {
        for topics in [1, 4, 5] {
            let proportions: Vec<f32> = (0..topics).map(|k| 0.1 + k as f32).collect();
            let bags = [(vec![2, 7, u32::MAX], vec![1, u32::MAX >> 9, 3]), (vec![], vec![])];
            let (mut words, mut expected) = (Vec::new(), Examples::new(topics));
            for (number, (terms, counts)) in (5..).zip(&bags) {
                pack(number, Bag { terms, counts }, &proportions, &mut words);
                let values = counts.iter().map(|&n| n as f32);
                expected.push(terms.iter().copied().zip(values), &proportions);
            }
            let mut found = Examples::new(topics);
            let documents = unpack(&words, topics);
            assert_eq!([documents[0].number, documents[1].number], [5, 6]);
            for document in &documents {
                let Bag { terms, counts } = document.bag;
                let values = counts.iter().map(|&n| n as f32);
                found.push(terms.iter().copied().zip(values), document.proportions);
            }
            assert_eq!(found, expected);
        }
    }
}
