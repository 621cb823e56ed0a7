//! `topicmill remove RESULT`: documents leave a finished result, which is then as if it had never had them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};

use super::Failure;
use super::args::HereArgs;
use super::change::{change, make, named};
use crate::grow::{Change, GrowingResult, Selected, Selection};
use corpus::collection::Generation;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill remove out/archive --ids withdrawn.txt
  topicmill remove out/news --where source=wire --where year=2019

All tables, the vocabulary and the report are then as if these documents had never been there, and the
files that held them are written again without them. What the model learnt from them stays until it is
trained again. Readers find the result as it was until everything is complete. A removal that was killed
is resumed by the same command.";

/// What to do with an id that the result does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnMissing {
    /// Remove nothing
    Error,
    /// Remove the others
    Skip,
}

/// Flags of remove.
#[derive(Clone, Debug, Args)]
#[group(id = "which", required = true, multiple = false, args = ["ids", "conditions"])]
pub(crate) struct RemoveArgs {
    /// The folder of a finished result
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// A file with the ids of documents (`source_id`), one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,
    /// Documents with this value in a column of text of the table `documents`; if repeated, those that meet all
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = condition)]
    pub(crate) conditions: Vec<(String, String)>,
    /// What to do with ids that the result does not have
    #[arg(long, value_name = "WHAT", value_enum, default_value = "error", requires = "ids")]
    pub(crate) missing: OnMissing,
    #[command(flatten)]
    pub(crate) here: HereArgs,
}

fn condition(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(column, _)| !column.is_empty());
    let pair = pair.map(|(column, value)| (column.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "write COLUMN=VALUE, as in year=2019".to_owned())
}

/// Removes documents from a result.
///
/// # Errors
/// The flags are wrong; there is no finished result, or it is in use; its documents are not of a kind that can leave; it
/// does not have one of the documents; none would be left; any error that ends a run.
pub(super) fn run(args: &RemoveArgs) -> Result<(), Failure> {
    change(&args.result, &args.here, |growing, job, run, here| {
        let selected = select(growing, args)?;
        if selected.numbers.is_empty() {
            growing.clean(&job)?;
            super::say(&format!("{}: has none of these documents", growing.result().display()));
            return Ok(None);
        }
        if selected.trained_on > 0 {
            super::warn(&format!(
                "the model was trained on {} of these documents: what it learnt from them stays until it is trained \
                 again without them",
                selected.trained_on
            ));
        }
        let mut hash = Sha256::new();
        selected.numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
        let fingerprint = hex::encode(hash.finalize());
        let generation = Generation { fingerprint, ..Generation::default() };
        let change = Change { leaving: selected.numbers, generation };
        make(growing, job, change, run, here).map(Some)
    })
}

/// Finds the documents that leave.
fn select(growing: &GrowingResult, args: &RemoveArgs) -> Result<Selected, Failure> {
    let ids = args.ids.as_deref().map(read_ids).transpose()?;
    let selection = Selection { ids, conditions: args.conditions.clone() };
    let selected = selection.of(growing.result())?;
    let wanted = selection.ids.unwrap_or_default();
    let missing: BTreeSet<String> = wanted.difference(&selected.ids).cloned().collect();
    if missing.is_empty() || args.missing == OnMissing::Skip {
        return Ok(selected);
    }
    let message = format!(
        "{}: has no documents with {} of the {} ids, such as {}",
        growing.result().display(),
        missing.len(),
        wanted.len(),
        named(&missing)
    );
    Err(Failure::data(message).help("correct them, or remove the others with --missing skip"))
}

fn read_ids(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(Failure::io(path))?;
    let ids = text.lines().map(|line| line.trim_end_matches('\r')).filter(|id| !id.is_empty());
    let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
    if ids.is_empty() {
        let message = format!("{}: contains no id", path.display());
        return Err(Failure::data(message).help("write the ids of documents, one per line"));
    }
    Ok(ids)
}
