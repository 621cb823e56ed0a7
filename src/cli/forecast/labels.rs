//! The number of topics of a job that has one for each label.

use crate::cli::figures;
use crate::job::Job;
use crate::job::state::{OutputState, RunState};
use crate::plan::estimate::LABELS;
use crate::plan::preview::label_count;
use crate::plan::survey::Survey;

/// The labels of a job's documents.
#[derive(Debug)]
pub(super) struct Labels {
    /// Their number, if it is known.
    pub(super) count: Option<u64>,
    /// The number, as text.
    pub(super) text: String,
}

impl Labels {
    /// Counts the labels of the collection that a run has read, or else estimates them from the first records.
    pub(super) fn of(job: &Job, survey: &Survey, output: &OutputState) -> Self {
        let (count, text) = count(job, survey, output);
        Self { count, text }
    }

    /// Returns the job with as many topics.
    pub(super) fn size(&self, job: &Job) -> Job {
        let mut sized = job.clone();
        sized.model.topics = self.count.map_or(0, |count| count as usize);
        sized
    }
}

fn count(job: &Job, survey: &Survey, output: &OutputState) -> (Option<u64>, String) {
    let is_own = matches!(output, OutputState::Resumable { .. } | OutputState::Complete);
    let read = RunState::read(&job.output.path).ok().filter(|_| is_own);
    if let Some(collection) = read.and_then(|state| state.collection) {
        let count = collection.labels.len() as u64;
        return (Some(count), figures::grouped(count));
    }
    match label_count(job) {
        Ok(Some(found)) if found.records >= survey.documents => {
            (Some(found.seen), figures::grouped(found.seen))
        }
        Ok(Some(found)) => {
            let text = format!(
                "about {}: {} in the first {} documents",
                figures::about(found.expected),
                figures::grouped(found.seen),
                figures::grouped(found.records),
            );
            (Some(found.expected), text)
        }
        _ => (
            None,
            format!("unknown until they are read; estimates are for {}", figures::grouped(LABELS)),
        ),
    }
}
