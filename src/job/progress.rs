//! The progress of a running job, polled by displays.

use std::time::SystemTime;

use lda::train::RoundSeconds;

/// A running job at one moment, as one process sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// What is being done: "ingest", "train", …; empty before the first phase.
    pub phase: &'static str,
    /// How much of it is done, in `unit`s; never falls within a phase.
    pub done: u64,
    /// The total for this process, if it is known. Rounds are those of the run, bytes and documents
    /// the process's share.
    pub total: Option<u64>,
    /// What is counted: "documents", "rounds", …
    pub unit: &'static str,
    /// Further information, such as the latest held-out log-likelihood; may be empty.
    pub note: String,
}

/// What a process knows of training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingSnapshot {
    /// Rounds done, those before a resume included.
    pub rounds: u64,
    /// The latest evaluations, oldest first: rounds done then, and the held-out log-likelihood per
    /// token in nats. At most `MOST_EVALUATIONS`.
    pub heldout: Vec<(u64, f64)>,
    /// Where the process's first worker spent the rounds of this run.
    pub spent: RoundSeconds,
    /// The newest checkpoint that this run has written.
    pub checkpoint: Option<CheckpointMark>,
}

/// Evaluations that a [`TrainingSnapshot`] keeps.
pub const MOST_EVALUATIONS: usize = 12;

impl TrainingSnapshot {
    /// Notes an evaluation after this many rounds.
    pub fn evaluated(&mut self, rounds: u64, loglik_per_token: f64) {
        if self.heldout.len() == MOST_EVALUATIONS {
            self.heldout.remove(0);
        }
        self.heldout.push((rounds, loglik_per_token));
    }
}

/// A checkpoint that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointMark {
    /// Rounds done then.
    pub rounds: u64,
    /// When it was complete.
    pub written: SystemTime,
    /// Seconds that it took.
    pub seconds: f64,
    /// Bytes that this process wrote of it.
    pub bytes: u64,
}

/// A stage that processes documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkStage {
    /// Reading the input.
    Ingest,
    /// Training; a document counts each time it is sampled.
    Train,
    /// Inferring every document's topics.
    Project,
}

impl WorkStage {
    /// All of them, in order.
    pub const ALL: [WorkStage; 3] = [Self::Ingest, Self::Train, Self::Project];

    /// Its name: "ingest", "train", "project".
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Train => "train",
            Self::Project => "project",
        }
    }
}

/// What a process has processed in a stage, in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Documents.
    pub documents: u64,
    /// Tokens: in ingest all that were found, later those in the vocabulary.
    pub tokens: u64,
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
        assert_eq!(training.heldout.last(), Some(&(20, -8.0)));
    }
}
