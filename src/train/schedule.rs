//! Which documents a round samples, what becomes of them, and when training ends.
//!
//! Training has two phases. *Online* rounds are those of Mimno 2012: a minibatch is sampled anew,
//! and the parameters take a decreasing step towards it. *Refining* rounds are collapsed Gibbs
//! sampling: the assignments of the whole sample are remembered, one sweep draws those of the
//! minibatch again, and its new counts replace its old ones. The first refining round assigns
//! every document against what the online phase has learnt, or at random if there was none.
//!
//! A pass deals every document of the sample to one of M minibatches by a hash of (seed, pass,
//! document): minibatches are random over the whole sample, and any worker can tell which of its
//! documents belong to a round.

use super::settings::TrainSettings;
use crate::math::random::{Stage, hash};
use crate::math::special::pow;
use crate::model::parameters::GlobalStep;

/// γ of polynomial-decay averaging (Shamir & Zhang, ICML 2013): sample s of S weighs about (s/S)^γ,
/// so that most of the weight is on the last quarter.
const AVERAGE_DECAY: f64 = 3.0;

/// The two phases of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Sampled-online variational inference.
    Online,
    /// Collapsed Gibbs sampling with remembered assignments.
    Refine,
}

impl Phase {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Refine => "refine",
        }
    }
}

/// Where training stands: the round to be taken next.
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
}

/// What a round does with its documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Samples them anew, and takes a step towards what came out.
    Online,
    /// Assigns all of them at random, and takes their counts for the model: nothing is learnt yet.
    Scatter,
    /// Samples them anew, all of them, and takes their counts for the model.
    Assign,
    /// Draws their assignments again, and replaces their counts.
    Refine,
}

/// The rounds of a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// D: documents trained on.
    pub document_count: u64,
    /// M: minibatches of an online pass.
    pub minibatch_count: u64,
    settings: TrainSettings,
    seed: u64,
}

impl Schedule {
    /// For a sample of `document_count` documents.
    pub fn new(settings: &TrainSettings, seed: u64, document_count: u64) -> Self {
        let minibatch_count = document_count.div_ceil(settings.minibatch as u64).max(1);
        Self {
            document_count,
            minibatch_count,
            settings: settings.clone(),
            seed,
        }
    }

    /// Rounds at most.
    pub fn round_count(&self) -> u64 {
        let online = self.minibatch_count * u64::from(self.settings.passes);
        let refine = match self.settings.refine {
            0 => 0,
            passes => 1 + u64::from(passes) * self.refine_rounds(),
        };
        online + refine
    }

    fn refine_rounds(&self) -> u64 {
        u64::from(self.settings.refine_rounds.max(1))
    }

    /// The first round; `None` if there are none.
    pub fn start(&self) -> Option<Position> {
        let first = Position {
            round: 0,
            phase: Phase::Online,
            taken: 0,
            passes_before: 0,
        };
        match self.settings.passes {
            0 => self.refine_from(first),
            _ => Some(first),
        }
    }

    /// The round after `position`; `None` at the end. `has_settled`: held-out quality has stopped
    /// improving, which ends the phase.
    pub fn next(&self, position: Position, has_settled: bool) -> Option<Position> {
        let next = Position {
            round: position.round + 1,
            taken: position.taken + 1,
            ..position
        };
        let is_over = match position.phase {
            Phase::Online => next.taken == self.minibatch_count * u64::from(self.settings.passes),
            Phase::Refine => {
                next.taken == 1 + self.refine_rounds() * u64::from(self.settings.refine)
            }
        };
        match position.phase {
            _ if !is_over && !has_settled => Some(next),
            Phase::Online => self.refine_from(next),
            Phase::Refine => None,
        }
    }

    fn refine_from(&self, next: Position) -> Option<Position> {
        (self.settings.refine > 0).then(|| Position {
            round: next.round,
            phase: Phase::Refine,
            taken: 0,
            passes_before: next.taken.div_ceil(self.minibatch_count),
        })
    }

    /// What a round does with its documents.
    pub fn action(&self, position: Position) -> Action {
        match (position.phase, position.taken) {
            (Phase::Online, _) => Action::Online,
            (Phase::Refine, 0) if position.passes_before == 0 => Action::Scatter,
            (Phase::Refine, 0) => Action::Assign,
            (Phase::Refine, _) => Action::Refine,
        }
    }

    /// The pass that a round belongs to, from 0, over both phases. The round that assigns every
    /// document is a pass of its own.
    pub fn pass(&self, position: Position) -> u64 {
        position.passes_before
            + match position.phase {
                Phase::Online => position.taken / self.minibatch_count,
                Phase::Refine => position.taken.div_ceil(self.refine_rounds()),
            }
    }

    /// Minibatches of the pass that a round belongs to.
    pub fn minibatches(&self, position: Position) -> u64 {
        match self.action(position) {
            Action::Online => self.minibatch_count,
            Action::Scatter | Action::Assign => 1,
            Action::Refine => self.refine_rounds(),
        }
    }

    /// The minibatch of its pass that a round samples.
    pub fn minibatch(&self, position: Position) -> u64 {
        match self.action(position) {
            Action::Online => position.taken % self.minibatch_count,
            Action::Scatter | Action::Assign => 0,
            Action::Refine => (position.taken - 1) % self.refine_rounds(),
        }
    }

