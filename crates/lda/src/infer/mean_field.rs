//! Deterministic inference for one document against a fixed model, in time proportional to the topics of its terms:
//! variational Bayes (Yao 2009, §4) and CVB0 (Asuncion et al. 2009; Papanikolaou 2017, §2.5).
//!
//! Both keep expected tokens a_k − α_k per topic. With factors e_kw = g_kw + h_k
//!
//! ```text
//! variational:  γ_wk ∝ e_kw exp Ψ(a_k)              a_k = α_k + Σ_w n_w γ_wk     (Yao 2009, Eqs. 11–12)
//! CVB0:         γ_wk ∝ e_kw (a_k − γ_wk)            the same a_k, but taken term by term
//! ```
//!
//! Departures from the dense form (`variational`), and their gain:
//! 1. The part that comes from h_k is the same for all terms except for its scale. It is summed up in one number,
//!    and spread over all topics once per iteration: O(Σ_w K_w + K) instead of O(W K).
//! 2. CVB0 leaves a token's own share out of g_kw (a_k − γ_wk) only; h_k γ_wk is smaller than h_k a_k by a factor
//!    of the document's length, and is neglected.
//! 3. CVB0 begins like the sampler: one term after another, rare ones first, each given those before it.
//! 4. CVB0 uses `TermTopics`, and forgets a topic of a term whose share falls below a thousandth; the remainder is
//!    treated like h_k, so that nothing is lost. Most of the topics that a term has are forgotten after the first
//!    iteration, which therefore takes most of the time.
//!
//! 5. With few topics CVB0 takes all of them, several at a time (`few`), and 2 and 4 do not apply.
//!
//! More iterations are not better: CVB0 is closest to the posterior mean after two to five of them
//! (docs/measurements/DEFAULTS.md), then it drifts towards a mode.

mod few;

use std::hint::black_box;

use super::sampler::{check, is_few};
use super::settings::InferSettings;
use super::{Bag, ImpossibleDraw, InferenceMethod, Inferred, Inferrer, Target, TokenWork, gibbs};
use crate::math::lanes::{add_scaled, dot, sum};
use crate::math::random::Stream;
use crate::math::special::{digamma, exp};
use crate::model::factors::{FactorTable, Row};
use few::FewTopics;

/// Mean-field variational inference.
pub const VARIATIONAL: InferenceMethod = InferenceMethod {
    name: "variational",
    doc: "approximates the posterior by variational Bayes",
    work: TokenWork::Iterations,
    iterations: 20,
    inferrer: || Box::new(MeanField::default()),
    ..gibbs::ALONE
};

/// Zero-order collapsed variational inference.
pub const CVB0: InferenceMethod = InferenceMethod {
    name: "cvb0",
    doc: "does so with θ integrated out",
    iterations: 3,
    takes_term_topics: true,
    takes_label_topics: true,
    inferrer: || Box::new(MeanField { is_collapsed: true, ..MeanField::default() }),
    ..VARIATIONAL
};

/// How many terms have their factors fetched before any is used: they are far apart, so that several are fetched from
/// memory at a time.
const FETCHED: usize = 16;

/// How often the estimates of a document's topics and of its own α alternate.
const TURNS: usize = 4;

/// Mean-field inference of documents, one after another, with the same buffers.
#[derive(Clone, Debug, Default)]
struct MeanField {
    /// CVB0, instead of variational Bayes.
    is_collapsed: bool,
    /// α_k of the document.
    alpha: Vec<f32>,
    /// a_k; K long, and a 0 for the padding topic K.
    dirichlet: Vec<f32>,
    /// Ψ(a_k), K long.
    digammas: Vec<f64>,
    /// exp Ψ(a_k) up to a common factor; K long, and a 0.
    weights: Vec<f32>,
    /// Σ_w r_w g_kw, K long, and one more; with CVB0, the tokens that topics have from h_k.
    sums: Vec<f32>,
    /// Terms that have factors, rare ones first: term, row, tokens.
    terms: Vec<(u32, Row, f32)>,
    /// CVB0: Σ_k h_k a_k.
    everywhere: f32,
    /// CVB0: Σ_k α_k h_k / A, by which `everywhere` grows per token in the first iteration.
    mean_factor: f32,
    /// CVB0: the places of the current term's topics that are kept.
    places: Vec<u32>,
    /// CVB0: where each term's entries end.
    ends: Vec<usize>,
    /// CVB0: the entries of all terms, one after another.
    entries: Vec<TermShare>,
    /// CVB0: g_kw (a_k − γ_wk) of the current term.
    masses: Vec<f32>,
    /// CVB0 with few topics, instead of `sums` and what follows.
    few: FewTopics,
    proportions: Vec<f32>,
}

