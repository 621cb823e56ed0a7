//! The values of volumes and metadata in a job's first records.

use std::collections::BTreeMap;

use super::records::Records;
use crate::job::Job;
use crate::plan::survey::Survey;

/// Counts the distinct values: those seen, and an estimate for all records from how many are seen once and twice
/// (Chao 1984, bias-corrected).
pub(super) fn distinct<V: Ord>(values: impl IntoIterator<Item = V>) -> [u64; 2] {
    let mut found: BTreeMap<V, u64> = BTreeMap::new();
    for value in values {
        *found.entry(value).or_default() += 1;
    }
    let of = |times: u64| found.values().filter(|&&n| n == times).count() as u64;
    let [seen, once, twice] = [found.len() as u64, of(1), of(2)];
    [seen, seen + once * once.saturating_sub(1) / (2 * (twice + 1))]
}

/// Adds their figures to a survey of `scale` times as many records.
pub(super) fn count_values(job: &Job, records: &Records, scale: f64, survey: &mut Survey) {
    let scaled = |count: u64| (count as f64 * scale) as u64;
    let values_of = |name| records.values_of(std::slice::from_ref::<String>(name));
    let (group, metadata) = (job.corpus.group.iter(), job.corpus.metadata.iter());
    let values = metadata.chain(group.clone()).flat_map(values_of);
    survey.metadata_bytes = scaled(values.map(|value| value.len() as u64).sum());
    for name in group {
        // Records of a volume may be adjacent, so that further records are in other volumes.
        let [seen, _] = distinct(values_of(name));
        survey.volumes = scaled(seen).min(survey.documents);
    }
    let trends = job.project.trends.iter();
    survey.trend_values = Some(trends.map(|name| distinct(values_of(name))[1]).sum());
}
