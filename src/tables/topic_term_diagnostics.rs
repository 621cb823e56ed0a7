//! The top terms of each topic, with their figures.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::check::{Known, Ranks, VerifyReport};
use super::records::{records, table};
use crate::failure::Failure;
use corpus::vocabulary::Vocabulary;
use lda::evaluate::diagnostics::terms::{TermDiagnostics, length, token_document_difference};
use lda::model::published::PublishedTopic;

/// Tolerance for a sum of f32 probabilities.
const TOLERANCE: f64 = 1e-3;

table! {
    /// Each topic's top terms with MALLET's figures for every word of a topic, which show the terms that do
    /// not belong. What is counted on the training sample exists for the first 20 ranks.
    "topic_term_diagnostics", sorted_by [topic, rank], looked_up_by [term], checked_by check;
    pub(crate) struct TopicTermDiagnosticsRow {
        topic: i32,                             /// The topic, from 0.
        rank: i32,                              /// 1 for the topic's most probable term.
        term_id: i32,                           /// The term's number, from 0.
        term: String,                          /// The term.
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

/// A topic's top term on the training documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountedTerm {
    /// The term.
    pub(crate) term: u32,
    /// Documents that contain it.
    pub(crate) documents: u64,
    /// How well it fits the terms before it:
    /// [`term_umass`](lda::evaluate::coherence::CoherenceCounter::term_umass).
    pub(crate) coherence: f64,
}

impl TopicTermDiagnosticsRow {
    /// Returns the rows of a topic's top terms, and the topic's difference between tokens and documents.
    pub(super) fn of_topic(
        (topic, published): (usize, &PublishedTopic),
        top: &[TermDiagnostics],
        counted: &[CountedTerm],
        vocabulary: &Vocabulary,
    ) -> (Vec<Self>, Option<f64>) {
        let counted: HashMap<u32, &CountedTerm> =
            counted.iter().map(|term| (term.term, term)).collect();
        // Those of the requested terms that training has counted.
        let both = top.iter().filter_map(|t| Some((t, counted.get(&t.term)?)));
        let (weights, documents): (Vec<f32>, Vec<u64>) =
            both.map(|(t, counted)| (t.weight, counted.documents)).unzip();
        let differences = token_document_difference(&weights, &documents);
        let mut parts = differences.iter().flatten().copied();
        let rows = (1..).zip(top).map(|(rank, figures)| {
            let found = counted.get(&figures.term);
            let listed = published.weights.binary_search_by_key(&figures.term, |entry| entry.0);
            let term = &vocabulary.kept_terms()[figures.term as usize].term;
            Self {
                topic: topic as i32,
                rank,
                term_id: figures.term as i32,
                term: term.clone(),
                count: listed.map_or(0.0, |index| published.counts[index]),
                weight: figures.weight,
                cumulative: figures.cumulative,
                documents: found.map(|counted| counted.documents as i64),
                word_length: length(term) as i32,
                coherence: found.map(|counted| counted.coherence),
                uniform_distance: figures.uniform_distance,
                corpus_distance: figures.corpus_distance,
                token_document_difference: found.and_then(|_| parts.next()),
                exclusivity: figures.exclusivity,
            }
        });
        let rows = rows.collect();
        (rows, differences.map(|parts| parts.iter().sum()))
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
    for row in records::<TopicTermDiagnosticsRow>(known.root)? {
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
