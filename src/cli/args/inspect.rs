//! The flags of inspect and compare.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill inspect out/quickstart                            the tables and the topics
  topicmill inspect out/quickstart --topic 7                  its terms, documents and neighbours
  topicmill inspect out/labels --label 7                      the same for a label (jobs/labels.toml)
  topicmill inspect out/quickstart/model                      the model's settings and size
  topicmill inspect out/quickstart/document_topics --rows 20  the columns and the first rows";

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  topicmill compare out/fifty out/hundred
  topicmill compare out/seed-1 out/seed-2 --topics 0

Topics are matched one to one by the distance between their words. `topicmill evaluate --compare`
writes the figures as a table.";

/// Flags of inspect.
#[derive(Clone, Debug, Args)]
pub(crate) struct InspectArgs {
    /// An output folder, its `model` folder, one of its table folders, or a Parquet file
    #[arg(value_name = "OUT|MODEL|TABLE")]
    pub(crate) path: PathBuf,
    /// Topics to show, the largest first; labels are sorted by documents; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) topics: usize,
    /// Show this topic: its terms, documents and nearest topics
    #[arg(long, value_name = "TOPIC", conflicts_with = "topics")]
    pub(crate) topic: Option<usize>,
    /// Show the topic of this label
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["topics", "topic"])]
    pub(crate) label: Option<String>,
    /// Maximum number of terms per topic [default: as many as fit, or 20 with --topic]
    #[arg(long, value_name = "N")]
    pub(crate) terms: Option<usize>,
    /// Rows to show of a table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl InspectArgs {
    /// Whether one topic is to be shown.
    pub(crate) fn is_of_a_topic(&self) -> bool {
        self.topic.is_some() || self.label.is_some()
    }
}

/// Flags of compare.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArgs {
    /// An output folder
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// Another output folder
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    /// Pairs of topics to show, the nearest first; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) topics: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
