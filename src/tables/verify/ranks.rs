//! The order of rows within topics, as several tables have it.

use super::VerifyReport;

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
