//! The plan's rows about training and time.

use super::Forecast;
use crate::cli::figures;
use crate::job::Job;
use crate::job::state::OutputState;
use lda::train::settings::Memory;
use lda::train::step::Remembered;

impl Forecast {
    /// Describes the documents, the rounds and what is remembered.
    pub(super) fn training(&self, job: &Job) -> String {
        let estimate = &self.estimate;
        if job.model_from.is_some() {
            return "none".to_owned();
        }
        let [passes, online] = estimate.passes;
        format!(
            "at most {} documents, {} of them held out; {} per pass, at most {} rounds \
             in {passes} passes, {online} of them online; {}; {}",
            figures::grouped(estimate.sample_documents),
            figures::grouped(estimate.held_out_documents),
            figures::counted(estimate.minibatches, "minibatch"),
            figures::grouped(estimate.rounds),
            self.remembering(job),
            if estimate.streams {
                "the sample is streamed from disk, since it exceeds train.sample_mib"
            } else {
                "the sample is kept in memory"
            },
        )
    }

    pub(super) fn time(&self) -> String {
        if self.output == OutputState::Complete {
            return "none: the result is complete".to_owned();
        }
        let seconds = self.seconds;
        let [total, ingest, train, project] =
            [seconds.total(), seconds.ingest, seconds.train, seconds.project]
                .map(figures::about_seconds);
        let sooner = "; held-out quality may end training sooner";
        let [train, sooner] = match seconds.train {
            0.0 => Default::default(),
            _ => [format!(", train {train} or less"), sooner.to_owned()],
        };
        format!("about {total} (ingest {ingest}{train}, project {project}){sooner}")
    }

    fn remembering(&self, job: &Job) -> String {
        let train = &job.train;
        let why = match self.estimate.remembered {
            Some(bytes) => {
                let what = match train.method.remembers {
                    Remembered::Gamma => "γ is",
                    Remembered::Topics => "assignments are",
                };
                return format!("{what} remembered, {}", figures::bytes(bytes));
            }
            None if train.memory == Memory::Off => "train.memory is \"off\"",
            None if train.passes.is_some_and(|n| n <= train.online_passes) => {
                "all passes are online"
            }
            None => "assignments exceed train.memory_mib",
        };
        format!("nothing is remembered, since {why}")
    }
}
