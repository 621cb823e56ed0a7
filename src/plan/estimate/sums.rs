//! The memory of sums over projected documents.

use super::{listed_rows, topic_count};
use crate::job::Job;
use crate::plan::survey::Survey;
use crate::tables::drift::DRIFT_BUCKET;
use crate::tables::drift::MOST_GROUPS;
use crate::tables::group_topics::TOPIC_BUCKET;
use crate::tables::topic_correlations::MOST_TOPICS;
use crate::tables::trend_columns::LEAST_VALUES;
use crate::tables::trend_columns::MOST_PAIRS;
use crate::tables::trend_columns::MOST_VALUES;
use lda::evaluate::bootstrap::Sum;

/// Bytes per volume and topic of its sections.
const VOLUME_TOPIC_BYTES: u64 = 32;
/// Bytes per volume and term, for counting drift, and per volume's row of drift on its way to the first worker.
const VOLUME_TERM_BYTES: u64 = 16;
const DRIFT_ROW_BYTES: u64 = 800;
/// Bytes per pair of topics: its sum, and its row in the table.
const TOPIC_PAIR_BYTES: usize = 8 + 32;

/// Estimates the bytes of the sums over documents: topics and kept terms by volume, topics by values of metadata,
/// with their replicates, and pairs of topics.
pub(super) fn sums(job: &Job, survey: &Survey, kept: u64, threads: u64) -> u64 {
    if job.project.infer.is_none() {
        return 0;
    }
    let terms = survey.kept_tokens.min(survey.volumes.saturating_mul(kept));
    let share = DRIFT_BUCKET as f64 / survey.documents.max(DRIFT_BUCKET) as f64;
    let terms = threads * (terms as f64 * share) as u64;
    let drift = terms * VOLUME_TERM_BYTES + survey.volumes.min(MOST_GROUPS) * DRIFT_ROW_BYTES;
    if !job.project.rollups {
        return drift;
    }
    let topics = topic_count(job);
    let rows = listed_rows(job, survey.documents.min(TOPIC_BUCKET), survey);
    let rows = rows.min(survey.volumes.saturating_mul(topics as u64));
    let volumes = threads * rows * VOLUME_TOPIC_BYTES;
    let columns = job.project.trends.len();
    let (least, most) = (columns * LEAST_VALUES, columns * MOST_VALUES);
    let values = (MOST_PAIRS / topics.max(1)).clamp(least, most);
    let found = survey.trend_values.map_or(values, |found| found as usize);
    let values = values.min(found) + 2 * columns;
    let replicated = match columns {
        0 => 0,
        _ => values * topics * size_of::<Sum>(),
    };
    let pairs = if topics > MOST_TOPICS { 0 } else { TOPIC_PAIR_BYTES * topics * topics };
    drift + volumes + (replicated + pairs) as u64
}
