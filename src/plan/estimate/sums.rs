//! The memory of sums over projected documents.

use super::{listed_rows, topic_count};
use crate::job::Job;
use crate::plan::survey::Survey;
use crate::tables::rows::{LEAST_VALUES, MOST_PAIRS, MOST_TOPICS, MOST_VALUES};
use corpus::settings::Format;
use lda::evaluate::bootstrap::Sum;

/// Bytes of the sums over documents: their volumes, one bucket of them per thread at 32 bytes for a volume and a topic
/// of a section; the values of metadata, with their replicates; the pairs of topics.
pub(super) fn sums(job: &Job, survey: &Survey, threads: u64) -> u64 {
    const BUCKET_DOCUMENTS: u64 = 1 << 18;
    if job.project.infer.is_none() || !job.project.rollups {
        return 0;
    }
    let topics = topic_count(job);
    let has_volumes = job.corpus.group.is_some() || job.corpus.format == Some(Format::Htrc);
    let rows = listed_rows(job, survey.documents.min(BUCKET_DOCUMENTS), survey);
    let volumes = u64::from(has_volumes) * threads * rows * 32;
    let columns = job.project.trends.len();
    let (least, most) = (columns * LEAST_VALUES, columns * MOST_VALUES);
    let values = (MOST_PAIRS / topics.max(1)).clamp(least, most) + 2 * columns;
    let replicated = if columns == 0 {
        0
    } else {
        values * topics * size_of::<Sum>()
    };
    let pairs = if topics > MOST_TOPICS {
        0
    } else {
        8 * topics * topics
    };
    volumes + (replicated + pairs) as u64
}
