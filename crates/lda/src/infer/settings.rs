//! What a job says about inference for documents, already checked.

/// How topic proportions are estimated from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// θ^p: the full conditionals of the tokens, averaged (Papanikolaou 2017).
    Soft,
    /// Plain counts of the sampled assignments, averaged.
    Counts,
}

/// How a document's topics are inferred against a model (Yao, Mimno & McCallum 2009, §3–5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Gibbs3: each document alone, sampled against the frozen model.
    Gibbs,
    /// Gibbs2: all documents that were not trained on, together; the sample's counts are fixed.
    GibbsJoint,
    /// Gibbs1: all documents together, the sample's among them: training goes on with everything.
    Retrain,
    /// Mean-field variational inference, each document alone.
    Variational,
    /// Zero-order collapsed variational inference, each document alone.
    Cvb0,
    /// A multinomial logistic regression from terms to proportions.
    MaxEnt,
    /// Σ_w n_dw φ_kw, normalised: a baseline.
    NaiveBayes,
    /// Starts with `MaxEnt`'s proportions, then draws tokens independently and re-estimates.
    Hybrid,
}

impl Method {
    /// Whether the method needs the classifier that is trained on the sample's own proportions.
    pub fn needs_classifier(self) -> bool {
        matches!(self, Self::MaxEnt | Self::Hybrid)
    }

    /// Whether documents are inferred together, and not one by one.
    pub fn is_joint(self) -> bool {
        matches!(self, Self::GibbsJoint | Self::Retrain)
    }
}

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

/// How a document's topics are inferred: the keys of `[project]` that reach the methods. Each
/// method heeds those that say something to it.
#[derive(Clone, Debug, PartialEq)]
pub struct InferSettings {
    /// Which method.
    pub method: Method,
    /// Sweeps thrown away after the sequential first one.
    pub burn_in_sweeps: u32,
    /// Sweeps that are averaged, ≥ 1.
    pub kept_sweeps: u32,
    /// Independent chains that are averaged, ≥ 1.
    pub chains: u32,
    /// How proportions are estimated.
    pub estimator: Estimator,
    /// Iterations at most of the methods that do not sample, ≥ 1.
    pub iterations: u32,
    /// They stop when less than this share of a document's tokens moves.
    pub tolerance: f64,
    /// τ: the classifier's features are weighted 1/τ (Yao 2009, §5).
    pub temperature: f64,
}

impl InferSettings {
    /// Gibbs sampling of one chain; what other methods heed is as in the defaults of a job.
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

impl ProjectSettings {
    /// Whether documents are inferred by a method that starts from the classifier.
    pub fn needs_classifier(&self) -> bool {
        let method = self.infer.as_ref().map(|infer| infer.method);
        method.is_some_and(Method::needs_classifier)
    }
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
    /// Rows per topic in `topic_documents`.
    pub documents_per_topic: usize,
    /// Terms per topic in `topics.top_terms`.
    pub top_terms: usize,
}
