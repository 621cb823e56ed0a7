//! How well labels are predicted: F1 over documents, over labels and over both, and measures of the
//! ranking of labels (Tsoumakas, Katakis & Vlahavas 2010; Papanikolaou 2017, §6.2).
//!
//! A document's labels are ranked by their proportions, and the first few are predicted. All figures follow from the
//! ranks of its own labels in that order.

/// A document's figures, each from 0 to 1 except `coverage`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DocumentScores {
    /// 2 |A ∩ P| / (|A| + |P|), where A are its own labels and P the predicted ones.
    pub f1: f64,
    /// |A ∩ P| / |P|; 0 without predictions.
    pub precision: f64,
    /// |A ∩ P| / |A|.
    pub recall: f64,
    /// 1 if the first label is not one of its own.
    pub one_error: f64,
    /// The rank of the last of its own labels, minus one.
    pub coverage: f64,
    /// The share of pairs of one of its labels and another label that are in the wrong order.
    pub ranking_loss: f64,
    /// The mean over its labels of the share of its own labels among those up to that rank.
    pub average_precision: f64,
}

/// Scores a document whose own labels, at least one, have these `ranks` (ascending, from 1) among `label_count`
/// labels, of which the first `predicted` are predicted.
///
/// ```
/// # use lda::evaluate::labels::score;
/// let scores = score(&[1, 4], 3, 6);
/// assert_eq!((scores.f1, scores.precision, scores.recall), (0.4, 1.0 / 3.0, 0.5));
/// assert_eq!((scores.one_error, scores.coverage), (0.0, 3.0));
/// assert_eq!((scores.ranking_loss, scores.average_precision), (0.25, 0.75));
/// ```
pub fn score(ranks: &[u32], predicted: usize, label_count: usize) -> DocumentScores {
    let own = ranks.len() as f64;
    let hits = ranks.partition_point(|&rank| rank as usize <= predicted) as f64;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    // rank − 1 labels precede its i-th own label, of which i − 1 are its own.
    let places = || ranks.iter().zip(1u32..);
    let misplaced: f64 = places().map(|(&rank, i)| f64::from(rank - i)).sum();
    let precision: f64 = (places().map(|(&rank, i)| f64::from(i) / f64::from(rank))).sum();
    DocumentScores {
        f1: share(2.0 * hits, own + predicted as f64),
        precision: share(hits, predicted as f64),
        recall: share(hits, own),
        one_error: if ranks.first() == Some(&1) { 0.0 } else { 1.0 },
        coverage: ranks.last().map_or(0.0, |&last| f64::from(last) - 1.0),
        ranking_loss: share(misplaced, own * (label_count as f64 - own)),
        average_precision: share(precision, own),
    }
}

/// How often a label was predicted, and correctly, and how many documents have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelCounts {
    /// Documents that have it and for which it is predicted.
    pub hits: u64,
    /// Documents for which it is predicted.
    pub predicted: u64,
    /// Documents that have it.
    pub documents: u64,
}

impl LabelCounts {
    /// Returns 2 hits / (predicted + documents); `None` if no document has it and it is never predicted.
    pub fn f1(self) -> Option<f64> {
        let all = self.predicted + self.documents;
        (all > 0).then(|| 2.0 * self.hits as f64 / all as f64)
    }
}

/// Returns the micro-averaged F1, over all pairs of a document and a label; `None` if there are none.
pub fn micro_f1(labels: &[LabelCounts]) -> Option<f64> {
    let sum = |count: fn(&LabelCounts) -> u64| labels.iter().map(count).sum();
    LabelCounts {
        hits: sum(|label| label.hits),
        predicted: sum(|label| label.predicted),
        documents: sum(|label| label.documents),
    }
    .f1()
}

/// Returns the macro-averaged F1: the mean over labels that are predicted or that some document has; `None` if there
/// are none.
pub fn macro_f1(labels: &[LabelCounts]) -> Option<f64> {
    let figures: Vec<f64> = labels.iter().filter_map(|label| label.f1()).collect();
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    (!figures.is_empty()).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    /// The scores by definition, over sets.
    fn plain(own: &[bool], order: &[usize], predicted: usize) -> DocumentScores {
        let rank = |label: usize| 1 + order.iter().position(|&l| l == label).unwrap();
        let labels = |is_own: bool| (0..own.len()).filter(move |&l| own[l] == is_own);
        let count = labels(true).count() as f64;
        let hits = labels(true).filter(|&l| rank(l) <= predicted).count() as f64;
        let wrong = labels(true)
            .flat_map(|a| labels(false).map(move |b| (a, b)))
            .filter(|&(a, b)| rank(a) > rank(b))
            .count() as f64;
        let above = |l: usize| labels(true).filter(|&o| rank(o) <= rank(l)).count() as f64;
        let all_wrong = count * labels(false).count() as f64;
        DocumentScores {
            f1: 2.0 * hits / (count + predicted as f64),
            precision: if predicted > 0 { hits / predicted as f64 } else { 0.0 },
            recall: hits / count,
            one_error: f64::from(u8::from(!own[order[0]])),
            coverage: labels(true).map(rank).max().unwrap() as f64 - 1.0,
            ranking_loss: if all_wrong > 0.0 { wrong / all_wrong } else { 0.0 },
            average_precision: labels(true).map(|l| above(l) / rank(l) as f64).sum::<f64>() / count,
        }
    }

    #[test]
    fn figures_are_those_of_the_definitions() {
        let mut stream = Stream::keyed(5, Stage::Synth, 0, 0);
        for _ in 0..500 {
            let labels = 1 + stream.below(7) as usize;
            let mut order: Vec<usize> = (0..labels).collect();
            stream.shuffle(&mut order);
            let mut own: Vec<bool> = (0..labels).map(|_| stream.below(2) == 0).collect();
            own[stream.below(labels as u64) as usize] = true;
            let predicted = stream.below(labels as u64 + 1) as usize;
            let ranks: Vec<u32> =
                (1..).zip(&order).filter(|&(_, &label)| own[label]).map(|(rank, _)| rank).collect();
            let (found, expected) =
                (score(&ranks, predicted, labels), plain(&own, &order, predicted));
            let list = |s: DocumentScores| {
                [
                    s.f1,
                    s.precision,
                    s.recall,
                    s.one_error,
                    s.coverage,
                    s.ranking_loss,
                    s.average_precision,
                ]
            };
            for (a, b) in list(found).into_iter().zip(list(expected)) {
                assert!((a - b).abs() < 1e-12, "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn means_over_labels_and_over_pairs() {
        let counts = |hits, predicted, documents| LabelCounts { hits, predicted, documents };
        let labels = [counts(3, 4, 6), counts(0, 0, 0), counts(0, 1, 3)];
        assert_eq!(labels[1].f1(), None);
        assert_eq!(micro_f1(&labels), Some(6.0 / 14.0));
        assert_eq!(macro_f1(&labels), Some(0.3));
        assert_eq!(macro_f1(&labels[1..2]), None);
    }
}
