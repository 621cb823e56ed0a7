//! What a job says about inference for documents, already checked.

/// How topic proportions are estimated from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// θ^p: the full conditionals of the tokens, averaged (Papanikolaou 2017).
    Soft,
    /// Plain counts of the sampled assignments, averaged.
    Counts,
}

/// How a document's topics are inferred: the keys of `[project]` that reach the sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct InferSettings {
    /// Sweeps thrown away after the sequential first one.
    pub burn_in_sweeps: u32,
    /// Sweeps that are averaged, ≥ 1.
    pub kept_sweeps: u32,
    /// How proportions are estimated.
    pub estimator: Estimator,
}

/// Section `[project]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectSettings {
    /// `None` stops after training (`method = "none"`).
    pub infer: Option<InferSettings>,
    /// Proportions below this are left out of `document_topics` and add to `dropped_mass`.
    pub threshold: f64,
    /// At most this many topics a document in `document_topics`; 0 sets no limit.
    pub top: usize,
    /// Rows per topic in `topic_documents`.
    pub documents_per_topic: usize,
    /// Terms per topic in `topics.top_terms`.
    pub top_terms: usize,
}
