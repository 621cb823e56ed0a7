//! The topics.

use std::path::Path;

use super::records::{record, records};
use super::records::table;
use super::check::{Totals, VerifyReport};
use crate::failure::Failure;

/// How far a topic's term probabilities may be from 1, as sums of f32.
pub(super) const MASS_TOLERANCE: f64 = 1e-3;

table! {
    /// One row per topic, with its size, its words and its quality. Figures that cannot be computed (a dead
    /// topic has no coherence, and without a projection no topic has documents) are `None`, never NaN.
    "topics", sorted_by [topic];
    pub struct TopicRow<'a> {
        topic: i32,                             /// The topic, from 0.
        alpha: f64,                             /// α_k, its parameter in the documents' Dirichlet prior.
        absent_weight: f64,                     /// Probability in the topic of each term that has no row in `topic_terms`.
        tokens: i64,                            /// Tokens of the collection assigned to the topic, rounded.
        share: f64,                             /// The topic's share of all assigned tokens, 0 to 1.
        top_terms: &'a [String],                /// The most probable terms, best first.
        coherence_umass: Option<f64>,           /// UMass coherence of the top terms (Mimno 2011), nats; nearer to 0 is better.
        coherence_npmi: Option<f64>,            /// Normalised pointwise mutual information of the top terms, −1 to 1.
        entropy: Option<f64>,                   /// Entropy of the term distribution, nats.
        exclusivity: Option<f64>,               /// How much of the top terms' probability is this topic's alone, 0 to 1.
        effective_terms: Option<f64>,           /// Effective number of terms, 1 / Σ_w φ_kw².
        document_entropy: Option<f64>,          /// Entropy of the topic's spread over documents, nats.
        rank1_documents: Option<i64>,           /// Documents whose largest proportion is this topic's.
        dead: bool,                             /// True when (almost) no token is left in the topic.
        duplicate_of: Option<i32>,              /// The first earlier topic that it repeats, if there is one.
        junk: bool,                             /// True when it has tokens, but is nearly the corpus's or the uniform distribution.
        corpus_distance: Option<f64>,           /// Kullback–Leibler divergence of its term distribution from the collection's, nats.
        uniform_distance: Option<f64>,          /// Kullback–Leibler divergence of its term distribution from the uniform one, nats.
        word_length: Option<f64>,               /// Mean length of its top terms, characters.
        token_document_difference: Option<f64>, /// Jensen–Shannon divergence between its top terms' shares of tokens and of documents, nats.
        rank1_share: Option<f64>,               /// Of the documents that hold the topic, the share in which it is the largest.
        allocation_ratio: Option<f64>,          /// Documents of which it has at least half, over those of which it has at least 2 %.
        allocation_count: Option<f64>,          /// Of the documents that hold the topic, the share of which it has at least 30 %.
    }
}

record! {
    struct Topic {
        topic: i32,
        absent_weight: f64,
        share: f64,
        rank1_documents: Option<i64>,
        duplicate_of: Option<i32>,
    }
}

/// Checks the table; returns each topic's `absent_weight`.
pub(super) fn check(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<Vec<f64>, Failure> {
    let (mut absent, mut shares) = (Vec::new(), 0.0);
    for row in records::<Topic>(root, "topics")? {
        let row = row?;
        let (topic, expected) = (row.topic, absent.len());
        report.expect(i32::try_from(expected) == Ok(topic), || {
            format!("topics: topic {topic} where {expected} is expected")
        });
        if let Some(other) = row.duplicate_of {
            report.expect((0..topic).contains(&other), || {
                format!("topic {topic}: it cannot be a duplicate of topic {other}")
            });
        }
        absent.push(row.absent_weight);
        shares += row.share;
        let documents = totals.by_top_topic.get(&topic).copied().unwrap_or(0);
        if let Some(said) = row.rank1_documents {
            report.expect(said == documents, || {
                format!("topic {topic}: rank1_documents is {said}, but documents has {documents}")
            });
        }
    }
    let sound = (shares - 1.0).abs() <= MASS_TOLERANCE || shares == 0.0;
    report.expect(sound, || format!("topics: the shares sum to {shares}, not 1"));
    let topic_count = absent.len() as i32;
    let unknown = totals.by_top_topic.keys().find(|&&t| t < 0 || t >= topic_count);
    report.expect(unknown.is_none(), || format!("documents: topic {unknown:?} does not exist"));
    Ok(absent)
}
