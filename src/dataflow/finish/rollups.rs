//! `topic_trends` and `topic_correlations`; the parts of `group_topics` are written before.

use super::{Finisher, Written};
use crate::dataflow::error::RunError;
use crate::dataflow::project::RolledUp;
use crate::tables::group_topics;
use crate::tables::topic_correlations::{self, TopicCorrelationRow};
use crate::tables::topic_trends::{self, TopicTrendRow};

impl Finisher<'_> {
    /// Writes what was summed up over documents, if they were projected.
    pub(super) fn write_rollups(&self, written: &mut Written) -> Result<(), RunError> {
        let Some(projected) = self.finished.projected else {
            return Ok(());
        };
        let trends = topic_trends::SPEC.name;
        let Some(rolled_up) = &projected.rolled_up else {
            let tables = [
                group_topics::SPEC.name,
                trends,
                topic_correlations::SPEC.name,
            ];
            return tables.iter().try_for_each(|table| self.remove_stale(table));
        };
        written.extend(rolled_up.groups.clone());
        if self.topics.len() <= topic_correlations::MOST_TOPICS {
            self.write_correlations(rolled_up, written)?;
        }
        match rolled_up.columns.is_empty() {
            true => self.remove_stale(trends),
            false => self.write_trends(rolled_up, written),
        }
    }

    /// Removes a table that a run with other settings, which ended before its manifest, may have left.
    fn remove_stale(&self, table: &str) -> Result<(), RunError> {
        let output = &self.process.output;
        match output.is_published(table)? {
            true => Ok(output.clear(table)?),
            false => Ok(()),
        }
    }

    fn write_correlations(
        &self,
        rolled_up: &RolledUp,
        written: &mut Written,
    ) -> Result<(), RunError> {
        let lines = rolled_up.correlations.iter();
        let rows = lines.map(|line| TopicCorrelationRow {
            topic: line.topics[0].into(),
            other: line.topics[1].into(),
            correlation: line.correlation,
            npmi: line.npmi,
            documents: line.documents,
        });
        self.write(rows, written)
    }

    fn write_trends(&self, rolled_up: &RolledUp, written: &mut Written) -> Result<(), RunError> {
        let rows = rolled_up.trends.iter().map(|line| {
            let [column, place] = line.place;
            let column = &rolled_up.columns[column];
            let value_count = match place.checked_sub(column.values.len()) {
                None => 1,
                Some(0) => 0,
                Some(_) => column.others,
            };
            TopicTrendRow {
                name: &column.name,
                value: column.values.get(place).map(String::as_str),
                value_count: value_count as i64,
                topic: line.topic,
                share: line.share,
                low: line.interval.map(|interval| interval.0),
                high: line.interval.map(|interval| interval.1),
                tokens: line.tokens,
                documents: line.documents,
            }
        });
        self.write(rows, written)
    }
}
