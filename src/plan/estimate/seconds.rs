//! How long a job takes, within a factor of two on a 2.3 GHz core: ingest by bytes, training by draws and weights,
//! projection by documents and tokens. Held-out quality may end training earlier.

use super::Sizes;
use crate::config::Job;
use crate::config::state::OutputState;
use crate::plan::survey::Survey;
use lda::infer::TokenWork;
use lda::infer::settings::InferSettings;
use lda::train::step::Counts;

/// Bytes of content that a thread ingests per second; a search for phrases takes as long again.
const INGESTED: f64 = 35e6;
/// Seconds for the language of a document: 53 µs to 140 µs, from 100 characters to 10,000.
const IDENTIFIED: f64 = 100e-6;
/// Tokens that a thread draws per second with few topics, and the number of topics that halves it.
const DRAWN: f64 = 14e6;
const HALVED_BY: f64 = 130.0;
/// Topics beyond which more hardly matter, because no document or term is in all of them.
const IN_REACH: f64 = 300.0;
/// Seconds of a round besides its draws: merging, and waiting for the slowest.
const ROUND: f64 = 1e-3;
/// For dense methods: seconds per (document, term) pair, topic and pass, and per weight and round.
const DENSE_PAIR: f64 = 15e-9;
const DENSE_WEIGHT: f64 = 10e-9;
/// Seconds per pair, topic and iteration when a classifier is fitted.
const FITTED: f64 = 3e-9;
/// Seconds per document in projection, besides its tokens; and per token, topic and iteration, also for estimating
/// φ^p.
const DOCUMENT: f64 = 10e-6;
const ITERATION: f64 = 1.3e-9;
/// Seconds per document, label and topic over labels in projection; a token counts as some 30 labels.
const LABEL: f64 = 8e-9;
const TOKEN_LABELS: f64 = 30.0;
/// Seconds per document and column of `topic_trends`, and per document that the report reads.
const TREND: f64 = 4e-6;
const REPORTED: f64 = 2.5e-6;
/// Documents of a topic that the report shows at most.
const SHOWN: u64 = 20;
/// Seconds per weight of the finished model in its tables and in the report, which one thread makes.
const WRITTEN: f64 = 1.5e-6;

/// Approximate seconds of each stage.
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
    /// Returns the sum of all stages.
    pub(crate) fn total(&self) -> f64 {
        self.ingest + self.train + self.project
    }

    /// Estimates a job on `threads` threads in total.
    pub(super) fn of(sizes: &Sizes<'_>, threads: usize) -> Self {
        let Sizes { job, survey, weights, schedule, .. } = sizes;
        let (threads, topics) = (threads as f64, sizes.topics as f64);
        let in_reach = topics / (1.0 + topics / IN_REACH);
        let drawn = DRAWN / (1.0 + in_reach / HALVED_BY);
        let tokens = sizes.tokens as f64;
        let project = job.project.infer.as_ref().map_or(0.0, |infer| {
            let token = token_seconds(infer, in_reach, drawn);
            let documents = survey.documents as f64 * DOCUMENT + survey.kept_tokens as f64 * token;
            documents + side_models(sizes) + metadata(sizes)
        });
        let rounds = if job.model_from.is_some() { 0.0 } else { schedule.round_count() as f64 };
        let online = schedule.online_passes;
        let visited = match job.train.method.counts {
            Counts::Expected => {
                (schedule.passes * sizes.pairs(sizes.trained)) as f64 * topics * DENSE_PAIR
            }
            Counts::Assignments => {
                let sweeps = job.train.sweeps().draws();
                let draws = online * sweeps + schedule.passes.saturating_sub(online);
                draws as f64 * tokens / drawn
            }
        };
        let estimated = schedule.estimate_count() as f64 * tokens * topics * ITERATION;
        let merged =
            if weights.is_dense { rounds * weights.stored as f64 * DENSE_WEIGHT } else { 0.0 };
        Self {
            ingest: ingest(job, survey) / threads,
            train: (visited + estimated + merged) / threads + rounds * ROUND,
            project: project / threads + weights.left as f64 * WRITTEN,
        }
    }

    /// Removes the stages that a run finds finished.
    pub(crate) fn left(mut self, output: &OutputState) -> Self {
        let finished = match output {
            OutputState::Complete => 3,
            OutputState::Resumable { next: "project" } => 2,
            OutputState::Resumable { next: "train" } => 1,
            _ => 0,
        };
        let stages = [&mut self.ingest, &mut self.train, &mut self.project];
        stages.into_iter().take(finished).for_each(|seconds| *seconds = 0.0);
        self
    }
}

