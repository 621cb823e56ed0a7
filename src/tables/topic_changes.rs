//! How topics have moved since the result that training started from.

use super::records::table;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::hellinger;
use lda::model::published::PublishedTopic;

table! {
    /// How topics have moved since the result that training started from. One row per topic.
    "topic_changes", sorted_by [topic];
    pub(crate) struct TopicChangeRow {
        topic: i32,           /// The topic, from 0; it has the same number in both results.
        distance: f64,        /// Hellinger distance between its terms' distributions before and now: 0 if nothing has changed, at most 1.
        share_before: f64,    /// Its share of the sample's tokens before.
        share: f64,           /// The same now.
        gained: Vec<String>, /// Terms that are among its top terms now and were not, the most probable first.
        lost: Vec<String>,   /// Terms that were among them and are not now, the most probable first.
    }
}

/// The topics of another result.
pub(crate) struct EarlierTopics {
    /// The topics, with this result's numbers of terms; those of `gone` follow.
    pub(crate) topics: Vec<PublishedTopic>,
    /// Terms that this result does not have.
    pub(crate) gone: Vec<String>,
    /// Terms that only this result has, ascending.
    pub(crate) new: Vec<u32>,
}

impl EarlierTopics {
    /// Returns the rows of this result's `topics`, which are compared by up to `most` top terms.
    pub(crate) fn rows(
        &self,
        topics: &[PublishedTopic],
        vocabulary: &Vocabulary,
        most: usize,
    ) -> Vec<TopicChangeRow> {
        let [before, now] = [&self.topics, topics].map(|it| it.iter().map(|t| t.total).sum::<f64>());
        let pairs = (0..).zip(self.topics.iter().zip(topics));
        let rows = pairs.map(|(topic, (old, new))| TopicChangeRow {
            topic,
            share_before: old.total / before,
            share: new.total / now,
            ..self.change(old, new, vocabulary, most)
        });
        rows.collect()
    }

    /// Returns how a topic's terms have changed.
    fn change(
        &self,
        old: &PublishedTopic,
        new: &PublishedTopic,
        vocabulary: &Vocabulary,
        most: usize,
    ) -> TopicChangeRow {
        let kept = vocabulary.kept();
        let all = kept + self.gone.len();
        let top = |topic| TermDistribution::of(topic, all).top_terms(most);
        let (before, now) = (top(old), top(new));
        let name = |term: u32| match self.gone.get((term as usize).wrapping_sub(kept)) {
            Some(gone) => gone.clone(),
            None => vocabulary.kept_terms()[term as usize].term.clone(),
        };
        let without = |terms: &[u32], others: &[u32]| -> Vec<String> {
            let own = terms.iter().filter(|term| !others.contains(term));
            own.map(|&term| name(term)).collect()
        };
        let (gained, lost) = (without(&now, &before), without(&before, &now));
        // A term that only the other vocabulary has is impossible.
        let (mut old, mut new) = (old.clone(), new.clone());
        old.weights.extend(self.new.iter().map(|&term| (term, 0.0)));
        old.weights.sort_by_key(|entry| entry.0);
        new.weights.extend((kept..all).map(|term| (term as u32, 0.0)));
        let [p, q] = [&old, &new].map(|topic| TermDistribution::of(topic, all));
        TopicChangeRow { distance: hellinger(&p, &q), gained, lost, ..TopicChangeRow::default() }
    }
}
