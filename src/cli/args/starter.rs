//! The flags of topics and new.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};

use corpus::stop_words::languages;

pub(super) const TOPICS_EXAMPLES: &str = "\
Examples:
  topicmill topics texts/                                        every file is a document
  topicmill topics articles.csv --text body --id doi --topics 100
  topicmill topics 'logs/**/*.jsonl.zst' --output out/logs --language de
  zcat articles.jsonl.gz | topicmill topics - --stop-words en --stop-words ./our-words.txt

Detects formats, columns and language from the first records, and reports them. The job that was run
is written beside the output: to change a setting, edit OUTPUT.toml and
`topicmill run OUTPUT.toml --overwrite`.

Standard input is JSON, CSV or TSV with a header, Parquet, Arrow, or one document per line.";

pub(super) const NEW_EXAMPLES: &str = "\
Examples:
  topicmill new texts/
  topicmill new articles.csv --output articles.toml --topics 100

Writes the job that `topicmill topics` would run, without running it.";

/// Flags that describe a new job.
#[derive(Clone, Debug, Args)]
pub(crate) struct StarterArgs {
    /// Folders, files and globs; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) input: Vec<String>,
    /// Number of topics [default: 50; with fewer than 500 documents, one per 10 documents, at least 5]
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) topics: Option<u32>,
    /// Column or key with the text; may be repeated to join several [default: detected]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text: Vec<String>,
    /// Column or key with the document's id [default: detected]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Language of the texts, by ISO 639-1 code: sets stop words and tokenization [default: detected]
    #[arg(long, value_name = "CODE", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(languages()))]
    pub(crate) language: Option<String>,
    /// Stop words, instead of the language's: a language, a file, or `none`; may be repeated
    #[arg(long, value_name = "LIST")]
    pub(crate) stop_words: Vec<String>,
    /// Seed of every random choice [default: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(i64).range(0..))]
    pub(crate) seed: Option<i64>,
    /// Set any other key of the job, as in `--set train.passes=5`; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// How a job that a subcommand has written is run: in this process.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StartArgs {
    /// Threads [default: the machine's cores]
    #[arg(short = 'w', long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Replace the job and the result of a different configuration, instead of refusing to run
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object per line on stdout: progress, unless --quiet, then the summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of topics.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopicsArgs {
    #[command(flatten)]
    pub(crate) starter: StarterArgs,
    /// The folder of the result; the job is written beside it, as FOLDER.toml
    #[arg(short, long, value_name = "FOLDER", default_value = "topics-out")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Flags of new.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewArgs {
    #[command(flatten)]
    pub(crate) starter: StarterArgs,
    /// The job file to write; its result goes to a folder of this name without `.toml`
    #[arg(short, long, value_name = "FILE", default_value = "topics-out.toml")]
    pub(crate) output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) overwrite: bool,
}
