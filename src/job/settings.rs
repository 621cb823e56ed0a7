//! The settings of projection, already checked.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::knowledge::wordnet::WordNetSettings;
use crate::knowledge::{self, Kind, Knowledge, KnowledgeSettings};
use lda::infer::labels::{LabelCount, LabelModel, LabelRanker};
use lda::infer::settings::{InferSettings, Method};
use lda::infer::summary::Listing;
use lda::tree::constraints::Strengths;

/// How much time a document may take: picks what a job does not say (docs/INFERENCE.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    /// As fast as it goes without losing the main topics.
    Fast,
    /// The quality of 100 sweeps of Gibbs sampling, in a fraction of their time.
    Balanced,
    /// As near to the posterior's mean as sampling comes within reason.
    Thorough,
}

/// Section `[tree]` of a job: knowledge of words, and how it becomes a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeSettings {
    /// The file, or WordNet's folder.
    pub(crate) path: PathBuf,
    /// Its kind; decided by its name when absent.
    pub(super) kind: Option<Kind>,
    /// How many words it names: at most as many terms are within structures.
    pub(crate) word_count: usize,
    /// β_1.
    pub(crate) must_link: f64,
    /// β_2.
    pub(crate) cannot_link: f64,
    /// The part of WordNet that is used.
    pub(crate) wordnet: WordNetSettings,
}

impl TreeSettings {
    /// Reads the knowledge in the file.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub(crate) fn read(&self) -> Result<Knowledge, Failure> {
        knowledge::read(&self.path, self.kind())
    }

    /// What kind of knowledge that is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind.unwrap_or_else(|| Kind::guess(&self.path))
    }

    /// How it becomes a tree, where a topic's ordinary terms have `eta`.
    pub(crate) fn knowledge(&self, eta: f64) -> KnowledgeSettings {
        KnowledgeSettings {
            strengths: Strengths {
                ordinary: eta,
                must: self.must_link,
                cannot: self.cannot_link,
            },
            wordnet: self.wordnet.clone(),
        }
    }
}

/// How the classifier of `MaxEnt` is trained: section `[maxent]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaxEntSettings {
    /// Documents of the sample that it is trained on, at most.
    pub(crate) documents: usize,
    /// σ², the variance of the Gaussian prior of its weights.
    pub(crate) prior_variance: f64,
    /// Iterations of L-BFGS at most.
    pub(crate) iterations: u32,
    /// Bytes of memory that training it may take. Does not change the result.
    pub(crate) most_bytes: u64,
}

/// Section `[project]` of a job, and `[maxent]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectSettings {
    /// The budget by which settings that the job does not give were chosen.
    pub(crate) budget: Budget,
    /// `None` stops after training (`method = "none"`).
    pub infer: Option<InferSettings>,
    /// How the classifier is trained, where the method needs one.
    pub(crate) maxent: MaxEntSettings,
    /// Proportions below this are left out of `document_topics` and add to `dropped_mass`.
    pub(crate) threshold: f64,
    /// At most this many topics a document in `document_topics`; 0 sets no limit.
    pub(crate) top: usize,
    /// Columns of metadata by whose values topics are summed up in `topic_trends`.
    pub(crate) trends: Vec<String>,
    /// Whether documents are summed up in tables.
    pub(crate) rollups: bool,
    /// Topics over labels; 0 if labels are independent.
    pub(crate) label_topics: usize,
    /// How many labels a document is predicted to have; estimated from its terms when absent.
    pub(crate) label_count: Option<usize>,
    /// Above 0, labels of at least this proportion are predicted.
    pub(crate) label_threshold: f64,
    /// Rows per topic in `topic_documents`.
    pub(crate) documents_per_topic: usize,
    /// Terms per topic in `topics.top_terms`.
    pub(crate) top_terms: usize,
}

impl ProjectSettings {
    /// Which topics of a document are listed.
    pub(crate) fn listing(&self) -> Listing {
        Listing {
            threshold: self.threshold as f32,
            top: self.top,
        }
    }

    /// Whether it is estimated how many labels a document has.
    pub(crate) fn estimates_label_count(&self) -> bool {
        self.label_count.is_none() && self.label_threshold == 0.0
    }

    /// Whether anything is learnt of labels besides their topics.
    pub(crate) fn needs_label_model(&self) -> bool {
        self.estimates_label_count() || self.label_topics > 0
    }

    /// The parts of `model` that these settings need; `None` if it lacks one of them. It was learnt of `labels` labels.
    pub(crate) fn label_model(&self, model: LabelModel, labels: usize) -> Option<LabelModel> {
        let wanted = self.label_topics.min(labels);
        let count = model.count.filter(|_| self.estimates_label_count());
        let topics = model.topics.filter(|topics| topics.topics() == wanted);
        let is_whole =
            count.is_some() == self.estimates_label_count() && topics.is_some() == (wanted > 0);
        is_whole.then_some(LabelModel { count, topics })
    }

    /// Ranks labels of documents, and predicts as many as these settings say; `model` is
    /// [`label_model`](Self::label_model)'s, and `method` the one that infers documents.
    pub(crate) fn label_ranker(&self, model: &LabelModel, method: Method) -> LabelRanker {
        let count = match (self.label_threshold > 0.0, self.label_count, &model.count) {
            (true, ..) => LabelCount::Threshold(self.label_threshold as f32),
            (false, None, Some(linear)) => LabelCount::Estimated(linear.clone()),
            (false, count, _) => LabelCount::Fixed(count.unwrap_or(1)),
        };
        LabelRanker::new(count, method.has_prior())
    }

    /// Whether documents are inferred by a method that starts from the classifier.
    pub(crate) fn needs_classifier(&self) -> bool {
        let method = self.infer.as_ref().map(|infer| infer.method);
        method.is_some_and(Method::needs_classifier)
    }
}
