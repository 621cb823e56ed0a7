//! The figures of rounds in the training log.

use super::schedule::Phase;

/// A round in the training log.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RoundReport {
    /// The round, from 0.
    pub round: u64,
    /// The pass, from 0.
    pub pass: u64,
    /// The phase.
    pub phase: Phase,
    /// Documents sampled so far.
    pub documents_seen: u64,
    /// Tokens sampled so far (each counted once a round, not once a sweep).
    pub tokens_seen: u64,
    /// ρ_t.
    pub step_size: f64,
    /// A = Σ_k α_k that the round was sampled with.
    pub alpha_sum: f64,
    /// Held-out log-likelihood per token by document completion, where it was evaluated.
    pub heldout: Option<f64>,
    /// The share of the K · V parameters with λ̃ > 0.
    pub nonzero_share: f64,
    /// Cumulative seconds of training; not reproducible.
    pub seconds: f64,
    /// How worker 0 spent this round; not reproducible.
    pub spent: RoundSeconds,
    /// Bytes this round's statistics took on the wire; not reproducible.
    pub bytes_exchanged: u64,
}

/// Seconds of one worker in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RoundSeconds {
    /// Preparing the factors of its own part of the model.
    pub preparing: f64,
    /// Sampling documents.
    pub sampling: f64,
    /// Adding up its own statistics.
    pub aggregating: f64,
    /// Exchanging and merging statistics, including the wait for other workers.
    pub exchanging: f64,
    /// Changing its part of the model.
    pub updating: f64,
}
