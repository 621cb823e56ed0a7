//! Documents as bags of words, in memory: the form in which training takes them.

use crate::math::random::Stream;

/// A document: distinct terms, ascending, and how often each occurs.
#[derive(Clone, Copy, Debug)]
pub struct Bag<'a> {
    /// Distinct terms, ascending; below the size of the model's vocabulary, or inference panics.
    pub terms: &'a [u32],
    /// The tokens of each term; as long as `terms`.
    pub counts: &'a [u32],
}

impl Bag<'_> {
    /// Returns N_d.
    pub fn token_count(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }
}

/// Returns terms and counts of `most` of a document's tokens, drawn without replacement (Knuth's algorithm S); of all, if
/// there are no more.
pub fn thinned(bag: Bag<'_>, most: u64, stream: &mut Stream) -> (Vec<u32>, Vec<u32>) {
    let (mut left, mut wanted) = (bag.token_count(), most);
    let mut drawn = (Vec::new(), Vec::new());
    for (&term, &count) in bag.terms.iter().zip(bag.counts) {
        let mut taken = 0;
        for _ in 0..count {
            let is_taken = stream.below(left) < wanted;
            left -= 1;
            wanted -= u64::from(is_taken);
            taken += u32::from(is_taken);
        }
        if taken > 0 {
            drawn.0.push(term);
            drawn.1.push(taken);
        }
    }
    drawn
}

/// Bags of words in memory: term ids and counts of many documents, end to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Bags {
    documents: Vec<u64>,
    ends: Vec<usize>,
    terms: Vec<u32>,
    counts: Vec<u32>,
    /// The labels of documents, end to end, and where those of each document end, up to the last document that has
    /// any.
    labels: (Vec<u16>, Vec<usize>),
}

impl Default for Bags {
    fn default() -> Self {
        Self {
            documents: Vec::new(),
            ends: vec![0],
            terms: Vec::new(),
            counts: Vec::new(),
            labels: Default::default(),
        }
    }
}

impl Bags {
    /// Adds a document, which may be empty. `document` is its number, by which its random draws are keyed. Its terms
    /// must ascend, below the size of the vocabulary; its counts must be at least 1.
    ///
    /// # Panics
    /// Panics if there are more or fewer counts than terms.
    pub fn push(&mut self, document: u64, terms: &[u32], counts: &[u32]) {
        assert_eq!(terms.len(), counts.len(), "counts of terms");
        self.documents.push(document);
        self.terms.extend_from_slice(terms);
        self.counts.extend_from_slice(counts);
        self.ends.push(self.terms.len());
    }

    /// Returns the bytes of `documents` documents with this many (document, term) pairs, without labels.
    pub fn bytes(pairs: u64, documents: u64) -> u64 {
        pairs * size_of::<[u32; 2]>() as u64 + documents * size_of::<(u64, usize)>() as u64
    }

    /// Labels the document added last, at most once: it may have only these topics. `labels` must ascend, below the
    /// number of topics.
    ///
    /// # Panics
    /// Panics if there is no document.
    pub fn label(&mut self, labels: &[u16]) {
        let (all, ends) = &mut self.labels;
        if !labels.is_empty() {
            ends.resize(self.documents.len() - 1, all.len());
            all.extend_from_slice(labels);
            ends.push(all.len());
        }
    }

    /// Returns the document's labels, ascending: the topics that it may have. If there are none, it may have all.
    pub fn labels(&self, index: usize) -> &[u16] {
        let (all, ends) = &self.labels;
        let Some(&end) = ends.get(index) else {
            return &[];
        };
        let start = index.checked_sub(1).map_or(0, |before| ends[before]);
        &all[start..end]
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the document's number in the collection.
    pub fn document(&self, index: usize) -> u64 {
        self.documents[index]
    }

    /// Returns the index of a document or, as the error, where it would be inserted. Documents must ascend by number.
    pub fn find(&self, document: u64) -> Result<usize, usize> {
        self.documents.binary_search(&document)
    }

    /// Returns the document's terms and counts.
    pub fn bag(&self, index: usize) -> Bag<'_> {
        let range = self.ends[index]..self.ends[index + 1];
        Bag { terms: &self.terms[range.clone()], counts: &self.counts[range] }
    }