/// A topic that a term has in the current document.
#[derive(Clone, Copy, Debug)]
struct TermShare {
    topic: u32,
    /// g_kw.
    weight: f32,
    /// γ_wk, of one token.
    share: f32,
}

impl Inferrer for MeanField {
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        settings: &InferSettings,
        _: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw> {
        if self.is_collapsed {
            return self.cvb0(bag, target, settings);
        }
        let proportions = self.variational(bag, target.table, settings)?;
        Ok(target.inferred(proportions))
    }
}

impl MeanField {
    /// Starts a document: a_k = α_k. Returns the number of tokens that have factors.
    fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>) -> f32 {
        self.terms.clear();
        let mut tokens = 0.0;
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            if let Some(row) = table.find(term) {
                self.terms.push((term, row, count as f32));
                tokens += count as f32;
            }
        }
        self.alpha.clear();
        self.alpha.extend_from_slice(&table.smoothing().alpha);
        self.begin();
        tokens
    }

    /// Restarts the document, with its current α.
    fn begin(&mut self) {
        self.dirichlet.clear();
        self.dirichlet.extend_from_slice(&self.alpha);
        self.dirichlet.push(0.0);
    }

    /// Returns θ_d = a_d / Σ_k a_dk by variational Bayes; adds up to 1. Takes at most `settings.iterations`, and
    /// ends when at most `settings.tolerance` of the document's tokens move.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
    fn variational(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: &InferSettings,
    ) -> Result<&[f32], ImpossibleDraw> {
        let tokens = self.start(bag, table);
        let topics = table.topic_count();
        let share = tokens / topics as f32;
        for a in &mut self.dirichlet[..topics] {
            *a += share;
        }
        for _ in 0..settings.iterations {
            let change = self.iterate(table)?;
            if f64::from(change) <= settings.tolerance * f64::from(tokens) {
                break;
            }
        }
        Ok(self.finish(table))
    }

    /// Takes one iteration of variational Bayes; returns the tokens that moved.
    fn iterate(&mut self, table: FactorTable<'_>) -> Result<f32, ImpossibleDraw> {
        let smoothing = table.smoothing();
        let topics = table.topic_count();
        // Relative to the largest, which cancels in γ: exp Ψ of a small α is far below what fits in f32.
        let digammas = self.dirichlet[..topics].iter().map(|&a| digamma(f64::from(a)));
        self.digammas.clear();
        self.digammas.extend(digammas);
        let largest = self.digammas.iter().copied().fold(f64::MIN, f64::max);
        let weight = |digamma: &f64| exp(digamma - largest) as f32;
        self.weights.clear();
        self.weights.extend(self.digammas.iter().map(weight));
        self.weights.push(0.0);
        self.sums.clear();
        self.sums.resize(topics + 1, 0.0);
        let everywhere = dot(&self.weights[..topics], &smoothing.factors);
        let mut spread = 0.0;
        for &(term, row, count) in &self.terms {
            if let Some(dense) = table.dense(row) {
                let sum = dot(&self.weights, dense);
                let ratio = count / check(term, sum, 0.0, 0.0)?;
                add_scaled(&mut self.sums, ratio, dense);
            } else {
                let sparse = table.sparse(row);
                let mut sum = 0.0;
                for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
                    sum += self.weights[usize::from(*topic)] * weight;
                }
                let ratio = count / check(term, sum, everywhere, 0.0)?;
                spread += ratio;
                for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
                    self.sums[usize::from(*topic)] += ratio * weight;
                }
            }
        }
        let mut change = 0.0;
        for k in 0..topics {
            let new = smoothing.alpha[k]
                + self.weights[k] * (self.sums[k] + spread * smoothing.factors[k]);
            change += (new - self.dirichlet[k]).abs();
            self.dirichlet[k] = new;
        }
        Ok(change)
    }

    /// Infers θ_d = a_d / Σ_k a_dk by CVB0. Iterations are those of [`variational`](Self::variational); the first one is
    /// sequential. With label topics, the document has an α of its own from them, estimated alternately with its
    /// topics.
    ///
    /// # Errors
    /// Returns the errors of [`variational`](Self::variational).
    fn cvb0(
        &mut self,
        bag: Bag<'_>,
        target: Target<'_>,
        settings: &InferSettings,
    ) -> Result<Inferred<'_>, ImpossibleDraw> {
        let (table, topics) = (target.table, target.topics);
        let tokens = self.start(bag, table);
        if is_few(table) {
            self.few.gather(&self.terms, table);
        }
        self.everywhere = table.smoothing().mass;
        let Some(labels) = target.labels else {
            self.settle(tokens, (table, topics), settings)?;
            self.finish(table);
            return Ok(Inferred { proportions: &self.proportions, alpha: &self.alpha });
        };
        for turn in 0..TURNS {
            if turn > 0 {
                let expected = self.dirichlet.iter().zip(&self.alpha);
                let expected: Vec<f32> = expected.map(|(a, alpha)| a - alpha).collect();
                labels.alpha(&expected, &mut self.alpha);
                self.begin();
            }
            self.everywhere = dot(&self.alpha, &table.smoothing().factors);
            self.settle(tokens, (table, topics), settings)?;
        }
        self.finish(table);
        Ok(Inferred { proportions: &self.proportions, alpha: &self.alpha })
    }

    /// Iterates CVB0 on the started document; `everywhere` is Σ_k α_k h_k.
    fn settle(
        &mut self,
        tokens: f32,
        (table, topics): (FactorTable<'_>, &TermTopics),
        settings: &InferSettings,
    ) -> Result<(), ImpossibleDraw> {
        let is_settled = |change: f32| f64::from(change) <= settings.tolerance * f64::from(tokens);
        if is_few(table) {
            let document = (&self.terms[..], &mut self.dirichlet[..]);
            return self.few.settle(document, settings.iterations, is_settled);
        }
        self.sums.clear();
        self.sums.resize(table.topic_count(), 0.0);
        self.entries.clear();
        self.ends.clear();
        self.mean_factor = self.everywhere / sum(&self.alpha);
        let mut left = 0.0;
        for index in 0..self.terms.len() {
            if index.is_multiple_of(FETCHED) {
                let next = self.terms[index..].iter().take(FETCHED);
                next.for_each(|&(term, ..)| topics.fetch(term));
            }
            left += self.begin_term(index, topics)?;
        }
        self.spread(left, table);
        for _ in 1..settings.iterations {
            let (left, change) = self.iterate_cvb0()?;
            self.spread(left, table);
            if is_settled(change) {
                break;
            }
        }
        Ok(())
    }

    /// Computes the shares of the `index`-th term given the terms before it; returns the tokens without an entry.
    fn begin_term(&mut self, index: usize, topics: &TermTopics) -> Result<f32, ImpossibleDraw> {
        let (term, row, count) = self.terms[index];
        let (listed, a) = (topics.of(term), &mut self.dirichlet[..]);
        self.masses.clear();
        self.masses.extend(listed.iter().map(|entry| entry.weight * a[entry.topic as usize]));
        let everywhere = smoothing_mass(row, self.everywhere);
        let ratio = 1.0 / check(term, sum(&self.masses), everywhere, 0.0)?;
        let least = least_share(row.is_whole(), self.alpha.len());
        // Branchless, because branch prediction cannot guess which are kept.
        self.places.resize(listed.len().max(self.places.len()), 0);
        let mut length = 0;
        for (place, mass) in (0..).zip(&self.masses) {
            self.places[length] = place;
            length += usize::from(mass * ratio >= least);
        }
        let mut kept = 0.0;
        self.entries.extend(self.places[..length].iter().map(|&place| {
            let TermTopic { topic, weight } = listed[place as usize];
            let share = self.masses[place as usize] * ratio;
            kept += share;
            a[topic as usize] += count * share;
            TermShare { topic, weight, share }
        }));
        self.ends.push(self.entries.len());
        self.everywhere += count * kept * self.mean_factor;
        Ok(count * (1.0 - kept).max(0.0))
    }

    /// Takes one iteration of CVB0; returns the tokens without an entry, and those that moved.
    fn iterate_cvb0(&mut self) -> Result<(f32, f32), ImpossibleDraw> {
        let (mut left, mut change, mut from, mut to) = (0.0, 0.0, 0, 0);
        let (a, entries) = (&mut self.dirichlet[..], &mut self.entries[..]);
        for (&(term, row, count), end) in self.terms.iter().zip(&mut self.ends) {
            self.masses.clear();
            self.masses.extend(
                entries[from..*end]
                    .iter()
                    .map(|entry| entry.weight * (a[entry.topic as usize] - entry.share).max(0.0)),
            );
            let everywhere = smoothing_mass(row, self.everywhere);
            let least = least_share(row.is_whole(), self.alpha.len());
            let ratio = 1.0 / check(term, sum(&self.masses), everywhere, 0.0)?;
            let mut kept = 0.0;
            for (place, mass) in (from..*end).zip(&self.masses) {
                let entry = entries[place];
                let (share, is_kept) = keep(mass * ratio, least);
                let difference = count * (share - entry.share);
                a[entry.topic as usize] += difference;
                change += difference.abs();
                kept += share;
                entries[to] = TermShare { share, ..entry };
                to += is_kept;
            }
            left += count * (1.0 - kept).max(0.0);
            from = *end;
            *end = to;
        }
        Ok((left, change))
    }

    /// Spreads tokens over all topics as h_k a_k, instead of those spread before. Topics that rounding took below
    /// α_k are raised to it.
    fn spread(&mut self, tokens: f32, table: FactorTable<'_>) {
        let smoothing = table.smoothing();
        let h = &smoothing.factors;
        let a = &mut self.dirichlet[..h.len()];
        let ratio = tokens / dot(a, h).max(f32::MIN_POSITIVE);
        let alpha = self.alpha.iter();
        for (((a, h), old), &alpha) in a.iter_mut().zip(h).zip(&mut self.sums).zip(alpha) {
            let new = ratio * h * *a;
            *a = (*a + (new - *old)).max(alpha);
            *old = new;
        }
        self.everywhere = dot(a, h);
    }

    /// Normalises a_k to proportions.
    fn finish(&mut self, table: FactorTable<'_>) -> &[f32] {
        let a = &self.dirichlet[..table.topic_count()];
        let sum = sum(a);
        self.proportions.clear();
        self.proportions.extend(a.iter().map(|a| a / sum));
        &self.proportions
    }
}

