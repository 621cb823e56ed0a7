//! The terms of each topic.

use super::check::{Known, Ranks, VerifyReport};
use super::records::{record, records, table};
use super::topics::MASS_TOLERANCE;
use crate::failure::Failure;
use corpus::vocabulary::Vocabulary;
use lda::model::published::PublishedTopic;

table! {
    /// The terms of each topic, the sparse φ. A term of the vocabulary without a row has the probability
    /// `topics.absent_weight`, so that φ can be rebuilt in full.
    "topic_terms", sorted_by [topic, rank], looked_up_by [term], checked_by check;
    pub(crate) struct TopicTermRow {
        topic: i32,    /// The topic, from 0.
        term_id: i32,  /// The term's number, from 0.
        term: String, /// The term.
        weight: f32,   /// Its probability in the topic, smoothing included.
        count: f64,    /// Its expected tokens in the topic, without smoothing (λ̃_kw), scaled to the sample.
        rank: i32,     /// 1 for the topic's most probable term, then without gaps.
    }
}

impl TopicTermRow {
    /// Returns all rows.
    pub(crate) fn all(
        topics: &[PublishedTopic],
        vocabulary: &Vocabulary,
    ) -> impl Iterator<Item = Self> {
        topics.iter().enumerate().flat_map(move |(topic, published)| {
            let weights = &published.weights;
            let mut order: Vec<usize> = (0..weights.len()).collect();
            order.sort_unstable_by(|&a, &b| weights[b].1.total_cmp(&weights[a].1).then(a.cmp(&b)));
            (1..).zip(order).map(move |(rank, index)| {
                let (term, weight) = weights[index];
                Self {
                    topic: topic as i32,
                    term_id: term as i32,
                    term: vocabulary.kept_terms()[term as usize].term.clone(),
                    weight,
                    count: published.counts[index],
                    rank,
                }
            })
        })
    }
}

record! {
    /// The numbers of a row, without its text: the table is large.
    "topic_terms";
    pub(crate) struct TermWeight {
        pub(crate) topic: i32,
        pub(crate) term_id: i32,
        pub(crate) weight: f32,
        rank: i32,
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let Some(kept) = known.kept else {
        return Ok(());
    };
    let (root, absent) = (known.root, &known.absent_weights);
    let mut sums = vec![(0.0, 0_i32); absent.len()];
    let mut ranks = Ranks::new("topic_terms", absent.len());
    for row in records::<TermWeight>(root)? {
        let row = row?;
        let (topic, term, weight) = (row.topic, row.term_id, row.weight);
        ranks.next(topic, row.rank, report);
        report.expect((0..kept).contains(&term) && weight >= 0.0, || {
            format!("topic_terms: topic {topic} has term {term} with weight {weight}")
        });
        if let Some((sum, rows)) = usize::try_from(topic).ok().and_then(|t| sums.get_mut(t)) {
            *sum += f64::from(weight);
            *rows += 1;
        }
    }
    for (topic, ((sum, rows), absent)) in sums.into_iter().zip(absent).enumerate() {
        let mass = sum + absent * f64::from(kept - rows);
        report.expect((mass - 1.0).abs() <= MASS_TOLERANCE, || {
            format!("topic {topic}: its terms' probabilities sum to {mass}, not 1")
        });
    }
    Ok(())
}
