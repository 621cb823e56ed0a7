//! The settings of inference.

use serde::{Deserialize, Serialize};

use super::{InferenceMethod, METHODS};

/// How topic proportions are estimated from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// θ^p: the full conditionals of the tokens, averaged (Papanikolaou 2017).
    Soft,
    /// Plain counts of the sampled assignments, averaged.
    Counts,
}

/// How a document's topics are inferred. Each method uses the values that apply to it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct InferSettings {
    /// The method.
    pub method: &'static InferenceMethod,
    /// Sweeps discarded after the sequential first one.
    #[serde(rename = "burn_in")]
    pub burn_in_sweeps: u32,
    /// Sweeps that are averaged, ≥ 1.
    #[serde(rename = "sweeps")]
    pub kept_sweeps: u32,
    /// Independent chains that are averaged, ≥ 1.
    pub chains: u32,
    /// How proportions are estimated.
    pub estimator: Estimator,
    /// Maximum number of iterations of the methods that do not sample, ≥ 1.
    pub iterations: u32,
    /// These methods stop when at most this share of a document's tokens moves.
    pub tolerance: f64,
    /// τ: the classifier's features are weighted 1/τ (Yao 2009, §5).
    pub temperature: f64,
}

impl InferSettings {
    /// Returns the settings of Gibbs sampling with one chain. Other methods use the rest: at most 100 iterations, which
    /// variational Bayes may need, but CVB0 is most accurate with 2 to 5.
    pub fn gibbs(burn_in_sweeps: u32, kept_sweeps: u32, estimator: Estimator) -> Self {
        Self {
            method: &METHODS[0],
            burn_in_sweeps,
            kept_sweeps,
            chains: 1,
            estimator,
            iterations: 100,
            tolerance: 0.001,
            temperature: 1.0,
        }
    }
}
