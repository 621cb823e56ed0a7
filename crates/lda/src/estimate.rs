//! Topic proportions θ_d from samples: soft counts and plain counts (Papanikolaou 2017).
//!
//! The soft estimator θ^p replaces each token's sampled topic by its full conditional given the
//! topics of all other tokens. With factors e_kw = g_kw + h_k it is
//!
//! ```text
//! p_dik = (α_k + n_dk without i) e_kw / Z_i
//! θ_dk  = (α_k + mean over samples of Σ_i p_dik) / (A + N_d)
//! ```
//!
//! This is computed exactly, although most topics are never touched: the document's part n_dk e_kw is summed over
//! the document's topics (or the term's), and the prior's part α_k e_kw / Z_i factorises, so only Σ_i 1/Z_i is kept
//! per distinct term until the document is finished.

use crate::model::factors::{FactorTable, Row};

/// A document's topics in one sample, as the estimators read them.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    /// n_dk for each topic; whole numbers.
    pub counts: &'a [f32],
    /// The topics with n_dk > 0, and possibly some with 0.
    pub active: &'a [u16],
}

/// The accumulator of one document's topic proportions over samples. Reused from document to document.
#[derive(Clone, Debug, Default)]
pub struct Proportions {
    /// Σ over samples of the document's part, for each topic.
    document_part: Vec<f64>,
    /// The row of each distinct term, with Σ of 1/Z over samples and the term's tokens.
    inverse_masses: Vec<(Row, f64)>,
    /// Σ of 1/Z over the terms without a dense row, in the current sample.
    sparse_inverse: f64,
    /// The topics of the current term's tokens, sorted. A copy, because the sampler's tokens must keep their order:
    /// which token is drawn next must not depend on its topic.
    own: Vec<u16>,
    /// 1 if the document's tokens count in the model, otherwise 0.
    counted: f64,
    samples: u32,
}

impl Proportions {
    /// Starts a document, and forgets the previous one.
    pub fn start(&mut self, topic_count: usize) {
        self.document_part.clear();
        self.document_part.resize(topic_count, 0.0);
        self.inverse_masses.clear();
        self.counted = 0.0;
        self.samples = 0;
    }

    /// Starts a document whose tokens count in the model. Soft samples leave a token's own count out of its factor
    /// (g_kw − f_k in its topic), as its draw does.
    pub fn start_counted(&mut self, topic_count: usize) {
        self.start(topic_count);
        self.counted = 1.0;
    }

    /// Returns the masses that a token's own count in topic k adds to n_dk e_kw and to α_k e_kw: it counts in n_dk
    /// and, if the document counts in the model, in g_kw.
    fn own_masses(
        &self,
        k: usize,
        factor: f64,
        sample: Sampled<'_>,
        table: FactorTable<'_>,
    ) -> [f64; 2] {
        let smoothing = table.smoothing();
        let unit = self.counted * f64::from(smoothing.unit[k]);
        let others = f64::from(sample.counts[k]) - 1.0;
        [factor + others * unit, f64::from(smoothing.alpha[k]) * unit]
    }

    /// Adds a sample's plain counts.
    pub fn add_counts(&mut self, sample: Sampled<'_>) {
        for &topic in sample.active {
            let k = usize::from(topic);
            self.document_part[k] += f64::from(sample.counts[k]);
        }
        self.samples += 1;
    }

    /// Begins a soft sample. Then call [`add_term`](Self::add_term) for each distinct term, in the same order in
    /// every sample, and [`end_sample`](Self::end_sample).
    pub fn begin_sample(&mut self) {
        self.sparse_inverse = 0.0;
    }

