//! The number of labels in a collection, from its first records.

use super::first_records;
use super::values::distinct;
use crate::failure::Failure;
use crate::job::Job;
use corpus::input;
use corpus::labels::split;

/// Numbers of labels of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabelCount {
    /// Labels in the first records.
    pub(crate) seen: u64,
    /// Number of these records.
    pub(crate) records: u64,
    /// Estimated labels of all documents.
    pub(crate) expected: u64,
}

/// Counts the labels of a job's documents; `None` if it has no labels, or its first records have none.
///
/// # Errors
/// Those of [`preview`](super::preview).
pub(crate) fn label_count(job: &Job) -> Result<Option<LabelCount>, Failure> {
    let Some((settings, _)) = job.corpus.labels() else {
        return Ok(None);
    };
    let records = first_records(&input::discover(&job.corpus)?, &job.corpus, &job.corpus.text)?;
    let column = [settings.column.clone()];
    // A list has a line for each item.
    let values = records.values_of(&column).into_iter().flat_map(str::lines);
    let [seen, expected] = distinct(values.flat_map(|v| split(v, &settings.separator)));
    let count = LabelCount { seen, records: records.len() as u64, expected };
    Ok((seen > 0).then_some(count))
}
