//! What a job says about projection, already checked.

use std::path::PathBuf;

use crate::knowledge::wordnet::WordNetSettings;
use crate::knowledge::{self, Kind, Knowledge, KnowledgeError, KnowledgeSettings};
use lda::infer::labels::{LabelCount, LabelModel, LabelRanker};
use lda::infer::settings::{InferSettings, Method};
use lda::infer::summary::Listing;
use lda::tree::constraints::Strengths;

/// How much time a document may take: picks what a job does not say (docs/INFERENCE.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    /// As fast as it goes without losing the main topics.
    Fast,
    /// What 100 sweeps of Gibbs sampling give, in a fraction of their time.
    Balanced,
    /// As near to the posterior's mean as sampling comes within reason.
    Thorough,
}

/// Section `[tree]` of a job: what is known of words, and how that becomes a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeSettings {
    /// The file, or WordNet's folder.
    pub path: PathBuf,
    /// What it is; decided by its name when absent.
    pub kind: Option<Kind>,
    /// How many words it names: at most as many terms are within structures.
    pub word_count: usize,
    /// β_1.
    pub must_link: f64,
    /// β_2.
    pub cannot_link: f64,
    /// What is taken of WordNet.
    pub wordnet: WordNetSettings,
}

impl TreeSettings {
    /// What the file says.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn read(&self) -> Result<Knowledge, KnowledgeError> {
        let kind = self.kind.unwrap_or_else(|| Kind::guess(&self.path));
        knowledge::read(&self.path, kind)
    }

    /// How it becomes a tree, where a topic's ordinary terms have `eta`.
    pub fn knowledge(&self, eta: f64) -> KnowledgeSettings {
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
pub struct MaxEntSettings {
    /// Documents of the sample that it is trained on, at most.
    pub documents: usize,
    /// σ², the variance of the Gaussian prior of its weights.
    pub prior_variance: f64,
    /// Iterations of L-BFGS at most.
    pub iterations: u32,
    /// Bytes of memory that training it may take. Does not change the result.
    pub most_bytes: u64,
}

/// Section `[project]` of a job, and `[maxent]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectSettings {
    /// What the settings that the job does not give were chosen by.
    pub budget: Budget,
    /// `None` stops after training (`method = "none"`).
    pub infer: Option<InferSettings>,
    /// How the classifier is trained, where the method needs one.
    pub maxent: MaxEntSettings,
    /// Proportions below this are left out of `document_topics` and add to `dropped_mass`.
    pub threshold: f64,
    /// At most this many topics a document in `document_topics`; 0 sets no limit.
    pub top: usize,
    /// Columns of metadata by whose values topics are summed up in `topic_trends`.
    pub trends: Vec<String>,
    /// Whether documents are summed up in tables.
    pub rollups: bool,
    /// Topics over labels; 0 if labels are independent.
    pub label_topics: usize,
    /// How many labels a document is predicted to have; estimated from its terms when absent.
    pub label_count: Option<usize>,
    /// Above 0, labels of at least this proportion are predicted.
    pub label_threshold: f64,
    /// Rows per topic in `topic_documents`.
    pub documents_per_topic: usize,
    /// Terms per topic in `topics.top_terms`.
    pub top_terms: usize,
}

impl ProjectSettings {
    /// Which topics of a document are listed.
    pub fn listing(&self) -> Listing {
        Listing {
            threshold: self.threshold as f32,
            top: self.top,
        }
    }

    /// Whether it is estimated how many labels a document has.
    pub fn estimates_label_count(&self) -> bool {
        self.label_count.is_none() && self.label_threshold == 0.0
    }

    /// Whether anything is learnt of labels besides their topics.
    pub fn needs_label_model(&self) -> bool {
        self.estimates_label_count() || self.label_topics > 0
    }

    /// The parts of `model` that these settings need; `None` if it lacks one of them. It was learnt of `labels` labels.
    pub fn label_model(&self, model: LabelModel, labels: usize) -> Option<LabelModel> {
        let wanted = self.label_topics.min(labels);
        let count = model.count.filter(|_| self.estimates_label_count());
        let topics = model.topics.filter(|topics| topics.topics() == wanted);
        let is_whole =
            count.is_some() == self.estimates_label_count() && topics.is_some() == (wanted > 0);
        is_whole.then_some(LabelModel { count, topics })
    }

    /// Ranks labels of documents, and predicts as many as these settings say; `model` is
    /// [`label_model`](Self::label_model)'s, and `method` the one that infers documents.
    pub fn label_ranker(&self, model: &LabelModel, method: Method) -> LabelRanker {
        let count = match (self.label_threshold > 0.0, self.label_count, &model.count) {
            (true, ..) => LabelCount::Threshold(self.label_threshold as f32),
            (false, None, Some(linear)) => LabelCount::Estimated(linear.clone()),
            (false, count, _) => LabelCount::Fixed(count.unwrap_or(1)),
        };
        LabelRanker::new(count, method.has_prior())
    }

    /// Whether documents are inferred by a method that starts from the classifier.
    pub fn needs_classifier(&self) -> bool {
        let method = self.infer.as_ref().map(|infer| infer.method);
        method.is_some_and(Method::needs_classifier)
    }
}
