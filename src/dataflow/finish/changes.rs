//! `topic_changes`: how topics have moved since the result that training started from.

use super::{Before, Finisher, Written};
use crate::failure::Failure;
use crate::tables::read::ChangeLine;
use crate::tables::topic_changes::TopicChangeRow;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::hellinger;
use lda::model::published::PublishedTopic;

impl Finisher<'_> {
    /// Writes `topic_changes`, after a warm start; returns how each topic has moved.
    pub(super) fn write_changes(&self, written: &mut Written) -> Result<Vec<ChangeLine>, Failure> {
        let Some(before) = self.finished.before else {
            return Ok(Vec::new());
        };
        let totals = [&before.topics[..], self.topics]
            .map(|topics| topics.iter().map(|t| t.total).sum::<f64>());
        let pairs = before.topics.iter().zip(self.topics);
        let changes: Vec<ChangeLine> = pairs.map(|pair| self.change(before, pair)).collect();
        let rows = (0..).zip(&before.topics).zip(&changes);
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

    fn change(
        &self,
        Before { gone, new, .. }: &Before,
        pair: (&PublishedTopic, &PublishedTopic),
    ) -> ChangeLine {
        let kept = self.vocabulary.kept();
        let all = kept + gone.len();
        let most = self.process.job.project.top_terms;
        let top = |topic| TermDistribution::of(topic, all).top_terms(most);
        let (before, now) = (top(pair.0), top(pair.1));
        let name = |term: u32| match gone.get((term as usize).wrapping_sub(kept)) {
            Some(gone) => gone.clone(),
            None => self.term(term).to_owned(),
        };
        let without = |terms: &[u32], others: &[u32]| -> Vec<String> {
            let own = terms.iter().filter(|term| !others.contains(term));
            own.map(|&term| name(term)).collect()
        };
        // A term that only the other vocabulary has is impossible.
        let mut old = pair.0.clone();
        old.weights.extend(new.iter().map(|&term| (term, 0.0)));
        old.weights.sort_by_key(|entry| entry.0);
        let mut now_has = pair.1.clone();
        now_has.weights.extend((kept..all).map(|term| (term as u32, 0.0)));
        let [p, q] = [&old, &now_has].map(|topic| TermDistribution::of(topic, all));
        ChangeLine {
            distance: hellinger(&p, &q),
            gained: without(&now, &before),
            lost: without(&before, &now),
        }
    }
}
