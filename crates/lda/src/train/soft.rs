//! φ^p: the counts of topics and terms in which every token counts in all topics, by the probabilities of its next
//! draw (Papanikolaou, Foulds, Rubin & Tsoumakas 2017, §4 and Algorithm 1).
//!
//! ```text
//! p_dik ∝ (n_kw without i + η) / (n_k without i + Vη) · (n_dk without i + α_k)       (Eq. 1)
//! φ^p_kw ∝ η + Σ_{d,i: w_di=w} p_dik                                                  (Eq. 49)
//! ```
//!
//! With the factors of the counts, e_kw = f_k (n_kw + η) and f_k = 1 / (n_k + Vη), a token that counts o_k in topic
//! k has the first factor (e_kw − f_k o_k) / (1 − f_k o_k). Tokens of one term and one topic in a document share
//! one p. All in f64, O(K) per distinct term; the counts that a document adds are rounded to units of 2⁻¹² token,
//! so that sums over workers are integers.

use super::units::{TOKEN, round};
use crate::infer::Bag;
use crate::math::random::Stream;
use crate::model::factors::FactorTable;
use crate::model::statistics::Moves;

/// The estimator of documents, one after another, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct SoftCounts {
    /// e_kw of the current term, K long.
    factors: Vec<f64>,
    /// n_dk, K long.
    document: Vec<f64>,
    /// The topics of the current term's tokens, sorted.
    own: Vec<u16>,
    /// Σ_i p_dik over the current term's tokens, K long.
    soft: Vec<f64>,
    /// The changes of `soft` by the tokens' own counts, with their topics.
    changes: Vec<(usize, f64)>,
}

