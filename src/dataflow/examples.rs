//! Documents that the model was trained on, as examples for what else is learnt of them: some are packed by the
//! worker that reads them, and gathered on all.

use corpus::collection::Collection;
use corpus::sample::{SampleRule, SmallestKeys, Split};
use lda::infer::Bag;

/// The largest key of the documents to consider, of those trained on: about as many as wanted have terms.
/// This takes no look at the documents.
pub(super) fn key_bound(seed: u64, collection: &Collection, rule: &SampleRule, wanted: u64) -> u64 {
    let all = u128::from(collection.documents);
    let with_terms = u128::from(collection.documents_with_terms.max(1));
    let looked_at = (u128::from(wanted) * all).div_ceil(with_terms);
    let mut smallest = SmallestKeys::new(looked_at.min(all) as u64);
    for document in 0..collection.documents {
        if rule.split(document) == Split::Sample {
            smallest.add(SampleRule::key(seed, document));
        }
    }
    smallest.bound()
}

/// A document as it travels: number, number of terms, (term, count) pairs, and two proportions a
/// word.
pub(super) fn pack(number: u64, bag: Bag<'_>, proportions: &[f32], words: &mut Vec<u64>) {
    words.push(number);
    words.push(bag.terms.len() as u64);
    let pairs = bag.terms.iter().zip(bag.counts);
    words.extend(pairs.map(|(&w, &n)| u64::from(w) << 32 | u64::from(n)));
    words.extend(proportions.chunks(2).map(|two| {
        let second = two.get(1).map_or(0, |p| p.to_bits());
        u64::from(second) << 32 | u64::from(two[0].to_bits())
    }));
}

/// A document with its proportions, still packed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Example<'a> {
    pub(super) number: u64,
    pairs: &'a [u64],
    proportions: &'a [u64],
    topics: usize,
}

/// The total number of documents that a worker has packed.
pub(super) fn unpack(words: &[u64], topics: usize) -> Vec<Example<'_>> {
    let (mut documents, mut rest) = (Vec::new(), words);
    while let [number, length, others @ ..] = rest {
        let (pairs, others) = others.split_at(*length as usize);
        let (proportions, others) = others.split_at(topics.div_ceil(2));
        documents.push(Example {
            number: *number,
            pairs,
            proportions,
            topics,
        });
        rest = others;
    }
    documents
}

impl Example<'_> {
    /// Its terms, the tokens of each, and the proportions.
    pub(super) fn parts(&self) -> (Vec<u32>, Vec<u32>, Vec<f32>) {
        let both = |&word: &u64| [word as u32, (word >> 32) as u32].map(f32::from_bits);
        let mut target: Vec<f32> = self.proportions.iter().flat_map(both).collect();
        target.truncate(self.topics);
        let pairs = self
            .pairs
            .iter()
            .map(|&pair| ((pair >> 32) as u32, pair as u32));
        let (terms, counts) = pairs.unzip();
        (terms, counts, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::regression::Examples;

    #[test]
    fn documents_come_out_as_they_were_packed() {
        for topics in [1, 4, 5] {
            let proportions: Vec<f32> = (0..topics).map(|k| 0.1 + k as f32).collect();
            let bags = [
                (vec![2, 7, u32::MAX], vec![1, u32::MAX >> 9, 3]),
                (vec![], vec![]),
            ];
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
                let (terms, counts, target) = document.parts();
                let values = counts.into_iter().map(|n| n as f32);
                found.push(terms.into_iter().zip(values), &target);
            }
            assert_eq!(found, expected);
        }
    }
}