    /// Adds the tokens of the `index`-th distinct term, whose topics are `own`.
    pub fn add_term(
        &mut self,
        index: usize,
        row: Row,
        own: &[u16],
        sample: Sampled<'_>,
        table: FactorTable<'_>,
    ) {
        let mut sorted = std::mem::take(&mut self.own);
        sorted.clear();
        sorted.extend_from_slice(own);
        sorted.sort_unstable();
        let (smoothing, sparse) = (&table.smoothing().factors, table.sparse(row));
        let dense = table.dense(row);
        let count = |topic: u16| f64::from(sample.counts[usize::from(topic)]);
        let pairs = || sparse.topics.iter().zip(sparse.weights);
        let of_pair = |(&topic, &weight): (&u16, &f32)| count(topic) * f64::from(weight);
        let of_all = |&topic: &u16| {
            let factors = dense.unwrap_or(smoothing);
            count(topic) * f64::from(factors[usize::from(topic)])
        };
        let (whole, prior) = if dense.is_some() {
            (sample.active.iter().map(of_all).sum::<f64>(), f64::from(table.prior_mass(row)))
        } else {
            let own = pairs().map(of_pair).sum::<f64>();
            let mass = row.alpha_mass + table.smoothing().mass;
            (own + sample.active.iter().map(of_all).sum::<f64>(), f64::from(mass))
        };
        let mut inverse = 0.0;
        for run in sorted.chunk_by(|a, b| a == b) {
            let k = usize::from(run[0]);
            let factor = match dense {
                Some(weights) => f64::from(weights[k]),
                None => {
                    let found = sparse.topics.binary_search(&run[0]);
                    let found = found.map_or(0.0, |j| sparse.weights[j]);
                    f64::from(found) + f64::from(smoothing[k])
                }
            };
            let [own, own_prior] = self.own_masses(k, factor, sample, table);
            let share = run.len() as f64 / ((whole - own).max(0.0) + (prior - own_prior));
            self.document_part[k] -= (own + own_prior) * share;
            inverse += share;
        }
        if dense.is_some() {
            for topic in sample.active {
                self.document_part[usize::from(*topic)] += of_all(topic) * inverse;
            }
        } else {
            for (topic, weight) in pairs() {
                self.document_part[usize::from(*topic)] += of_pair((topic, weight)) * inverse;
            }
            self.sparse_inverse += inverse;
        }
        self.own = sorted;
        if index == self.inverse_masses.len() {
            self.inverse_masses.push((row, 0.0));
        }
        self.inverse_masses[index].1 += inverse;
    }

    /// Ends a soft sample.
    pub fn end_sample(&mut self, sample: Sampled<'_>, table: FactorTable<'_>) {
        let factors = &table.smoothing().factors;
        for &topic in sample.active {
            let k = usize::from(topic);
            let mass = f64::from(sample.counts[k]) * f64::from(factors[k]);
            self.document_part[k] += mass * self.sparse_inverse;
        }
        self.samples += 1;
    }

    /// Writes θ_dk of each topic to `proportions`; they add up to 1.
    pub fn finish(
        &mut self,
        token_count: usize,
        table: FactorTable<'_>,
        proportions: &mut Vec<f32>,
    ) {
        let smoothing = table.smoothing();
        let mut all_inverse = 0.0;
        for &(row, inverse) in &self.inverse_masses {
            let sparse = table.sparse(row);
            for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
                let k = usize::from(*topic);
                self.document_part[k] +=
                    inverse * f64::from(smoothing.alpha[k]) * f64::from(*weight);
            }
            all_inverse += inverse;
        }
        let alpha_sum: f64 = smoothing.alpha.iter().map(|&a| f64::from(a)).sum();
        let samples = f64::from(self.samples.max(1));
        let denominator = token_count as f64 + alpha_sum;
        proportions.clear();
        for (k, part) in self.document_part.iter().enumerate() {
            let alpha = f64::from(smoothing.alpha[k]);
            let prior_part = all_inverse * alpha * f64::from(smoothing.factors[k]);
            let soft = (part + prior_part).max(0.0) / samples;
            proportions.push(((soft + alpha) / denominator) as f32);
        }
    }
}
