//! The top terms of each topic, with their figures.

use super::records::{record, records};
use super::records::table;
use super::check::{Known, Ranks, VerifyReport};
use crate::failure::Failure;

/// Tolerance for a sum of f32 probabilities.
const TOLERANCE: f64 = 1e-3;

table! {
    /// Each topic's top terms with MALLET's figures for every word of a topic, which show the terms that do
    /// not belong. What is counted on the training sample exists for the first 20 ranks.
    "topic_term_diagnostics", sorted_by [topic, rank], looked_up_by [term], checked_by check;
    pub(crate) struct TopicTermDiagnosticsRow<'a> {
        topic: i32,                             /// The topic, from 0.
        rank: i32,                              /// 1 for the topic's most probable term.
        term_id: i32,                           /// The term's number, from 0.
        term: &'a str,                          /// The term.
        count: f64,                             /// Its expected tokens in the topic, without smoothing, scaled to the sample.
        weight: f32,                            /// Its probability in the topic, smoothing included.
        cumulative: f64,                        /// The probability of this term and those before it.
        documents: Option<i64>,                 /// Training documents that hold it.
        word_length: i32,                       /// Its length in characters.
        coherence: Option<f64>,                 /// The least of its parts in the topic's UMass coherence, or 0: how badly it goes with the terms before it, nats.
        uniform_distance: f64,                  /// Its part in the topic's distance from the uniform distribution, nats.
        corpus_distance: Option<f64>,           /// Its part in the topic's distance from the corpus, nats.
        token_document_difference: Option<f64>, /// Its part in the topic's `token_document_difference`, nats.
        exclusivity: f64,                       /// The share of its probability over all topics that is this topic's, 0 to 1.
    }
}

record! {
    struct TopicTerm {
        topic: i32,
        rank: i32,
        term_id: i32,
        weight: f32,
        cumulative: f64,
        exclusivity: f64,
    }
}

/// Checks `topic_term_diagnostics`: ranks without gaps, kept terms, and `cumulative` equal to the sum of the
/// probabilities.
fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let Some(kept) = known.kept else {
        return Ok(());
    };
    const TABLE: &str = "topic_term_diagnostics";
    let mut ranks = Ranks::new(TABLE, known.topic_count());
    let mut sum = 0.0;
    for row in records::<TopicTerm>(known.root, TABLE)? {
        let row = row?;
        ranks.next(row.topic, row.rank, report);
        let before = if row.rank == 1 { 0.0 } else { sum };
        sum = before + f64::from(row.weight);
        let sound = (0..kept).contains(&row.term_id)
            && (sum - row.cumulative).abs() <= TOLERANCE
            && sum <= 1.0 + TOLERANCE
            && (0.0..=1.0 + TOLERANCE).contains(&row.exclusivity);
        report.expect(sound, || {
            format!(
                "{TABLE}: topic {}, rank {} has term {}, cumulative {}, exclusivity {}",
                row.topic, row.rank, row.term_id, row.cumulative, row.exclusivity,
            )
        });
    }
    Ok(())
}
