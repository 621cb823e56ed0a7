//! `topic_changes`: how topics have moved since the result that training started from.

use super::{Finisher, Written};
use crate::failure::Failure;
use crate::tables::read::ChangeLine;
use crate::tables::rows::TopicChangeRow;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::hellinger;
use lda::model::published::PublishedTopic;

impl Finisher<'_> {
    /// Writes `topic_changes`, after a warm start; returns how each topic has moved.
    pub(super) fn write_changes(&self, written: &mut Written) -> Result<Vec<ChangeLine>, Failure> {
        let Some(before) = self.finished.before else {
            return Ok(Vec::new());
        };
        let totals =
            [before, self.topics].map(|topics| topics.iter().map(|t| t.total).sum::<f64>());
        let pairs = before.iter().zip(&self.distributions);
        let changes: Vec<ChangeLine> = pairs.map(|(old, new)| self.change(old, new)).collect();
        let rows = (0..).zip(before).zip(&changes);
        let rows = rows.map(|((topic, old), change)| TopicChangeRow {
            topic,
            distance: change.distance,
            share_before: old.total / totals[0],
            share: self.topics[topic as usize].total / totals[1],
            gained: &change.gained,
            lost: &change.lost,
        });
        self.write(rows, written)?;
        Ok(changes)
    }

    fn change(&self, old: &PublishedTopic, new: &TermDistribution<'_>) -> ChangeLine {
        let old = TermDistribution::of(old, self.vocabulary.kept());
        let most = self.process.job.project.top_terms;
        let [before, now] = [&old, new].map(|topic| topic.top_terms(most));
        let without = |terms: &[u32], others: &[u32]| -> Vec<String> {
            let own = terms.iter().filter(|term| !others.contains(term));
            own.map(|&term| self.term(term).to_owned()).collect()
        };
        ChangeLine {
            distance: hellinger(&old, new),
            gained: without(&now, &before),
            lost: without(&before, &now),
        }
    }
}
