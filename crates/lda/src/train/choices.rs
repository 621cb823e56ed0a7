//! The choices that settings of training offer, besides the method.

use serde::{Deserialize, Serialize};

/// Whether training remembers the assignments of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// If all of them, over all processes, fit in
    /// [`TrainSettings::memory_bytes`](super::settings::TrainSettings::memory_bytes), or the schedule needs them.
    Auto,
    /// Always.
    On,
    /// Never: the algorithm of Mimno 2012 alone.
    Off,
}

/// How many documents a minibatch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinibatchSize {
    /// By the documents' norms ([`Norms::minibatch`](super::norms::Norms::minibatch)).
    Norms,
    /// This many, on average; at least 1.
    #[serde(untagged)]
    Documents(usize),
}

/// Which documents a round visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentSchedule {
    /// Dealt to minibatches at random; each document once a pass.
    Uniform,
    /// In a random order in which document d is next with p(d) ∝ Σ_w n_dw²; each document once a pass: isLDA
    /// (Wahabzada & Kersting 2011, §3).
    Influence,
    /// Drawn in each round with that probability.
    InfluenceDraws,
    /// Drawn by residuals: how much more γ changed than at the previous visit (same paper, Algorithm 3).
    Residual,
}

impl DocumentSchedule {
    /// Returns whether each round draws its documents by their influence ([`active`](super::active)).
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::InfluenceDraws | Self::Residual)
    }

    /// Returns whether documents have a fixed order that depends on their counts.
    pub fn is_ordered(self) -> bool {
        self == Self::Influence
    }

    /// Returns whether a visit is compared with the previous one.
    pub fn needs_memory(self) -> bool {
        self == Self::Residual
    }
}
