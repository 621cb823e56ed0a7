//! The labels that documents are predicted to have, and how well those match their actual labels.

use super::ProjectPlan;
use crate::tables::labels::LabelSums;
use crate::tables::predictions::PredictionRow;
use corpus::labels::{Label, LabelReader};
use corpus::sample::Split;
use lda::evaluate::labels::score;
use lda::infer::labels::LabelRanker;
use lda::infer::{Bag, Inferred};

/// Predicts the labels of documents one after another, reusing buffers.
pub(super) struct Predictor {
    labels: Vec<Label>,
    reader: LabelReader,
    ranker: LabelRanker,
    /// The labels of the current document, ascending, and their ranks with it.
    own: Vec<u16>,
    ranked: Vec<(u32, u16)>,
}

impl Predictor {
    /// Creates one for the plan's job; `None` if its documents have no labels.
    pub(super) fn new(plan: &ProjectPlan) -> Option<Self> {
        let job = &plan.process.job;
        Some(Self {
            labels: plan.collection.labels.clone(),
            reader: LabelReader::new(&job.corpus, &plan.collection.labels)?,
            ranker: (job.project).label_ranker(&plan.labels, plan.infer.method),
            own: Vec::new(),
            ranked: Vec::new(),
        })
    }

    /// Reads the labels of the next document, ascending.
    pub(super) fn read(&mut self, metadata: &[Option<String>]) -> &[u16] {
        self.reader.read(metadata, &mut self.own);
        &self.own
    }

    /// Predicts the labels of the document whose own were read, and counts it in `sums` if its labels are known
    /// and it was not trained on. Returns the predicted labels, then its other labels.
    pub(super) fn predict(
        &mut self,
        (number, bag, split): (u64, Bag<'_>, Split),
        Inferred { proportions, alpha }: Inferred<'_>,
        sums: &mut [i64],
    ) -> Vec<PredictionRow> {
        let all = self.ranker.rank(bag, proportions, alpha);
        let predicted = all.predicted;
        self.ranked.clear();
        let ranks = self.own.iter().map(|&label| (all.rank(label), label));
        self.ranked.extend(ranks);
        self.ranked.sort_unstable();
        if !self.own.is_empty() && split != Split::Sample {
            let ranks: Vec<u32> = self.ranked.iter().map(|&(rank, _)| rank).collect();
            let scores = score(&ranks, predicted.len(), all.shares.len());
            LabelSums::add(sums, &scores, &self.own, predicted);
        }
        let others = self.ranked.iter().copied();
        let others = others.filter(|&(rank, _)| rank as usize > predicted.len());
        let listed = (1..).zip(predicted.iter().copied()).chain(others);
        let listed = listed.map(|(rank, label): (u32, u16)| PredictionRow {
            doc_id: number as i64,
            rank: rank as i32,
            topic: i32::from(label),
            label: self.labels[usize::from(label)].label.clone(),
            weight: all.shares[usize::from(label)],
            predicted: rank as usize <= predicted.len(),
            actual: (!self.own.is_empty()).then(|| self.own.binary_search(&label).is_ok()),
        });
        listed.collect()
    }
}
