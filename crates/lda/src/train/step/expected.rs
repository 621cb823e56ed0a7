//! Expected counts instead of sampled ones: the frame of the dense methods, O(W K) a document. They are those of
//! variational Bayes, n_w φ_wk in the exp Ψ geometry, and those of SCVB0.
//!
//! Expected counts are rounded at random to units of 2⁻¹² tokens (`units::round`), so that their sums are the same
//! on any number of workers; each token still counts as one in all.

use super::{Counts, LocalStep, Sampling, TrainingMethod, Visit};
use crate::infer::ImpossibleDraw;
use crate::math::draw::gamma;
use crate::math::random::{Stage, Stream};
use crate::model::Priors;
use crate::model::parameters::{Entry, Parameters};
use crate::train::senses;
use crate::train::units::{TOKEN, round};

/// An approximation of a document's topics.
pub(super) trait Approximate: std::fmt::Debug + Default + Send {
    /// Approximates a document: `counts[w]` tokens of its w-th distinct term, whose factors are `factors[w]` (W × K,
    /// positive).
    ///
    /// # Errors
    /// Returns the index of a term whose masses in all topics vanish.
    fn approximate(
        &mut self,
        counts: &[u32],
        factors: &[&[f64]],
        alpha: &[f64],
    ) -> Result<(), usize>;

    /// Adds the expected tokens of the last document's `index`-th distinct term, which has these factors, to those of
    /// each topic.
    fn add_expected(&self, index: usize, factors: &[f64], expected: &mut [f64]);
}

/// The local step of a dense method, for one document after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected<A> {
    approximation: A,
    /// The factors of the document's terms, W × K.
    factors: Vec<f64>,
    alpha: Vec<f64>,
    /// The expected counts of a term, K long.
    expected: Vec<f64>,
    /// Those of the whole document, K long.
    tokens: Vec<f64>,
    assignments: Vec<u16>,
}

impl<A: Approximate> LocalStep for Expected<A> {
    /// Adds the document's expected counts, each as often as the visit weighs. The expected tokens of its topics are
    /// returned as whole ones.
    ///
    /// # Panics
    /// Panics under a tree.
    fn visit<'s>(
        &'s mut self,
        visit: Visit<'_>,
        _: &[u16],
        sampling: &'s mut Sampling,
    ) -> Result<&'s [u16], ImpossibleDraw> {
        let Visit { bag, table, weight, .. } = visit;
        assert!(table.tree().is_none(), "counts under a tree are those of leaves");
        let topics = table.topic_count();
        self.alpha.clear();
        let alpha = table.smoothing().alpha.iter();
        self.alpha.extend(alpha.map(|&a| f64::from(a)));
        self.factors.clear();
        for &term in bag.terms {
            let row = table.find(term).expect("factors of all terms are prepared");
            table.write_all(row, &mut self.factors);
        }
        let rows: Vec<&[f64]> = self.factors.chunks_exact(topics).collect();
        let approximated = self.approximation.approximate(bag.counts, &rows, &self.alpha);
        approximated
            .map_err(|index| ImpossibleDraw { term: bag.terms[index], masses: [0.0; 3] })?;
        self.tokens.clear();
        self.tokens.resize(topics, 0.0);
        let mut stream = visit.key.stream();
        for (index, (&term, row)) in bag.terms.iter().zip(&rows).enumerate() {
            self.expected.clear();
            self.expected.resize(topics, 0.0);
            self.approximation.add_expected(index, row, &mut self.expected);
            let units = u64::from(bag.counts[index]) * TOKEN as u64;
            round(&self.expected, units, stream.uniform(), |topic, count| {
                sampling.statistics.add(term, topic, count as i64 * i64::from(weight));
            });
            for (sum, expected) in self.tokens.iter_mut().zip(&self.expected) {
                *sum += expected;
            }
        }
        Ok(self.assignments())
    }
}

impl<A> Expected<A> {
    /// Returns the expected tokens of the last document's topics (for variational Bayes, γ_d − α) as whole ones:
    /// each topic as often as it has tokens, rounded so that they are N_d in all. Schedules remember visits in this
    /// form.
    fn assignments(&mut self) -> &[u16] {
        let all = self.tokens.iter().sum::<f64>().round_ties_even() as usize;
        let mut copies: Vec<usize> =
            (self.tokens.iter()).map(|tokens| tokens.floor() as usize).collect();
        let whole: usize = copies.iter().sum();
        let mut order: Vec<usize> = (0..self.tokens.len()).collect();
        let rest = |k: usize| self.tokens[k] - self.tokens[k].floor();
        order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)).then(a.cmp(&b)));
        for &k in order.iter().take(all.saturating_sub(whole)) {
            copies[k] += 1;
        }
        self.assignments.clear();
        for (topic, &copies) in (0..).zip(&copies) {
            self.assignments.extend(std::iter::repeat_n(topic, copies));
        }
        &self.assignments
    }
}

