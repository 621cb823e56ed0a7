//! The hybrid of classifier and sampling (Yao, Mimno & McCallum 2009, §5.3): MaxEnt's proportions, then sweeps that
//! draw every token's topic independently and estimate the proportions again:
//!
//! ```text
//! θ̂ = MaxEnt's;  each sweep: z_i ~ p(k) ∝ θ̂_k φ_kw    θ̂_k = (α_k + n_dk) / (A + N_d)
//! ```
//!
//! Given θ̂ the tokens are independent. With φ_kw = g_kw + h_k (`model::factors`), Σ_k θ̂_k h_k and its running
//! sums are computed once per sweep; a distinct term then costs its own topics, and a token a search: O(K) per
//! sweep, O(K_w) per distinct term.

use super::maxent::Classifier;
use super::sampler::{check, search};
use super::settings::{Estimator, InferSettings};
use super::{Bag, ImpossibleDraw, InferenceMethod, Inferred, Inferrer, Target, gibbs};
use crate::math::draw::running_sums;
use crate::math::random::Stream;
use crate::model::factors::{FactorTable, Row};

/// MaxEnt's proportions, then sweeps.
pub const METHOD: InferenceMethod = InferenceMethod {
    name: "hybrid",
    doc: "starts with the classifier's topics, and draws tokens independently",
    needs_classifier: true,
    inferrer: || Box::new(Hybrid::default()),
    ..gibbs::ALONE
};

/// Inference of proportions, document after document, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Hybrid {
    /// The distinct terms that have factors: term, row, tokens.
    terms: Vec<(u32, Row, u32)>,
    /// θ̂, K long.
    current: Vec<f32>,
    /// n_dk of the current sweep.
    counts: Vec<u32>,
    /// Running sums of θ̂_k h_k, K long.
    smoothing: Vec<f32>,
    /// Running sums of θ̂_k g_kw over a term's topics.
    sparse: Vec<f32>,
    /// Σ over the document's terms of n_w g_kw / Z_w, for each topic.
    shares: Vec<f64>,
    /// The sums of the kept sweeps' counts or conditionals.
    sums: Vec<f64>,
    proportions: Vec<f32>,
}

impl Hybrid {
    /// Returns θ_d for each topic, given the terms of `bag` that have factors; adds up to 1. `table` must hold the
    /// mean geometry. In each of `chains` chains, which begin with the classifier's proportions, `burn_in_sweeps`
    /// are discarded and `kept_sweeps` averaged.
    ///
    /// Without such a term the proportions are the prior's, α_k / A.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
    pub fn infer(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        classifier: &Classifier,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<&[f32], ImpossibleDraw> {
        self.start(bag, table);
        for _ in 0..settings.chains {
            classifier.predict(bag, settings.temperature, &mut self.current);
            for sweep in 0..settings.burn_in_sweeps + settings.kept_sweeps {
                let is_kept = sweep >= settings.burn_in_sweeps;
                let is_soft = is_kept && settings.estimator == Estimator::Soft;
                self.sweep(table, is_soft, stream)?;
                if is_kept && !is_soft {
                    self.add_counts();
                }
                self.estimate(table);
            }
        }
        let samples = settings.chains * settings.kept_sweeps;
        self.finish(table, samples);
        Ok(&self.proportions)
    }

    fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>) {
        let topics = table.topic_count();
        self.terms.clear();
        for (&term, &count) in bag.terms.iter().zip(bag.counts) {
            if let Some(row) = table.find(term) {
                self.terms.push((term, row, count));
            }
        }
        for sums in [&mut self.sums, &mut self.shares] {
            sums.clear();
            sums.resize(topics, 0.0);
        }
    }

    /// Draws every token's topic, given θ̂; adds the conditionals to the sums if `is_soft`.
    fn sweep(
        &mut self,
        table: FactorTable<'_>,
        is_soft: bool,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let smoothing_mass = self.prepare(table);
        let mut everywhere = 0.0;
        for index in 0..self.terms.len() {
            let (term, row, count) = self.terms[index];
            let sparse = table.sparse(row);
            let (weights, smoothing_mass) = match table.whole(row) {
                Some(factors) => (factors, 0.0),
                None => (sparse.weights, smoothing_mass),
            };
            let pairs = sparse.topics.iter().zip(weights);
            let masses = pairs.map(|(&k, weight)| self.current[usize::from(k)] * weight);
            let sum = running_sums(masses, &mut self.sparse);
            let total = check(term, sum, 0.0, smoothing_mass)?;
            for _ in 0..count {
                let target = stream.uniform_f32() * total;
                let topic = if target < sum || row.is_whole() {
                    usize::from(sparse.topics[search(&self.sparse, target)])
                } else {
                    search(&self.smoothing, target - sum)
                };
                self.counts[topic] += 1;
            }
            if is_soft {
                let share = f64::from(count) / f64::from(total);
                if !row.is_whole() {
                    everywhere += share;
                }
                for (&topic, weight) in sparse.topics.iter().zip(weights) {
                    self.shares[usize::from(topic)] += share * f64::from(*weight);
                }
            }
        }
        if is_soft {
            self.add_shares(table, everywhere);
        }
        Ok(())
    }

