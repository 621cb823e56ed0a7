//! `labels`: which topic is which label, and how well each is predicted; and the figures of all labels.

use super::evaluation::{Figure, figure};
use super::{Finisher, Written};
use crate::dataflow::project::{LabelSums, SCORES};
use crate::failure::Failure;
use crate::observe::summary::LabelSummary;
use crate::tables::labels::LabelRow;
use lda::evaluate::labels::{macro_f1, micro_f1};

impl Finisher<'_> {
    /// Returns the sums of labels; empty if nothing was projected.
    fn label_sums(&self) -> LabelSums<'_> {
        LabelSums(self.tally.map_or(&[], |tally| &tally.labels))
    }

    /// Writes `labels`, if documents have any.
    pub(super) fn write_labels(&self, written: &mut Written) -> Result<(), Failure> {
        let labels = &self.finished.collection.labels;
        if labels.is_empty() {
            return Ok(());
        }
        let counts = self.label_sums().labels();
        let rows = labels.iter().enumerate().map(|(topic, label)| {
            let counts = counts.get(topic);
            LabelRow {
                topic: topic as i32,
                label: &label.label,
                documents: label.documents as i64,
                evaluated: counts.map(|counts| counts.documents as i64),
                predicted: counts.map(|counts| counts.predicted as i64),
                hits: counts.map(|counts| counts.hits as i64),
                f1: counts.and_then(|counts| counts.f1()),
            }
        });
        self.write(rows, written)
    }

    /// Returns the figures of labels that the screen shows.
    pub(super) fn label_summary(&self) -> Option<LabelSummary> {
        let count = self.finished.collection.labels.len() as u64;
        let sums = self.label_sums();
        let labels = sums.labels();
        let all = self.finished.collection.labels.iter().enumerate();
        let untrained = all.filter(|&(topic, label)| match labels.get(topic) {
            Some(counts) => counts.documents == label.documents,
            None => self.topics[topic].weights.is_empty(),
        });
        (count > 0).then(|| LabelSummary {
            labels: count,
            untrained: untrained.count() as u64,
            documents: sums.documents(),
            micro_f1: micro_f1(&labels),
            macro_f1: macro_f1(&labels),
            document_f1: sums.means().map(|means| means[0]),
        })
    }

    /// Returns how well labels are predicted for documents that were not trained on.
    pub(super) fn label_figures(&self) -> Vec<Figure> {
        let sums = self.label_sums();
        let Some(means) = sums.means() else {
            return Vec::new();
        };
        let new = "held_out+projected";
        let figure = |metric, method, unit, value| figure(metric, method, new, unit, value);
        let labels = sums.labels();
        let [micro, macro_] = [micro_f1(&labels), macro_f1(&labels)];
        let mut figures = vec![
            figure("label_f1", "micro-averaged", "share", micro),
            figure("label_f1", "macro-averaged", "share", macro_),
        ];
        for ((metric, unit), mean) in SCORES.into_iter().zip(means) {
            figures.push(figure(metric, "mean over documents", unit, Some(mean)));
        }
        figures
    }
}
