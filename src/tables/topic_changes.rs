//! How topics have moved since the result that training started from.

use super::records::table;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::TermDistribution;
use lda::evaluate::matching::{distances, hellinger};
use lda::model::published::PublishedTopic;

table! {
    /// How topics have moved since the result that training started from. One row per topic.
    "topic_changes", sorted_by [topic];
    pub(crate) struct TopicChangeRow {
        topic: i32,           /// The topic, from 0; it has the same number in both results.
        distance: f64,        /// Hellinger distance between its terms' distributions before and now: 0 if nothing has changed, at most 1.
        nearest: i32,         /// The earlier topic that is nearest to it now: itself, unless another one is nearer.
        nearest_distance: f64, /// The distance to that one.
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
        let pairs = (0..).zip(self.topics.iter().zip(topics)).zip(self.nearest(topics, vocabulary));
        let rows = pairs.map(|((topic, (old, new)), nearest)| {
            let change = self.change(old, new, vocabulary, most);
            let other = &self.topics[nearest];
            let others = (nearest as i32, self.distance(other, new, vocabulary));
            let own = (topic, change.distance);
            let (nearest, nearest_distance) = if others.1 < own.1 { others } else { own };
            TopicChangeRow {
                topic,
                nearest,
                nearest_distance,
                share_before: old.total / before,
                share: new.total / now,
                ..change
            }
        });
        rows.collect()
    }

    /// Returns for each topic the nearest of the earlier ones, as if each vocabulary had the other's terms.
    fn nearest(&self, topics: &[PublishedTopic], vocabulary: &Vocabulary) -> Vec<usize> {
        let all = vocabulary.kept() + self.gone.len();
        let [earlier, topics] = [&self.topics, topics].map(|topics| {
            topics.iter().map(|topic| TermDistribution::of(topic, all)).collect::<Vec<_>>()
        });
        let table = distances(&topics, &earlier);
        let rows = table.chunks(earlier.len().max(1));
        let nearest =
            |row: &[f64]| (0..row.len()).min_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        rows.map(nearest).collect()
    }

    /// Returns the Hellinger distance between an earlier topic and one of this result.
    fn distance(
        &self,
        old: &PublishedTopic,
        new: &PublishedTopic,
        vocabulary: &Vocabulary,
    ) -> f64 {
        let kept = vocabulary.kept();
        let all = kept + self.gone.len();
        // A term that only the other vocabulary has is impossible.
        let (mut old, mut new) = (old.clone(), new.clone());
        old.weights.extend(self.new.iter().map(|&term| (term, 0.0)));
        old.weights.sort_by_key(|entry| entry.0);
        new.weights.extend((kept..all).map(|term| (term as u32, 0.0)));
        let [p, q] = [&old, &new].map(|topic| TermDistribution::of(topic, all));
        hellinger(&p, &q)
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
        let distance = self.distance(old, new, vocabulary);
        TopicChangeRow { distance, gained, lost, ..TopicChangeRow::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::vocabulary::{TermStatus, VocabularyTerm};

    #[test]
    fn a_topic_that_became_another_names_it() {
        let topic = |weights: &[(u32, f32)]| PublishedTopic {
            weights: weights.to_vec(),
            total: 1.0,
            ..PublishedTopic::default()
        };
        let term = |term: &str| VocabularyTerm {
            term: term.to_owned(),
            tokens: 9,
            documents: 9,
            status: TermStatus::Kept,
        };
        let vocabulary = Vocabulary::from_terms(["a", "b", "c"].map(term).to_vec()).unwrap();
        // Term 3 is gone, term 2 is new.
        let before = EarlierTopics {
            topics: [[(0, 0.5), (3, 0.5)], [(0, 0.1), (1, 0.9)]].map(|it| topic(&it)).to_vec(),
            gone: vec!["d".to_owned()],
            new: vec![2],
        };
        let now = [[(1, 0.9), (2, 0.1)], [(0, 0.1), (1, 0.9)]].map(|it| topic(&it));
        let rows = before.rows(&now, &vocabulary, 1);
        let nearest: Vec<_> = rows.iter().map(|row| row.nearest).collect();
        assert_eq!(nearest, [1, 1]);
        assert_eq!([rows[1].distance, rows[1].nearest_distance], [0.0, 0.0]);
        assert!((rows[0].distance - 1.0).abs() < 1e-6);
        assert!((rows[0].nearest_distance - 0.1_f64.sqrt()).abs() < 1e-6);
        assert_eq!((&rows[0].gained[..], &rows[0].lost[..]), (&["b".into()][..], &["a".into()][..]));
    }
}
