//! Naive Bayes inference, the baseline of Yao 2009 (§5): every token votes for topics by φ, independently of the other
//! tokens.

use super::Bag;
use crate::model::factors::FactorTable;

/// Writes θ_k = Σ_w n_w φ_kw / Σ_j Σ_w n_w φ_jw to `proportions`, K long; they add up to 1.
///
/// Without a term that has factors, they are the prior's, α_k / A.
pub fn infer(bag: Bag<'_>, table: FactorTable<'_>, proportions: &mut Vec<f32>) {
    let smoothing = table.smoothing();
    proportions.clear();
    proportions.resize(table.topic_count(), 0.0);
    let mut tokens = 0.0;
    for (&term, &count) in bag.terms.iter().zip(bag.counts) {
        let Some(row) = table.find(term) else {
            continue;
        };
        let sparse = table.sparse(row);
        for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
            proportions[usize::from(*topic)] += count as f32 * weight;
        }
        tokens += count as f32;
    }
    if tokens > 0.0 {
        for (score, factor) in proportions.iter_mut().zip(&smoothing.factors) {
            *score += tokens * factor;
        }
    } else {
        proportions.copy_from_slice(&smoothing.alpha);
    }
    let sum: f32 = proportions.iter().sum();
    proportions.iter_mut().for_each(|score| *score /= sum);
}
