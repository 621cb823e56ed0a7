//! Roll-ups: sums over the projected documents of each volume, of each value of metadata columns, and of each
//! pair of topics, taken while the documents are projected.
//!
//! All sums are integers, of proportions as `document_topics` lists them, so that a restart can sum what an earlier
//! run has written, and users can check them against the tables.

mod correlations;
mod groups;
mod slots;
mod trends;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dataflow::process::{Once, Tickets};
use crate::tables::PartInfo;
pub(crate) use correlations::CorrelationLine;
pub(super) use correlations::Correlations;
pub(super) use groups::GroupTopics;
pub(super) use trends::Trends;
pub(crate) use trends::{TrendColumn, TrendLine, count_values};

/// The state that the workers of a process share.
#[derive(Debug, Default)]
pub(crate) struct RollUpShared {
    /// For counting values, and groups of dates.
    shards: [Tickets; 2],
    columns: Once<Arc<[TrendColumn]>>,
    cells: slots::Shared<trends::Cell>,
    pairs: slots::Shared<correlations::Row>,
}

/// The rows of the tables.
#[derive(Debug, Default)]
pub(crate) struct RolledUp {
    /// The parts of `group_topics`, written by their owners.
    pub(crate) groups: BTreeMap<String, PartInfo>,
    /// The columns of `trends`.
    pub(crate) columns: Vec<TrendColumn>,
    /// The rows of `topic_trends`.
    pub(crate) trends: Vec<TrendLine>,
    /// The rows of `topic_correlations`.
    pub(crate) correlations: Vec<CorrelationLine>,
}
