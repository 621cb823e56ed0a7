//! The progress of a running job, polled by displays.

use super::process_status::{CheckpointStatus, Evaluation};
use lda::train::RoundSeconds;

/// A running job at one moment, as one process sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct ProgressSnapshot {
    /// The current phase: "ingest", "train", …; empty before the first.
    pub(crate) phase: &'static str,
    /// How much of it is done, in `unit`s; never falls within a phase.
    pub(crate) done: u64,
    /// The total for this process, if it is known. Rounds count for the whole run; bytes and documents are the
    /// process's share.
    pub(crate) total: Option<u64>,
    /// The unit of the counts: "documents", "rounds", …
    pub(crate) unit: &'static str,
    /// Further information, such as the latest held-out log-likelihood; may be empty.
    pub(crate) note: String,
}

/// The state of training, as a process sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrainingSnapshot {
    /// Rounds done, including those before a resume.
    pub(crate) rounds: u64,
    /// The latest evaluations, oldest first. At most `MOST_EVALUATIONS`.
    pub(crate) heldout: Vec<Evaluation>,
    /// Time that the process's first worker spent on each part of this run's rounds.
    pub(crate) spent: RoundSeconds,
    /// The newest checkpoint that this run has written.
    pub(crate) checkpoint: Option<CheckpointStatus>,
}

/// Number of evaluations that a [`TrainingSnapshot`] keeps.
const MOST_EVALUATIONS: usize = 12;

impl TrainingSnapshot {
    /// Adds an evaluation after this many rounds.
    pub(crate) fn evaluated(&mut self, round: u64, loglik_per_token: f64) {
        if self.heldout.len() == MOST_EVALUATIONS {
            self.heldout.remove(0);
        }
        self.heldout.push(Evaluation { round, loglik_per_token });
    }
}

/// A stage that processes documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkStage {
    /// Reading the input.
    Ingest,
    /// Training; a document counts each time it is sampled.
    Train,
    /// Inferring every document's topics.
    Project,
}

impl WorkStage {
    /// All stages, in order.
    pub(crate) const ALL: [WorkStage; 3] = [Self::Ingest, Self::Train, Self::Project];

    /// Returns its name: "ingest", "train", "project".
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Train => "train",
            Self::Project => "project",
        }
    }
}

/// The work of a process in a stage, in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) documents: u64,
    /// Tokens: in ingest all that were found, later those in the vocabulary.
    pub(crate) tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_evaluations_are_kept() {
        let mut training = TrainingSnapshot::default();
        for round in 1..=20 {
            training.evaluated(round, -8.0);
        }
        assert_eq!(training.heldout.len(), MOST_EVALUATIONS);
        let last = training.heldout.last().unwrap();
        assert_eq!((last.round, last.loglik_per_token), (20, -8.0));
    }
}