    /// Clears the counts, computes the running sums of θ̂_k h_k, and returns Σ_k θ̂_k h_k.
    fn prepare(&mut self, table: FactorTable<'_>) -> f32 {
        self.counts.clear();
        self.counts.resize(table.topic_count(), 0);
        let pairs = self.current.iter().zip(&table.smoothing().factors);
        running_sums(pairs.map(|(share, h)| share * h), &mut self.smoothing)
    }

    fn add_counts(&mut self) {
        for (sum, &count) in self.sums.iter_mut().zip(&self.counts) {
            *sum += f64::from(count);
        }
    }

    /// Adds Σ_i p(z_i = k | θ̂) = θ̂_k (Σ_w n_w g_kw / Z_w + h_k Σ_w n_w / Z_w) to the sums.
    fn add_shares(&mut self, table: FactorTable<'_>, everywhere: f64) {
        let factors = table.smoothing().factors.iter();
        let shares = self.shares.iter_mut().zip(&self.current);
        for ((sum, (share, current)), h) in self.sums.iter_mut().zip(shares).zip(factors) {
            *sum += f64::from(*current) * (*share + f64::from(*h) * everywhere);
            *share = 0.0;
        }
    }

    /// Sets θ̂_k = (α_k + n_dk) / (A + N_d) (Eq. 4).
    fn estimate(&mut self, table: FactorTable<'_>) {
        let alpha = &table.smoothing().alpha;
        let whole = self.counts.iter().sum::<u32>() as f32 + alpha.iter().sum::<f32>();
        for ((current, &count), alpha) in self.current.iter_mut().zip(&self.counts).zip(alpha) {
            *current = (alpha + count as f32) / whole;
        }
    }

    fn finish(&mut self, table: FactorTable<'_>, samples: u32) {
        let samples = f64::from(samples.max(1));
        for (sum, &alpha) in self.sums.iter_mut().zip(&table.smoothing().alpha) {
            *sum = *sum / samples + f64::from(alpha);
        }
        // The sum is A + N_d, except for the rounding of conditionals in f32.
        let whole: f64 = self.sums.iter().sum();
        self.proportions.clear();
        let sums = self.sums.iter();
        self.proportions.extend(sums.map(|sum| (sum / whole) as f32));
    }
}