    /// Returns the number of tokens of each document.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|index| self.bag(index).token_count() as usize)
    }

    /// Returns the number of tokens of all documents.
    pub fn token_count(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }

    /// Adds all documents of `other`.
    pub fn append(&mut self, other: &Self) {
        for index in 0..other.len() {
            let Bag { terms, counts } = other.bag(index);
            self.push(other.document(index), terms, counts);
            self.label(other.labels(index));
        }
    }

    /// Returns the same documents, ascending by number: the order in which results are reproducible. The pieces of
    /// a document, added in the order of its terms, become one document again.
    pub fn sorted(&self) -> Self {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&i| self.documents[i]);
        let mut sorted = Self::default();
        sorted.terms.reserve(self.terms.len());
        sorted.counts.reserve(self.counts.len());
        for index in order {
            let Bag { terms, counts } = self.bag(index);
            let is_piece = sorted.documents.last() == Some(&self.documents[index]);
            if is_piece {
                sorted.documents.pop();
                sorted.ends.pop();
            }
            sorted.push(self.documents[index], terms, counts);
            if !is_piece {
                sorted.label(self.labels(index));
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Stage;

    #[test]
    fn documents_keep_their_labels() {
        let mut bags = Bags::default();
        for (document, labels) in [(5, &[][..]), (3, &[2, 9]), (4, &[]), (1, &[0]), (2, &[])] {
            bags.push(document, &[7], &[1]);
            bags.label(labels);
        }
        let labels = |bags: &Bags| -> Vec<Vec<u16>> {
            (0..bags.len()).map(|i| bags.labels(i).to_vec()).collect()
        };
        let expected = [vec![], vec![2, 9], vec![], vec![0], vec![]];
        assert_eq!(labels(&bags), expected);
        let sorted = [vec![0], vec![], vec![2, 9], vec![], vec![]];
        assert_eq!(labels(&bags.sorted()), sorted);
        let mut twice = bags.clone();
        twice.append(&bags);
        assert_eq!(labels(&twice), [expected.clone(), expected].concat());
    }

    #[test]
    fn a_thinned_document_has_the_tokens_that_were_drawn() {
        let bag = Bag { terms: &[2, 5, 9], counts: &[6, 1, 3] };
        let drawn = |most, document| {
            let mut stream = Stream::keyed(1, Stage::Thin, 0, document);
            thinned(bag, most, &mut stream)
        };
        let (mut sums, draws) = ([0_u32; 10], 20_000);
        for document in 0..draws {
            let (terms, counts) = drawn(4, document);
            assert_eq!(counts.iter().sum::<u32>(), 4);
            assert!(terms.is_sorted() && counts.iter().all(|&count| count > 0));
            terms.iter().zip(counts).for_each(|(&term, count)| sums[term as usize] += count);
        }
        // The means of the multivariate hypergeometric distribution: 4 of 10 tokens.
        for (term, mean, deviation) in [(2, 2.4, 0.8), (5, 0.4, 0.49), (9, 1.2, 0.75)] {
            let found = f64::from(sums[term]) / draws as f64;
            let within = 4.0 * deviation / (draws as f64).sqrt();
            assert!((found - mean).abs() < within, "{term}: {found}");
        }
        assert_eq!(drawn(10, 0), (vec![2, 5, 9], vec![6, 1, 3]));
    }

    #[test]
    fn sorting_restores_the_order_of_the_collection() {
        let mut bags = Bags::default();
        bags.push(9, &[1, 4], &[1, 2]);
        bags.push(2, &[], &[]);
        bags.push(5, &[0], &[3]);
        let sorted = bags.sorted();
        assert_eq!((0..3).map(|i| sorted.document(i)).collect::<Vec<_>>(), [2, 5, 9]);
        let bag = |bags: &Bags, index| {
            let Bag { terms, counts } = bags.bag(index);
            (terms.to_vec(), counts.to_vec())
        };
        assert_eq!(bag(&sorted, 2), (vec![1, 4], vec![1, 2]));
        assert_eq!(sorted.token_count(), 6);
        bags.push(2, &[3], &[1]);
        bags.push(2, &[8], &[2]);
        assert_eq!(bag(&bags.sorted(), 0), (vec![3, 8], vec![1, 2]));
    }
}
