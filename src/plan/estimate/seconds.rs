//! How long a job takes, within a factor of two on a core of 2.3 GHz: ingest by bytes, training by
//! draws, projection by documents and tokens. Held-out quality may end training earlier.

use super::{Survey, sampled_documents, topic_count};
use crate::job::Job;
use lda::infer::settings::{InferSettings, Method};
use lda::train::norms::Norms;
use lda::train::schedule::Schedule;

/// Bytes of content that a thread ingests in a second.
const INGESTED: f64 = 35e6;
/// Tokens that a thread draws in a second with few topics, and the topics that halve it.
const DRAWN: f64 = 14e6;
const HALVED_BY: f64 = 130.0;
/// Seconds of a round apart from its draws: merging, and waiting for the slowest.
const ROUND: f64 = 1e-3;
/// Seconds of a document in projection apart from its tokens.
const DOCUMENT: f64 = 10e-6;
/// Seconds of a token, a topic and an iteration in projection, and where φ^p is estimated.
const ITERATION: f64 = 2e-9;

/// Seconds of each stage, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Seconds {
    /// Reading the input.
    pub(crate) ingest: f64,
    /// Training, if no phase ends early.
    pub(crate) train: f64,
    /// Inferring the topics of every document.
    pub(crate) project: f64,
}

impl Seconds {
    /// All of them.
    pub(crate) fn total(&self) -> f64 {
        self.ingest + self.train + self.project
    }

    /// Of `job` on `threads` threads in all.
    pub(crate) fn of(job: &Job, survey: &Survey, threads: usize) -> Self {
        let (threads, kept) = (threads as f64, survey.kept_tokens);
        let topics = topic_count(job) as f64;
        let drawn = DRAWN / (1.0 + topics / HALVED_BY);
        let sampled = sampled_documents(job, survey.documents);
        let trained = sampled - (sampled as f64 * job.sample.held_out) as u64;
        let share = trained as f64 / survey.documents.max(1) as f64;
        let tokens = (kept as f64 * share) as u64;
        let schedule = Schedule::new(&job.train, trained, tokens, Norms::default());
        let sweeps = 1 + u64::from(job.train.burn_in_sweeps) + u64::from(job.train.kept_sweeps);
        let online = schedule.online_passes;
        let visits = online * sweeps + schedule.passes.saturating_sub(online);
        let estimated = schedule.estimate_count() as f64 * tokens as f64 * topics * ITERATION;
        let project = job.project.infer.as_ref().map_or(0.0, |infer| {
            let token = token_seconds(infer, topics, drawn);
            survey.documents as f64 * DOCUMENT + kept as f64 * token
        });
        Self {
            ingest: survey.content_bytes as f64 / INGESTED / threads,
            train: ((visits * tokens) as f64 / drawn + estimated) / threads
                + schedule.round_count() as f64 * ROUND,
            project: project / threads,
        }
    }
}

/// Seconds that a token takes in projection.
fn token_seconds(infer: &InferSettings, topics: f64, drawn: f64) -> f64 {
    let sweeps = f64::from(infer.burn_in_sweeps + infer.kept_sweeps + 1);
    match infer.method {
        Method::Gibbs | Method::GibbsJoint | Method::Retrain => {
            sweeps * f64::from(infer.chains) / drawn
        }
        Method::Hybrid => sweeps / drawn,
        Method::NaiveBayes | Method::MaxEnt => topics * ITERATION,
        Method::Cvb0 | Method::Variational => f64::from(infer.iterations) * topics * ITERATION,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::survey::survey_of_synth;

    fn of(set: &str, threads: usize) -> Seconds {
        let text = "[synth]\npath = \"x\"\ndocuments = 1000000\nmean_length = 100\n\
                    [model]\ntopics = 20\n[output]\npath = \"o\"\n";
        let job = Job::parse(text, Path::new("job"), &[set.to_owned()]).unwrap();
        let survey = survey_of_synth(job.synth.as_ref().unwrap(), &job.corpus);
        Seconds::of(&job, &survey, threads)
    }

    #[test]
    fn time_grows_with_work_and_falls_with_threads() {
        let [few, many] = ["20", "400"].map(|k| of(&format!("model.topics={k}"), 2));
        assert!(many.train > 3.0 * few.train && many.project > 3.0 * few.project);
        assert_eq!(few.ingest, many.ingest);
        let eight = of("model.topics=20", 8);
        assert!((eight.ingest - few.ingest / 4.0).abs() < 1e-9 && eight.total() < few.total());
        assert_eq!(of("project.method=none", 2).project, 0.0);
    }
}
