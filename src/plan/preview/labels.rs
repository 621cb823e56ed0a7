//! How many labels the documents of a collection have, from its first records.

use std::collections::BTreeMap;

use super::first_records;
use crate::failure::Failure;
use crate::job::Job;
use corpus::input;
use corpus::labels::split;

/// Labels of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabelCount {
    /// Those of the first records.
    pub(crate) seen: u64,
    /// These records.
    pub(crate) records: u64,
    /// Those of all documents, about.
    pub(crate) expected: u64,
}

/// The labels of a job's documents; `None` if it has none, or its first records have none. What was not
/// seen is estimated by the labels that one record has, and those that two have (Chao 1984, bias-corrected).
///
/// # Errors
/// Those of [`preview`](super::preview).
pub(crate) fn label_count(job: &Job) -> Result<Option<LabelCount>, Failure> {
    let Some((settings, _)) = job.corpus.labels() else {
        return Ok(None);
    };
    let records = first_records(&input::discover(&job.corpus)?, &job.corpus)?;
    let column = [settings.column.clone()];
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for value in records.values_of(&column) {
        // A list is a line for each.
        for label in value.lines().flat_map(|v| split(v, &settings.separator)) {
            *found.entry(label.into_owned()).or_default() += 1;
        }
    }
    let of = |times: u64| found.values().filter(|&&n| n == times).count() as u64;
    let [once, twice] = [of(1), of(2)];
    let seen = found.len() as u64;
    let count = LabelCount {
        seen,
        records: records.len() as u64,
        expected: seen + once * once.saturating_sub(1) / (2 * (twice + 1)),
    };
    Ok((seen > 0).then_some(count))
}
