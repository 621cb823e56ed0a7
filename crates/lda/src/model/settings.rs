//! The settings of the model. They are not checked here.

use serde::{Deserialize, Serialize};

/// The prior of labels in inference, before a document is seen ([`labels`](crate::train::labels)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelPrior {
    /// The same for every label: Labeled LDA.
    #[default]
    Uniform,
    /// By the number of documents that have the label: Prior-LDA.
    Frequency,
}

/// How topic–term factors e_kw are computed from λ_kw within a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Geometry {
    /// The mean of the Dirichlet: e_kw = λ_kw / Σ_w λ_kw. Measured to be the better one.
    #[default]
    Mean,
    /// The paper's exp E[log β]: e_kw = exp(Ψ(λ_kw) − Ψ(Σ_w λ_kw)) (Mimno 2012, Eq. 9).
    ExpPsi,
}

/// The document–topic Dirichlet prior α that training begins with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Alpha {
    /// Symmetric, with this sum over the topics (A = Σ_k α_k).
    #[serde(skip)]
    Sum(f64),
    /// Symmetric, with this value for each topic.
    Each(f64),
    /// One value per topic.
    Vector(Vec<f64>),
}

impl Alpha {
    /// Returns α_k for each of `topic_count` topics.
    ///
    /// ```
    /// # use lda::model::settings::Alpha;
    /// assert_eq!(Alpha::Sum(5.0).values(10), vec![0.5; 10]);
    /// ```
    pub fn values(&self, topic_count: usize) -> Vec<f64> {
        match self {
            Self::Sum(sum) => vec![sum / topic_count as f64; topic_count],
            Self::Each(each) => vec![*each; topic_count],
            Self::Vector(values) => values.clone(),
        }
    }
}

/// The settings of a model: section `[model]` of a topicmill job. [`Priors::new`](super::Priors::new) uses the number
/// of topics, α, η and the geometry; the rest is for programs that keep their settings here.
///
/// ```
/// # use lda::model::{Priors, settings::ModelSettings};
/// let settings = ModelSettings { topics: 20, ..ModelSettings::default() };
/// // For 2,000 documents with 300,000 tokens of 10,000 terms.
/// let priors = Priors::new(&settings, 0, 10_000, [2_000, 300_000], true);
/// assert_eq!(priors.topic_count(), 20);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ModelSettings {
    /// Number of topics, K: 1 to 65,535. In a job, 0 stands for one topic per label of the collection.
    #[serde(default)]
    pub topics: usize,
    /// The seed of every random choice; [`train`](crate::train::train()) takes its own.
    pub seed: u64,
    /// The document–topic prior; if absent, it depends on the sample and on whether α is learnt.
    pub alpha: Option<Alpha>,
    /// The topic–term prior η used in training; chosen from the size of the sample if absent.
    pub eta: Option<f64>,
    /// The η that φ is published with; chosen on the held-out documents if absent.
    pub published_eta: Option<f64>,
    /// How factors are computed from the parameters.
    pub geometry: Geometry,
    /// The prior of labels in inference, where documents have them.
    pub label_prior: LabelPrior,
}
