//! The flags of evaluate.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill evaluate jobs/newsgroups.toml
  topicmill evaluate jobs/newsgroups.toml --set 'evaluate.metrics=[\"completion\", \"left-to-right\"]'
  topicmill evaluate jobs/newsgroups.toml --model mallet/state.gz --output out/mallet-evaluation
  topicmill evaluate jobs/newsgroups.toml --model lda.npy --terms terms.txt --alpha 0.05
  topicmill evaluate jobs/newsgroups.toml --model out/other-run --processes 2 -w 4
  topicmill evaluate jobs/newsgroups.toml --set 'evaluate.metrics=[\"c_v\"]' --reference wiki.jsonl
  topicmill evaluate jobs/newsgroups.toml --labels group --set evaluate.split=all
  topicmill evaluate jobs/newsgroups.toml --compare out/other-run
  topicmill evaluate jobs/newsgroups.toml --norms norms.tsv --set 'evaluate.metrics=[]'

The job's collection must have been ingested and, without --model, its model trained. Neither
changes. docs/EVALUATION.md defines each figure and lists the files that --model reads.";

/// Flags of evaluate: those of run, and the model to evaluate.
#[derive(Clone, Debug, Args)]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Evaluate an external model (.npy, Parquet, a topicmill output, MALLET) instead of the job's own
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(crate) model: Option<PathBuf>,
    /// The terms of that model, one per line, if its file does not contain them
    #[arg(long, value_name = "FILE", requires = "model", help_heading = HEADING)]
    pub(crate) terms: Option<PathBuf>,
    /// α of the topics: one number, or a file with one per topic [default: the model's own]
    #[arg(long, value_name = "NUMBER|FILE", help_heading = HEADING)]
    pub(crate) alpha: Option<String>,
    /// Terms per topic for the metrics umass and npmi [default: 20 and 10]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) coherence_terms: Option<u64>,
    /// Texts on which to count coherence, instead of the training sample; may be repeated
    #[arg(long, value_name = "FILES", help_heading = HEADING)]
    pub(crate) reference: Vec<String>,
    /// Predict this column of the documents (as of corpus.metadata) from the topics, and report the accuracy
    #[arg(long, value_name = "COLUMN", help_heading = HEADING)]
    pub(crate) labels: Option<String>,
    /// Compare the documents of the job's result with those of another result
    #[arg(long, value_name = "RESULT", conflicts_with = "model", help_heading = HEADING)]
    pub(crate) compare: Option<String>,
    /// Rank the associates of each cue in this file: cue, associate and perhaps strength per line (TSV or CSV)
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) norms: Option<String>,
    /// The folder to write to [default: the job's output.path with `-evaluation`]
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub(crate) output: Option<PathBuf>,
}

const HEADING: &str = "What is evaluated";
