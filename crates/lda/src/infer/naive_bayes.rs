//! Naive Bayes inference, the baseline of Yao 2009 (§5): every token votes for topics by φ, independently of the other
//! tokens.

use super::settings::InferSettings;
use super::{Bag, ImpossibleDraw, InferenceMethod, Inferred, Inferrer, Target, TokenWork, gibbs};
use crate::math::random::Stream;

/// Σ_w n_dw φ_kw, normalised.
pub const METHOD: InferenceMethod = InferenceMethod {
    name: "naive-bayes",
    doc: "adds up φ over the tokens, a baseline",
    work: TokenWork::Once,
    has_prior: false,
    inferrer: || Box::new(NaiveBayes::default()),
    ..gibbs::ALONE
};

/// Inference of proportions, document after document, with the same buffer.
#[derive(Debug, Default)]
struct NaiveBayes(Vec<f32>);

impl Inferrer for NaiveBayes {
    /// Infers θ_k = Σ_w n_w φ_kw / Σ_j Σ_w n_w φ_jw.
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        _: &InferSettings,
        _: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw> {
        let (table, proportions) = (target.table, &mut self.0);
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
        Ok(target.inferred(proportions))
    }
}
