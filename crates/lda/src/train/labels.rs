//! Documents with labels, one topic each: Labeled LDA (Ramage, Hall, Nallapati & Manning 2009) and
//! Prior-LDA (Rubin, Chambers, Smyth & Steyvers 2012), as Papanikolaou 2017, §2.3 and §6, has them.
//!
//! In training a document has the topics of its labels only
//! ([`Sampler::restrict`](crate::infer::sampler::Sampler::restrict)); everything else is as without
//! labels. Documents are inferred over all topics, with a prior that may know how frequent each label is.

use crate::infer::Bag;
use crate::math::special::ln;
use crate::model::settings::LabelPrior;

/// Σ_k α_k in training (Papanikolaou 2017, Eq. 58), and of the part of inference's prior that follows
/// frequencies (Eq. 59).
pub const ALPHA_SUM: f64 = 50.0;

/// The part of inference's prior that all labels share, to the part that follows frequencies: 30 to 50
/// (Eq. 59).
const SHARED: f64 = 0.6;

/// α_k for inference, one value a label, of which `documents` have each: A / K, or
/// A f_k / Σ_j f_j + 0.6 A / K, where A is `alpha_sum` (Papanikolaou 2017, Eqs. 58 and 59 with A = 50).
///
/// ```
/// # use lda::model::settings::LabelPrior;
/// # use lda::train::labels::{ALPHA_SUM, inference_alpha};
/// let alpha = |prior| inference_alpha(prior, ALPHA_SUM, &[30, 10]);
/// assert_eq!(alpha(LabelPrior::Frequency), [52.5, 27.5]);
/// assert_eq!(alpha(LabelPrior::Uniform), [25.0, 25.0]);
/// ```
pub fn inference_alpha(prior: LabelPrior, alpha_sum: f64, documents: &[u64]) -> Vec<f64> {
    let each = alpha_sum / documents.len() as f64;
    let all = documents.iter().sum::<u64>().max(1) as f64;
    let alpha = |&documents: &u64| match prior {
        LabelPrior::Uniform => each,
        LabelPrior::Frequency => alpha_sum * documents as f64 / all + SHARED * each,
    };
    documents.iter().map(alpha).collect()
}

/// What the number of a document's labels is estimated from: its terms, and ln(1 + n) of the tokens of each.
pub fn count_features(bag: Bag<'_>) -> impl Iterator<Item = (u32, f32)> {
    let value = |&tokens: &u32| ln(1.0 + f64::from(tokens)) as f32;
    bag.terms.iter().copied().zip(bag.counts.iter().map(value))
}
