//! φ from Parquet, in the form of `evaluate::foreign`: the tables of a topicmill output, in full; or a table of an
//! external model, with a row for each topic and term of its columns `topic`, `term` and `weight`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};

use super::parts::{Batches, footer, part_files};
use crate::evaluate::foreign::{ForeignModel, SMALLEST, Weights};
use crate::failure::Failure;
use corpus::cells;
use parquet::errors::ParquetError;

/// Names of the columns of an external table.
const TOPIC: [&str; 1] = ["topic"];
const TERM: [&str; 4] = ["term", "word", "token", "type"];
const WEIGHT: [&str; 5] = ["weight", "count", "probability", "prob", "value"];

/// Whether `path` is Parquet: a folder, or a file with a Parquet footer.
pub(crate) fn is_parquet(path: &Path) -> bool {
    path.is_dir() || footer(path).is_ok()
}

/// Reads a user's table: damaged Parquet is an error in the user's file.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn read_theirs(path: &Path) -> Result<ForeignModel, Failure> {
    read(path).map_err(|failure| match failure.cause::<ParquetError>() {
        Some(problem) => {
            let (problem, message) = (problem.to_string(), failure.to_string());
            let remedy = format!("is damaged Parquet ({problem}): write or copy it again");
            Failure::data(message.replace(&problem, &remedy))
        }
        None => failure,
    })
}

/// Reads a model from a Parquet file, a folder of parts, or an output folder of topicmill.
///
/// # Errors
/// It cannot be read, has other columns or invalid weights, or a topic without weights.
pub fn read(path: &Path) -> Result<ForeignModel, Failure> {
    let table = match path.join("topic_terms").is_dir() {
        true => path.join("topic_terms"),
        false => path.to_owned(),
    };
    let parts = match table.is_dir() {
        true => part_files(&table)?,
        false => vec![table.clone()],
    };
    let Some(first) = parts.first() else {
        let problem =
            "contains no *.parquet file: name an output folder, a table's folder or a file";
        return Err(Failure::file(path, problem));
    };
    let schema = footer(first)?.1.schema().clone();
    let topics = table.parent().unwrap_or(Path::new("")).join("topics");
    let is_ours = schema.index_of("rank").is_ok() && topics.is_dir();
    if is_ours {
        return read_output(table.parent().unwrap_or(Path::new("")), parts);
    }
    let named = |names: &[&str]| {
        let fields = schema.fields().iter();
        fields.map(|f| f.name().clone()).find(|name| names.contains(&name.to_lowercase().as_str()))
    };
    let (Some(topic), Some(term), Some(weight)) = (named(&TOPIC), named(&TERM), named(&WEIGHT))
    else {
        let problem = "lacks the columns topic, term and weight; topicmill.convert of the Python package writes such a \
                       table from other models (docs/EVALUATION.md)";
        return Err(Failure::file(path, problem));
    };
    read_rows(path, parts, [&topic, &term, &weight])
}

/// Reads an external table from its columns with the topic, the term and the weight.
fn read_rows(
    path: &Path,
    parts: Vec<PathBuf>,
    [topic, term, weight]: [&str; 3],
) -> Result<ForeignModel, Failure> {
    let mut numbers = HashMap::new();
    let mut weights = Weights::default();
    let mut batches = Batches::new(parts, None);
    let mut first = 0;
    while let Some(batch) = batches.next()? {
        // Pandas turns whole numbers into floats at the first gap.
        let topics = numbers_of(path, &batch, topic)?;
        let texts = filled(path, &batch, term, "text", cells::texts)?;
        let values = numbers_of(path, &batch, weight)?;
        for row in 0..batch.num_rows() {
            let text = texts.value(row);
            let known = numbers.get(text).copied();
            let term = known.unwrap_or_else(|| {
                let fresh = weights.add_term(text);
                numbers.insert(text.to_owned(), fresh);
                fresh
            });
            let refuse = |problem: String| {
                Failure::file(path, format!("row {} (from 0): {problem}", first + row))
            };
            let topic = topics.value(row);
            if topic < 0.0 || topic.fract() != 0.0 {
                let problem = format!("{topic} is not a topic: topics are whole numbers from 0");
                return Err(refuse(problem));
            }
            // A number that is too large saturates, and is refused there.
            weights.set(term, topic as u64, values.value(row)).map_err(refuse)?;
        }
        first += batch.num_rows();
    }
    let mut model = weights.normalised(path, 0.0)?;
    model.form = format!("a table of topic, term and {weight}, normalised to sum 1");
    Ok(model)
}

