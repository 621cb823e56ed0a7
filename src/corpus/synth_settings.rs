//! What a made-up corpus looks like, already checked: planted topics with Zipfian terms.

use std::path::PathBuf;

/// Section `[synth]` of a job, and the options of `topicmill synth`.
#[derive(Clone, Debug, PartialEq)]
pub struct SynthSettings {
    /// Topics planted.
    pub topics: usize,
    /// Documents made.
    pub documents: u64,
    /// Terms in the vocabulary.
    pub vocabulary: usize,
    /// Tokens in a document, on average.
    pub mean_length: f64,
    /// Sum over the topics of the symmetric Dirichlet that proportions are drawn from.
    pub alpha_sum: f64,
    /// Exponent of the Zipf law of the terms' frequencies.
    pub zipf: f64,
    /// The seed of every random choice.
    pub seed: u64,
    /// A list of words to use, one a line; pronounceable ones are made up when absent.
    pub words: Option<PathBuf>,
}
