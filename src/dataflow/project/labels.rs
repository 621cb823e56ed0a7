//! The labels that documents are predicted to have, and how well that fits those that they have.

use std::cmp::Ordering;

use super::tally::fixed;
use super::{FIXED_POINT, ProjectPlan};
use crate::corpus::labels::{Label, LabelReader};
use crate::corpus::sample::Split;
use crate::tables::TableError;
use crate::tables::predictions::{PredictionRow, PredictionsWriter};
use lda::evaluate::labels::{DocumentScores, LabelCounts, score};
use lda::infer::Bag;
use lda::regression::Linear;
use lda::train::labels::{count_features, token_shares};

/// The figures of a document, by name and unit, in the order in which [`LabelSums`] has them.
pub const SCORES: [(&str, &str); 7] = [
    ("label_f1", "share"),
    ("label_precision", "share"),
    ("label_recall", "share"),
    ("label_one_error", "share"),
    ("label_coverage", "labels"),
    ("label_ranking_loss", "share"),
    ("label_average_precision", "share"),
];

fn in_order(scores: &DocumentScores) -> [f64; SCORES.len()] {
    [
        scores.f1,
        scores.precision,
        scores.recall,
        scores.one_error,
        scores.coverage,
        scores.ranking_loss,
        scores.average_precision,
    ]
}

/// Sums over documents whose labels are known and that were not trained on: how many there are, their
/// [`SCORES`] in units of 2⁻²⁰, and three numbers a label. In one row, to be added to others; empty without
/// labels.
pub struct LabelSums<'s>(pub &'s [i64]);

impl LabelSums<'_> {
    /// The sums of no document, for so many labels.
    pub fn none(labels: usize) -> Vec<i64> {
        match labels {
            0 => Vec::new(),
            _ => vec![0; 1 + SCORES.len() + 3 * labels],
        }
    }

    /// Adds a document.
    fn add(sums: &mut [i64], scores: &DocumentScores, own: &[u16], predicted: &[u16]) {
        let (of_documents, of_labels) = sums.split_at_mut(1 + SCORES.len());
        of_documents[0] += 1;
        for (sum, value) in of_documents[1..].iter_mut().zip(in_order(scores)) {
            *sum += fixed(value);
        }
        let place = |&label: &u16| 3 * usize::from(label);
        for label in predicted {
            of_labels[place(label) + 1] += 1;
            if own.binary_search(label).is_ok() {
                of_labels[place(label)] += 1;
            }
        }
        own.iter()
            .for_each(|label| of_labels[place(label) + 2] += 1);
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.0.first().map_or(0, |&documents| documents as u64)
    }

    /// The mean of each of [`SCORES`]; `None` without documents.
    pub fn means(&self) -> Option<[f64; SCORES.len()]> {
        let documents = self.documents();
        (documents > 0)
            .then(|| std::array::from_fn(|i| self.0[1 + i] as f64 / FIXED_POINT / documents as f64))
    }

    /// How each label was predicted.
    pub fn labels(&self) -> Vec<LabelCounts> {
        let of_labels = self.0.get(1 + SCORES.len()..).unwrap_or_default();
        let counts = of_labels.chunks_exact(3).map(|three| LabelCounts {
            hits: three[0] as u64,
            predicted: three[1] as u64,
            documents: three[2] as u64,
        });
        counts.collect()
    }
}

/// How many labels a document is predicted to have.
#[derive(Clone, Copy)]
enum Count<'a> {
    Fixed(usize),
    /// As the terms of a document say.
    Estimated(&'a Linear),
    /// Those of at least this share.
    Threshold(f32),
}

/// Predicts the labels of documents, one after the other, with the same buffers.
pub struct Predictor<'a> {
    labels: &'a [Label],
    reader: LabelReader,
    count: Count<'a>,
    /// The labels of the current document, ascending, and their ranks with it.
    own: Vec<u16>,
    ranked: Vec<(u32, u16)>,
    /// The labels that are predicted, the largest share first.
    predicted: Vec<u16>,
    /// Whether proportions contain the prior, and the shares of labels without it.
    has_prior: bool,
    shares: Vec<f32>,
}

/// A document whose labels are predicted.
#[derive(Clone, Copy)]
pub struct Predicted<'a> {
    /// Its number.
    pub number: u64,
    /// Its terms.
    pub bag: Bag<'a>,
    /// θ_dk, a proportion a label.
    pub proportions: &'a [f32],
    /// α_k that they were inferred with.
    pub alpha: &'a [f32],
    /// What training made of it.
    pub split: Split,
}

impl<'a> Predictor<'a> {
    /// As the plan's job asks; `None` if its documents have no labels.
    pub fn new(plan: ProjectPlan<'a>) -> Option<Self> {
        let job = &plan.process.job;
        let reader = LabelReader::new(&job.corpus, &plan.collection.labels)?;
        let (count, threshold) = (job.project.label_count, job.project.label_threshold);
        let count = match (threshold > 0.0, count, &plan.labels.count) {
            (true, ..) => Count::Threshold(threshold as f32),
            (false, None, Some(linear)) => Count::Estimated(linear),
            (false, count, _) => Count::Fixed(count.unwrap_or(1)),
        };
        Some(Self {
            labels: &plan.collection.labels,
            reader,
            count,
            own: Vec::new(),
            ranked: Vec::new(),
            predicted: Vec::new(),
            has_prior: plan.infer.method.has_prior(),
            shares: Vec::new(),
        })
    }

