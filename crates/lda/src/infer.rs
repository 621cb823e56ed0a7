//! Inference for one document against a fixed model. Nothing here ever changes a model.
//!
//! An inference method is a file below this one, with its description and its [`Inferrer`], and one line of [`METHODS`].
//! `sampler` draws topics in time proportional to those present. `summary` describes the proportions of a document,
//! `labels` ranks topics that are labels. `variational` is the dense form of `mean_field`, for training.

pub mod gibbs;
pub mod hybrid;
pub mod labels;
pub mod maxent;
pub mod mean_field;
pub mod naive_bayes;
pub mod sampler;
pub mod settings;
pub mod summary;
pub mod variational;

use std::fmt;

pub use crate::bags::Bag;
use crate::listed::listed;
use crate::math::random::Stream;
use crate::model::factors::FactorTable;
use labels::LabelTopics;
use maxent::Classifier;
use mean_field::TermTopics;
use settings::InferSettings;

/// The inference methods (Yao, Mimno & McCallum 2009, §3–5). The first is Gibbs sampling of each document alone.
pub const METHODS: &[InferenceMethod] = &[
    gibbs::ALONE,
    gibbs::JOINT,
    gibbs::RETRAIN,
    mean_field::VARIATIONAL,
    mean_field::CVB0,
    maxent::METHOD,
    naive_bayes::METHOD,
    hybrid::METHOD,
];

/// Inference of proportions, document after document, with the same buffers.
pub trait Inferrer: fmt::Debug + Send {
    /// Infers the topics of a document from the terms of `bag` that have factors. Without such a term the proportions
    /// are the prior's, α_k / A, or the classifier's bias.
    ///
    /// # Panics
    /// Panics if the method needs a classifier and the target has none.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw>;
}

/// The model that documents are inferred against; inference never changes it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The factors of all terms, in the mean geometry.
    pub table: FactorTable<'a>,
    /// The same without small entries, for methods that [take](InferenceMethod::takes_term_topics) them.
    pub topics: &'a TermTopics,
    /// The classifier that some methods [need](InferenceMethod::needs_classifier).
    pub classifier: Option<&'a Classifier>,
    /// Topics over labels, for methods that [take](InferenceMethod::takes_label_topics) them.
    pub labels: Option<&'a LabelTopics>,
}

impl<'a> Target<'a> {
    fn classifier(self) -> &'a Classifier {
        self.classifier.expect("a classifier, which the method needs")
    }

    /// Returns proportions that were inferred with the model's α.
    fn inferred(self, proportions: &'a [f32]) -> Inferred<'a> {
        Inferred { proportions, alpha: &self.table.smoothing().alpha }
    }
}

/// The topics of a document.
#[derive(Clone, Copy, Debug)]
pub struct Inferred<'a> {
    /// θ_dk of each topic; adds up to 1.
    pub proportions: &'a [f32],
    /// The α_k that they were inferred with: with topics over labels, the document has its own.
    pub alpha: &'a [f32],
}

/// An inference method: what it needs of a job and of a model, what it costs, and its implementation.
#[derive(Clone, Copy)]
pub struct InferenceMethod {
    /// Its name: the word in a job's `project.method`.
    pub name: &'static str,
    /// How it infers proportions.
    pub doc: &'static str,
    /// Which documents are inferred together.
    pub scope: DocumentScope,
    /// What its time grows with.
    pub work: TokenWork,
    /// Sweeps, or passes over documents that are inferred together, if the settings say nothing: those that are
    /// discarded, and those that are averaged.
    pub sweeps: [u32; 2],
    /// The most iterations, if the settings say nothing.
    pub iterations: u32,
    /// Whether it needs the classifier that is trained on the sample's own proportions.
    pub needs_classifier: bool,
    /// Whether proportions contain the prior α; those that the classifier learns from do.
    pub has_prior: bool,
    /// Whether it uses [`TermTopics`].
    pub takes_term_topics: bool,
    /// Whether it can use which labels occur together.
    pub takes_label_topics: bool,
    /// Creates its implementation.
    inferrer: fn() -> Box<dyn Inferrer>,
}

/// The documents that a method infers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentScope {
    /// Each is inferred alone.
    Alone,
    /// Those that were not trained on ([`joint`](crate::train::joint)).
    Untrained,
    /// All.
    All,
}

/// What the time of a token grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenWork {
    /// The sweeps of all chains, which draw its topic.
    Sweeps,
    /// Iterations over topics.
    Iterations,
    /// Topics, which are visited once.
    Once,
}

impl InferenceMethod {
    /// Creates its implementation.
    pub fn inferrer(&self) -> Box<dyn Inferrer> {
        (self.inferrer)()
    }

    /// Returns whether tokens are drawn, so that proportions have an estimator.
    pub fn samples(&self) -> bool {
        self.work == TokenWork::Sweeps
    }

    /// Returns whether documents are inferred together instead of one by one.
    pub fn is_joint(&self) -> bool {
        self.scope != DocumentScope::Alone
    }

    /// Lists the topics of the terms below `vocabulary_size` if the method uses them; otherwise of none.
    pub fn term_topics(&self, table: FactorTable<'_>, vocabulary_size: usize) -> TermTopics {
        if self.takes_term_topics {
            TermTopics::new(table, vocabulary_size)
        } else {
            TermTopics::default()
        }
    }
}

listed!(InferenceMethod in METHODS);

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
