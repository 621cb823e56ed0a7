//! The labels that documents are predicted to have, and how well that fits those that they have.

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
    /// The labels of the document in hand, ascending, and their ranks with it.
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

    /// Reads the labels of the document in hand, ascending.
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
        self.choose(bag);
        self.ranked.clear();
        let shares = &self.shares;
        let ranks = self.own.iter().map(|&label| (rank(shares, label), label));
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

    /// The labels of the largest shares, the largest first; of equal ones the first.
    fn choose(&mut self, bag: Bag<'_>) {
        let shares = &self.shares;
        let heavier = |&a: &u16, &b: &u16| {
            let weight = |label: u16| shares[usize::from(label)];
            weight(b).total_cmp(&weight(a)).then(a.cmp(&b))
        };
        let count = match self.count {
            Count::Fixed(count) => count,
            Count::Estimated(linear) => linear
                .predict(count_features(bag))
                .round_ties_even()
                .max(1.0) as usize,
            Count::Threshold(least) => shares.iter().filter(|&&share| share >= least).count(),
        };
        let count = count.min(shares.len());
        let chosen = &mut self.predicted;
        chosen.clear();
        chosen.extend(0..shares.len() as u16);
        if count < chosen.len() {
            chosen.select_nth_unstable_by(count, heavier);
            chosen.truncate(count);
        }
        chosen.sort_unstable_by(heavier);
    }
}

/// How many labels stand before this one, and itself.
fn rank(shares: &[f32], label: u16) -> u32 {
    let place = usize::from(label);
    let weight = shares[place];
    let before = |(other, &value): (usize, &f32)| match value.total_cmp(&weight) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => other <= place,
        std::cmp::Ordering::Less => false,
    };
    shares
        .iter()
        .enumerate()
        .filter(|&other| before(other))
        .count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_no_gaps_and_ties_go_by_number() {
        let proportions = [0.1, 0.4, 0.1, 0.3, 0.1];
        let ranks = (0..5).map(|label| rank(&proportions, label));
        assert_eq!(ranks.collect::<Vec<_>>(), [3, 1, 4, 2, 5]);
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
