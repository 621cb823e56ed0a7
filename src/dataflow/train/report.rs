//! Reports training between rounds, to displays and to the log.

use std::time::{Duration, SystemTime};

use super::Trainer;
use crate::job::process_status::{CheckpointStatus, unix_millis};
use lda::train::schedule::Position;

impl Trainer {
    /// Reports a score of the held-out documents.
    pub(super) fn report_evaluation(&self, position: Position, loglik_per_token: f64) {
        let mut sampling = self.rounds.sampling();
        if let Some(round) = sampling.log.last_mut() {
            round.heldout = Some(loglik_per_token);
        }
        let (progress, phase) = (&self.plan.process.progress, position.phase.name());
        progress.note(format!(
            "{phase}, held-out {loglik_per_token:.4} nats per token"
        ));
        if self.part > 0 {
            return;
        }
        let rounds = self.rounds_taken;
        progress.train(|training| training.evaluated(rounds, loglik_per_token));
        let (documents, seconds) = (sampling.seen.documents, sampling.seen.seconds);
        tracing::info!(
            rounds,
            phase,
            loglik_per_token,
            documents,
            seconds,
            "held-out evaluated"
        );
    }

    /// Warns if a term has a topic more often than parameters count exactly.
    pub(super) fn report_rounded_counts(&self) {
        let parts = self.plan.model.read_parts();
        let counts = parts[self.part].rounded_count();
        if counts > 0 {
            tracing::warn!(counts, "counts above 2^24 are rounded to 24 bits");
        }
    }

    /// Reports a checkpoint, of which this process wrote `bytes` bytes in the time `took`.
    pub(super) fn report_checkpoint(&self, bytes: u64, took: Duration) {
        let (rounds, seconds) = (self.rounds_taken, took.as_secs_f64());
        tracing::info!(rounds, bytes, seconds, "checkpoint written");
        let written_unix_ms = unix_millis(SystemTime::now());
        self.plan.process.progress.train(|training| {
            training.checkpoint = Some(CheckpointStatus {
                round: rounds,
                written_unix_ms,
                seconds,
                bytes,
            });
        });
    }
}
