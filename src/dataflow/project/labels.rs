//! The labels that documents are predicted to have, and how well those match their actual labels.

use super::ProjectPlan;
use crate::tables::rollup::fixed;
use corpus::labels::LabelReader;
use corpus::sample::Split;
use lda::evaluate::labels::{DocumentScores, LabelCounts, score};
use lda::infer::Bag;
use lda::infer::labels::LabelRanker;
use lda::math::FIXED_POINT;

/// The figures of a document, by name and unit, in the order in which [`LabelSums`] has them.
pub(crate) const SCORES: [(&str, &str); 7] = [
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
/// [`SCORES`] in units of 2⁻²⁰, and three numbers per label. In one row, to be added to others; empty
/// without labels.
pub(crate) struct LabelSums<'s>(pub &'s [i64]);

impl LabelSums<'_> {
    /// Returns sums over no documents, for `labels` labels.
    pub(crate) fn none(labels: usize) -> Vec<i64> {
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
        own.iter().for_each(|label| of_labels[place(label) + 2] += 1);
    }

    /// Returns the number of documents.
    pub(crate) fn documents(&self) -> u64 {
        self.0.first().map_or(0, |&documents| documents as u64)
    }

    /// Returns the mean of each of [`SCORES`]; `None` without documents.
    pub(crate) fn means(&self) -> Option<[f64; SCORES.len()]> {
        let documents = self.documents();
        (documents > 0)
            .then(|| std::array::from_fn(|i| self.0[1 + i] as f64 / FIXED_POINT / documents as f64))
    }

    /// Returns how each label was predicted.
    pub(crate) fn labels(&self) -> Vec<LabelCounts> {
        let of_labels = self.0.get(1 + SCORES.len()..).unwrap_or_default();
        let counts = of_labels.chunks_exact(3).map(|three| LabelCounts {
            hits: three[0] as u64,
            predicted: three[1] as u64,
            documents: three[2] as u64,
        });
        counts.collect()
    }
}

/// A label of a document, as `predictions` lists it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedLabel {
    /// 1 for the largest share.
    pub(crate) rank: u32,
    /// Its number.
    pub(crate) label: u16,
    /// Its share of the document's tokens.
    pub(crate) weight: f32,
    /// Whether it is predicted.
    pub(crate) predicted: bool,
    /// Whether the document has it, if its labels are known.
    pub(crate) actual: Option<bool>,
}

/// Predicts the labels of documents one after another, reusing buffers.
pub(crate) struct Predictor {
    reader: LabelReader,
    ranker: LabelRanker,
    /// The labels of the current document, ascending, and their ranks with it.
    own: Vec<u16>,
    ranked: Vec<(u32, u16)>,
}

/// A document whose labels are predicted.
#[derive(Clone, Copy)]
pub(crate) struct Predicted<'a> {
    /// Its terms.
    pub(crate) bag: Bag<'a>,
    /// θ_dk, one proportion per label.
    pub(crate) proportions: &'a [f32],
    /// The α_k that they were inferred with.
    pub(crate) alpha: &'a [f32],
    /// Its split: trained on, held out, or neither.
    pub(crate) split: Split,
}

impl Predictor {
    /// Creates one for the plan's job; `None` if its documents have no labels.
    pub(crate) fn new(plan: &ProjectPlan) -> Option<Self> {
        let job = &plan.process.job;
        Some(Self {
            reader: LabelReader::new(&job.corpus, &plan.collection.labels)?,
            ranker: (job.project).label_ranker(&plan.labels, plan.infer.method),
            own: Vec::new(),
            ranked: Vec::new(),
        })
    }

    /// Reads the labels of the next document, ascending.
    pub(crate) fn read(&mut self, metadata: &[Option<String>]) -> &[u16] {
        self.reader.read(metadata, &mut self.own);
        &self.own
    }

    /// Predicts the labels of the document whose own were read, and counts it in `sums` if its labels are known
    /// and it was not trained on. Returns the predicted labels, then its other labels.
    pub(crate) fn predict(
        &mut self,
        document: Predicted<'_>,
        sums: &mut [i64],
    ) -> Vec<RankedLabel> {
        let Predicted { bag, proportions, alpha, .. } = document;
        let all = self.ranker.rank(bag, proportions, alpha);
        let predicted = all.predicted;
        self.ranked.clear();
        let ranks = self.own.iter().map(|&label| (all.rank(label), label));
        self.ranked.extend(ranks);
        self.ranked.sort_unstable();
        if !self.own.is_empty() && document.split != Split::Sample {
            let ranks: Vec<u32> = self.ranked.iter().map(|&(rank, _)| rank).collect();
            let scores = score(&ranks, predicted.len(), all.shares.len());
            LabelSums::add(sums, &scores, &self.own, predicted);
        }
        let others = self.ranked.iter().copied();
        let others = others.filter(|&(rank, _)| rank as usize > predicted.len());
        let listed = (1..).zip(predicted.iter().copied()).chain(others);
        let listed = listed.map(|(rank, label)| RankedLabel {
            rank,
            label,
            weight: all.shares[usize::from(label)],
            predicted: rank as usize <= predicted.len(),
            actual: (!self.own.is_empty()).then(|| self.own.binary_search(&label).is_ok()),
        });
        listed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let counts = |hits, predicted, documents| LabelCounts { hits, predicted, documents };
        assert_eq!(found.labels(), [counts(1, 1, 1), counts(1, 2, 1), counts(0, 0, 1)]);
    }
}
