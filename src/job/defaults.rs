//! Every default of a job, in one place, each with its reason.
//!
//! `corpus.input`, `model.topics` and `output.path` have none, because no default could be right.

use super::settings::Budget;
use crate::corpus::sample::Split;
use crate::evaluate::settings::Metric;
use lda::infer::settings::{Estimator, InferSettings, Method};

/// `corpus.id`: what most JSON Lines and tables call it.
pub const ID: &str = "id";
/// `corpus.text`: the same.
pub const TEXT: &str = "text";
/// `corpus.max_document_mib`: far above any book (the longest novels have 20 MiB), far below what
/// would make one document the slowest part of a run.
pub const MAX_DOCUMENT_MIB: f64 = 256.0;

/// `tokens.min_length`: of English words of two letters nearly all are function words (MALLET's
/// importer draws the same line).
pub const MIN_LENGTH: u64 = 3;
/// `tokens.max_length`: longer than the words of any dictionary; what is longer is base64 or a URL.
pub const MAX_LENGTH: u64 = 40;

/// `vocabulary.stop_words`: without a list the first topics hold nothing but function words.
pub const STOP_WORDS: &str = "en";
/// `vocabulary.min_documents`: a term in four documents says nothing about a topic, and such terms
/// are most of the vocabulary (Zipf).
pub const MIN_DOCUMENTS: u64 = 5;
/// `vocabulary.max_share`: a term in more than half of the documents does not tell them apart.
pub const MAX_SHARE: f64 = 0.5;
/// `vocabulary.max_terms`: the vocabulary of Mimno 2012, 2^16; what is rarer is mostly misread print.
pub const MAX_TERMS: u64 = 65_536;

/// `sample.documents`: smaller collections are trained on whole; of larger ones this many documents of
/// a hundred distinct terms take 160 MB.
pub const SAMPLE_DOCUMENTS: u64 = 200_000;
/// `sample.held_out`: 4,000 of 200,000 documents give the figure three digits.
pub const HELD_OUT: f64 = 0.02;

/// `model.seed`: any number; the same seed produces the same bytes.
pub const SEED: u64 = 1;
/// `train.memory_mib`: the assignments of two thousand million tokens. A larger sample is told
/// enough by passes that remember nothing.
pub const MEMORY_MIB: f64 = 4096.0;
/// `train.online_passes`: on 1.7 and 16 million tokens a few are the fastest way to good topics; more
/// of them gain less than Gibbs passes do.
pub const ONLINE_PASSES: u64 = 3;

/// `train.burn_in`: Mimno 2012, §4.4, finds three to five sweeps in all enough: a sequential first
/// one, one thrown away, and
pub const TRAIN_BURN_IN: u64 = 1;
/// `train.sweeps`: three that count.
pub const TRAIN_SWEEPS: u64 = 3;
/// `train.step_offset`: t_0 of the step size; small enough to forget the random start soon.
pub const STEP_OFFSET: f64 = 10.0;
/// `train.step_decay`: κ of Mimno 2012; must be above 0.5 to converge.
pub const STEP_DECAY: f64 = 0.6;
/// `train.prune`: less than half a token is what decay leaves of chance assignments; dropping it keeps
/// rows short at many topics.
pub const PRUNE: f64 = 0.4;
/// `train.sample_mib`: the documents of some thousand million tokens in a process; more are kept on disk.
pub const SAMPLE_MIB: f64 = 4096.0;
/// The same without memory: the order of what a process reads ahead; small samples need no file.
pub const STREAMED_SAMPLE_MIB: f64 = 32.0;
/// `train.patience`: evaluations scatter by some 0.005 nats per token; five in a row without a gain are
/// not chance.
pub const PATIENCE: u64 = 5;
/// `train.tolerance`: nats per token; below what evaluations scatter by.
pub const TOLERANCE: f64 = 0.002;
/// `train.checkpoint_every`: rounds; at most this much work is repeated.
pub const CHECKPOINT_EVERY: u64 = 50;
/// `train.checkpoint_minutes`: if rounds are long, at most this many minutes are repeated.
pub const CHECKPOINT_MINUTES: f64 = 10.0;

/// `project.method`, by `project.budget`; docs/INFERENCE.md has the measurements behind this and
/// [`inference`].
pub fn method(budget: Budget) -> Method {
    match budget {
        Budget::Fast | Budget::Balanced => Method::Cvb0,
        Budget::Thorough => Method::Gibbs,
    }
}