    /// Reads the labels of the next document, ascending.
    pub fn read(&mut self, metadata: &[Option<String>]) -> &[u16] {
        self.reader.read(metadata, &mut self.own);
        &self.own
    }

    /// Predicts the labels of the document whose own were read, writes them, and counts it in `sums` if its
    /// labels are known and it was not trained on.
    pub fn predict(
        &mut self,
        document: Predicted<'_>,
        writer: &mut PredictionsWriter,
        sums: &mut [i64],
    ) -> Result<(), TableError> {
        let (bag, shares) = (document.bag, &mut self.shares);
        match self.has_prior {
            true => token_shares(
                document.proportions,
                document.alpha,
                bag.token_count(),
                shares,
            ),
            false => {
                shares.clear();
                shares.extend_from_slice(document.proportions);
            }
        }
        let count = self.count(bag);
        let (shares, order) = (&self.shares, Order(&self.shares, document.proportions));
        order.first(count, &mut self.predicted);
        self.ranked.clear();
        let ranks = self.own.iter().map(|&label| (order.rank(label), label));
        self.ranked.extend(ranks);
        self.ranked.sort_unstable();
        if !self.own.is_empty() && document.split != Split::Sample {
            let ranks: Vec<u32> = self.ranked.iter().map(|&(rank, _)| rank).collect();
            let scores = score(&ranks, self.predicted.len(), self.labels.len());
            LabelSums::add(sums, &scores, &self.own, &self.predicted);
        }
        let predicted = (1..).zip(self.predicted.iter().copied());
        let others = self.ranked.iter().copied();
        let others = others.filter(|&(rank, _)| rank as usize > self.predicted.len());
        for (rank, label) in predicted.chain(others) {
            let has_it = self.own.binary_search(&label).is_ok();
            writer.push(&PredictionRow {
                doc_id: document.number as i64,
                rank: rank as i32,
                topic: i32::from(label),
                label: &self.labels[usize::from(label)].label,
                weight: shares[usize::from(label)],
                predicted: rank as usize <= self.predicted.len(),
                actual: (!self.own.is_empty()).then_some(has_it),
            })?;
        }
        Ok(())
    }

    /// How many labels are predicted.
    fn count(&self, bag: Bag<'_>) -> usize {
        let count = match self.count {
            Count::Fixed(count) => count,
            Count::Estimated(linear) => {
                let count = linear.predict(count_features(bag));
                count.round_ties_even().max(1.0) as usize
            }
            Count::Threshold(least) => self.shares.iter().filter(|&&share| share >= least).count(),
        };
        count.min(self.shares.len())
    }
}

/// The order of labels: by their shares, by their proportions where those are equal (many labels have no
/// token, and the prior tells them apart), and then by number.
struct Order<'a>(&'a [f32], &'a [f32]);

impl Order<'_> {
    fn compare(&self, a: u16, b: u16) -> Ordering {
        let Self(shares, proportions) = self;
        let by = |values: &[f32]| values[usize::from(b)].total_cmp(&values[usize::from(a)]);
        by(shares).then_with(|| by(proportions)).then(a.cmp(&b))
    }

    /// The first `count` labels, in order, over `first`.
    fn first(&self, count: usize, first: &mut Vec<u16>) {
        first.clear();
        first.extend(0..self.0.len() as u16);
        if count < first.len() {
            first.select_nth_unstable_by(count, |&a, &b| self.compare(a, b));
            first.truncate(count);
        }
        first.sort_unstable_by(|&a, &b| self.compare(a, b));
    }

    /// How many labels stand before this one, and itself.
    fn rank(&self, label: u16) -> u32 {
        let all = 0..self.0.len() as u16;
        all.filter(|&other| self.compare(other, label).is_le())
            .count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_tokens_come_by_their_prior() {
        let order = Order(&[0.0, 0.4, 0.0, 0.3, 0.0], &[0.1, 0.3, 0.2, 0.2, 0.1]);
        let ranks: Vec<u32> = (0..5).map(|label| order.rank(label)).collect();
        assert_eq!(ranks, [4, 1, 3, 2, 5]);
        let mut first = vec![9];
        for count in 0..=5 {
            order.first(count, &mut first);
            assert_eq!(first, [1, 3, 2, 0, 4][..count]);
        }
    }

    #[test]
    fn sums_say_what_was_added() {
        assert!(LabelSums::none(0).is_empty());
        assert_eq!(LabelSums(&[]).means(), None);
        let mut sums = LabelSums::none(3);
        LabelSums::add(&mut sums, &score(&[1, 3], 2, 3), &[0, 2], &[0, 1]);
        LabelSums::add(&mut sums, &score(&[1], 1, 3), &[1], &[1]);
        let found = LabelSums(&sums);
        assert_eq!(found.documents(), 2);
        let [f1, precision, recall, ..] = found.means().unwrap();
        assert_eq!([f1, precision, recall], [0.75, 0.75, 0.75]);
        let counts = |hits, predicted, documents| LabelCounts {
            hits,
            predicted,
            documents,
        };
        assert_eq!(
            found.labels(),
            [counts(1, 1, 1), counts(1, 2, 1), counts(0, 0, 1)]
        );
    }
}
