//! The rounds of training.

use super::records::table;

table! {
    /// One row per training round. The columns of time and traffic are the only ones of any table that may
    /// differ between runs; the digest leaves them out.
    "training_log", sorted_by [round];
    pub(crate) struct TrainingLogRow<'a> {
        round: i32,                            /// The round, from 0.
        pass: i32,                             /// The pass over the training sample it belongs to, from 0.
        phase: &'a str,                        /// The phase it belongs to: `online` or `gibbs`.
        documents_seen: i64,                   /// Documents trained on so far, counted at each visit.
        tokens_seen: i64,                      /// Tokens trained on so far, counted at each visit.
        step_size: f64,                        /// ρ_t, the step size of the round: in Gibbs rounds, their share of the documents.
        alpha_sum: f64,                        /// A = Σ_k α_k, the prior that documents were sampled with.
        seconds: f64,                          /// Training time so far, without loading, evaluation and checkpoints, in seconds.
        tokens_per_second: f64,                /// Tokens of this round per second of it.
        heldout_loglik_per_token: Option<f64>, /// Log-likelihood per held-out token by document completion, nats, in the rounds that measured it.
        nonzero_share: f64,                    /// Share of the K × V parameters that are above their prior.
        preparing_seconds: f64,                /// Seconds of worker 0 in this round: preparing factors,
        sampling_seconds: f64,                 /// sampling documents,
        aggregating_seconds: f64,              /// adding up its own statistics,
        exchanging_seconds: f64,               /// exchanging and merging them, waiting for other workers included,
        updating_seconds: f64,                 /// and changing the model.
        bytes_exchanged: i64,                  /// Bytes the processes exchanged in this round.
    }
}
