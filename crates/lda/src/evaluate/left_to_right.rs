//! Left-to-right held-out likelihood (Wallach et al. 2009, Algorithm 3; Buntine 2009; Mimno 2012,
//! Eq. 12): the probability of each token given those before it.
//!
//! ```text
//! for each position i:
//!     for each particle r:
//!         [resample: for each j < i: draw z_j again given z_<i without j]        (Wallach 2009)
//!         p_i^r = Σ_k φ_kw (α_k + n_dk^{<i}) / (A + i − 1)                       (Mimno 2012, Eq. 12)
//!         draw z_i with the terms of that sum
//!     log p(w_i | w_<i) = log of the mean of p_i^r over the particles
//! ```
//!
//! O(N) draws per particle; with `resample` O(N²). φ and α are fixed, and nothing is learnt from the
//! document.
//!
//! Bias: with one particle and no resampling, Π_i p_i is an unbiased estimate of p(w | φ, α): it is
//! importance sampling with the tokens' sequential conditionals as the proposal. A mean at each
//! position, as published and as in MALLET, has far less variance, but its product is biased:
//! particles are drawn from the proposal Π_j p(z_j | w_j, z_<j), not from p(z_<i | w_<i). Resampling
//! moves them towards that posterior, which reduces the bias. The tests compare this code with both
//! limits, and with p(w), by enumeration.
//!
//! A bag of words has no order, so its tokens are shuffled by the document's own stream. p(w) is the
//! same for every order; the estimate's small bias is averaged over orders.

use crate::infer::sampler::search;
use crate::infer::{Bag, ImpossibleDraw};
use crate::math::draw::first_beyond;
use crate::math::random::{Stage, Stream};
use crate::math::special::ln;
use crate::model::factors::{FactorTable, Row};

/// The name of this measure in tables.
pub const METHOD: &str = "left_to_right";

/// How a document is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftToRight {
    /// R, the number of particles, at least 1.
    pub particles: u32,
    /// Whether the topics of the earlier tokens are redrawn at each position.
    pub resample: bool,
}

/// The score of one document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Σ_i log p(w_i | w_<i) over the tokens that the model knows, in nats.
    pub log_likelihood: f64,
    /// The number of these tokens.
    pub tokens: u64,
    /// The number of tokens of terms without factors, which are ignored.
    pub unknown: u64,
}

/// Scores documents one after another, reusing its buffers.
#[derive(Clone, Debug, Default)]
pub struct Scorer {
    tokens: Vec<(u32, Row)>,
    probabilities: Vec<f64>,
    particle: Particle,
    on_token: Option<fn()>,
}

impl Scorer {
    /// Creates a scorer that calls `on_token` at each token of each particle, for callers that must
    /// show that their thread makes progress: one long document takes minutes.
    pub fn with_progress(on_token: fn()) -> Self {
        Self { on_token: Some(on_token), ..Self::default() }
    }

    /// Scores one document, given by its number in the collection. The table must hold the mean
    /// geometry, so that factors are φ.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term that it has.
    pub fn score(
        &mut self,
        seed: u64,
        document: u64,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: LeftToRight,
    ) -> Result<Score, ImpossibleDraw> {
        let mut order = Stream::keyed(seed, Stage::LeftToRight, 0, document);
        let unknown = self.shuffle(bag, table, &mut order);
        self.probabilities.clear();
        self.probabilities.resize(self.tokens.len(), 0.0);
        for number in 1..=u64::from(settings.particles) {
            let mut stream = Stream::keyed(seed, Stage::LeftToRight, number, document);
            self.particle.start(table.topic_count());
            for i in 0..self.tokens.len() {
                if let Some(on_token) = self.on_token {
                    on_token();
                }
                let before = if settings.resample { &self.tokens[..i] } else { &[] };
                self.particle.resample(before, table, &mut stream)?;
                self.probabilities[i] +=
                    self.particle.take(self.tokens[i], i, table, &mut stream)?;
            }
        }
        let particles = f64::from(settings.particles);
        for probability in &mut self.probabilities {
            *probability /= particles;
        }
        Ok(Score {
            log_likelihood: self.token_log_probabilities().sum(),
            tokens: self.tokens.len() as u64,
            unknown,
        })
    }

    /// Returns log p(w_i | w_<i) for the last document's known tokens, in the order of scoring.
    fn token_log_probabilities(&self) -> impl Iterator<Item = f64> {
        self.probabilities.iter().map(|&p| ln(p))
    }

    /// Lists the tokens that have factors, in random order; returns the number of those that have none.
    fn shuffle(&mut self, bag: Bag<'_>, table: FactorTable<'_>, stream: &mut Stream) -> u64 {
        self.tokens.clear();
        let mut unknown = 0;
        for (&term, &count) in bag.terms.iter().zip(bag.counts) {
            match table.find(term) {
                Some(row) => {
                    let same = std::iter::repeat_n((term, row), count as usize);
                    self.tokens.extend(same);
                }
                None => unknown += u64::from(count),
            }
        }
        stream.shuffle(&mut self.tokens);
        unknown
    }
}

/// One particle: the topics of the tokens so far.
#[derive(Clone, Debug, Default)]
struct Particle {
    /// n_dk for each topic.
    counts: Vec<f64>,
    /// Topics with n_dk > 0.
    active: Vec<u16>,
    /// z_di.
    assignments: Vec<u16>,
    /// Σ_{k∈d} n_dk h_k.
    smoothing_mass: f64,
    /// A.
    alpha_sum: f64,
}