/// Reads φ of a topicmill output: `topic_terms`, the weight of all other terms from `topics`, and α.
fn read_output(root: &Path, parts: Vec<PathBuf>) -> Result<ForeignModel, Failure> {
    let (mut smoothing, mut alpha) = (Vec::new(), Vec::new());
    let mut batches = Batches::new(part_files(&root.join("topics"))?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let absent = numbers_of(path, &batch, "absent_weight")?;
        smoothing.extend(absent.values().iter().copied());
        alpha.extend(numbers_of(path, &batch, "alpha")?.values().iter().copied());
    }
    let mut terms: Vec<String> = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("vocabulary"))?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let listed = column(path, &batch, "term_id", "whole number", cells::whole_numbers)?;
        let texts = texts(path, &batch, "term")?;
        let kept = (0..batch.num_rows()).filter(|&row| listed.is_valid(row));
        terms.extend(kept.map(|row| texts.value(row).to_owned()));
    }
    let mut rows: Vec<Vec<(u16, f32)>> = vec![Vec::new(); terms.len()];
    let mut batches = Batches::new(parts, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics = whole_numbers(path, &batch, "topic")?;
        let numbers = whole_numbers(path, &batch, "term_id")?;
        let weights = numbers_of(path, &batch, "weight")?;
        for row in 0..batch.num_rows() {
            let (topic, term) = (topics.value(row) as usize, numbers.value(row) as usize);
            if topic >= smoothing.len() || term >= terms.len() {
                let problem = "contains a topic or a term that `topics` or `vocabulary` lacks";
                return Err(Failure::file(path, problem));
            }
            let beyond = (weights.value(row) - smoothing[topic]) as f32;
            if beyond >= SMALLEST {
                rows[term].push((topic as u16, beyond));
            }
        }
    }
    rows.iter_mut().for_each(|row| row.sort_unstable_by_key(|&(topic, _)| topic));
    Ok(ForeignModel {
        terms,
        rows,
        smoothing,
        alpha: Some(alpha),
        form: "the tables of a topicmill output".to_owned(),
    })
}

fn numbers_of(path: &Path, batch: &RecordBatch, name: &str) -> Result<Float64Array, Failure> {
    filled(path, batch, name, "number", cells::numbers)
}

fn whole_numbers(path: &Path, batch: &RecordBatch, name: &str) -> Result<Int64Array, Failure> {
    filled(path, batch, name, "whole number", cells::whole_numbers)
}

fn texts(path: &Path, batch: &RecordBatch, name: &str) -> Result<StringArray, Failure> {
    filled(path, batch, name, "text", cells::texts)
}

/// Returns a column without nulls.
fn filled<A: Array>(
    path: &Path,
    batch: &RecordBatch,
    name: &str,
    kind: &str,
    read: impl Fn(&dyn Array) -> Option<A>,
) -> Result<A, Failure> {
    let array = column(path, batch, name, kind, read)?;
    match array.null_count() {
        0 => Ok(array),
        nulls => {
            let problem = format!(
                "column {name} has values that are null or not {kind}s: {nulls} of {} in a batch",
                array.len()
            );
            Err(Failure::file(path, problem))
        }
    }
}

/// Returns a column as `read` converts it; `kind` names what a cell should be.
fn column<A: Array>(
    path: &Path,
    batch: &RecordBatch,
    name: &str,
    kind: &str,
    read: impl Fn(&dyn Array) -> Option<A>,
) -> Result<A, Failure> {
    let refuse = |problem: String| Failure::file(path, problem);
    let array = batch.column_by_name(name);
    let array = array.ok_or_else(|| refuse(format!("has no column {name}")))?;
    read(array).ok_or_else(|| refuse(format!("column {name} does not contain {kind}s")))
}
