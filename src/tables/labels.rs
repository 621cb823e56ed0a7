//! The labels of documents, and how well they are predicted.

use super::records::table;
use super::rollup::fixed;
use corpus::labels::Label;
use lda::evaluate::labels::{DocumentScores, LabelCounts};
use lda::math::FIXED_POINT;

table! {
    /// The label of each topic, if documents have labels, and how well it is predicted. The columns from `evaluated`
    /// on count the documents that have labels and were not trained on; they are null if nothing was projected.
    "labels", sorted_by [topic];
    pub(crate) struct LabelRow {
        topic: i32,             /// The topic, from 0.
        label: String,          /// Its label.
        documents: i64,         /// Documents with terms that have it.
        evaluated: Option<i64>, /// Of the counted documents, those that have it.
        predicted: Option<i64>, /// Those for which it is predicted.
        hits: Option<i64>,      /// Those for which it is predicted correctly.
        f1: Option<f64>,        /// 2 hits / (predicted + evaluated); null if both are 0.
    }
}

impl LabelRow {
    /// Returns all rows; `sums` are empty if nothing was projected.
    pub(crate) fn all(labels: &[Label], sums: &LabelSums<'_>) -> Vec<Self> {
        let counts = sums.labels();
        let rows = labels.iter().enumerate().map(|(topic, label)| {
            let counts = counts.get(topic);
            Self {
                topic: topic as i32,
                label: label.label.clone(),
                documents: label.documents as i64,
                evaluated: counts.map(|counts| counts.documents as i64),
                predicted: counts.map(|counts| counts.predicted as i64),
                hits: counts.map(|counts| counts.hits as i64),
                f1: counts.and_then(|counts| counts.f1()),
            }
        });
        rows.collect()
    }
}

/// The figures of a document, by name and unit, in the order in which [`LabelSums`] has them.
pub(super) const SCORES: [(&str, &str); 7] = [
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
    pub(crate) fn add(sums: &mut [i64], scores: &DocumentScores, own: &[u16], predicted: &[u16]) {
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

#[cfg(test)]
mod tests {
    use lda::evaluate::labels::score;

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