/// The parts of Σ_k (α_k + n_dk) e_kw for one token.
#[derive(Clone, Copy)]
struct Masses {
    /// Σ_{k∈d} n_dk g_kw; Σ_{k∈d} n_dk (g_kw + h_k) if the term has a dense row.
    document: f64,
    /// Σ_{k∈d} n_dk h_k; 0 if the term has a dense row.
    smoothing: f64,
    /// A_w + H.
    prior: f64,
}

impl Particle {
    fn start(&mut self, topic_count: usize) {
        self.counts.clear();
        self.counts.resize(topic_count, 0.0);
        self.active.clear();
        self.assignments.clear();
        self.smoothing_mass = 0.0;
        self.alpha_sum = 0.0;
    }

    /// Redraws the topics of earlier tokens one after another, each given all others.
    fn resample(
        &mut self,
        tokens: &[(u32, Row)],
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        for (place, &token) in tokens.iter().enumerate() {
            self.remove(self.assignments[place], table);
            let masses = self.masses(token, table)?;
            let topic = self.draw(token.1, masses, table, stream);
            self.add(topic, table);
            self.assignments[place] = topic;
        }
        Ok(())
    }

    /// Returns p(w_i | z_<i) for the token at position `i`, from 0, and draws z_i.
    fn take(
        &mut self,
        token: (u32, Row),
        i: usize,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<f64, ImpossibleDraw> {
        if i == 0 {
            self.alpha_sum = table.smoothing().alpha.iter().map(|&a| f64::from(a)).sum();
        }
        let masses = self.masses(token, table)?;
        let topic = self.draw(token.1, masses, table, stream);
        self.add(topic, table);
        self.assignments.push(topic);
        Ok(masses.total() / (self.alpha_sum + i as f64))
    }

    fn masses(
        &self,
        (term, row): (u32, Row),
        table: FactorTable<'_>,
    ) -> Result<Masses, ImpossibleDraw> {
        let (document, smoothing) = match table.dense(row) {
            Some(factors) => {
                let active = self.active.iter().map(|&k| usize::from(k));
                let mass = active.map(|k| self.counts[k] * f64::from(factors[k])).sum();
                (mass, 0.0)
            }
            None => {
                let sparse = table.sparse(row);
                let entries = sparse.topics.iter().zip(sparse.weights);
                let mass = entries.map(|(&k, &g)| self.counts[usize::from(k)] * f64::from(g));
                (mass.sum(), self.smoothing_mass)
            }
        };
        let prior = if row.is_whole() {
            f64::from(table.prior_mass(row))
        } else {
            f64::from(row.alpha_mass) + f64::from(table.smoothing().mass)
        };
        let masses = Masses { document, smoothing, prior };
        if masses.total() > 0.0 && masses.total().is_finite() {
            Ok(masses)
        } else {
            let masses = [document, smoothing, prior].map(|mass| mass as f32);
            Err(ImpossibleDraw { term, masses })
        }
    }

    /// Draws a topic with probability (α_k + n_dk) e_kw / Σ.
    fn draw(&self, row: Row, masses: Masses, table: FactorTable<'_>, stream: &mut Stream) -> u16 {
        let target = stream.uniform() * masses.total();
        if target < masses.document {
            return self.search_document(row, target, table);
        }
        let target = target - masses.document;
        if target < masses.smoothing {
            let h = &table.smoothing().factors;
            let active = self.active.iter().copied();
            return walk(
                active.map(|k| {
                    let k_ = usize::from(k);
                    (k, self.counts[k_] * f64::from(h[k_]))
                }),
                target,
            );
        }
        let target = target - masses.smoothing;
        if row.is_whole() || target < f64::from(row.alpha_mass) {
            let sparse = table.sparse(row);
            return sparse.topics[search(sparse.prefix, target)];
        }
        let target = target - f64::from(row.alpha_mass);
        search(&table.smoothing().prefix, target) as u16
    }

    fn search_document(&self, row: Row, target: f64, table: FactorTable<'_>) -> u16 {
        let count = |k: u16| self.counts[usize::from(k)];
        match table.dense(row) {
            Some(factors) => {
                let factor = |k: u16| f64::from(factors[usize::from(k)]);
                let active = self.active.iter();
                walk(active.map(|&k| (k, count(k) * factor(k))), target)
            }
            None => {
                let sparse = table.sparse(row);
                let entries = sparse.topics.iter().zip(sparse.weights);
                walk(entries.map(|(&k, &g)| (k, count(k) * f64::from(g))), target)
            }
        }
    }

    fn add(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        if self.counts[k] == 0.0 {
            self.active.push(topic);
        }
        self.counts[k] += 1.0;
        self.smoothing_mass += f64::from(table.smoothing().factors[k]);
    }

    fn remove(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        self.counts[k] -= 1.0;
        self.smoothing_mass -= f64::from(table.smoothing().factors[k]);
        if self.counts[k] == 0.0 {
            self.active.retain(|&other| other != topic);
        }
        if self.active.is_empty() {
            // Removes rounding errors.
            self.smoothing_mass = 0.0;
        }
    }
}

impl Masses {
    fn total(&self) -> f64 {
        self.document + self.smoothing + self.prior
    }
}

/// Returns the topic at `target` in the running sums of masses.
fn walk(masses: impl Iterator<Item = (u16, f64)>, target: f64) -> u16 {
    first_beyond(masses, target).unwrap_or(0)
}

#[cfg(test)]
mod tests;
