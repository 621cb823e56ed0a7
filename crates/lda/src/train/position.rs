//! The position of training, and the action of a round.

/// How a round samples its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Sampled-online variational inference.
    Online,
    /// Collapsed Gibbs sampling with remembered assignments.
    Gibbs,
}

impl Phase {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Gibbs => "gibbs",
        }
    }
}

/// The position of training: the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// The round, from 0, over both phases.
    pub round: u64,
    /// Its phase.
    pub phase: Phase,
    /// Rounds of this phase before it.
    pub taken: u64,
    /// Passes of the phase before this one.
    pub passes_before: u64,
    /// True for a round that estimates φ^p, after the Gibbs round with the same numbers.
    pub is_estimate: bool,
}

/// The action of a round on its documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Samples them from scratch, or approximates them, as the method does, and changes the model by the result.
    Online,
    /// Assigns all of them at random, and makes their counts the model: nothing is learnt yet.
    Scatter,
    /// Samples them against the model that training starts from, and makes their counts the model.
    Assign,
    /// Samples them against that model, and removes their counts from it.
    Withdraw,
    /// Makes the counts of all remembered assignments the model.
    Count,
    /// Redraws their assignments, and replaces their counts.
    Gibbs,
    /// Adds up the probabilities of all topics for every remembered assignment: φ^p ([`soft`](super::soft)).
    Estimate,
}

impl Action {
    /// Returns whether documents keep the assignments that they have.
    pub fn keeps_assignments(self) -> bool {
        matches!(self, Self::Count | Self::Estimate)
    }

    /// Returns whether documents are visited with the assignments that they have.
    pub fn needs_assignments(self) -> bool {
        self == Self::Gibbs || self.keeps_assignments()
    }
}