    /// Deals documents, given by their numbers, to the minibatches of the pass that a round
    /// belongs to; as indices.
    pub fn deal(&self, position: Position, documents: impl Iterator<Item = u64>) -> Vec<Vec<u32>> {
        let (pass, count) = (self.pass(position), self.minibatches(position));
        let mut minibatches = vec![Vec::new(); count as usize];
        for (index, document) in documents.enumerate() {
            let minibatch = hash(self.seed, Stage::Minibatch, pass, document) % count;
            minibatches[minibatch as usize].push(index as u32);
        }
        minibatches
    }

    /// The step of an online round over a minibatch of `minibatch_length` documents (Mimno 2012,
    /// Eq. 11), with ρ_t = (t_0 + t)^−κ, t from 1.
    pub fn step(&self, position: Position, minibatch_length: u64) -> GlobalStep {
        let t = (position.taken + 1) as f64;
        let step_size = pow(self.settings.step_offset + t, -self.settings.step_decay);
        let scaled = minibatch_length as f64 * f64::from(self.settings.kept_sweeps);
        GlobalStep {
            step_size,
            weight: self.document_count as f64 / scaled,
        }
    }

    /// The refining passes that are complete after a round, if it completes one.
    fn refined(&self, position: Position) -> Option<u64> {
        (self.action(position) == Action::Refine && self.ends_pass(position))
            .then(|| position.taken / self.refine_rounds())
    }

    /// True after the last round of a pass.
    pub fn ends_pass(&self, position: Position) -> bool {
        self.minibatch(position) + 1 == self.minibatches(position)
    }

    /// True after the rounds whose model is scored on the held-out documents: so many rounds
    /// apart online, so many passes apart in refining, and where a phase ends.
    pub fn evaluates_after(&self, position: Position) -> bool {
        let every = u64::from(self.settings.evaluate_every.max(1));
        let next = self.next(position, false);
        let ends = next.is_none_or(|next| next.phase != position.phase);
        let is_due = match position.phase {
            Phase::Online => (position.taken + 1).is_multiple_of(every),
            Phase::Refine => {
                let refined = self.refined(position);
                refined.is_some_and(|passes| passes.is_multiple_of(every))
            }
        };
        is_due || ends
    }

    /// True after the rounds whose score may end the phase: while α is still wide, or has just
    /// begun to shrink, quality stands still without having settled.
    pub fn may_settle_after(&self, position: Position) -> bool {
        let (after, every) = (self.settings.alpha_after, self.settings.alpha_every);
        let learnt = u64::from(after) + u64::from(every);
        let refined = self.refined(position);
        every == 0 || refined.is_none_or(|passes| passes > learnt)
    }

    /// True in the passes that end with a step of learning α.
    pub fn learns_alpha_in(&self, position: Position) -> bool {
        let after = u64::from(self.settings.alpha_after);
        let every = u64::from(self.settings.alpha_every);
        let pass = position.taken.div_ceil(self.refine_rounds());
        self.action(position) == Action::Refine
            && every > 0
            && pass >= after.max(1)
            && (pass - after).is_multiple_of(every)
    }

    /// The weight with which the counts after this round enter their average, if they do; 1 for the
    /// first ones. The last ones always do, so that there is an average.
    pub fn average_after(&self, position: Position, samples: u64) -> Option<f64> {
        let every = u64::from(self.settings.average_every);
        let refined = self.refined(position)?;
        let is_due = every > 0 && refined.is_multiple_of(every);
        let is_last = samples == 0 && self.next(position, false).is_none();
        (is_due || is_last).then(|| match samples {
            0 => 1.0,
            _ => (AVERAGE_DECAY + 1.0) / ((samples + 1) as f64 + AVERAGE_DECAY),
        })
    }

    /// True after the rounds that may end with a checkpoint: in refining, where a pass ends.
    pub fn allows_checkpoint_after(&self, position: Position) -> bool {
        position.phase == Phase::Online || self.ends_pass(position)
    }

    /// True after the rounds that training may be left and gone on from: not where sums over a pass
    /// are half taken.
    pub fn may_leave_after(&self, position: Position) -> bool {
        let is_plain = self.action(position) == Action::Refine && !self.learns_alpha_in(position);
        is_plain || self.allows_checkpoint_after(position)
    }

    /// True after the rounds that end with a checkpoint, if they allow one: so many rounds apart.
    pub fn checkpoints_after(&self, position: Position) -> bool {
        let every = u64::from(self.settings.checkpoint_every);
        let since = match position.phase {
            Phase::Online => 1,
            Phase::Refine => self.minibatches(position),
        };
        let done = position.round + 1;
        every > 0 && done / every > done.saturating_sub(since) / every
    }
}

/// Tells when held-out quality has stopped improving: when `patience` evaluations in a row were
/// not better than the best before them by `tolerance` nats a token. Each phase has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StopRule {
    best: Option<f64>,
    evaluations_since: u32,
}

impl StopRule {
    /// Takes note of an evaluation; true if the phase should end.
    pub fn observe(&mut self, value: f64, settings: &TrainSettings) -> bool {
        let improved = self
            .best
            .is_none_or(|best| value > best + settings.tolerance);
        if improved {
            self.best = Some(value);
            self.evaluations_since = 0;
        } else {
            self.evaluations_since += 1;
        }
        settings.patience > 0 && self.evaluations_since >= settings.patience
    }
}
