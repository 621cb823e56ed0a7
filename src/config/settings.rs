//! The settings of trees and of projection, already checked.

use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::Failure;
use crate::knowledge::{self, Kind, Knowledge};
use corpus::dates::DateUnit;
use lda::constraints::Strengths;
use lda::infer::InferenceMethod;
use lda::infer::labels::{LabelCount, LabelModel, LabelRanker};
use lda::infer::settings::InferSettings;
use lda::infer::summary::Listing;

/// Section `[tree]` of a job: knowledge of words, and how it becomes a tree.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TreeSettings {
    /// The file.
    #[serde(rename = "file")]
    pub(crate) path: PathBuf,
    /// Its kind; if absent, its name decides.
    #[serde(rename = "format")]
    pub(super) kind: Option<Kind>,
    /// How many words it names: the structures contain at most as many terms.
    #[serde(skip)]
    pub(crate) word_count: usize,
    /// Whether it has nodes below nodes.
    #[serde(skip)]
    pub(crate) is_hierarchy: bool,
    /// β₁.
    pub(crate) must_link: f64,
    /// β₂.
    pub(crate) cannot_link: f64,
}

impl TreeSettings {
    /// Reads the knowledge in the file.
    ///
    /// # Errors
    /// It cannot be read, or is invalid.
    pub(crate) fn read(&self) -> Result<Knowledge, Failure> {
        knowledge::read(&self.path, self.kind())
    }

    /// Returns the kind of the knowledge.
    pub(crate) fn kind(&self) -> Kind {
        self.kind.unwrap_or_else(|| Kind::guess(&self.path))
    }

    /// Returns the priors of a tree's edges if a topic's ordinary terms have `eta`.
    pub(crate) fn strengths(&self, eta: f64) -> Strengths {
        Strengths { ordinary: eta, must: self.must_link, cannot: self.cannot_link }
    }
}

/// How the classifier of `MaxEnt` is trained: section `[maxent]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct MaxEntSettings {
    /// Maximum number of documents of the sample that it is trained on.
    pub(crate) documents: usize,
    /// σ², the variance of the Gaussian prior of its weights.
    pub(crate) prior_variance: f64,
    /// Maximum number of iterations of L-BFGS.
    pub(crate) iterations: u32,
    /// Maximum number of bytes of memory for training it. Does not change the result.
    #[serde(rename = "memory_mib")]
    pub(crate) most_bytes: u64,
}

/// Section `[project]` of a job, and `[maxent]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProjectSettings {
    /// `None` stops after training (`method = "none"`).
    #[serde(skip)]
    pub infer: Option<InferSettings>,
    /// How the classifier is trained, if the method needs one.
    pub(crate) maxent: MaxEntSettings,
    /// Smaller proportions are left out of `document_topics` and add to `dropped_mass`.
    pub(crate) threshold: f64,
    /// Maximum number of topics per document in `document_topics`; 0 sets no limit.
    pub(crate) top: usize,
    /// Columns of metadata by whose values `topic_trends` sums topics, besides the language.
    pub(crate) trends: Vec<String>,
    /// The unit by which their dates are grouped; if absent, one that suits them.
    pub(crate) date_unit: Option<DateUnit>,
    /// Whether tables with sums over documents are written.
    pub(crate) rollups: bool,
    /// Topics over labels; 0 if labels are independent.
    pub(crate) label_topics: usize,
    /// How many labels are predicted per document; if absent, estimated from its terms.
    pub(crate) label_count: Option<usize>,
    /// Above 0, labels of at least this proportion are predicted.
    pub(crate) label_threshold: f64,
    /// Rows per topic in `topic_documents`.
    #[serde(rename = "topic_documents")]
    pub(crate) documents_per_topic: usize,
    /// Terms per topic in `topics.top_terms`.
    pub(crate) top_terms: usize,
}

impl ProjectSettings {
    /// Returns which topics of a document are listed.
    pub(crate) fn listing(&self) -> Listing {
        Listing { threshold: self.threshold as f32, top: self.top }
    }

    /// Whether the number of a document's labels is estimated.
    pub(crate) fn estimates_label_count(&self) -> bool {
        self.label_count.is_none() && self.label_threshold == 0.0
    }

    /// Whether anything besides their topics is learnt about labels.
    pub(crate) fn needs_label_model(&self) -> bool {
        self.estimates_label_count() || self.label_topics > 0
    }

    /// Returns the parts of `model` that these settings need; `None` if it lacks one. `labels` is the number of labels.
    pub(crate) fn label_model(&self, model: LabelModel, labels: usize) -> Option<LabelModel> {
        let wanted = self.label_topics.min(labels);
        let count = model.count.filter(|_| self.estimates_label_count());
        let topics = model.topics.filter(|topics| topics.topics() == wanted);
        let is_whole =
            count.is_some() == self.estimates_label_count() && topics.is_some() == (wanted > 0);
        is_whole.then_some(LabelModel { count, topics })
    }

    /// Creates the ranker of documents' labels, which predicts as many as these settings say. `model` comes from
    /// [`label_model`](Self::label_model), and `method` infers the documents.
    pub(crate) fn label_ranker(&self, model: &LabelModel, method: &InferenceMethod) -> LabelRanker {
        let count = match (self.label_threshold > 0.0, self.label_count, &model.count) {
            (true, ..) => LabelCount::Threshold(self.label_threshold as f32),
            (false, None, Some(linear)) => LabelCount::Estimated(linear.clone()),
            (false, count, _) => LabelCount::Fixed(count.unwrap_or(1)),
        };
        LabelRanker::new(count, method.has_prior)
    }

    /// Whether documents are inferred by a method that starts from the classifier.
    pub(crate) fn needs_classifier(&self) -> bool {
        self.infer.as_ref().is_some_and(|infer| infer.method.needs_classifier)
    }
}
