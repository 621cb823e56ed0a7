//! `topic_trends` and `topic_correlations`; the parts of `group_topics` are written earlier.

use super::{Finisher, Written};
use crate::dataflow::project::RolledUp;
use crate::failure::Failure;
use crate::tables::rows::{MOST_TOPICS, TopicCorrelationRow, TopicTrendRow};

impl Finisher<'_> {
    /// Writes the sums over documents, if they were projected.
    pub(super) fn write_rollups(&self, written: &mut Written) -> Result<(), Failure> {
        let projected = self.finished.projected;
        let Some(rolled_up) = projected.and_then(|projected| projected.rolled_up.as_ref()) else {
            return Ok(());
        };
        written.extend(rolled_up.groups.clone());
        if self.topics.len() <= MOST_TOPICS {
            self.write_correlations(rolled_up, written)?;
        }
        match rolled_up.columns.is_empty() {
            true => Ok(()),
            false => self.write_trends(rolled_up, written),
        }
    }

    fn write_correlations(
        &self,
        rolled_up: &RolledUp,
        written: &mut Written,
    ) -> Result<(), Failure> {
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

    fn write_trends(&self, rolled_up: &RolledUp, written: &mut Written) -> Result<(), Failure> {
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