/// Returns the model that training starts from, for `terms` terms or leaves: part `part` of `part_count`. Nothing
/// is learnt yet; dense methods start at random, and topics under a tree with one branch of each
/// [cannot-link](super::senses).
pub fn start(
    method: &TrainingMethod,
    seed: u64,
    priors: &Priors,
    terms: usize,
    [part, part_count]: [usize; 2],
) -> Parameters {
    let size = [priors.topic_count(), terms];
    match &priors.tree {
        _ if method.counts == Counts::Expected => {
            random_parameters(seed, priors.eta, size, [part, part_count])
        }
        Some(tree) => senses::start(tree, priors.topic_count(), seed, [part, part_count]),
        None => Parameters::new(size[0], size[1], part, part_count),
    }
}

/// Returns λ_kw ~ Gamma(100, 1/100), as in Hoffman's program, less η, because expected counts never separate equal
/// topics. If η is above a half, λ_kw is 2 η times as large, so that something is left. Part `part[0]` of
/// `part[1]`.
pub(crate) fn random_parameters(
    seed: u64,
    eta: f64,
    [topics, terms]: [usize; 2],
    part: [usize; 2],
) -> Parameters {
    let mean = (2.0 * eta).max(1.0);
    let row = |term: u32| {
        let mut stream = Stream::keyed(seed, Stage::Start, 0, u64::from(term));
        let draws = (0..topics as u32).map(move |topic| {
            let value = (mean * gamma(&mut stream, 100.0) / 100.0 - eta).max(0.0) as f32;
            Entry { topic, value }
        });
        draws.filter(|entry| entry.value > 0.0).collect()
    };
    Parameters::from_rows(topics, terms, part, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::Bag;
    use crate::math::special::{digamma, exp};
    use crate::model::factors::{FactorTable, Factors};
    use crate::model::statistics::Assigned;
    use crate::train::step::{StreamKey, Sweeps, batch_vb, online_vb, scvb0};

    const TOPICS: usize = 3;
    const TERMS: usize = 5;

    fn priors() -> Priors {
        Priors { alpha: vec![0.2, 0.3, 0.4], eta: 0.1, exp_psi: true, tree: None }
    }

    fn visit<'a>(bag: Bag<'a>, table: FactorTable<'a>, weight: u32) -> Visit<'a> {
        let key = StreamKey { seed: 1, stage: Stage::Train, round: 1, document: 1 };
        Visit { key, bag, labels: &[], table, weight }
    }

    fn step(method: TrainingMethod) -> Box<dyn LocalStep> {
        (method.step)(Sweeps { burn_in: 1, kept: 3 })
    }

    /// Hoffman 2010, Algorithm 2, the E step as printed: φ and γ alternate a hundred times.
    fn reference(bag: Bag<'_>, parameters: &Parameters, priors: &Priors) -> Vec<Vec<f64>> {
        let lambda = |k: usize, w: u32| {
            let entry = parameters.row(w).iter().find(|e| e.topic == k as u32);
            priors.eta + entry.map_or(0.0, |e| f64::from(e.value))
        };
        let sum = |k: usize| (0..TERMS as u32).map(|w| lambda(k, w)).sum::<f64>();
        let tokens: f64 = bag.counts.iter().map(|&n| f64::from(n)).sum();
        let mut gamma: Vec<f64> =
            (priors.alpha.iter()).map(|a| a + tokens / TOPICS as f64).collect();
        let mut expected = Vec::new();
        for _ in 0..100 {
            expected.clear();
            for (&w, &n) in bag.terms.iter().zip(bag.counts) {
                let phi: Vec<f64> = (0..TOPICS)
                    .map(|k| exp(digamma(gamma[k]) + digamma(lambda(k, w)) - digamma(sum(k))))
                    .collect();
                let total: f64 = phi.iter().sum();
                expected.push(phi.iter().map(|p| f64::from(n) * p / total).collect::<Vec<f64>>());
            }
            for (k, gamma) in gamma.iter_mut().enumerate() {
                *gamma = priors.alpha[k] + expected.iter().map(|row| row[k]).sum::<f64>();
            }
        }
        expected
    }

    #[test]
    fn expected_counts_are_those_of_the_algorithm_as_printed() {
        let priors = priors();
        let parameters = random_parameters(3, priors.eta, [TOPICS, TERMS], [0, 1]);
        let bag = Bag { terms: &[0, 2, 4], counts: &[2, 1, 5] };
        let factors = Factors::prepare(&parameters, &priors, |_| true, None);
        let parts = [&factors];
        let mut sampling = Sampling::new(TERMS, TOPICS);
        let (mut step, table) = (step(online_vb::METHOD), FactorTable::new(&parts));
        let assigned = step.visit(visit(bag, table, 1), &[], &mut sampling).unwrap().to_vec();
        let mut found = vec![vec![0.0; TOPICS]; TERMS];
        sampling.finish(|Assigned { term, topic, count }| {
            found[term as usize][usize::from(topic)] = f64::from(count) / TOKEN;
        });
        for (row, &term) in reference(bag, &parameters, &priors).iter().zip(bag.terms) {
            for (expected, found) in row.iter().zip(&found[term as usize]) {
                // The loop ends when γ changes by less than 0.001.
                assert!((expected - found).abs() < 5e-3, "{expected} {found}");
            }
        }
        assert_eq!(assigned.len(), 8);
        for k in 0..TOPICS {
            let tokens: f64 = found.iter().map(|row| row[k]).sum();
            let rounded = assigned.iter().filter(|&&z| usize::from(z) == k).count();
            assert!((tokens - rounded as f64).abs() < 1.0, "{tokens} {rounded}");
        }
    }

    /// A term that no topic has yet, with the priors of Wahabzada & Kersting 2011, 0.01: exp Ψ(η) and exp Ψ(α) are
    /// 2 · 10⁻⁴⁴. With smaller priors it has no topic, which is an error.
    #[test]
    fn a_new_term_is_counted_as_often_as_it_occurs() {
        let bag = Bag { terms: &[1, 4], counts: &[3, 2] };
        let counted = |method, prior: f64| {
            let priors = Priors { alpha: vec![prior; TOPICS], eta: prior, ..priors() };
            let row = |term: u32| {
                let entries = (0..TOPICS as u32).map(|topic| Entry { topic, value: 9.0 });
                entries.filter(|_| term != 4).collect()
            };
            let empty = Parameters::new(TOPICS, TERMS, 0, 1);
            let parameters = empty.restore(1.0, vec![1e5; TOPICS], row);
            let factors = Factors::prepare(&parameters, &priors, |_| true, None);
            let parts = [&factors];
            let (mut sampling, table) = (Sampling::new(TERMS, TOPICS), FactorTable::new(&parts));
            step(method).visit(visit(bag, table, 1), &[], &mut sampling)?;
            let mut found = [0.0; TERMS];
            sampling.finish(|it| found[it.term as usize] += f64::from(it.count) / TOKEN);
            Ok(found)
        };
        for method in [online_vb::METHOD, scvb0::METHOD] {
            assert_eq!(counted(method, 0.01), Ok([0.0, 3.0, 0.0, 0.0, 2.0]));
            let refused: Result<_, ImpossibleDraw> = counted(method, 0.002);
            assert_eq!(refused.unwrap_err().term, 4);
        }
    }

    /// With 7,000 topics a token has about half a unit in each, which rounding to the nearest would lose or double.
    #[test]
    fn no_token_is_lost_or_made_in_many_topics() {
        let bag = Bag { terms: &[0, 2, 4], counts: &[2, 1, 5] };
        for topics in [3000, 7000] {
            let priors = Priors { alpha: vec![0.01; topics], ..priors() };
            let parameters = random_parameters(3, priors.eta, [topics, TERMS], [0, 1]);
            let factors = Factors::prepare(&parameters, &priors, |_| true, None);
            let parts = [&factors];
            for method in [batch_vb::METHOD, scvb0::METHOD] {
                let (mut sampling, table) =
                    (Sampling::new(TERMS, topics), FactorTable::new(&parts));
                step(method).visit(visit(bag, table, 3), &[], &mut sampling).unwrap();
                let mut units = 0;
                sampling.finish(|entry| units += i64::from(entry.count));
                assert_eq!(units, 3 * 8 * TOKEN as i64, "{method:?}, {topics} topics");
            }
        }
    }

    #[test]
    fn a_random_start_differs_by_topic_whatever_the_prior() {
        for eta in [1e-6, 0.5, 2.0, 1e6] {
            let parameters = random_parameters(7, eta, [TOPICS, 40], [0, 1]);
            for term in 0..40 {
                let row = parameters.row(term);
                let values = |k: u32| row.iter().find(|e| e.topic == k).map(|e| e.value);
                assert_eq!(row.len(), TOPICS, "{eta}");
                assert_ne!(values(0), values(1), "{eta}");
            }
        }
    }

    #[test]
    fn parts_of_a_random_start_are_those_of_the_whole() {
        let whole = random_parameters(7, 0.1, [TOPICS, 40], [0, 1]);
        let mean = whole.totals().iter().sum::<f64>() / (40 * TOPICS) as f64;
        assert!((mean - 0.9).abs() < 0.05, "{mean}");
        for part in 0..3 {
            let piece = random_parameters(7, 0.1, [TOPICS, 40], [part, 3]);
            assert_eq!(piece.totals(), whole.totals());
            for term in piece.terms() {
                assert_eq!(piece.row(term), whole.row(term));
            }
        }
    }
}
