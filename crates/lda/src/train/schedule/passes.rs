//! The actions after a pass: a sample that enters the average, an evaluation.
//!
//! The average is published. Its samples are the counts after some of the Gibbs passes or, with
//! [`Estimator::Soft`], φ^p of the assignments after them ([`soft`](super::super::soft)): each takes one more round
//! over the whole sample, which leaves the counts unchanged.

use super::{Action, Phase, Position, Schedule};
use crate::infer::settings::Estimator;

/// γ of polynomial-decay averaging (Shamir & Zhang, ICML 2013): sample s of S weighs about (s/S)^γ,
/// so that most of the weight is on the last quarter.
const AVERAGE_DECAY: f64 = 3.0;

/// The fewest rounds between two evaluations in an online pass, which has four evaluations by default.
const EVALUATE_EVERY: u64 = 10;

impl Schedule {
    /// Returns the number of Gibbs passes that are complete after a round, if it completes one or estimates φ^p
    /// after one.
    pub(super) fn gibbs_passes(&self, position: Position) -> Option<u64> {
        let completes = self.action(position) == Action::Gibbs && self.ends_pass(position);
        (completes || position.is_estimate).then(|| position.taken / self.gibbs_rounds)
    }

    /// Returns whether φ^p is estimated after Gibbs passes.
    pub fn estimates(&self) -> bool {
        self.has_gibbs_passes() && self.settings.estimator == Estimator::Soft
    }

    /// Returns whether the round is followed by one that estimates φ^p.
    pub(super) fn estimates_after(&self, position: Position) -> bool {
        let passes = self.gibbs_passes(position);
        let is_sampled = passes.is_some_and(|passes| self.samples_before(passes).is_some());
        self.estimates() && !position.is_estimate && is_sampled
    }

    /// Returns the maximum number of rounds that estimate φ^p.
    pub fn estimate_count(&self) -> u64 {
        let passes = 1..=self.passes - self.online_passes;
        if self.estimates() {
            (passes.filter_map(|passes| self.samples_before(passes))).count() as u64
        } else {
            0
        }
    }

    /// If a sample is taken after Gibbs pass number `passes`, returns how many samples are in the average by then.
    /// The last pass has one if no other has, so that there is an average. If only the last sample counts and
    /// taking one needs a round, one is taken for each evaluation.
    fn samples_before(&self, passes: u64) -> Option<u64> {
        let is_last = passes == self.passes - self.online_passes;
        match self.average_every {
            0 => (is_last || self.estimates() && self.evaluates_gibbs_pass(passes)).then_some(0),
            every => {
                let is_due = passes.is_multiple_of(every) || (is_last && passes < every);
                is_due.then(|| (passes - 1) / every)
            }
        }
    }

    /// Returns the weight with which the sample of this round enters the average, if there is one; 1 for the first.
    /// The sample is the counts after the round or, in a round that estimates it, φ^p.
    pub fn average_after(&self, position: Position) -> Option<f64> {
        let samples = self.samples_before(self.gibbs_passes(position)?)?;
        (self.estimates() == position.is_estimate).then(|| match samples {
            0 => 1.0,
            _ => (AVERAGE_DECAY + 1.0) / ((samples + 1) as f64 + AVERAGE_DECAY),
        })
    }

    /// Returns whether the model is scored on the held-out documents after the round: every N rounds online, every
    /// N passes in Gibbs sampling, and at the end of a phase. If φ^p is due, it is estimated first.
    pub fn evaluates_after(&self, position: Position) -> bool {
        let next = self.next(position, false);
        let ends = next.is_none_or(|next| next.phase != position.phase);
        let is_due = match position.phase {
            Phase::Online => (position.taken + 1).is_multiple_of(self.evaluates_online_every()),
            Phase::Gibbs if self.estimates_after(position) => false,
            Phase::Gibbs => {
                let passes = self.gibbs_passes(position);
                passes.is_some_and(|passes| self.evaluates_gibbs_pass(passes))
            }
        };
        is_due || ends
    }

    /// Returns the number of rounds between two evaluations in online passes.
    pub(super) fn evaluates_online_every(&self) -> u64 {
        let chosen = (self.minibatch_count / 4).max(EVALUATE_EVERY);
        self.settings.evaluate_every.map_or(chosen, u64::from)
    }

    /// Returns whether the model is scored after Gibbs pass number `passes`.
    fn evaluates_gibbs_pass(&self, passes: u64) -> bool {
        let every = self.settings.evaluate_every.map(u64::from);
        passes.is_multiple_of(every.unwrap_or((self.passes / 20).max(2)))
    }

    /// Returns whether the score after the round may end the phase. Before every document has been visited, before
    /// φ^p has been estimated, and while α is still wide or has just begun to shrink, quality may stall without
    /// having settled.
    pub fn may_settle_after(&self, position: Position) -> bool {
        match position.phase {
            Phase::Online => position.taken + 1 >= self.minibatch_count,
            Phase::Gibbs => {
                let learnt = match self.alpha_every {
                    0 => 0,
                    every => self.alpha_after + every + 1,
                };
                let estimated = self.average_every * u64::from(self.estimates());
                let passes = self.gibbs_passes(position);
                passes.is_none_or(|passes| passes >= learnt.max(estimated))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::norms::Norms;
    use crate::train::settings::{Memory, TrainSettings};

    /// Returns the Gibbs passes after which a sample is taken, with its weight, and those after which the model is
    /// scored; over all rounds of a job of ten Gibbs passes.
    fn samples(estimator: Estimator, every: u32) -> (Vec<(u64, f64)>, Vec<u64>) {
        let settings = TrainSettings {
            estimator,
            passes: Some(12),
            online_passes: 2,
            memory: Memory::On,
            average_every: Some(every),
            evaluate_every: Some(4),
            ..TrainSettings::default()
        };
        let schedule = Schedule::new(&settings, 5000, 200_000, Norms::default());
        let (mut next, mut rounds) = (schedule.start(), 0);
        let (mut averaged, mut scored) = (Vec::new(), Vec::new());
        while let Some(position) = next {
            rounds += 1;
            if position.phase == Phase::Gibbs {
                let passes = schedule.gibbs_passes(position);
                averaged.extend(passes.zip(schedule.average_after(position)));
                scored.extend(passes.filter(|_| schedule.evaluates_after(position)));
            }
            next = schedule.next(position, false);
            assert!(next.is_none_or(|next| next.round == rounds));
        }
        assert_eq!(rounds, schedule.round_count());
        (averaged, scored)
    }

    #[test]
    fn soft_samples_are_taken_where_counts_are() {
        for every in [3, 5, 40] {
            let counts = samples(Estimator::Counts, every);
            assert_eq!(samples(Estimator::Soft, every), counts);
            assert_eq!(counts.1, [4, 8, 10]);
        }
        assert_eq!(samples(Estimator::Counts, 40).0, [(10, 1.0)]);
        let third = samples(Estimator::Soft, 3).0;
        assert_eq!(third, [(3, 1.0), (6, 0.8), (9, 4.0 / 6.0)]);
    }

    #[test]
    fn the_last_sample_alone_is_there_when_the_model_is_scored() {
        let (averaged, scored) = samples(Estimator::Soft, 0);
        assert_eq!(averaged, [(4, 1.0), (8, 1.0), (10, 1.0)]);
        assert_eq!(scored, [4, 8, 10]);
        assert_eq!(samples(Estimator::Counts, 0).0, [(10, 1.0)]);
    }
}
