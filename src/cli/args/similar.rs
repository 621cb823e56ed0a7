//! The flags of similar.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill similar out/newsgroups --document 42
  topicmill similar out/newsgroups --source-id talk.politics.guns/54323
  topicmill similar out/newsgroups --topic 7 --limit 50
  echo 'the rocket left the launch pad' | topicmill similar out/newsgroups --text -

Distances are Hellinger distances of the listed topics, from 0 to 1. The search reads all documents
of the result and needs little memory.";

/// Flags of similar.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true))]
pub(crate) struct SimilarArgs {
    /// The output folder of a finished run
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Nearest to the document with this number (`doc_id`)
    #[arg(long, value_name = "N", group = "subject")]
    pub(crate) document: Option<i64>,
    /// Nearest to the document with this id in the input (`source_id`)
    #[arg(long, value_name = "ID", group = "subject")]
    pub(crate) source_id: Option<String>,
    /// Nearest to a document that has only this topic
    #[arg(long, value_name = "TOPIC", group = "subject")]
    pub(crate) topic: Option<i32>,
    /// Nearest to the text in this file, inferred with the result's model; `-` is standard input
    #[arg(long, value_name = "FILE", group = "subject")]
    pub(crate) text: Option<PathBuf>,
    /// Maximum number of documents to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
