//! The memory of a tree-structured prior: its terms have rows over all topics, even if they are in few.

use super::topic_count;
use crate::job::Job;

/// Approximate leaves of a term within structures.
const LEAVES: u64 = 2;
/// Bytes per such term and topic while topics are drawn: a topic, its weight and a running sum, its weight again;
/// and per leaf.
const TERM_BYTES: u64 = 14;
const LEAF_BYTES: u64 = 4;
/// Bytes per inner node and topic: its sum, and the factor of its edges.
const NODE_BYTES: u64 = 16;
/// Number of copies of these bytes: the rows of a round and those prepared for the next, in growing vectors. With
/// it, a plan is 0.9 to 1.5 times what WordNet takes on 20 Newsgroups.
const COPIES: u64 = 3;

/// Rows over all topics, and the bytes of memory that they take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WholeRows {
    /// (term, topic) pairs.
    pub(super) pairs: u64,
    /// Bytes of memory in training and in projection.
    pub(super) bytes: u64,
}

/// Estimates the rows of a job's tree; none without one.
pub(super) fn whole_rows(job: &Job, kept: u64) -> WholeRows {
    let Some(tree) = &job.tree else {
        return WholeRows::default();
    };
    let terms = (tree.word_count as u64).min(kept);
    let nodes = if tree.is_hierarchy { 2 } else { 1 };
    let pairs = terms * topic_count(job) as u64;
    WholeRows {
        pairs,
        bytes: COPIES * pairs * (TERM_BYTES + LEAVES * LEAF_BYTES + nodes * NODE_BYTES),
    }
}
