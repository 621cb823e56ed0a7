//! Joint inference for documents (Yao, Mimno & McCallum 2009, §3.1 and §3.2): their assignments count in the model
//! that they are sampled against.
//!
//! *Gibbs2* samples the new documents; the counts of the training documents are fixed. *Gibbs1* samples all
//! documents, and nothing is fixed. With the fixed counts ñ (none in Gibbs1), this is the collapsed Gibbs sampling
//! of training (`schedule`): counts are updated every round, a pass has several rounds, and a token's own count is
//! left out when it is drawn:
//!
//! ```text
//! p(z_di = k | rest) ∝ (α_k + n_dk) (η + ñ_kw + n_kw) / (Vη + ñ_k + n_k)
//! ```
//!
//! The paper draws the first assignments at random. Here every document begins with one sequential sweep against
//! the trained model, as in Gibbs3, so topics keep their numbers and fewer passes are needed. α is fixed.
//! topicmill's `dataflow::joint` distributes the passes over workers, with the same bytes as on one thread.

use super::TrainError;
use super::publish::published_priors;
use super::step::{Sampling, StreamKey, Visit};
use crate::estimate::Proportions;
use crate::infer::settings::{Estimator, InferSettings};
use crate::infer::{Bag, DocumentScope};
use crate::math::random::{Stage, hash};
use crate::model::Priors;
use crate::model::factors::FactorTable;
use crate::model::parameters::{Entry, add_to_row};
use crate::model::statistics::Assigned;

/// Rounds per pass: counts are at most a quarter of a pass old; more rounds gained nothing (docs/measurements/DEFAULTS.md).
const ROUNDS: u64 = 4;

/// The passes over documents that are sampled together. Before the first pass, a separate round assigns every
/// document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Passes discarded.
    pub burn_in: u64,
    /// Passes that θ is averaged over, ≥ 1.
    pub kept: u64,
    /// Rounds of a pass, ≥ 1: counts are at most one round old.
    pub rounds: u64,
    /// How θ is estimated in a pass.
    pub estimator: Estimator,
    /// The seed of every random choice.
    pub seed: u64,
}

impl Passes {
    /// Returns the passes that `settings` request.
    pub fn new(settings: &InferSettings, seed: u64) -> Self {
        Self {
            burn_in: u64::from(settings.burn_in_sweeps),
            kept: u64::from(settings.kept_sweeps),
            rounds: ROUNDS,
            estimator: settings.estimator,
            seed,
        }
    }

    /// Returns the number of passes.
    pub fn count(&self) -> u64 {
        self.burn_in + self.kept
    }

    /// Returns whether θ is averaged over a pass, numbered from 0.
    pub fn is_kept(&self, pass: u64) -> bool {
        pass >= self.burn_in
    }

    /// Returns the number of a round of a pass; the round that assigns every document is 0.
    pub fn round(&self, pass: u64, minibatch: u64) -> u64 {
        1 + pass * self.rounds + minibatch
    }

    /// Deals documents, given by their numbers, to the rounds of a pass; returns their indices.
    pub fn deal(&self, pass: u64, documents: impl Iterator<Item = u64>) -> Vec<Vec<u32>> {
        let mut rounds = vec![Vec::new(); self.rounds as usize];
        for (index, document) in documents.enumerate() {
            let round = hash(self.seed, Stage::JointRound, pass, document) % self.rounds;
            rounds[round as usize].push(index as u32);
        }
        rounds
    }

    /// Returns the key of a document's draws in a round.
    pub fn key(&self, round: u64, document: u64) -> StreamKey {
        StreamKey { seed: self.seed, stage: Stage::Joint, round, document }
    }
}

/// Returns the priors that documents are sampled with. Gibbs2 extends the published model, and has its η; Gibbs1 is
/// training, and has the η of training. Both have only the mean geometry.
pub fn sampled_with(scope: DocumentScope, priors: &Priors, published_eta: f64) -> Priors {
    let eta = if scope == DocumentScope::All { priors.eta } else { published_eta };
    published_priors(priors, eta)
}

/// A sampler of a round's documents, one after another, that adds up the changes of the counts.
#[derive(Debug)]
pub struct JointVisitor {
    sampling: Sampling,
    estimate: Proportions,
    proportions: Vec<f32>,
    listed: Vec<(u16, f32)>,
}

impl JointVisitor {
    /// Creates a visitor for a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        Self {
            sampling: Sampling::new(vocabulary_size, topic_count),
            estimate: Proportions::default(),
            proportions: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Assigns a document by one sequential sweep; returns the assignments.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn assign(
        &mut self,
        key: StreamKey,
        bag: Bag<'_>,
        table: FactorTable<'_>,
    ) -> Result<&[u16], TrainError> {
        let visit = Visit { key, bag, labels: &[], table, weight: 1 };
        self.sampling.assign(visit, 0).map_err(key.error())
    }

