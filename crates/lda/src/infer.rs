//! Inference for one document against a fixed model. Nothing here ever changes a model.
//!
//! `sampler` draws topics in time proportional to those present, and `project` turns its samples into topic
//! proportions. `mean_field` draws nothing: CVB0 and variational Bayes, whose dense form is `variational`. `maxent` predicts proportions from
//! terms alone, `hybrid` continues from there, and `naive_bayes` is the baseline (Yao, Mimno & McCallum 2009).
//! `inferrer` picks one of them. `labels` ranks topics that are labels.

pub mod hybrid;
pub mod inferrer;
pub mod label_topics;
pub mod labels;
pub mod maxent;
pub mod mean_field;
mod naive_bayes;
pub mod project;
pub mod sampler;
pub(crate) mod search;
pub mod settings;
pub mod summary;
pub mod term_topics;
pub mod variational;

pub use crate::bags::Bag;

/// A draw that cannot be made: the masses do not add up to a positive, finite number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "impossible draw for term {term}: document mass {}, smoothing mass {}, prior mass {}; the model holds a NaN or an \
     overflow (is eta or alpha extreme?)",
    masses[0], masses[1], masses[2]
)]
pub struct ImpossibleDraw {
    /// The term whose topic was to be drawn.
    pub term: u32,
    /// Σ_{k∈d} n_dk g_kw (with h_k where the term has a dense row); Σ_{k∈d} n_dk h_k where it has none; A_w + H.
    pub masses: [f32; 3],
}