impl Inferrer for Hybrid {
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw> {
        let proportions = self.infer(bag, target.table, target.classifier(), settings, stream)?;
        Ok(target.inferred(proportions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Stage;
    use crate::math::special::ln;
    use crate::model::Priors;
    use crate::model::factors::Factors;
    use crate::model::parameters::{GlobalStep, Parameters};
    use crate::model::statistics::Assigned;

    const TOPICS: usize = 5;
    const TERMS: usize = 6;

    /// Term 0 is sparse, term 1 is in all topics, term 5 in none.
    fn factors() -> Factors {
        let counts: [(u32, u16, i32); 9] = [
            (0, 1, 40),
            (0, 3, 10),
            (1, 0, 5),
            (1, 1, 6),
            (1, 2, 30),
            (1, 3, 8),
            (1, 4, 9),
            (2, 2, 12),
            (3, 4, 50),
        ];
        let mut totals = [0; TOPICS];
        for (_, topic, count) in counts {
            totals[usize::from(topic)] += i64::from(count);
        }
        let step = GlobalStep { step_size: 0.5, weight: 2.0 };
        let words = counts.map(|(term, topic, count)| Assigned { term, topic, count }.word());
        let mut parameters = Parameters::new(TOPICS, TERMS, 0, 1);
        parameters.decay(step, &totals);
        parameters.add(step, &words);
        let priors =
            Priors { alpha: vec![0.1, 0.2, 0.3, 0.4, 0.5], eta: 2.0, exp_psi: false, tree: None };
        Factors::prepare(&parameters, &priors, |w| w != 4, None)
    }

    /// Predicts (4 : 1 : 2 : 2 : 1) for every document.
    fn classifier() -> Classifier {
        let bias = [4.0, 1.0, 2.0, 2.0, 1.0].map(|share| ln(share) as f32);
        Classifier::new(TERMS, bias.to_vec(), vec![], vec![]).unwrap()
    }

    fn settings(burn_in: u32, kept: u32, estimator: Estimator) -> InferSettings {
        InferSettings::gibbs(burn_in, kept, estimator)
    }

    /// p(k) ∝ θ̂_k φ_kw, densely.
    fn conditional(table: FactorTable<'_>, term: u32, shares: &[f64]) -> Vec<f64> {
        let row = table.all(table.find(term).unwrap());
        let masses: Vec<f64> = row.iter().zip(shares).map(|(e, t)| e * t).collect();
        let sum: f64 = masses.iter().sum();
        masses.into_iter().map(|mass| mass / sum).collect()
    }

    #[test]
    fn one_sweep_draws_from_the_dense_conditional() {
        let factors = factors();
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let tokens = 200_000;
        for term in [0, 1, 5] {
            let (terms, counts) = ([term], [tokens]);
            let bag = Bag { terms: &terms, counts: &counts };
            let mut hybrid = Hybrid::default();
            let mut stream = Stream::keyed(3, Stage::Project, 0, u64::from(term));
            let once = settings(0, 1, Estimator::Counts);
            hybrid.infer(bag, table, &classifier(), &once, &mut stream).unwrap();
            let expected = conditional(table, term, &[0.4, 0.1, 0.2, 0.2, 0.1]);
            let chi: f64 = hybrid
                .counts
                .iter()
                .zip(expected)
                .map(|(&n, p)| {
                    let mean = p * f64::from(tokens);
                    (f64::from(n) - mean) * (f64::from(n) - mean) / mean
                })
                .sum();
            assert!(chi < 18.5, "term {term}: χ² = {chi}, 4 degrees of freedom");
        }
    }

    #[test]
    fn soft_proportions_are_the_conditionals_themselves() {
        let factors = factors();
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let (terms, counts) = ([0, 1, 3, 4], [2, 3, 1, 9]);
        let bag = Bag { terms: &terms, counts: &counts };
        let mut stream = Stream::keyed(4, Stage::Project, 0, 0);
        let mut hybrid = Hybrid::default();
        let once = settings(0, 1, Estimator::Soft);
        let found = hybrid.infer(bag, table, &classifier(), &once, &mut stream).unwrap();
        // Term 4 has no factors: six tokens are left.
        let mut expected = vec![0.1, 0.2, 0.3, 0.4, 0.5];
        for (term, count) in [(0, 2.0), (1, 3.0), (3, 1.0)] {
            let own = conditional(table, term, &[0.4, 0.1, 0.2, 0.2, 0.1]);
            for (sum, p) in expected.iter_mut().zip(own) {
                *sum += count * p;
            }
        }
        for (found, mass) in found.iter().zip(expected) {
            assert!((f64::from(*found) - mass / 7.5).abs() < 1e-6);
        }
    }

    #[test]
    fn both_estimators_agree_in_the_long_run_and_add_up_to_one() {
        let factors = factors();
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let (terms, counts) = ([0, 1, 2], [3, 2, 4]);
        let bag = Bag { terms: &terms, counts: &counts };
        let mut hybrid = Hybrid::default();
        let mut of = |estimator| {
            let mut long = settings(5, 20_000, estimator);
            long.chains = 2;
            let mut stream = Stream::keyed(5, Stage::Project, 0, 1);
            let found = hybrid.infer(bag, table, &classifier(), &long, &mut stream);
            found.unwrap().to_vec()
        };
        let (soft, counts) = (of(Estimator::Soft), of(Estimator::Counts));
        assert!((soft.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((counts.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        for (soft, counts) in soft.iter().zip(&counts) {
            assert!((soft - counts).abs() < 0.005, "{soft} {counts}");
        }
    }

    #[test]
    fn a_document_without_known_terms_has_the_prior() {
        let factors = factors();
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        for (terms, counts) in [(&[][..], &[][..]), (&[4][..], &[7][..])] {
            let mut stream = Stream::keyed(6, Stage::Project, 0, 2);
            let mut hybrid = Hybrid::default();
            let found = hybrid
                .infer(
                    Bag { terms, counts },
                    table,
                    &classifier(),
                    &settings(1, 2, Estimator::Soft),
                    &mut stream,
                )
                .unwrap();
            for (found, alpha) in found.iter().zip([0.1, 0.2, 0.3, 0.4, 0.5]) {
                assert!((found - alpha / 1.5).abs() < 1e-6);
            }
        }
    }
}
