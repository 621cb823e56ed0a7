//! The rounds of training.

use std::path::Path;

use serde::Serialize;

use super::records::{record, records, table};
use crate::failure::Failure;
use lda::train::RoundReport;

table! {
    /// One row per training round. The columns of time and traffic are the only ones of any table that may
    /// differ between runs; the digest leaves them out.
    "training_log", sorted_by [round];
    pub(crate) struct TrainingLogRow {
        round: i32,                            /// The round, from 0.
        pass: i32,                             /// The pass over the training sample it belongs to, from 0.
        phase: String,                        /// The phase it belongs to: `online` or `gibbs`.
        documents_seen: i64,                   /// Documents trained on so far, counted at each visit.
        tokens_seen: i64,                      /// Tokens trained on so far, counted at each visit.
        step_size: f64,                        /// ρ_t, the step size of the round: in Gibbs rounds, their share of the documents.
        alpha_sum: f64,                        /// A = Σ_k α_k, the prior that documents were sampled with.
        seconds: f64,                          /// Training time so far, without loading, evaluation and checkpoints, in seconds.
        tokens_per_second: f64,                /// Tokens of this round per second of it.
        heldout_loglik_per_token: Option<f64>, /// Log-likelihood per held-out token by document completion, nats, in the rounds that measured it.
        coherence_npmi: Option<f64>,           /// Mean NPMI of the topics' top 10 terms on the training documents, from −1 to 1, in the rounds that counted it.
        nonzero_share: f64,                    /// Share of the K × V parameters that are above their prior.
        preparing_seconds: f64,                /// Seconds of worker 0 in this round: preparing factors,
        sampling_seconds: f64,                 /// sampling documents,
        aggregating_seconds: f64,              /// adding up its own statistics,
        exchanging_seconds: f64,               /// exchanging and merging them, waiting for other workers included,
        updating_seconds: f64,                 /// and changing the model.
        bytes_exchanged: i64,                  /// Bytes the processes exchanged in this round.
    }
}

impl TrainingLogRow {
    /// Returns the rows of these rounds.
    pub(crate) fn all(log: &[RoundReport]) -> impl Iterator<Item = Self> {
        let mut before = (0.0, 0);
        log.iter().map(move |round| {
            let (seconds, tokens) = (round.seconds - before.0, round.tokens_seen - before.1);
            before = (round.seconds, round.tokens_seen);
            Self {
                round: round.round as i32,
                pass: round.pass as i32,
                phase: round.phase.name().to_owned(),
                documents_seen: round.documents_seen as i64,
                tokens_seen: round.tokens_seen as i64,
                step_size: round.step_size,
                alpha_sum: round.alpha_sum,
                seconds: round.seconds,
                tokens_per_second: tokens as f64 / seconds.max(1e-9),
                heldout_loglik_per_token: round.heldout,
                coherence_npmi: round.coherence,
                nonzero_share: round.nonzero_share,
                preparing_seconds: round.spent.preparing,
                sampling_seconds: round.spent.sampling,
                aggregating_seconds: round.spent.aggregating,
                exchanging_seconds: round.spent.exchanging,
                updating_seconds: round.spent.updating,
                bytes_exchanged: round.bytes_exchanged as i64,
            }
        })
    }
}

record! {
    /// A round of `training_log` that measured held-out documents.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    "training_log";
    pub(crate) struct CurvePoint {
        /// The round, from 0.
        pub(crate) round: i32,
        /// The pass over the training sample, from 0.
        pub(crate) pass: i32,
        /// `online` or `gibbs`.
        pub(crate) phase: String,
        /// Documents trained on so far, counted at each visit.
        pub(crate) documents_seen: i64,
        /// Log-likelihood per held-out token, nats.
        pub(crate) heldout_loglik_per_token: Option<f64>,
    }
}

/// Reads the held-out likelihood during training, in order of the rounds; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn training_curve(root: &Path) -> Result<Vec<CurvePoint>, Failure> {
    let is_measured = |point: &CurvePoint| point.heldout_loglik_per_token.is_some();
    records(root)?.only(is_measured)
}
