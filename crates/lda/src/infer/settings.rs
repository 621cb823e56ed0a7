//! The settings of inference.

use serde::Deserialize;

/// How topic proportions are estimated from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// θ^p: the full conditionals of the tokens, averaged (Papanikolaou 2017).
    Soft,
    /// Plain counts of the sampled assignments, averaged.
    Counts,
}

/// How a document's topics are inferred against a model (Yao, Mimno & McCallum 2009, §3–5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Gibbs3: each document alone, sampled against the frozen model.
    Gibbs,
    /// Gibbs2: all documents that were not trained on, together ([`joint`](crate::train::joint)); the sample's counts
    /// are fixed. A single document is inferred as by `Gibbs`.
    GibbsJoint,
    /// Gibbs1: all documents together, including the sample's: training continues with all documents. A single
    /// document is inferred as by `Gibbs`.
    Retrain,
    /// Mean-field variational inference, each document alone.
    Variational,
    /// Zero-order collapsed variational inference, each document alone.
    Cvb0,
    /// A multinomial logistic regression from terms to proportions.
    #[serde(rename = "maxent")]
    MaxEnt,
    /// Σ_w n_dw φ_kw, normalised: a baseline.
    NaiveBayes,
    /// Starts with `MaxEnt`'s proportions, then draws tokens independently and re-estimates.
    Hybrid,
}

impl Method {
    /// Returns whether the method needs the classifier that is trained on the sample's own proportions.
    pub fn needs_classifier(self) -> bool {
        matches!(self, Self::MaxEnt | Self::Hybrid)
    }

    /// Returns whether proportions contain the prior α; those that the classifier learns from do.
    pub fn has_prior(self) -> bool {
        self != Self::NaiveBayes
    }

    /// Returns whether tokens are drawn, so that proportions have an estimator.
    pub fn samples(self) -> bool {
        matches!(self, Self::Gibbs | Self::GibbsJoint | Self::Retrain | Self::Hybrid)
    }

    /// Returns whether documents are inferred together instead of one by one.
    pub fn is_joint(self) -> bool {
        matches!(self, Self::GibbsJoint | Self::Retrain)
    }
}

/// How a document's topics are inferred. Each method uses the values that apply to it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct InferSettings {
    /// The method.
    pub method: Method,
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
    /// [`Variational`](Method::Variational) may need, but [`Cvb0`](Method::Cvb0) is most accurate with 2 to 5.
    pub fn gibbs(burn_in_sweeps: u32, kept_sweeps: u32, estimator: Estimator) -> Self {
        Self {
            method: Method::Gibbs,
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
