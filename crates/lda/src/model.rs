//! The topic model: priors, sparse topic–term parameters, the statistics that change them, and the
//! factors that documents are sampled with.
//!
//! A model is a value: a round reads version t and makes version t + 1. Nothing here samples documents.

pub mod factors;
pub mod parameters;
pub mod published;
pub mod settings;
pub mod statistics;
pub mod tree;

use std::sync::Arc;

use settings::{Alpha, Geometry, ModelSettings};
use tree::Tree;

/// The maximum number of topics of a model: topics are stored in 16 bits.
pub const MAX_TOPICS: usize = u16::MAX as usize;

/// The priors of a model, and how its factors are computed from the parameters.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Priors {
    /// α_k, the document–topic Dirichlet prior: a positive number for each topic, at most [`MAX_TOPICS`] of them.
    pub alpha: Vec<f64>,
    /// η, the topic–term Dirichlet prior, at least 1e-6: below that, a token that is alone in its topic may be
    /// redrawn endlessly.
    pub eta: f64,
    /// Whether factors are `exp E[log β]` rather than the mean.
    pub exp_psi: bool,
    /// The tree-structured prior over a topic's terms, if there is one; its own η is the one that it was built with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Arc<Tree>>,
}

impl Priors {
    /// Returns the priors that `settings` request, for a sample of this many documents and tokens. `learns_alpha`:
    /// whether training learns α ([`Schedule::learns_alpha`](crate::train::schedule::Schedule::learns_alpha)).
    ///
    /// Without a value in `settings`, α is symmetric. If it is learnt, its sum starts at 0.1 per topic (but at least
    /// 10), or at 2 √K if that is less: wide enough for documents to try many topics before they settle
    /// (docs/measurements/DEFAULTS.md, “Where α starts”). The sum is at most a fifth of the mean document length (or 1, if
    /// that is more), because the prior would otherwise outweigh short documents: on 262,000 commit messages of 28
    /// tokens on average, 16 passes with sums of 20, 10 and 5 reach −7.220, −7.172 and −7.164. If α is fixed, its
    /// sum is 5: a document has a handful of topics, however many there are in all.
    ///
    /// Without a value in `settings`, η = 0.05 √(N / KV) within [0.005, 0.5]. Held-out likelihood is flat around it
    /// (docs/measurements/DEFAULTS.md). The geometry of Mimno 2012 needs more smoothing, because exp Ψ(η) vanishes with η:
    /// there η = 0.4, beyond which the paper finds no gain in coherence (§4.4).
    ///
    /// The `spare` topics, which do not stay ([`spare`](crate::train::spare)), come on top of those of `settings`, in the
    /// rules as well. They do not take their α from the others: a given sum is that of the topics that stay.
    pub fn new(
        settings: &ModelSettings,
        spare: usize,
        vocabulary_size: usize,
        [documents, tokens]: [u64; 2],
        learns_alpha: bool,
    ) -> Self {
        let topics = settings.topics + spare;
        let cells = topics as f64 * vocabulary_size.max(1) as f64;
        let rule = match settings.geometry {
            Geometry::Mean => (0.05 * (tokens as f64 / cells).sqrt()).clamp(0.005, 0.5),
            Geometry::ExpPsi => 0.4,
        };
        let prior = settings.alpha.clone().unwrap_or_else(|| {
            if !learns_alpha {
                return Alpha::Sum(5.0);
            }
            let mean_length = tokens as f64 / documents.max(1) as f64;
            let topics = topics as f64;
            let start = (0.1 * topics).max(10.0).min(2.0 * topics.sqrt());
            Alpha::Each(start.min((mean_length / 5.0).max(1.0)) / topics)
        });
        let mut alpha = prior.values(settings.topics);
        alpha.resize(topics, alpha.first().copied().unwrap_or_default());
        Self {
            alpha,
            eta: settings.eta.unwrap_or(rule),
            exp_psi: settings.geometry == Geometry::ExpPsi,
            tree: None,
        }
    }

    /// Returns the number of rows of topic–term parameters: V terms or, under a tree, its leaves.
    pub fn row_count(&self, vocabulary_size: usize) -> usize {
        (self.tree.as_ref()).map_or(vocabulary_size, |tree| tree.leaf_count())
    }

    /// Returns K.
    pub fn topic_count(&self) -> usize {
        self.alpha.len()
    }

    /// Returns A = Σ_k α_k, added up in topic order.
    pub fn alpha_sum(&self) -> f64 {
        self.alpha.iter().sum()
    }
}
