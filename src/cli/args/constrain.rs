//! The flags of constrain.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use super::starter::StartArgs;
use crate::job::keys;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill constrain out/news --merge 'hockey, nhl, puck'
  topicmill constrain out/news --split 'drive: scsi, disk | car, engine' --separate 'israel, turkey'
  topicmill constrain out/news --file words.txt --output out/better

Topics keep their numbers, and only documents that contain these words are sampled again. Writes the
new result to FOLDER, its job to FOLDER.toml, and all its constraints to FOLDER.txt. To change them,
edit FOLDER.txt and `topicmill run FOLDER.toml --overwrite`; to add to them, repeat constrain on the
new result.";

/// Whose assignments are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unassign {
    /// None: the senses of a word share evenly what it had in each topic
    Nothing,
    /// Those of the words
    Terms,
    /// Those of all words in the documents that contain one of them
    Documents,
    /// All: trains a new model, with the constraints
    All,
}

/// Flags of constrain.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConstrainArgs {
    /// The folder of a finished result
    #[arg(value_name = "OUT")]
    pub(crate) result: PathBuf,
    /// Words that belong together, as in 'king, queen'; may be repeated
    #[arg(long, value_name = "WORDS")]
    pub(crate) merge: Vec<String>,
    /// Words that do not belong together, any two of them; may be repeated; not with --unassign nothing
    #[arg(long, value_name = "WORDS")]
    pub(crate) separate: Vec<String>,
    /// A word with several senses and words that identify each, as in 'bank: money | river'; may be repeated
    #[arg(long, value_name = "SENSES")]
    pub(crate) split: Vec<String>,
    /// A list of linked words, as in docs/TREES.md
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Whose assignments are forgotten
    #[arg(long, value_name = "WHAT", value_enum, default_value = "terms")]
    pub(crate) unassign: Unassign,
    /// Passes over the documents that contain these words
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..))]
    pub(crate) passes: u32,
    /// How close merged words are: `tree.must_link`
    #[arg(long, value_name = "TOKENS")]
    #[arg(help = format!("How close words that belong together are, in tokens [default: the result's, or {}]", keys::default_of("tree.must_link")))]
    pub(crate) strength: Option<f64>,
    /// The folder of the new result [default: OUT-constrained, then OUT-constrained-2]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}
