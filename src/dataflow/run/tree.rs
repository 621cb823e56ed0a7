//! The tree-structured prior over terms, built from what a user knows about words, for the job's vocabulary.

use std::fmt;
use std::sync::Arc;

use super::Run;
use crate::dataflow::ingest::read_vocabulary;
use crate::failure::Failure;
use crate::knowledge::Pruned;
use corpus::vocabulary::Vocabulary;
use lda::model::Priors;
use lda::model::tree::Tree;
use lda::train::senses::are_remembered;

/// A tree, and the knowledge that it leaves out. Displayed as one line.
pub(super) struct Planted {
    pub(super) tree: Arc<Tree>,
    pruned: Pruned,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |number: usize, noun| match number {
            1 => format!("1 {noun}"),
            _ => format!("{number} {noun}s"),
        };
        write!(
            f,
            "{} over {}, at most {}; {}",
            counted(self.tree.inner_count() - 1, "node"),
            counted(self.tree.structured_count(), "term"),
            counted(self.tree.most_senses(), "sense"),
            self.pruned
        )
    }
}

impl Run<'_> {
    /// Returns the tree that the job requests, in which a topic's ordinary terms have the η of `priors`.
    pub(super) fn tree(
        &self,
        priors: &Priors,
        remembers: bool,
    ) -> Result<Arc<Option<Planted>>, Failure> {
        self.process.shared("tree", || {
            let Some((tree, pruned)) = self.grow(priors.eta)? else {
                return Ok(None);
            };
            if remembers && !are_remembered(&tree, priors.topic_count()) {
                return Err(Failure::data(format!(
                    "{} topics and up to {} senses per term are more than a remembered token can store: their \
                     product may be at most 65,536. Set train.memory = \"off\", give its terms fewer senses in \
                     tree.file, or lower model.topics",
                    priors.topic_count(),
                    tree.most_senses()
                )));
            }
            let tree = Arc::new(tree);
            Ok(Some(Planted { tree, pruned }))
        })
    }

    /// Builds the tree of the job's knowledge; returns it, and what it leaves out.
    pub(super) fn grow(&self, eta: f64) -> Result<Option<(Tree, Pruned)>, Failure> {
        match self.process.job.tree {
            Some(_) => self.grow_on(&read_vocabulary(self.process)?, eta),
            None => Ok(None),
        }
    }

    /// Builds the same tree for another vocabulary.
    pub(super) fn grow_on(
        &self,
        vocabulary: &Vocabulary,
        eta: f64,
    ) -> Result<Option<(Tree, Pruned)>, Failure> {
        let job = &self.process.job;
        let Some(settings) = &job.tree else {
            return Ok(None);
        };
        let knowledge = settings.read()?;
        let grown = knowledge.tree(vocabulary, &job.tokens, settings.strengths(eta))?;
        Ok(Some(grown))
    }
}
