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
