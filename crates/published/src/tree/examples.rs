//! Trees and tokens for tests.

use super::Tree;
use super::counts::{Assignment, Counts};
pub(super) use super::random_trees::{TERMS, random_tree};
use lda::math::random::Stream;

/// Draws a random token; smaller topics and leaves are more frequent.
pub(super) fn random_token(stream: &mut Stream, tree: &Tree, topics: u64) -> Assignment {
    let mut low = |bound: u64| stream.below(bound).min(stream.below(bound));
    Assignment { topic: low(topics) as u16, leaf: low(tree.leaf_count() as u64) as u32 }
}

/// Counts these tokens from scratch.
pub(super) fn recount(tree: &Tree, topics: usize, tokens: &[Assignment]) -> Counts {
    let mut counts = Counts::new(tree, topics);
    tokens.iter().for_each(|&token| counts.add(tree, token));
    counts
}
