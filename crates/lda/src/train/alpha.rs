//! Learning the document–topic prior α from how often topics occur in documents (Minka 2000,
//! "Estimating a Dirichlet distribution", Eq. 55; Wallach 2008, §2.3).
//!
//! ```text
//! α_k ← α_k · Σ_d [Ψ(n_dk + α_k) − Ψ(α_k)] / Σ_d [Ψ(N_d + A) − Ψ(A)]
//! ```
//!
//! Documents enter through histograms of n_dk and N_d. Each worker sums over its own in fixed point, as integers,
//! whose sums over workers do not depend on the order.
//!
//! Learnt in single steps, several passes apart, α anneals training: a large α lets documents try many topics, and as
//! it shrinks they settle.

use crate::estimate::Sampled;
use crate::math::FIXED_POINT;
use crate::math::special::digamma;

/// A learnt α_k does not fall below this, so that a topic without tokens stays possible.
const SMALLEST: f64 = 1e-4;

/// How many documents have n tokens in each topic, and how many have N in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histograms {
    topics: Vec<Vec<u32>>,
    lengths: Vec<u32>,
}

impl Histograms {
    /// Returns about the bytes for documents of `mean` tokens, in vectors that double when they grow.
    pub fn bytes(topics: u64, mean: u64) -> u64 {
        topics * 2 * mean * size_of::<u32>() as u64
    }

    /// Creates empty histograms for `topic_count` topics.
    pub fn new(topic_count: usize) -> Self {
        Self { topics: vec![Vec::new(); topic_count], lengths: Vec::new() }
    }

    /// Counts a document of `token_count` tokens.
    pub fn add(&mut self, sample: Sampled<'_>, token_count: usize) {
        for &topic in sample.active {
            let k = usize::from(topic);
            count(&mut self.topics[k], sample.counts[k] as usize);
        }
        count(&mut self.lengths, token_count);
    }

    /// Returns Σ_d [Ψ(n_dk + α_k) − Ψ(α_k)] for each topic, then Σ_d [Ψ(N_d + A) − Ψ(A)], in units of 2⁻²⁰. An α_k
    /// below the smallest learnt one counts as that, so that the sums fit in 64 bits, unless it is 0.
    pub fn evidence(&self, alpha: &[f64]) -> Vec<i64> {
        let alpha = alpha.iter().map(|&a| if a > 0.0 { a.max(SMALLEST) } else { 0.0 });
        let whole: f64 = alpha.clone().sum();
        let topics = self.topics.iter().zip(alpha);
        let mut sums: Vec<i64> = topics.map(|(h, a)| above(h, a)).collect();
        sums.push(above(&self.lengths, whole));
        sums
    }
}

fn count(histogram: &mut Vec<u32>, place: usize) {
    if place >= histogram.len() {
        histogram.resize(place + 1, 0);
    }
    histogram[place] += 1;
}

/// Σ_n h_n [Ψ(n + a) − Ψ(a)]; 0 for a = 0.
fn above(histogram: &[u32], a: f64) -> i64 {
    if a == 0.0 {
        return 0;
    }
    let start = digamma(a);
    let documents = histogram.iter().enumerate().skip(1).filter(|(_, h)| **h > 0);
    documents
        .map(|(n, &h)| {
            let value = (digamma(n as f64 + a) - start) * FIXED_POINT;
            value.round_ties_even() as i64 * i64::from(h)
        })
        .sum()
}

/// Takes one step for every α_k > 0, given the [`evidence`](Histograms::evidence) of all documents.
pub fn step(alpha: &mut [f64], evidence: &[i64]) {
    let (topics, lengths) = evidence.split_at(alpha.len());
    let lengths = lengths[0] as f64;
    if lengths <= 0.0 {
        return;
    }
    for (a, &sum) in alpha.iter_mut().zip(topics).filter(|(a, _)| **a > 0.0) {
        *a = (a.max(SMALLEST) * sum as f64 / lengths).max(SMALLEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::draw::{categorical, dirichlet, prefix_sums};
    use crate::math::random::{Stage, Stream};

    #[test]
    fn a_tiny_prior_is_learnt_as_from_the_least() {
        let mut histograms = Histograms::new(2);
        histograms.topics = vec![vec![0, 1 << 20], vec![0, 1 << 20]];
        histograms.lengths = vec![0, 1 << 21];
        let learnt = |start: f64| {
            let mut alpha = [start; 2];
            step(&mut alpha, &histograms.evidence(&[start; 2]));
            alpha
        };
        assert!(histograms.evidence(&[1e-15; 2]).iter().all(|&sum| sum > 0));
        assert_eq!(learnt(1e-15), learnt(SMALLEST));
    }

    /// The prior of documents drawn from a Dirichlet–multinomial is recovered, however they are divided among workers.
    #[test]
    fn a_known_prior_is_found_again() {
        let truth = [0.9, 0.3, 0.05];
        let mut parts = vec![Histograms::new(3); 2];
        for document in 0..4000 {
            let mut stream = Stream::keyed(5, Stage::Synth, 1, document);
            let mut theta = truth.to_vec();
            dirichlet(&mut stream, &mut theta);
            let theta = prefix_sums(&theta);
            let mut counts = [0.0f32; 4];
            (0..60).for_each(|_| counts[categorical(&mut stream, &theta)] += 1.0);
            let sample = Sampled { counts: &counts, active: &[0, 1, 2] };
            parts[(document % 2) as usize].add(sample, 60);
        }
        let mut alpha = vec![1.0; 3];
        for _ in 0..200 {
            let each: Vec<_> = parts.iter().map(|part| part.evidence(&alpha)).collect();
            let all: Vec<i64> = each[0].iter().zip(&each[1]).map(|(a, b)| a + b).collect();
            step(&mut alpha, &all);
        }
        for (found, truth) in alpha.iter().zip(truth) {
            assert!((found / truth - 1.0).abs() < 0.08, "{alpha:?}");
        }
    }

    #[test]
    fn a_topic_without_tokens_stays_possible_and_no_document_is_no_evidence() {
        let mut histograms = Histograms::new(2);
        let mut alpha = vec![0.5, 0.5];
        let nothing = histograms.evidence(&alpha);
        step(&mut alpha, &nothing);
        assert_eq!(alpha, [0.5, 0.5]);
        let counts = [4.0, 0.0, 0.0];
        let active = &[0];
        let sample = Sampled { counts: &counts, active };
        histograms.add(sample, 4);
        for _ in 0..100 {
            let evidence = histograms.evidence(&alpha);
            step(&mut alpha, &evidence);
        }
        assert_eq!(alpha[1], SMALLEST);
    }

    #[test]
    fn a_prior_of_0_is_not_learnt_and_changes_no_other() {
        let (mut few, mut more) = (Histograms::new(2), Histograms::new(3));
        let sample = Sampled { counts: &[4.0, 1.0, 0.0], active: &[0, 1] };
        few.add(sample, 5);
        more.add(sample, 5);
        let (mut alpha, mut with) = (vec![0.5, 0.2], vec![0.5, 0.2, 0.0]);
        for _ in 0..3 {
            let evidence = few.evidence(&alpha);
            step(&mut alpha, &evidence);
            let evidence = more.evidence(&with);
            step(&mut with, &evidence);
        }
        assert_eq!(with, [alpha[0], alpha[1], 0.0]);
    }
}
