//! `topicmill inspect OUT|MODEL|TABLE`: shows what is stored at a path, detected from its content.

mod model;
mod table;
mod topic;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::InspectArgs;
use super::pictures::{at_most, page_width};
use super::summary::{MOST_TERMS, finding, held_out_curve, lines_left_out, repeated, topic_table};
use super::sweep::size_table;
use super::{Exit, Failure, figures, plan};
use crate::checkpoint::MAGIC;
use crate::sweep::advice;
use crate::tables::evaluation::EvaluationRow;
use crate::tables::output::{View, Wanted};
use crate::tables::read::{TableListing, listing};
use crate::tables::records::rows;
use crate::tables::sweep_sizes::SweepSizeRow;
use crate::tables::topics::{TopicLine, topic_lines};
use crate::tables::training_log::training_curve;
use crate::tables::warnings;
use corpus::boilerplate::LeftOut;
use corpus::collection::Collection;

/// The kinds of things that a path can name.
#[derive(Debug, PartialEq, Eq)]
enum Thing {
    /// An output folder.
    Root,
    /// A model file.
    Model(PathBuf),
    /// A table's folder, or a Parquet file.
    Table,
}

/// Shows what is stored at a path.
///
/// # Errors
/// There is nothing that can be shown; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &InspectArgs) -> Result<(), Failure> {
    super::existing_output(&args.path)?;
    let recognise = |path: &Path| {
        recognise(path).map_err(|error| {
            let path = args.path.display();
            Failure::new(Exit::Io, error).context(format!("{path}: cannot be read"))
        })
    };
    let mut view = View::open(&args.path, Wanted::Outline)?;
    let mut thing = recognise(view.path())?;
    if matches!(thing, Some(Thing::Table)) || args.is_of_a_topic() {
        // Rows are needed, not only the files' metadata.
        view = View::open(&args.path, Wanted::All)?;
        thing = recognise(view.path())?;
    }
    let args = &InspectArgs { path: view.path().to_owned(), ..args.clone() };
    match (thing, args.is_of_a_topic()) {
        (Some(Thing::Root), true) => topic::show(args),
        (Some(_), true) => {
            let flag = args.label.as_ref().map_or("--topic", |_| "--label");
            let message = format!("{flag}: {} is not an output folder", args.path.display());
            Err(Failure::usage(message).help("pass the folder that the job names as `output.path`"))
        }
        (Some(Thing::Root), false) => show_result(args),
        (Some(Thing::Model(path)), false) => model::show(args, &path),
        (Some(Thing::Table), false) => table::show(args),
        (None, _) => {
            let path = args.path.display();
            let message = format!("{path}: not a result, a model or a table");
            Err(Failure::data(message).help(
                "pass an output folder, its `model` folder, one of its tables, or a Parquet file",
            ))
        }
    }
}

/// A result: its tables, its figures of quality, its topics.
#[derive(Serialize)]
struct ResultScreen {
    tables: Vec<TableListing>,
    evaluation: Vec<EvaluationRow>,
    topics: Vec<TopicLine>,
    /// The numbers of topics of a sweep, and the recommendation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<SweepSizeRow>,
    #[serde(skip_serializing_if = "String::is_empty")]
    advice: String,
}

/// Shows the output folder at the path.
fn show_result(args: &InspectArgs) -> Result<(), Failure> {
    let root = &args.path;
    let (tables, topics) = (listing(root)?, topic_lines(root)?);
    let sizes: Vec<SweepSizeRow> = rows(root)?;
    let advice = if sizes.is_empty() { String::new() } else { advice(&sizes) };
    if args.json {
        let evaluation = rows(root)?;
        return super::print_json(&ResultScreen { tables, evaluation, topics, sizes, advice });
    }
    let mut text = String::new();
    if tables.is_empty() {
        let path = root.display();
        text +=
            &format!("no tables yet; `topicmill status {path}` shows the progress of the run\n");
    }
    for table in tables {
        let (rows, bytes) = (figures::grouped(table.rows), figures::bytes(table.bytes));
        let noun = if table.rows == 1 { "row " } else { "rows" };
        text += &format!("{:<22}{rows:>15} {noun}{bytes:>12}\n", table.name);
    }
    if let Ok(Collection { duplicates, left_out, .. }) = Collection::read(root) {
        let repeated = (duplicates > 0).then(|| ("repeated", repeated(duplicates)));
        let left_out = left_out.iter().map(|it| ("left out", with_examples(it)));
        let rows: Vec<_> = repeated.into_iter().chain(left_out).collect();
        if !rows.is_empty() {
            text += &format!("\n{}", plan::rows(&rows));
        }
    }
    if !sizes.is_empty() {
        text += &format!(
            "
{}
{}",
            size_table(&sizes),
            plan::rows(&[("advice", advice)])
        );
    }
    if let Some(line) = held_out_curve(&training_curve(root)?) {
        text += &format!("\n{}", plan::rows(&[("training", line)]));
    }
    if !topics.is_empty() {
        let (most, terms) = (at_most(args.topics), args.terms.unwrap_or(MOST_TERMS));
        text += &format!("\n{}", topic_table(&topics, most, terms, page_width()));
        let found = warnings::of_topics(&topics);
        let found: Vec<_> = found.iter().map(|warning| ("warning", finding(warning))).collect();
        text += &plan::rows(&found);
    }
    super::print(&text)
}

fn with_examples(left_out: &LeftOut) -> String {
    format!("{}: {}", lines_left_out(left_out), left_out.examples.join(" | "))
}

fn recognise(path: &Path) -> std::io::Result<Option<Thing>> {
    if path.is_file() {
        let mut start = Vec::new();
        fs::File::open(path)?.take(8).read_to_end(&mut start)?;
        return Ok(match start.as_slice() {
            start if start.starts_with(b"PAR1") => Some(Thing::Table),
            start if start == MAGIC => Some(Thing::Model(path.to_owned())),
            _ => None,
        });
    }
    let model = path.join("topics.model");
    if model.is_file() {
        return Ok(Some(Thing::Model(model)));
    }
    let marks = ["_lock", "manifest.json", "_SUCCESS", "corpus/collection.json"];
    if marks.iter().any(|mark| path.join(mark).exists()) {
        return Ok(Some(Thing::Root));
    }
    for entry in fs::read_dir(path)? {
        if entry?.path().extension().is_some_and(|e| e == "parquet") {
            return Ok(Some(Thing::Table));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_told_by_what_they_hold() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let recognised = |path: &Path| recognise(path).expect("readable");
        assert_eq!(recognised(root), None);
        fs::create_dir(root.join("model")).expect("made");
        let model = root.join("model/topics.model");
        fs::write(&model, [MAGIC, &b"more"[..]].concat()).expect("written");
        assert_eq!(recognised(&model), Some(Thing::Model(model.clone())));
        assert_eq!(recognised(&root.join("model")), Some(Thing::Model(model)));
        fs::write(root.join("_lock"), "").expect("written");
        assert_eq!(recognised(root), Some(Thing::Root));
        fs::create_dir(root.join("topics")).expect("made");
        let part = root.join("topics/part-00000.parquet");
        fs::write(&part, "PAR1").expect("written");
        assert_eq!(recognised(&root.join("topics")), Some(Thing::Table));
        assert_eq!(recognised(&part), Some(Thing::Table));
        fs::write(root.join("x.txt"), "words").expect("written");
        assert_eq!(recognised(&root.join("x.txt")), None);
    }
}
