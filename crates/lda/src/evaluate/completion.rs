//! Held-out log-likelihood per token by document completion (Papanikolaou 2017, §5; Wallach 2009).
//!
//! A document's tokens are split at random into two halves; its topic proportions are inferred from
//! the first, and the second is scored: Σ log Σ_k φ_kw θ_dk / tokens. Sums are fixed-point integers,
//! so that they do not depend on the order of addition.

use crate::infer::gibbs::Gibbs;
use crate::infer::settings::{Estimator, InferSettings};
use crate::infer::summary::log_likelihood;
use crate::infer::{Bag, ImpossibleDraw};
use crate::math::FIXED_POINT;
use crate::math::random::{Stage, Stream};
use crate::model::factors::FactorTable;

/// The name of this measure in tables and logs.
pub const METHOD: &str = "document_completion";

/// The same with the number of sweeps, as tables of figures name it.
pub const METHOD_AND_SWEEPS: &str = "document_completion, 16 sweeps";

/// The number of sweeps that infer proportions; more do not change the figure. The first half is
/// discarded, as is the sequential sweep before them.
pub const SWEEPS: u32 = 16;

/// The score of a set of documents.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bytemuck::Pod,
    bytemuck::Zeroable,
)]
#[repr(C)]
pub struct Completion {
    /// Σ log p of the scored tokens, in units of 2⁻²⁰.
    pub log_likelihood: i64,
    /// The number of tokens scored.
    pub tokens: i64,
    /// The number of documents scored: those with at least two tokens.
    pub documents: i64,
    /// Σ_d n_d x_d², where x_d is the log-likelihood per token of a document with n_d scored tokens, in the same units;
    /// like the next, known only until it is stored.
    #[serde(skip)]
    pub squares: i64,
    /// Σ_d n_d².
    #[serde(skip)]
    pub squared_tokens: i64,
}

impl Completion {
    /// Returns the score of one document: its log-likelihood in units of 2⁻²⁰ nats, and its tokens scored, at least one.
    pub fn of(log_likelihood: i64, tokens: i64) -> Self {
        let (sum, n) = (log_likelihood as f64 / FIXED_POINT, tokens as f64);
        let squares = (sum * sum / n * FIXED_POINT).round_ties_even() as i64;
        Self { log_likelihood, tokens, documents: 1, squares, squared_tokens: tokens * tokens }
    }

    /// Adds another score.
    pub fn merge(&mut self, other: Self) {
        self.log_likelihood += other.log_likelihood;
        self.tokens += other.tokens;
        self.documents += other.documents;
        self.squares += other.squares;
        self.squared_tokens += other.squared_tokens;
    }

    /// Returns the log-likelihood per token in nats; `None` if nothing was scored.
    pub fn per_token(&self) -> Option<f64> {
        let sum = self.log_likelihood as f64 / FIXED_POINT;
        (self.tokens > 0).then(|| sum / self.tokens as f64)
    }

    /// Returns the standard error of [`per_token`](Self::per_token), the mean of documents weighted by their tokens, over
    /// samples of documents; `None` for fewer than two.
    pub fn standard_error(&self) -> Option<f64> {
        let (mean, tokens) = (self.per_token()?, self.tokens as f64);
        let variance = self.squares as f64 / FIXED_POINT / tokens - mean * mean;
        // 1 / the number of documents, if all are equally long.
        let share = self.squared_tokens as f64 / (tokens * tokens);
        let is_known = self.documents > 1 && self.squared_tokens > 0;
        is_known.then(|| (variance.max(0.0) * share / (1.0 - share)).sqrt())
    }
}

/// Scores documents one after another, reusing its buffers.
#[derive(Clone, Debug, Default)]
pub struct Completer {
    gibbs: Gibbs,
    /// Replaces [`SWEEPS`].
    sweeps: Option<u32>,
    tokens: Vec<u32>,
    observed: (Vec<u32>, Vec<u32>),
    scored: (Vec<u32>, Vec<u32>),
}

impl Completer {
    /// Creates a completer that runs `sweeps` sweeps, at least 1, and discards the first half.
    pub fn with_sweeps(sweeps: u32) -> Self {
        Self { sweeps: Some(sweeps), ..Self::default() }
    }

    /// Scores one document, given by its number in the collection. The table must hold the mean
    /// geometry; terms that it lacks are ignored.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
    pub fn score(
        &mut self,
        seed: u64,
        document: u64,
        bag: Bag<'_>,
        table: FactorTable<'_>,
    ) -> Result<Completion, ImpossibleDraw> {
        let mut stream = Stream::keyed(seed, Stage::Completion, 0, document);
        if !self.split(bag, &mut stream) {
            return Ok(Completion::default());
        }
        let observed = Bag { terms: &self.observed.0, counts: &self.observed.1 };
        let scored = Bag { terms: &self.scored.0, counts: &self.scored.1 };
        let sweeps = self.sweeps.unwrap_or(SWEEPS);
        let settings = InferSettings::gibbs(sweeps / 2, sweeps - sweeps / 2, Estimator::Soft);
        let proportions = self.gibbs.infer(observed, table, &settings, &mut stream)?;
        let (sum, tokens) = log_likelihood(scored, proportions, table);
        let log_likelihood = (sum * FIXED_POINT).round_ties_even() as i64;
        Ok(Completion::of(log_likelihood, tokens as i64))
    }

    /// Splits the tokens at random into halves; with an odd count the observed half is larger.
    /// Returns false for fewer than two tokens.
    fn split(&mut self, bag: Bag<'_>, stream: &mut Stream) -> bool {
        self.tokens.clear();
        for (&term, &count) in bag.terms.iter().zip(bag.counts) {
            self.tokens.extend(std::iter::repeat_n(term, count as usize));
        }
        if self.tokens.len() < 2 {
            return false;
        }
        stream.shuffle(&mut self.tokens);
        let scored = self.tokens.len() / 2;
        let (first, second) = self.tokens.split_at_mut(bag.token_count() as usize - scored);
        count(first, &mut self.observed);
        count(second, &mut self.scored);
        true
    }
}

/// Fills in the distinct terms, ascending, and how often each occurs.
fn count(tokens: &mut [u32], (terms, counts): &mut (Vec<u32>, Vec<u32>)) {
    tokens.sort_unstable();
    terms.clear();
    counts.clear();
    for run in tokens.chunk_by(|a, b| a == b) {
        terms.push(run[0]);
        counts.push(run.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the score of one document: its tokens, and its log-likelihood per token.
    fn scored(tokens: i64, per_token: f64) -> Completion {
        Completion::of((tokens as f64 * per_token * FIXED_POINT) as i64, tokens)
    }

    #[test]
    fn equally_long_documents_have_the_standard_error_of_a_mean() {
        let mut all = scored(50, -7.0);
        assert_eq!(all.standard_error(), None);
        [-7.5, -8.0, -8.5].into_iter().for_each(|x| all.merge(scored(50, x)));
        assert_eq!(all.per_token(), Some(-7.75));
        // Deviations of 0.75, 0.25, 0.25, 0.75: √(1.25 / 3 / 4).
        let error = all.standard_error().expect("four documents");
        assert!((error - (1.25f64 / 12.0).sqrt()).abs() < 1e-6, "{error}");
    }

    #[test]
    fn a_long_document_among_short_ones_counts_as_one() {
        let mut all = scored(10_000, -7.0);
        [-9.0, -9.5].into_iter().for_each(|x| all.merge(scored(10, x)));
        let error = all.standard_error().expect("three documents");
        assert!(error > 0.5, "{error}");
    }
}