/// Returns a term's part of Σ_k a_k h_k: 0 if its [`TermTopics`] have all of e_kw.
fn smoothing_mass(row: Row, everywhere: f32) -> f32 {
    if row.is_whole() { 0.0 } else { everywhere }
}

/// Returns the share and 1 if it is at least `least`, otherwise 0 and 0. Branchless, because branch prediction
/// cannot guess which it is.
#[inline(always)]
fn keep(share: f32, least: f32) -> (f32, usize) {
    let is_kept = share >= least;
    (if is_kept { share } else { 0.0 }, usize::from(is_kept))
}

/// Returns the smallest share of a term with which a topic is kept.
///
/// Whole rows have no smoothing that replaces the rest: of K topics the largest share is at least 1 / K, and is
/// always kept.
fn least_share(is_whole: bool, topic_count: usize) -> f32 {
    const LEAST: f32 = 1e-3;
    if is_whole { LEAST.min(0.5 / topic_count as f32) } else { LEAST }
}

/// A topic of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermTopic {
    /// The topic.
    pub topic: u32,
    /// g_kw; e_kw of a row that is whole.
    pub weight: f32,
}

/// The topics of every term, without those that hardly any of its tokens have. After averaging over passes, a term has
/// a tail of topics with a sample or two: at K = 1000, six sevenths of a term's entries together have some 3 % of its
/// prior mass; without them inference takes half the time and loses nothing (docs/measurements/DEFAULTS.md). Built once per model, and never changed.
#[derive(Clone, Debug, Default)]
pub struct TermTopics {
    /// Where each term's topics begin; one longer than there are terms.
    starts: Vec<usize>,
    topics: Vec<TermTopic>,
}