/// Estimates the seconds of ingest on one thread.
fn ingest(job: &Job, survey: &Survey) -> f64 {
    let detection = job.phrases.detection.as_ref();
    let searches = detection.map_or(0, |detection| 1 + u8::from(detection.max_words > 2));
    let identified = f64::from(u8::from(job.corpus.languages.is_some()));
    survey.content_bytes as f64 * f64::from(1 + searches) / INGESTED
        + survey.documents as f64 * identified * IDENTIFIED
}

/// Estimates the seconds of fitting the classifier, if the method needs one, and those for the topics over labels, if
/// each label is a topic.
fn side_models(sizes: &Sizes<'_>) -> f64 {
    let (project, topics) = (&sizes.job.project, sizes.topics as f64);
    let examples = sizes.sampled.min(project.maxent.documents as u64);
    let examples = if project.needs_classifier() { examples } else { 0 };
    let fitted = sizes.pairs(examples) as f64 * topics * f64::from(project.maxent.iterations);
    let over_labels = sizes.job.corpus.labels().map_or(0, |_| project.label_topics) as f64;
    let labels = topics * sizes.survey.documents as f64;
    let tokens = TOKEN_LABELS * sizes.survey.kept_tokens as f64;
    fitted * FITTED + over_labels * (labels + tokens) * LABEL
}

/// Estimates the seconds for the metadata of documents: trends, and the report, which reads the blocks with a document
/// that it shows.
fn metadata(sizes: &Sizes<'_>) -> f64 {
    let (job, survey) = (sizes.job, sizes.survey);
    let trends = survey.documents as f64 * job.trends().len() as f64 * TREND;
    if !job.output.report {
        return trends;
    }
    let shown = sizes.topics * SHOWN.min(job.project.documents_per_topic as u64);
    let share = (shown as f64 / survey.blocks.max(1) as f64).min(1.0);
    trends + survey.documents as f64 * share * REPORTED
}

/// Estimates the seconds per token in projection.
fn token_seconds(infer: &InferSettings, topics: f64, drawn: f64) -> f64 {
    let sweeps = f64::from(infer.burn_in_sweeps + infer.kept_sweeps + 1);
    match infer.method.work {
        TokenWork::Sweeps => sweeps * f64::from(infer.chains) / drawn,
        TokenWork::Iterations => f64::from(infer.iterations) * topics * ITERATION,
        TokenWork::Once => topics * ITERATION,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::estimate::estimate;
    use crate::plan::survey::survey_of_synth;

    fn of(set: &str, threads: usize) -> Seconds {
        let text = "[synth]\npath = \"x\"\ndocuments = 1000000\nmean_length = 100\n\
                    [model]\ntopics = 20\n[output]\npath = \"o\"\n";
        let job = Job::parse(text, Path::new("job"), &[set.to_owned()]).unwrap();
        let survey = survey_of_synth(job.synth.as_ref().unwrap(), &job.corpus);
        estimate(&job, &survey, 1, threads).seconds
    }

    #[test]
    fn time_grows_with_work_and_falls_with_threads() {
        let [few, many] = ["20", "400"].map(|k| of(&format!("model.topics={k}"), 2));
        assert!(many.train > 1.5 * few.train && many.project > 3.0 * few.project);
        assert_eq!(few.ingest, many.ingest);
        let eight = of("model.topics=20", 8);
        assert!((eight.ingest - few.ingest / 4.0).abs() < 1e-9 && eight.total() < few.total());
        assert!(of("project.method=none", 2).project < few.project);
        assert!(of("output.report=false", 2).project < few.project - 1.0);
        let all = of("project.topic_documents=0", 2).project;
        assert_eq!(all, of("output.report=false", 2).project);
    }

    #[test]
    fn languages_take_time_by_document_and_phrases_by_byte() {
        let keys = ["corpus.header", "corpus.identify_language", "phrases.detect"];
        let [plain, languages, phrases] = keys.map(|key| of(&format!("{key}=true"), 1).ingest);
        assert!((languages - plain - 100.0).abs() < 1e-6);
        assert!((phrases - 2.0 * plain).abs() < 1e-6);
    }

    #[test]
    fn dense_methods_and_classifiers_take_their_time() {
        let [few, scvb0, cvb0] =
            ["sampled", "scvb0", "cvb0"].map(|m| of(&format!("train.method={m}"), 2));
        assert!(scvb0.train > few.train && cvb0.train > few.train && cvb0.project > few.project);
        let maxent = of("project.method=maxent", 2);
        assert!(maxent.project > of("project.method=naive-bayes", 2).project);
    }

    #[test]
    fn what_is_finished_takes_no_time() {
        let all = of("model.topics=20", 2);
        assert_eq!(all.left(&OutputState::Empty), all);
        assert_eq!(all.left(&OutputState::Complete).total(), 0.0);
        let resumed = |next| all.left(&OutputState::Resumable { next });
        assert_eq!(resumed("ingest"), all);
        assert_eq!(resumed("train").total(), all.train + all.project);
        assert_eq!(resumed("project").total(), all.project);
    }
}
