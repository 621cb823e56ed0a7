//! What the checks of tables share: their report, and what they use from other tables.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;

/// Maximum number of problems that are described; further ones are only counted.
const PROBLEMS_SHOWN: usize = 50;

/// The findings of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct VerifyReport {
    /// Files whose hashes were compared.
    pub(crate) files: u64,
    /// Bytes in them.
    pub(crate) bytes: u64,
    /// Rows of each table, by the files' footers.
    pub(crate) rows: BTreeMap<String, u64>,
    /// The first 50 problems: file or row, what was expected, what was found.
    pub problems: Vec<String>,
    /// Number of problems; 0 for a sound output.
    pub(crate) problem_count: u64,
    /// How many of these are files in the folders of tables that topicmill has not written.
    pub(crate) strays: u64,
}

impl VerifyReport {
    /// Whether there are no problems.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    pub(super) fn problem(&mut self, problem: impl FnOnce() -> String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_SHOWN {
            self.problems.push(problem());
        }
    }

    /// Records a problem unless `sound`.
    pub(super) fn expect(&mut self, sound: bool, problem: impl FnOnce() -> String) {
        if !sound {
            self.problem(problem);
        }
    }
}

/// The totals over documents that the other checks need.
#[derive(Debug, Default)]
pub(crate) struct DocumentTotals {
    pub(super) documents: i64,
    /// Σ tokens_in_vocabulary.
    pub(super) tokens_in_vocabulary: i64,
    /// Those of documents that repeat no other: what the vocabulary counts.
    pub(super) tokens_counted: i64,
    /// Documents by their top topic.
    pub(super) by_top_topic: BTreeMap<i32, i64>,
}

/// What the checks of tables use from other tables.
pub(crate) struct Known<'a> {
    pub(super) root: &'a Path,
    pub(super) totals: DocumentTotals,
    /// The number of kept terms, if there is a vocabulary.
    pub(super) kept: Option<i32>,
    /// `topics.absent_weight` of each topic.
    pub(super) absent_weights: Vec<f64>,
}

impl Known<'_> {
    /// Returns the number of topics.
    pub(super) fn topic_count(&self) -> usize {
        self.absent_weights.len()
    }
}

/// Checks the rows of a table.
pub(crate) type Check = fn(&Known<'_>, &mut VerifyReport) -> Result<(), Failure>;

/// How far a sum of shares may exceed 1.
pub(super) const SHARES_WITHIN: f64 = 1e-4;

/// Checks that rows are sorted by (topic, rank), with ranks from 1 without gaps within a topic.
pub(super) struct Ranks {
    table: &'static str,
    topic_count: usize,
    last: (i32, i32),
}

impl Ranks {
    pub(super) fn new(table: &'static str, topic_count: usize) -> Self {
        Self { table, topic_count, last: (-1, 0) }
    }

    pub(super) fn next(&mut self, topic: i32, rank: i32, report: &mut VerifyReport) {
        let (last_topic, last_rank) = self.last;
        let continues = topic == last_topic && rank == last_rank + 1;
        let begins = topic > last_topic && rank == 1;
        let exists = usize::try_from(topic).is_ok_and(|t| t < self.topic_count);
        let table = self.table;
        report.expect((continues || begins) && exists, || {
            format!("{table}: topic {topic}, rank {rank} follows {last_topic}, {last_rank}")
        });
        self.last = (topic, rank);
    }
}
