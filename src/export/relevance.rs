//! The numbers behind LDAvis (Sievert & Shirley 2014): how many tokens of a term each topic has, the
//! relevance of terms to topics, and the saliency of terms (Chuang et al. 2012).
//!
//! φ is sparse: in a topic that has no token of a term, the term counts only by the smoothing, and is not listed
//! among the topic's terms.

use crate::tables::phi::PublishedPhi;
use lda::evaluate::relevance::Relevance as TermRelevance;
use lda::math::special::ln;
use lda::model::published::PublishedTopic;

/// Number of steps of λ.
const LAMBDA_STEPS: usize = 100;

/// Terms and topics, weighted by tokens of the whole collection.
pub(super) struct Relevance<'a> {
    phi: &'a PublishedPhi,
    /// N_k: tokens of each topic.
    pub(super) tokens: &'a [f64],
    /// Σ_k φ_kw N_k for each term.
    pub(super) totals: Vec<f64>,
    /// The sum of these over all terms.
    all: f64,
}

impl<'a> Relevance<'a> {
    /// Prepares topics with these tokens.
    pub(super) fn new(phi: &'a PublishedPhi, tokens: &'a [f64]) -> Self {
        let smoothing = phi.topics.iter().zip(tokens);
        let everywhere: f64 = smoothing.map(|(topic, n)| topic.absent_weight * n).sum();
        let mut totals = vec![everywhere; phi.terms.len()];
        for (topic, n) in phi.topics.iter().zip(tokens) {
            for &(term, weight) in &topic.weights {
                totals[term as usize] += (f64::from(weight) - topic.absent_weight) * n;
            }
        }
        let all = totals.iter().sum();
        Self { phi, tokens, totals, all }
    }

    /// Returns a topic's share of all tokens.
    pub(super) fn share(&self, topic: usize) -> f64 {
        self.tokens[topic] / self.all
    }

    /// Returns the terms among a topic's `count` most relevant ones for some λ, with their probabilities, most probable
    /// first.
    pub(super) fn terms(&self, topic: usize, count: usize) -> Vec<(u32, f64, TermRelevance)> {
        let log_lift = |term, weight| ln(weight * self.all / self.totals[term as usize]);
        self.phi.most_relevant(topic, [count, LAMBDA_STEPS], log_lift)
    }

    /// Returns the `count` most salient terms, by p_w Σ_k q_k ln (q_k / p_k) with q_k = φ_kw / Σ_j φ_jw, most salient
    /// first. This is LDAvis's form, which weights all topics alike in q.
    pub(super) fn salient(&self, count: usize) -> Vec<u32> {
        // Σ_k φ_kw ln (φ_kw / p_k), first as if no topic listed the term.
        let part = |share: f64, weight: f64| weight * ln(weight / share);
        let shares: Vec<f64> = (0..self.tokens.len()).map(|k| self.share(k)).collect();
        // A topic without tokens has no share to compare with.
        let topics = || self.phi.topics.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
        let unlisted = |(topic, share): (&PublishedTopic, &f64)| part(*share, topic.absent_weight);
        let nowhere: f64 = topics().map(unlisted).sum();
        let smoothing: f64 = topics().map(|(topic, _)| topic.absent_weight).sum();
        let mut sums = vec![(smoothing, nowhere); self.totals.len()];
        for (topic, &share) in topics() {
            for &(term, weight) in &topic.weights {
                let (weight, absent) = (f64::from(weight), topic.absent_weight);
                let sum = &mut sums[term as usize];
                sum.0 += weight - absent;
                sum.1 += part(share, weight) - part(share, absent);
            }
        }
        // Σ_k q_k ln (q_k / p_k) = Σ_k φ_kw ln (φ_kw / p_k) / S − ln S.
        let saliency =
            |(total, (sum, parts)): (&f64, &(f64, f64))| total * (parts / sum - ln(*sum));
        let saliencies: Vec<f64> = self.totals.iter().zip(&sums).map(saliency).collect();
        let mut terms: Vec<u32> = (0..self.totals.len() as u32).collect();
        terms.sort_by(|&a, &b| {
            let [of_a, of_b] = [a, b].map(|term| saliencies[term as usize]);
            of_b.total_cmp(&of_a).then(a.cmp(&b))
        });
        terms.truncate(count);
        terms
    }

    /// Returns the topics with at least half a token of each of `terms`, ascending, and their tokens.
    pub(super) fn spread(&self, terms: &[u32]) -> Vec<Vec<(usize, f64)>> {
        let mut place = vec![usize::MAX; self.totals.len()];
        for (index, &term) in terms.iter().enumerate() {
            place[term as usize] = index;
        }
        let mut spread = vec![Vec::new(); terms.len()];
        for (topic, published) in self.phi.topics.iter().enumerate() {
            for &(term, weight) in &published.weights {
                let tokens = f64::from(weight) * self.tokens[topic];
                let index = place[term as usize];
                if index != usize::MAX && tokens >= 0.5 {
                    spread[index].push((topic, tokens));
                }
            }
        }
        spread
    }
}
