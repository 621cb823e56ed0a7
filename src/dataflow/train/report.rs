//! The reports of training: to the watchers of the process, and to its log.

use std::time::{Duration, Instant, SystemTime};

use super::Trainer;
use crate::job::{CheckpointMark, WorkStage};
use lda::train::RoundSeconds;
use lda::train::schedule::Position;

impl Trainer<'_> {
    /// Tells of a round that is over; the process's first worker speaks for all.
    pub(super) fn report_round(&self, position: Position, heldout: Option<f64>) {
        let progress = &self.plan.process.progress;
        let rounds = self.rounds_taken;
        progress.set(rounds);
        if self.part > 0 {
            return;
        }
        let [documents, tokens] = match self.plan.schedule.minibatch(position) {
            Some(minibatch) => self.plan.sample.training.share(minibatch),
            None => [0; 2],
        };
        progress.work(WorkStage::Train, documents, tokens);
        progress.train(|training| {
            training.rounds = rounds;
            add(&mut training.spent, self.spent);
            if let Some(value) = heldout {
                training.evaluated(rounds, value);
            }
        });
        if let Some(loglik_per_token) = heldout {
            let phase = position.phase.name();
            let (documents, seconds) = (self.seen.documents, self.seen.seconds);
            tracing::info!(
                rounds,
                phase,
                loglik_per_token,
                documents,
                seconds,
                "held-out evaluated"
            );
        }
    }

    /// Reports a checkpoint of which this process wrote this many bytes in this time.
    pub(super) fn report_checkpoint(&self, bytes: u64, took: Duration) {
        let (rounds, seconds) = (self.rounds_taken, took.as_secs_f64());
        tracing::info!(rounds, bytes, seconds, "checkpoint written");
        let written = SystemTime::now();
        self.plan.process.progress.train(|training| {
            training.checkpoint = Some(CheckpointMark {
                rounds,
                written,
                seconds,
                bytes,
            });
        });
    }

    /// The share of all cells of the model that hold a count.
    pub(super) fn nonzero_share(&self) -> f64 {
        let parts = self.plan.model.read_parts();
        let nonzero: u64 = parts.iter().map(|p| p.nonzero_count()).sum();
        let cells = self.plan.model.vocabulary_size() * self.priors.topic_count();
        nonzero as f64 / (cells as f64).max(1.0)
    }
}

/// Adds the seconds of a round to a sum.
fn add(sum: &mut RoundSeconds, round: RoundSeconds) {
    sum.preparing += round.preparing;
    sum.sampling += round.sampling;
    sum.aggregating += round.aggregating;
    sum.exchanging += round.exchanging;
    sum.updating += round.updating;
}

/// Seconds since `since`, which becomes now.
pub(super) fn lap(since: &mut Instant) -> f64 {
    let now = Instant::now();
    let seconds = now.duration_since(*since).as_secs_f64();
    *since = now;
    seconds
}