impl SoftCounts {
    /// Adds Σ_i p_dik of a document to `statistics`, in units of 2⁻¹² token; p is 0 outside the document's
    /// `labels`, if there are any. The document's tokens count in the model with the topics `assigned`, in the
    /// order of [`Sampler::assignments`](crate::infer::sampler::Sampler::assignments).
    ///
    /// # Panics
    /// Panics under a tree.
    pub fn add(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        labels: &[u16],
        assigned: &[u16],
        stream: &mut Stream,
        statistics: &mut Moves,
    ) {
        assert!(table.tree().is_none(), "counts under a tree are those of leaves");
        self.document.clear();
        self.document.resize(table.topic_count(), 0.0);
        for &topic in assigned {
            self.document[usize::from(topic)] += 1.0;
        }
        let mut rest = assigned;
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            self.take_term(term, own, labels, table);
            let units = u64::from(count) * TOKEN as u64;
            round(&self.soft, units, stream.uniform(), |topic, count| {
                statistics.add(term, topic, count as i64);
            });
        }
    }

    /// Writes Σ_i p_dik over the tokens of a term, whose topics are `own`, to `soft`.
    fn take_term(&mut self, term: u32, own: &[u16], labels: &[u16], table: FactorTable<'_>) {
        let smoothing = table.smoothing();
        let row = table.find(term).expect("factors of all terms are prepared");
        self.factors.clear();
        table.write_all(row, &mut self.factors);
        self.soft.clear();
        let masses = self.factors.iter().zip(&self.document);
        let masses = masses.zip(&smoothing.alpha);
        self.soft.extend(masses.map(|((e, n), &a)| e * (n + f64::from(a))));
        if !labels.is_empty() {
            let others = (0..).zip(&mut self.soft);
            let others = others.filter(|(topic, _)| labels.binary_search(topic).is_err());
            others.for_each(|(_, mass)| *mass = 0.0);
        }
        let whole: f64 = self.soft.iter().sum();
        self.own.clear();
        self.own.extend_from_slice(own);
        self.own.sort_unstable();
        // A token's p differs from the others' in its own topic, and in the sum of all masses.
        let mut all_shares = 0.0;
        self.changes.clear();
        for run in self.own.chunk_by(|a, b| a == b) {
            let k = usize::from(run[0]);
            let f = f64::from(smoothing.unit[k]);
            let others = self.document[k] - 1.0 + f64::from(smoothing.alpha[k]);
            let without = (self.factors[k] - f).max(0.0) / (1.0 - f) * others;
            let share = run.len() as f64 / ((whole - self.soft[k]).max(0.0) + without);
            all_shares += share;
            let change = (without - self.soft[k]) * share;
            self.changes.push((k, change));
        }
        self.soft.iter_mut().for_each(|mass| *mass *= all_shares);
        for &(k, change) in &self.changes {
            self.soft[k] = (self.soft[k] + change).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Stage;
    use crate::model::Priors;
    use crate::model::factors::Factors;
    use crate::model::parameters::Parameters;
    use crate::model::statistics::Assigned;

    const TOPICS: usize = 4;
    const TERMS: usize = 6;
    /// Terms and counts of each document.
    const CORPUS: [(&[u32], &[u32]); 3] =
        [(&[0, 1, 5], &[3, 1, 2]), (&[1, 2, 3, 4], &[1, 5, 1, 1]), (&[0, 5], &[1, 40])];

    fn priors() -> Priors {
        Priors { alpha: vec![0.1, 0.4, 0.2, 0.05], eta: 0.03, exp_psi: false, tree: None }
    }

    /// z of every token, in the sampler's order; the last topic has none.
    fn assigned(seed: u64) -> Vec<Vec<u16>> {
        let mut stream = Stream::keyed(seed, Stage::Synth, 0, 0);
        let lengths = CORPUS.map(|(_, counts)| counts.iter().sum::<u32>());
        let draw = |n: u32| (0..n).map(|_| stream.below(3) as u16).collect();
        lengths.map(draw).to_vec()
    }

    /// The tokens of a document: terms in the sampler's order.
    fn tokens((terms, counts): (&[u32], &[u32])) -> Vec<usize> {
        let pairs = terms.iter().zip(counts).rev();
        pairs.flat_map(|(&w, &n)| vec![w as usize; n as usize]).collect()
    }

    /// Papanikolaou 2017, Algorithm 1, function φ^p, token by token, before β is added and the sum is normalised:
    /// Σ p_djk, V × K.
    fn reference(assigned: &[Vec<u16>], labels: &[u16], priors: &Priors) -> Vec<Vec<f64>> {
        let mut n_wk = vec![vec![0.0; TOPICS]; TERMS];
        let mut n_dk = vec![vec![0.0; TOPICS]; CORPUS.len()];
        let each = || (0..).zip(CORPUS.map(tokens)).zip(assigned);
        for ((d, words), z) in each() {
            for (&w, &k) in words.iter().zip(z) {
                n_wk[w][usize::from(k)] += 1.0;
                n_dk[d as usize][usize::from(k)] += 1.0;
            }
        }
        let mut phi = vec![vec![0.0; TOPICS]; TERMS];
        for ((d, words), z) in each() {
            for (&w, &own) in words.iter().zip(z) {
                let is_possible = |k: usize| labels.is_empty() || labels.contains(&(k as u16));
                let p = |k: usize| {
                    let i = f64::from(u8::from(usize::from(own) == k));
                    let n_k: f64 = n_wk.iter().map(|row| row[k]).sum();
                    (n_wk[w][k] - i + priors.eta) / (n_k - i + TERMS as f64 * priors.eta)
                        * (n_dk[d as usize][k] - i + priors.alpha[k])
                        * f64::from(u8::from(is_possible(k)))
                };
                let sum: f64 = (0..TOPICS).map(p).sum();
                (0..TOPICS).for_each(|k| phi[w][k] += p(k) / sum);
            }
        }
        phi
    }

    fn counted(assigned: &[Vec<u16>]) -> Parameters {
        let mut statistics = Moves::new(TERMS, TOPICS);
        for (document, z) in CORPUS.into_iter().zip(assigned) {
            for (w, &k) in tokens(document).into_iter().zip(z) {
                statistics.assigned(w as u32, &[k]);
            }
        }
        let (mut words, mut totals) = (Vec::new(), vec![0; TOPICS]);
        statistics.drain(|entry| {
            totals[usize::from(entry.topic)] += i64::from(entry.count);
            words.push(entry.word());
        });
        let mut parameters = Parameters::new(TOPICS, TERMS, 0, 1);
        parameters.replace(&words);
        parameters.replace_totals(&totals);
        parameters
    }

    #[test]
    fn soft_counts_are_those_of_the_algorithm_as_printed() {
        for (seed, labels) in (0..20).flat_map(|seed| [(seed, &[][..]), (seed, &[0, 1, 2])]) {
            let (priors, assigned) = (priors(), assigned(seed));
            let factors = Factors::prepare(&counted(&assigned), &priors, |_| true, None);
            let parts = [&factors];
            let table = FactorTable::new(&parts);
            let (mut soft, mut statistics) = (SoftCounts::default(), Moves::new(TERMS, TOPICS));
            let (mut exact, mut tokens) = (vec![vec![0.0; TOPICS]; TERMS], vec![0.0; TERMS]);
            for (index, ((terms, counts), z)) in CORPUS.into_iter().zip(&assigned).enumerate() {
                let stream = &mut Stream::keyed(seed, Stage::Train, 1, index as u64);
                let bag = Bag { terms, counts };
                soft.add(bag, table, labels, z, stream, &mut statistics);
                let mut rest = &z[..];
                for (&w, &n) in terms.iter().zip(counts).rev() {
                    let (own, others) = rest.split_at(n as usize);
                    rest = others;
                    soft.take_term(w, own, labels, table);
                    let sum: f64 = soft.soft.iter().sum();
                    assert!((sum - f64::from(n)).abs() < 1e-12, "{sum} of {n}");
                    (0..TOPICS).for_each(|k| exact[w as usize][k] += soft.soft[k]);
                    tokens[w as usize] += f64::from(n);
                }
            }
            let mut rounded = vec![vec![0.0; TOPICS]; TERMS];
            statistics.drain(|Assigned { term, topic, count }| {
                rounded[term as usize][usize::from(topic)] += f64::from(count) / TOKEN;
            });
            for (w, wanted) in reference(&assigned, labels, &priors).iter().enumerate() {
                for k in 0..TOPICS {
                    // Factors are f32. Each document is off by less than a unit.
                    assert!((wanted[k] - exact[w][k]).abs() < 1e-6 * tokens[w]);
                    let units = (rounded[w][k] - exact[w][k]) * TOKEN;
                    assert!(units.abs() < CORPUS.len() as f64, "{units}");
                }
                assert_eq!(rounded[w].iter().sum::<f64>(), tokens[w], "no token is lost");
            }
        }
    }
}
