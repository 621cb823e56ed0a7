//! The reports of training: to the watchers of the process, and to its log.

use std::time::{Duration, Instant, SystemTime};

use super::Trainer;
use super::sampling::TrainSampling;
use crate::job::{CheckpointMark, WorkStage};
use lda::train::schedule::Position;
use lda::train::{RoundReport, RoundSeconds};

/// What the log adds up.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) seconds: f64,
    pub(super) documents: u64,
    pub(super) tokens: u64,
}

impl Seen {
    /// After the rounds in a log.
    pub(super) fn after(log: &[RoundReport]) -> Self {
        log.last().map_or(Self::default(), |last| Self {
            seconds: last.seconds,
            documents: last.documents_seen,
            tokens: last.tokens_seen,
        })
    }

    /// Adds a round.
    pub(super) fn add(&mut self, [documents, tokens]: [u64; 2], spent: RoundSeconds) {
        self.documents += documents;
        self.tokens += tokens;
        self.seconds += spent.preparing + spent.sampling + spent.aggregating;
        self.seconds += spent.exchanging + spent.updating;
    }
}

impl TrainSampling {
    /// Tells of a round that is over; the process's first worker speaks for all.
    pub(super) fn report_round(&self, position: Position) {
        let progress = &self.plan.process.progress;
        let rounds = position.round + 1;
        progress.set(rounds);
        if self.part > 0 {
            return;
        }
        let drawn = self.plan.schedule.drawn(position).unwrap_or_default();
        let [documents, tokens] = match &self.plan.active {
            Some(active) if !drawn.is_empty() => active.length(),
            _ => self.plan.sample.training.share(drawn),
        };
        progress.work(WorkStage::Train, documents, tokens);
        progress.train(|training| {
            training.rounds = rounds;
            add(&mut training.spent, self.spent);
        });
    }

    /// The share of all cells of the model that hold a count.
    pub(super) fn nonzero_share(&self) -> f64 {
        let parts = self.plan.model.read_parts();
        let nonzero: u64 = parts.iter().map(|p| p.nonzero_count()).sum();
        let cells = self.plan.model.row_count() * self.priors.topic_count();
        nonzero as f64 / (cells as f64).max(1.0)
    }
}

impl Trainer {
    /// Tells of a score of the held-out documents.
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
