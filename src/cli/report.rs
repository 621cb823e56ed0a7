//! `topicmill report OUT`: the page about a finished result.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::machine::cores;
use super::{Exit, Failure, figures, plan};
use crate::export::Sink;
use crate::report::report;
use crate::tables::output::{MANIFEST, Output, REPORT};
use crate::tables::topic_names::TopicNameRow;
use crate::tables::views::views_sql;
use crate::tables::{FileMetadata, Manifest};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill report out/quickstart                     writes out/quickstart/report.html
  topicmill report s3://bucket/library --to page.html
  topicmill report out/quickstart --names topic-names.csv

The page is one file that needs no network; open it in a browser. A run writes it at its end, unless
the job says `output.report = false`. Topics can be named, hidden and merged in the page, which saves
what was done as a file; --names makes that file part of the result, where `inspect`, views.sql and
Python read it, in place of earlier names. A file with a header alone removes them.";

/// Flags of report.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// An output folder
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The file to write [default: report.html in the output folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// A CSV file of names of topics, which become part of the result
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub(crate) names: Option<PathBuf>,
    /// Replace the file of --to, if it exists
    #[arg(long, requires = "to")]
    pub(crate) overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Writes the page, and prints its path.
///
/// # Errors
/// There is no finished result; it is locked by a run; it cannot be read; the file of names is wrong; the page cannot
/// be written.
pub(super) fn run(args: &ReportArgs) -> Result<(), Failure> {
    super::check_finished(&args.output)?;
    let (path, bytes) = match &args.to {
        None => beside(&args.output, args.names.as_deref()).map_err(suggest_elsewhere)?,
        Some(file) => elsewhere(&args.output, file, args.overwrite)?,
    };
    if args.json {
        return super::print_json(&json!({ "report": path, "bytes": bytes }));
    }
    let page = format!("{} ({})", path.display(), figures::bytes(bytes as u64));
    super::print(&plan::rows(&[("report", page)]))
}

/// Makes the names in a file part of the result and writes the page into its folder; returns its path and size.
fn beside(root: &Path, names: Option<&Path>) -> Result<(PathBuf, usize), Failure> {
    let output = Output::lead(root)?;
    if let Some(file) = names {
        replace_names(&output, file)?;
    }
    let page = page(&output)?;
    output.write_beside(REPORT, page.as_bytes())?;
    output.leave()?;
    Ok((output.path(REPORT), page.len()))
}

/// Replaces the names of a result's topics by those in a file.
fn replace_names(output: &Output, file: &Path) -> Result<(), Failure> {
    let mut manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
    let topics = manifest.tables.get("topics").map_or(0, |table| table.rows);
    let rows = TopicNameRow::read(file, topics)?;
    let metadata = FileMetadata {
        job_id: manifest.job_id.clone(),
        settings_hash: manifest.settings.get("train").cloned().unwrap_or_default(),
        seed: manifest.seed,
        topic_count: Some(topics as usize),
        ..FileMetadata::default()
    };
    output.replace_table(&metadata, rows, &mut manifest)?;
    output.write_beside("views.sql", views_sql(output)?.as_bytes())
}

/// Writes the page to a file, and nothing into the result's folder.
fn elsewhere(root: &Path, file: &Path, overwrite: bool) -> Result<(PathBuf, usize), Failure> {
    let sink = Sink::new(file, overwrite)?;
    sink.check()?;
    let output = Output::follow(root)?;
    let page = page(&output)?;
    output.leave()?;
    sink.write(page.as_bytes())?;
    Ok((file.to_owned(), page.len()))
}

/// Returns the page of a finished result.
fn page(output: &Output) -> Result<String, Failure> {
    let manifest = Manifest::read(output.local_root(&[MANIFEST])?)?;
    let documents = manifest.tables.get("documents").into_iter();
    let parts: Vec<u64> =
        documents.flat_map(|table| &table.parts).map(|part| part.info.rows).collect();
    report(output, &parts, cores())
}

fn suggest_elsewhere(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Io if failure.help.is_none() => {
            failure.help("to write the page elsewhere, add --to FILE")
        }
        _ => failure,
    }
}
