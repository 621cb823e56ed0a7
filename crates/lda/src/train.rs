//! Training: sampled-online stochastic variational inference (Mimno 2012, Algorithm 1), which turns
//! into collapsed Gibbs sampling once it remembers the assignments of the sample (`schedule`).
//!
//! [`run`] is the loop of training, over whatever takes its rounds ([`Exchange`]). [`train`] takes them on one thread:
//! it documents the dataflow that distributes them over workers (topicmill's `dataflow::train`), tests it (both
//! produce the same bytes), and is the baseline of every claim about scaling.

pub mod active;
mod alone;
pub mod alpha;
pub mod document_schedule;
pub mod joint;
pub mod labels;
pub mod minibatches;
pub mod norms;
pub mod publish;
pub mod schedule;
pub mod senses;
pub mod settings;
pub mod soft;
pub mod spare;
pub mod step;
pub mod units;
pub mod visitor;
pub mod warm_start;

use std::collections::VecDeque;

use crate::evaluate::coherence::CoherenceCounter;
use crate::infer::ImpossibleDraw;
use crate::model::{MAX_TOPICS, Priors};
pub use alone::{Setup, Trained, train};
pub use publish::heldout;
use schedule::{Phase, Position, Schedule};
use settings::TrainSettings;
pub use step::expected::start;

/// The end of training by an error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// A draw has impossible masses.
    #[error("document {document}: {source}")]
    Draw {
        /// The document's number in the collection.
        document: u64,
        /// The masses.
        source: ImpossibleDraw,
    },
    /// The priors have too many topics.
    #[error("{0} topics are more than {MAX_TOPICS}: train with fewer")]
    TooManyTopics(usize),
}

/// The progress of training, besides the model: the same for all workers.
#[derive(Clone, Debug)]
pub struct TrainingProgress {
    /// The priors, with α as learnt so far.
    pub priors: Priors,
    /// The next round; `None` at the end.
    pub next: Option<Position>,
    /// Rounds taken.
    pub rounds: u64,
    /// Samples of counts, or of φ^p, in their average.
    pub averaged: u64,
    /// The rule that ends the phase.
    pub stop: StopRule,
}

/// What takes the rounds of training: one thread, or workers that exchange what they count.
pub trait Exchange {
    /// An error that ends training.
    type Error;

    /// Returns the progress, which only [`run`] changes.
    fn progress(&mut self) -> &mut TrainingProgress;

    /// Takes rounds, which change the model. The last one waits for the statistics of all.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses, or documents cannot be read.
    fn take(&mut self, rounds: VecDeque<Position>) -> Result<(), Self::Error>;

    /// Rounds away the weights that the terms of a changed prior began with.
    fn forget_first_weights(&mut self);

    /// Returns the [evidence](alpha::Histograms::evidence) for α of all documents visited since the last call.
    fn evidence(&mut self) -> Vec<i64>;

    /// Counts the training documents in which each topic's top terms occur, after a round has ended.
    ///
    /// # Errors
    /// Returns an error if documents cannot be read.
    fn coherence(&mut self) -> Result<CoherenceCounter, Self::Error>;

    /// Adds the counts to their average, with a weight; 1 starts the average.
    fn average(&mut self, weight: f64);

    /// Ends the rounds up to `last`, once the model is what the next one needs. Returns the log-likelihood per token
    /// of the held-out documents, if there are any and `is_scored`.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses, or documents cannot be read.
    fn end(&mut self, last: Position, is_scored: bool) -> Result<Option<f64>, Self::Error>;

    /// Saves the progress and the model, if that is due after `last`, which is not the last round of training.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn save(&mut self, last: Position) -> Result<(), Self::Error>;
}

/// Takes all rounds of a schedule. A phase ends after the requested passes, or when quality on the held-out documents
/// has stopped improving. Returns whether that has ended training.
///
/// # Errors
/// Returns the errors of `exchange`.
pub fn run<E: Exchange>(
    schedule: &Schedule,
    settings: &TrainSettings,
    exchange: &mut E,
) -> Result<bool, E::Error> {
    let mut has_settled = false;
    while let Some(first) = exchange.progress().next {
        let rounds = schedule.until_all_wait(first);
        let last = *rounds.back().expect("the first one, if no other");
        exchange.take(rounds)?;
        exchange.progress().rounds = last.round + 1;
        if schedule.forgets_first_weights_after(last) {
            exchange.forget_first_weights();
        }
        if schedule.ends_pass(last) && schedule.learns_alpha_in(last) {
            let evidence = exchange.evidence();
            alpha::step(&mut exchange.progress().priors.alpha, &evidence);
        }
        if let Some(weight) = schedule.average_after(last) {
            // The average already contains the estimate of such a round.
            if !last.is_estimate {
                exchange.average(weight);
            }
            exchange.progress().averaged += 1;
        }
        let heldout = exchange.end(last, schedule.evaluates_after(last))?;
        let mut coherence = None;
        // With a tree, parameters are those of leaves instead of terms.
        if schedule.counts_coherence_after(last) && exchange.progress().priors.tree.is_none() {
            let counted = exchange.coherence()?;
            let alpha = &mut exchange.progress().priors.alpha;
            if schedule.dissolves_after(last) {
                spare::dissolve(alpha, &counted, schedule.spare_topics);
            }
            coherence = spare::mean_coherence(&counted, alpha);
        }
        let counts = schedule.may_settle_after(last);
        let progress = exchange.progress();
        has_settled = heldout.is_some_and(|heldout| {
            counts && progress.stop.observe([Some(heldout), coherence], settings)
        });
        progress.next = schedule.next(last, has_settled);
        // At the last round of all, it ends nothing.
        has_settled &= schedule.next(last, false).is_some();
        if progress.next.is_some_and(|next| next.phase != last.phase) {
            progress.stop = StopRule::default();
        }
        if progress.next.is_some() {
            exchange.save(last)?;
        }
    }
    Ok(has_settled)
}

/// The rule that quality has stopped improving: in `patience` evaluations in a row neither the log-likelihood per token
/// of the held-out documents, in nats, nor the mean NPMI of the topics, where it was counted, has exceeded its best
/// before them by more than `tolerance`. Each phase has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StopRule {
    best: [Option<f64>; 2],
    evaluations_since: u32,
}

impl StopRule {
    /// Records an evaluation, the log-likelihood and the NPMI; returns whether the phase should end.
    pub fn observe(&mut self, values: [Option<f64>; 2], settings: &TrainSettings) -> bool {
        self.evaluations_since += 1;
        for (best, value) in self.best.iter_mut().zip(values) {
            if let Some(value) = value
                && best.is_none_or(|best| value > best + settings.tolerance)
            {
                *best = Some(value);
                self.evaluations_since = 0;
            }
        }
        settings.patience > 0 && self.evaluations_since >= settings.patience
    }
}

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
    /// The mean NPMI of the topics on the training documents, where it was counted.
    pub coherence: Option<f64>,
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

impl RoundSeconds {
    /// Returns the seconds of all activities.
    pub fn sum(&self) -> f64 {
        self.preparing + self.sampling + self.aggregating + self.exchanging + self.updating
    }
}

impl std::ops::AddAssign for RoundSeconds {
    fn add_assign(&mut self, other: Self) {
        self.preparing += other.preparing;
        self.sampling += other.sampling;
        self.aggregating += other.aggregating;
        self.exchanging += other.exchanging;
        self.updating += other.updating;
    }
}
