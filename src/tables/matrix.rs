//! The topics of external models in Parquet, and of topicmill outputs, in the form of `evaluate::foreign`.
//!
//! Four forms, detected from the folder and the columns:
//! - an output folder, or its `topic_terms`: with `topics` beside it, φ in full;
//! - long: `topic`, `term`, and `weight` or `count`, one row per pair;
//! - wide by terms: one text column with the term, one numeric column per topic, one row per term;
//! - wide by topics: numeric columns only, named by the terms, one row per topic.

use std::path::{Path, PathBuf};

use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};

use super::parts::{Batches, footer, part_files};
use crate::evaluate::foreign::{ForeignModel, SMALLEST, Weights, terms};
use crate::failure::Failure;
use corpus::cells;
use parquet::errors::ParquetError;

/// Names of the column with the terms.
const TERM: [&str; 4] = ["term", "word", "token", "type"];
/// Names of the column with the weights, of long tables.
const WEIGHT: [&str; 5] = ["weight", "count", "probability", "prob", "value"];

/// Whether `path` is Parquet: a folder, or a file with a Parquet footer.
pub(crate) fn is_parquet(path: &Path) -> bool {
    path.is_dir() || footer(path).is_ok()
}

/// Reads a user's matrix: damaged Parquet is an error in the user's file.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn read_theirs(path: &Path, list: Option<&Path>) -> Result<ForeignModel, Failure> {
    read(path, list).map_err(|failure| match failure.cause::<ParquetError>() {
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
pub fn read(path: &Path, list: Option<&Path>) -> Result<ForeignModel, Failure> {
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
    let reader = Reader { path, parts };
    let named = |names: &[&str]| {
        let fields = schema.fields().iter();
        fields.map(|f| f.name().clone()).find(|name| names.contains(&name.to_lowercase().as_str()))
    };
    // A numeric column may be called "word" too, if each term has a column.
    match (named(&["topic"]), term_column(&schema), named(&WEIGHT)) {
        (Some(topic), Some(term), Some(weight)) => reader.long(&topic, &term, &weight),
        (_, Some(term), _) => reader.wide_by_terms(&schema, &term),
        (_, None, _) => reader.wide_by_topics(&schema, list),
    }
}

/// An external Parquet table.
struct Reader<'a> {
    path: &'a Path,
    parts: Vec<PathBuf>,
}

impl Reader<'_> {
    /// Passes every batch to `visit`, with the number of its first row.
    fn each(
        self,
        mut visit: impl FnMut(&RecordBatch, usize) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut batches = Batches::new(self.parts, None);
        let mut row = 0;
        while let Some(batch) = batches.next()? {
            visit(&batch, row)?;
            row += batch.num_rows();
        }
        Ok(())
    }

    fn long(self, topic: &str, term: &str, weight: &str) -> Result<ForeignModel, Failure> {
        let path = self.path;
        let mut numbers = std::collections::HashMap::new();
        let mut weights = Weights::default();
        self.each(|batch, first| {
            // Pandas turns whole numbers into floats at the first gap.
            let topics = numbers_of(path, batch, topic)?;
            let texts = texts(path, batch, term)?;
            let values = numbers_of(path, batch, weight)?;
            for row in 0..batch.num_rows() {
                let text = texts.value(row);
                let known = numbers.get(text).copied();
                let term = known.unwrap_or_else(|| {
                    let fresh = weights.add_term(text);
                    numbers.insert(text.to_owned(), fresh);
                    fresh
                });
                let refuse = |problem: &str| at(path, first + row, problem);
                let topic = topics.value(row);
                if topic < 0.0 || topic.fract() != 0.0 {
                    return Err(refuse(&format!(
                        "{topic} is not a topic: topics are whole numbers from 0"
                    )));
                }
                // A number that is too large saturates, and is refused there.
                let set = weights.set(term, topic as u64, values.value(row));
                set.map_err(|problem| refuse(&problem))?;
            }
            Ok(())
        })?;
        let mut model = weights.normalised(path, 0.0)?;
        model.form = format!("a table of topic, term and {weight}, normalised to sum 1");
        Ok(model)
    }

    fn wide_by_terms(self, schema: &Schema, term: &str) -> Result<ForeignModel, Failure> {
        let path = self.path;
        let topics = number_columns(schema, &["__index_level_0__"]);
        if topics.is_empty() {
            let problem = "has no numeric column: it needs one per topic";
            return Err(Failure::file(path, problem));
        }
        let mut weights = Weights::default();
        let mut seen = std::collections::HashSet::new();
        self.each(|batch, first| {
            let texts = texts(path, batch, term)?;
            let columns = columns(path, batch, &topics)?;
            for row in 0..batch.num_rows() {
                let text = texts.value(row);
                if !seen.insert(text.to_owned()) {
                    return Err(at(path, first + row, &format!("\"{text}\" occurs twice")));
                }
                let term = weights.add_term(text);
                for (topic, column) in columns.iter().enumerate() {
                    let set = weights.set(term, topic as u64, column.value(row));
                    set.map_err(|problem| at(path, first + row, &problem))?;
                }
            }
            Ok(())
        })?;
        let mut model = weights.normalised(path, 0.0)?;
        model.form = "a table with a column per topic, normalised to sum 1".to_owned();
        Ok(model)
    }

    fn wide_by_topics(self, schema: &Schema, list: Option<&Path>) -> Result<ForeignModel, Failure> {
        let path = self.path;
        let names = number_columns(schema, &["topic", "__index_level_0__"]);
        let terms = match list {
            Some(list) => terms::read(list)?,
            None => names.clone(),
        };
        if terms.len() != names.len() || names.is_empty() {
            let problem = format!(
                "has {} numeric columns but {} terms: a table has a row per topic and a column per \
                 term, or the columns topic, term and weight",
                names.len(),
                terms.len()
            );
            return Err(Failure::file(path, problem));
        }
        let mut weights = Weights::new(terms);
        self.each(|batch, first| {
            let columns = columns(path, batch, &names)?;
            for (term, column) in columns.iter().enumerate() {
                for row in 0..batch.num_rows() {
                    let set = weights.set(term, (first + row) as u64, column.value(row));
                    set.map_err(|problem| at(path, first + row, &problem))?;
                }
            }
            Ok(())
        })?;
        let mut model = weights.normalised(path, 0.0)?;
        model.form = "a table with a row per topic, normalised to sum 1".to_owned();
        Ok(model)
    }
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

/// Finds the text column with the terms: by its name, or the only one.
fn term_column(schema: &Schema) -> Option<String> {
    let is_text = |data: &DataType| match data {
        DataType::Dictionary(_, values) => values.is_string(),
        data => data.is_string(),
    };
    let fields = schema.fields().iter().filter(|f| is_text(f.data_type()));
    let texts: Vec<&String> = fields.map(|f| f.name()).collect();
    let named = texts.iter().find(|name| TERM.contains(&name.to_lowercase().as_str()));
    match (named, &texts[..]) {
        (Some(named), _) => Some((*named).clone()),
        (None, &[only]) => Some(only.clone()),
        (None, _) => None,
    }
}

/// Returns the names of the numeric columns, without `indexes` if these hold whole numbers: those are row indexes,
/// whereas "topic" as a term has weights.
fn number_columns(schema: &Schema, indexes: &[&str]) -> Vec<String> {
    let fields = schema.fields().iter();
    fields
        .filter(|f| f.data_type().is_numeric())
        .filter(|f| !(f.data_type().is_integer() && indexes.contains(&f.name().as_str())))
        .map(|f| f.name().clone())
        .collect()
}

fn columns(
    path: &Path,
    batch: &RecordBatch,
    names: &[String],
) -> Result<Vec<Float64Array>, Failure> {
    let each = names.iter().map(|name| numbers_of(path, batch, name));
    each.collect()
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

fn at(path: &Path, row: usize, problem: &str) -> Failure {
    Failure::file(path, format!("row {row} (from 0): {problem}"))
}