/// What of `[project]` depends on the budget and the method: sweeps of a document, passes over
/// documents that are sampled together, iterations of what does not sample. More than two to
/// five of CVB0 lead away from the posterior's mean.
pub fn inference(budget: Budget, method: Method) -> InferSettings {
    let (burn_in_sweeps, kept_sweeps) = match (method.is_joint(), budget) {
        (false, Budget::Fast) => (1, 2),
        (false, Budget::Balanced) => (2, 4),
        (false, Budget::Thorough) => (10, 90),
        (true, Budget::Fast) => (10, 10),
        (true, Budget::Balanced) => (50, 50),
        (true, Budget::Thorough) => (500, 500),
    };
    let iterations = match (method, budget) {
        (Method::Variational, Budget::Fast) => 5,
        (Method::Variational, Budget::Balanced) => 20,
        (Method::Variational, Budget::Thorough) => 100,
        (_, Budget::Fast) => 2,
        (_, Budget::Balanced | Budget::Thorough) => 3,
    };
    InferSettings {
        method,
        burn_in_sweeps,
        kept_sweeps,
        chains: 1,
        estimator: Estimator::Soft,
        iterations,
        tolerance: 0.001,
        temperature: 1.0,
    }
}
/// `maxent.documents`: enough for a stable classifier; its time grows with them.
pub const MAXENT_DOCUMENTS: u64 = 20_000;
/// `maxent.prior_variance`: the usual choice in text classification.
pub const PRIOR_VARIANCE: f64 = 1.0;
/// `maxent.iterations`: L-BFGS has mostly settled before.
pub const MAXENT_ITERATIONS: u64 = 100;
/// `maxent.memory_mib`: 1000 topics of some 33,000 terms.
pub const MAXENT_MEMORY_MIB: f64 = 8192.0;
/// `project.threshold`: a topic with less than 1 % of a document is within the noise of sampling.
pub const THRESHOLD: f64 = 0.01;
/// `project.top`: no limit; the threshold already bounds the rows.
pub const TOP: u64 = 0;
/// `project.topic_documents`: enough to read what a topic is about.
pub const TOPIC_DOCUMENTS: u64 = 20;
/// `project.top_terms`: what coherence is usually measured over, twice.
pub const TOP_TERMS: u64 = 20;

/// `evaluate.metrics`: what training itself measures by, and cheap.
pub const METRICS: [Metric; 1] = [Metric::Completion];
/// `evaluate.split`: what the model has not seen.
pub const EVALUATE_SPLIT: Split = Split::HeldOut;
/// `evaluate.documents`: no limit; the split already bounds them.
pub const EVALUATE_DOCUMENTS: u64 = 0;
/// `evaluate.particles`: what Wallach 2009 uses.
pub const PARTICLES: u64 = 20;
/// `evaluate.completion_sweeps`: what training measures with, so that figures can be compared.
pub const COMPLETION_SWEEPS: u64 = lda::evaluate::completion::SWEEPS as u64;
/// `evaluate.folds`: what Wahabzada & Kersting 2011 use.
pub const FOLDS: u64 = 5;
/// The sum of α for an external model whose files do not contain it: as where α is fixed.
pub const FOREIGN_ALPHA_SUM: f64 = 5.0;

/// `synth.topics`: few enough that each can be looked at.
pub const SYNTH_TOPICS: u64 = 20;
/// `synth.documents`: some seconds of work.
pub const SYNTH_DOCUMENTS: u64 = 10_000;
/// `synth.terms`: a small corpus's vocabulary.
pub const SYNTH_TERMS: u64 = 5_000;
/// `synth.mean_length`: tokens; a long abstract.
pub const SYNTH_MEAN_LENGTH: f64 = 120.0;
/// `synth.alpha_sum`: two or three topics a document, so that planted topics can be told apart.
pub const SYNTH_ALPHA_SUM: f64 = 1.0;
/// `synth.zipf`: the exponent of natural language.
pub const SYNTH_ZIPF: f64 = 1.0;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::job::Job;
    use lda::train::settings::TrainSettings;

    #[test]
    fn a_job_that_says_nothing_trains_as_the_library_does() {
        let text = "[corpus]\ninput = [\"x.txt\"]\n[model]\ntopics = 2\n[output]\npath = \"out\"\n";
        let job = Job::parse(text, Path::new("job.toml"), &[]).unwrap();
        assert_eq!(job.train, TrainSettings::default());
    }
}
