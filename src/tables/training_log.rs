//! Table `training_log`: one row per training round. The columns of time and traffic are the only
//! ones of any table that may differ between runs; the digest leaves them out.

super::schema::row! {
    table: "training_log",
    sorted_by: &["round"],
    looked_up_by: &[];
    /// A row of `training_log`.
    pub(crate) struct TrainingLogRow<'a> {
        /// The round, from 0.
        pub(crate) round: i32,
        /// The pass over the training sample it belongs to, from 0.
        pub(crate) pass: i32,
        /// The phase it belongs to: `online` or `gibbs`.
        pub(crate) phase: &'a str,
        /// Documents trained on so far, counted at each visit.
        pub(crate) documents_seen: i64,
        /// Tokens trained on so far, counted at each visit.
        pub(crate) tokens_seen: i64,
        /// ρ_t, the step size of the round: in Gibbs rounds, their share of the documents.
        pub(crate) step_size: f64,
        /// A = Σ_k α_k, the prior that documents were sampled with.
        pub(crate) alpha_sum: f64,
        /// Training time so far, without loading, evaluation and checkpoints, in seconds.
        pub(crate) seconds: f64,
        /// Tokens of this round per second of it.
        pub(crate) tokens_per_second: f64,
        /// Log-likelihood per held-out token by document completion, nats, in the rounds that
        /// measured it.
        pub(crate) heldout_loglik_per_token: Option<f64>,
        /// Share of the K × V parameters that are above their prior.
        pub(crate) nonzero_share: f64,
        /// Seconds of worker 0 in this round: preparing factors,
        pub(crate) preparing_seconds: f64,
        /// sampling documents,
        pub(crate) sampling_seconds: f64,
        /// adding up its own statistics,
        pub(crate) aggregating_seconds: f64,
        /// exchanging and merging them, waiting for other workers included,
        pub(crate) exchanging_seconds: f64,
        /// and changing the model.
        pub(crate) updating_seconds: f64,
        /// Bytes the processes exchanged in this round.
        pub(crate) bytes_exchanged: i64,
    }
}
