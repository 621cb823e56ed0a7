//! `topic_changes`: how topics have moved since the result that training started from.

use super::{Finisher, Written};
use crate::dataflow::error::RunError;
use crate::job::TopicChange;
use crate::tables::topic_changes::{TopicChangeRow, TopicChangesWriter};
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::hellinger;
use lda::model::published::PublishedTopic;

impl Finisher<'_> {
    /// Writes `topic_changes`, after a warm start; what the screen tells of it: the topics, those that have
    /// moved most first.
    pub(super) fn write_changes(
        &self,
        written: &mut Written,
    ) -> Result<Vec<TopicChange>, RunError> {
        let Some(before) = self.finished.before else {
            return Ok(Vec::new());
        };
        let path = self.process.output.temporary_path("topic_changes");
        let mut writer = TopicChangesWriter::create(&path, self.finished.metadata)?;
        let totals =
            [before, self.topics].map(|topics| topics.iter().map(|t| t.total).sum::<f64>());
        let mut changes = Vec::new();
        for (topic, (old, new)) in (0..).zip(before.iter().zip(&self.distributions)) {
            let change = self.change(topic, old, new);
            writer.push(&TopicChangeRow {
                topic: topic as i32,
                distance: change.distance,
                share_before: old.total / totals[0],
                share: self.topics[topic as usize].total / totals[1],
                gained: &change.gained,
                lost: &change.lost,
            })?;
            changes.push(change);
        }
        self.publish("topic_changes", writer.finish()?, written)?;
        changes.sort_by(|a, b| b.distance.total_cmp(&a.distance));
        Ok(changes)
    }

    fn change(&self, topic: u32, old: &PublishedTopic, new: &TermDistribution<'_>) -> TopicChange {
        let old = TermDistribution::of(old, self.vocabulary.kept());
        let most = self.process.job.project.top_terms;
        let [before, now] = [&old, new].map(|topic| topic.top_terms(most));
        let without = |terms: &[u32], others: &[u32]| -> Vec<String> {
            let own = terms.iter().filter(|term| !others.contains(term));
            own.map(|&term| self.term(term).to_owned()).collect()
        };
        TopicChange {
            topic,
            distance: hellinger(&old, new),
            gained: without(&now, &before),
            lost: without(&before, &now),
        }
    }
}
