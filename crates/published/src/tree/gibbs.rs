//! Training under a tree-structured prior: batch collapsed Gibbs sampling, on one thread (Hu &
//! Boyd-Graber 2012, Section 2).
//!
//! Every token's topic and path is stored, and every draw is counted immediately, as in the paper.

use super::Tree;
use super::counts::{Assignment, Counts};
use super::sampler::{Sampler, Variant};
use lda::bags::Bags;
use lda::math::random::{Stage, Stream};
use lda::train::TrainError;

/// Documents and their sampling state.
#[derive(Clone, Debug)]
pub struct Gibbs<'a> {
    documents: &'a Bags,
    sampler: Sampler<'a>,
    /// The assignments of each document's tokens; empty before the first pass.
    assignments: Vec<Vec<Assignment>>,
    seed: u64,
    passes: u64,
}

impl<'a> Gibbs<'a> {
    /// Creates a state without assignments. `alpha` is the document–topic prior, one value > 0 per
    /// topic. A document's random stream is keyed by `seed`, the pass and the document's number.
    pub fn new(
        documents: &'a Bags,
        tree: &'a Tree,
        alpha: Vec<f64>,
        variant: Variant,
        seed: u64,
    ) -> Self {
        Self {
            documents,
            sampler: Sampler::new(tree, alpha, variant),
            assignments: vec![Vec::new(); documents.len()],
            seed,
            passes: 0,
        }
    }

    /// Samples all documents once. The first pass is sequential: each token is drawn given those
    /// before it.
    ///
    /// # Errors
    /// The masses of a draw are impossible.
    pub fn pass(&mut self) -> Result<(), TrainError> {
        for (index, assignments) in self.assignments.iter_mut().enumerate() {
            let document = self.documents.document(index);
            let bag = self.documents.bag(index);
            let mut stream = Stream::keyed(self.seed, Stage::Train, self.passes, document);
            self.sampler
                .sweep(bag, assignments, &mut stream)
                .map_err(|source| TrainError::Draw { document, source })?;
        }
        self.passes += 1;
        Ok(())
    }

    /// Returns the counts of all documents' tokens, from which
    /// [`term_probability`](Counts::term_probability) computes the topics.
    pub fn counts(&self) -> &Counts {
        self.sampler.counts()
    }

    /// Returns the assignments of a document's tokens, term by term; `index` is the document's index.
    pub fn assignments(&self, index: usize) -> &[Assignment] {
        &self.assignments[index]
    }
}
