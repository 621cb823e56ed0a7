//! Training under a tree-structured prior: batch collapsed Gibbs sampling, on one thread (Hu &
//! Boyd-Graber 2012, Section 2).
//!
//! Every token's topic and path is remembered, and every draw counts at once, as in the paper.

use super::Tree;
use super::counts::{Assignment, Counts};
use super::sampler::{Sampler, Variant};
use crate::bags::Bags;
use crate::math::random::{Stage, Stream};
use crate::train::TrainError;

/// Documents and the state of their sampling.
#[derive(Clone, Debug)]
pub struct Gibbs<'a> {
    documents: &'a Bags,
    sampler: Sampler<'a>,
    /// Of each document's tokens; empty before the first pass.
    assignments: Vec<Vec<Assignment>>,
    seed: u64,
    passes: u64,
}

impl<'a> Gibbs<'a> {
    /// Without assignments. `alpha` is the document–topic prior, one value > 0 per topic; the draws
    /// of a document depend on `seed`, the pass and its number.
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

    /// A pass over all documents. The first one is sequential: each token is drawn given those
    /// before it.
    ///
    /// # Errors
    /// A draw with impossible masses.
    pub fn pass(&mut self) -> Result<(), TrainError> {
        for (index, assignments) in self.assignments.iter_mut().enumerate() {
            let document = self.documents.document(index);
            let bag = self.documents.bag(index);
            let mut stream = Stream::keyed(self.seed, Stage::Train, self.passes, document);
            self.sampler
                .sweep(bag, assignments, &mut stream)
                .map_err(|source| TrainError::ImpossibleDraw { document, source })?;
        }
        self.passes += 1;
        Ok(())
    }

    /// The tokens of all documents, from which
    /// [`term_probability`](Counts::term_probability) gives the topics.
    pub fn counts(&self) -> &Counts {
        self.sampler.counts()
    }

    /// Where the tokens of a document, given by its index, are: term by term.
    pub fn assignments(&self, index: usize) -> &[Assignment] {
        &self.assignments[index]
    }
}