impl TermTopics {
    /// Lists the topics of all terms below `vocabulary_size`; those without factors have none. Lists none if the model
    /// has few topics, because CVB0 then takes all of them.
    pub fn new(table: FactorTable<'_>, vocabulary_size: usize) -> Self {
        if is_few(table) {
            return Self::default();
        }
        let alpha = &table.smoothing().alpha;
        let (mut starts, mut topics) = (vec![0], Vec::new());
        for term in 0..vocabulary_size as u32 {
            if let Some(row) = table.find(term) {
                let sparse = table.sparse(row);
                let (weights, mass) = match table.whole(row) {
                    Some(factors) => (factors, table.prior_mass(row)),
                    None => (sparse.weights, row.alpha_mass),
                };
                let least = least_share(row.is_whole(), alpha.len()) * mass;
                let entries = sparse.topics.iter().zip(weights);
                let heavy = entries.filter(|(k, g)| alpha[usize::from(**k)] * **g >= least);
                topics.extend(
                    heavy.map(|(&topic, &weight)| TermTopic { topic: u32::from(topic), weight }),
                );
            }
            starts.push(topics.len());
        }
        Self { starts, topics }
    }

    /// Reads one value in each cache line of a term's topics, so that they are being fetched from memory while those of
    /// other terms are.
    #[inline]
    fn fetch(&self, term: u32) {
        black_box(self.of(term).iter().step_by(8).fold(0, |all, entry| all ^ entry.topic));
    }

    /// Returns the topics of a term, ascending.
    #[inline]
    pub fn of(&self, term: u32) -> &[TermTopic] {
        let term = term as usize;
        &self.topics[self.starts[term]..self.starts[term + 1]]
    }
}