    /// Redraws the assignments `remembered` of a document that counts in the model; returns the new ones. If the
    /// pass is kept, the document is added to its sums: plain counts of the new assignments; soft counts of the old
    /// ones, because the model counts those, and a token's own count is left out of its old topic.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn resample(
        &mut self,
        key: StreamKey,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        remembered: &[u16],
        kept: Option<(Estimator, &mut TopicSums)>,
    ) -> Result<&[u16], TrainError> {
        self.sampling.resume(bag, table, remembered);
        let (counted, soft) = match kept {
            Some((Estimator::Soft, sums)) => (None, Some(sums)),
            Some((Estimator::Counts, sums)) => (Some(sums), None),
            None => (None, None),
        };
        if let Some(sums) = soft {
            self.add_soft(table, sums);
        }
        self.sampling.redraw(key, table, remembered).map_err(key.error())?;
        if let Some(sums) = counted {
            self.add_counts(sums);
        }
        Ok(self.sampling.assigned(table))
    }

    fn add_counts(&mut self, sums: &mut TopicSums) {
        let sample = self.sampling.sampler.sample();
        self.listed.clear();
        let active = sample.active.iter();
        let counted = active.map(|&k| (k, sample.counts[usize::from(k)]));
        self.listed.extend(counted.filter(|&(_, n)| n > 0.0));
        self.listed.sort_unstable_by_key(|&(topic, _)| topic);
        sums.add(&self.listed);
    }

    fn add_soft(&mut self, table: FactorTable<'_>, sums: &mut TopicSums) {
        let (sampler, estimate) = (&mut self.sampling.sampler, &mut self.estimate);
        estimate.start_counted(table.topic_count());
        sampler.add_soft(estimate, table);
        let tokens = sampler.token_count();
        estimate.finish(tokens, table, &mut self.proportions);
        self.listed.clear();
        excess(&self.proportions, tokens, table, &mut self.listed);
        sums.add(&self.listed);
    }

    /// Passes the changes of the counts since the last call to `emit`, aggregated and sorted.
    pub fn finish(&mut self, emit: impl FnMut(Assigned)) {
        self.sampling.finish(emit);
    }
}

// A document's topics, added up over passes: sparse, because every document has such sums.

/// Soft counts below this many tokens are not listed: they would make every document list every topic. The
/// remainder is distributed in proportion to α, from which it came.
const SMALLEST: f32 = 1.0 / 1024.0;

/// The sum over passes of a document's tokens in each topic; 8 bytes per topic.
///
/// Passes are added in one order, so floats add up to the same sum on any worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicSums {
    /// Topic and tokens, ascending by topic.
    entries: Vec<Entry>,
    passes: u32,
}

impl TopicSums {
    /// Returns about the bytes of documents with this many tokens, each of a topic of its own.
    pub fn bytes(tokens: u64, documents: u64) -> u64 {
        tokens * size_of::<Entry>() as u64 + documents * 48
    }

    /// Adds the tokens of a pass, which must ascend by topic.
    pub fn add(&mut self, tokens: &[(u16, f32)]) {
        let changes = tokens.iter();
        let changes = changes.map(|&(topic, tokens)| (u32::from(topic), f64::from(tokens)));
        add_to_row(&mut self.entries, changes);
        self.passes += 1;
    }

    /// Writes θ_dk = (α_k + mean tokens of k) / (A + N_d) of each topic to `proportions`; they add up to 1.
    /// Unlisted tokens are distributed in proportion to α.
    pub fn proportions(&self, token_count: usize, alpha: &[f64], proportions: &mut Vec<f32>) {
        let alpha_sum: f64 = alpha.iter().sum();
        let passes = f64::from(self.passes.max(1));
        let listed: f64 = self.entries.iter().map(|e| f64::from(e.value)).sum();
        let rest = (token_count as f64 - listed / passes).max(0.0);
        let whole = token_count as f64 + alpha_sum;
        // If rounding has listed slightly more than all tokens, they are scaled to add up.
        let scale = (token_count as f64 - rest) / listed.max(f64::MIN_POSITIVE);
        proportions.clear();
        let prior = |&a: &f64| (a * (1.0 + rest / alpha_sum) / whole) as f32;
        proportions.extend(alpha.iter().map(prior));
        for &Entry { topic, value } in &self.entries {
            let k = topic as usize;
            let a = alpha[k] * (1.0 + rest / alpha_sum);
            proportions[k] = ((a + f64::from(value) * scale) / whole) as f32;
        }
    }
}

/// Appends the soft counts of a single sample, θ_dk (A + N_d) − α_k, ascending by topic, to `listed`.
fn excess(
    proportions: &[f32],
    token_count: usize,
    table: FactorTable<'_>,
    listed: &mut Vec<(u16, f32)>,
) {
    let alpha = &table.smoothing().alpha;
    let alpha_sum: f64 = alpha.iter().map(|&a| f64::from(a)).sum();
    let whole = token_count as f64 + alpha_sum;
    for (topic, (&share, &a)) in proportions.iter().zip(alpha).enumerate() {
        let tokens = (f64::from(share) * whole - f64::from(a)) as f32;
        if tokens >= SMALLEST {
            listed.push((topic as u16, tokens));
        }
    }
}

#[cfg(test)]
mod sums_tests {
    use super::*;

    #[test]
    fn proportions_are_the_mean_over_passes() {
        let mut sums = TopicSums::default();
        sums.add(&[(1, 3.0), (2, 1.0)]);
        sums.add(&[(0, 1.0), (2, 3.0)]);
        let alpha = [0.5, 0.25, 0.25, 1.0];
        let mut proportions = Vec::new();
        sums.proportions(4, &alpha, &mut proportions);
        let expected = [1.0, 1.75, 2.25, 1.0].map(|x: f32| x / 6.0);
        for (found, expected) in proportions.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{proportions:?}");
        }
    }

    #[test]
    fn what_is_not_listed_is_the_priors() {
        let mut sums = TopicSums::default();
        sums.add(&[(0, 7.0)]);
        let mut proportions = Vec::new();
        sums.proportions(10, &[1.0, 1.0, 2.0], &mut proportions);
        // Three tokens are distributed in proportion to α, which is 1, 1 and 2 already.
        let expected = [8.75, 1.75, 3.5].map(|x: f32| x / 14.0);
        assert_eq!(proportions, expected);
        TopicSums::default().proportions(0, &[1.0, 1.0, 2.0], &mut proportions);
        assert_eq!(proportions, [0.25, 0.25, 0.5]);
    }
}
