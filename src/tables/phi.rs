//! φ from Parquet: as the tables of a result publish it ([`PublishedPhi`]); or in the form of `evaluate::foreign`, that
//! of a result or of an external table with a row for each topic and term in columns `topic`, `term` and `weight`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow_array::{Array, Float64Array, RecordBatch};

use super::parts::{Batches, footer, part_files};
use super::read::table_schema;
use super::records::records;
use super::topic_terms::TermWeight;
use super::topics::TopicRow;
use super::vocabulary::kept_terms;
use crate::evaluate::foreign::{ForeignModel, SMALLEST, Weights};
use crate::failure::Failure;
use corpus::cells;
use lda::evaluate::TermDistribution;
use lda::evaluate::relevance::{Relevance, most_relevant};
use lda::math::special::ln;
use lda::model::published::PublishedTopic;
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
    let table =
        if path.join("topic_terms").is_dir() { path.join("topic_terms") } else { path.to_owned() };
    let parts = if table.is_dir() { part_files(&table)? } else { vec![table.clone()] };
    let Some(first) = parts.first() else {
        let problem =
            "contains no *.parquet file: name an output folder, a table's folder or a file";
        return Err(Failure::file(path, problem));
    };
    let schema = footer(first)?.1.schema().clone();
    let root = table.parent().unwrap_or(Path::new(""));
    if schema.index_of("rank").is_ok() && root.join("topics").is_dir() {
        return Ok(PublishedPhi::read(root)?.into());
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

/// φ and α of a result, from its tables `topics`, `topic_terms` and `vocabulary`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PublishedPhi {
    /// The kept terms, by term id.
    pub(crate) terms: Vec<String>,
    /// Each topic's listed terms, ascending, and the probability of every other term; without counts.
    pub(crate) topics: Vec<PublishedTopic>,
    /// α_k.
    pub(crate) alpha: Vec<f64>,
    /// The hash that names the model.
    pub(crate) model_hash: Option<String>,
}

impl PublishedPhi {
    /// Returns about the bytes of this many weights of a finished model, while they are read back from its tables.
    pub(crate) fn bytes(weights: u64) -> u64 {
        weights * (24 + 40)
    }

    /// The tables that it is read from.
    pub(crate) const TABLES: [&str; 3] = ["topics", "topic_terms", "vocabulary"];

    /// Reads the tables in `root`.
    ///
    /// # Errors
    /// One cannot be read, lacks a column, or names a topic or term that the others lack.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let schema = table_schema(&root.join("topics"))?;
        let hash = schema.metadata.into_iter().find(|pair| pair.0 == "model_hash");
        let mut phi = Self { model_hash: hash.map(|pair| pair.1), ..Self::default() };
        for topic in records::<TopicRow>(root)? {
            let TopicRow { absent_weight, alpha, .. } = topic?;
            phi.topics.push(PublishedTopic { absent_weight, ..PublishedTopic::default() });
            phi.alpha.push(alpha);
        }
        phi.terms = kept_terms(root)?.into_iter().map(|line| line.term).collect();
        let mut rows = records::<TermWeight>(root)?;
        while let Some(row) = rows.next().transpose()? {
            let (topic, term) = (row.topic as usize, row.term_id as usize);
            let topic = phi.topics.get_mut(topic).filter(|_| term < phi.terms.len());
            let Some(topic) = topic else {
                let problem = format!(
                    "has topic {} with term {}, which do not exist; run `topicmill verify`",
                    row.topic, row.term_id
                );
                return Err(Failure::file(rows.path(), problem));
            };
            topic.weights.push((row.term_id as u32, row.weight));
        }
        // The table has them by rank.
        phi.topics.iter_mut().for_each(|topic| topic.weights.sort_unstable_by_key(|it| it.0));
        Ok(phi)
    }

    /// Returns the terms among a topic's `count` most relevant ones for some λ in `steps` steps, with their probabilities;
    /// the most probable first. `log_lift` is that of a term with a probability.
    pub(crate) fn most_relevant(
        &self,
        topic: usize,
        [count, steps]: [usize; 2],
        log_lift: impl Fn(u32, f64) -> f64,
    ) -> Vec<(u32, f64, Relevance)> {
        let listed = self.topics[topic].weights.iter().map(|&(term, weight)| {
            let weight = f64::from(weight);
            let log_lift = log_lift(term, weight);
            (term, weight, Relevance { log_probability: ln(weight), log_lift })
        });
        let listed: Vec<(u32, f64, Relevance)> = listed.collect();
        let relevances: Vec<Relevance> = listed.iter().map(|entry| entry.2).collect();
        let chosen = most_relevant(&relevances, count, steps as u32).into_iter();
        let mut chosen: Vec<_> = chosen.map(|place| listed[place]).collect();
        chosen.sort_by(|a, b| {
            b.2.log_probability.total_cmp(&a.2.log_probability).then(a.0.cmp(&b.0))
        });
        chosen
    }

    /// Returns the topics as term distributions.
    pub(crate) fn distributions(&self) -> Vec<TermDistribution<'_>> {
        let topics = self.topics.iter();
        topics.map(|topic| TermDistribution::of(topic, self.terms.len())).collect()
    }
}

impl From<PublishedPhi> for ForeignModel {
    fn from(phi: PublishedPhi) -> Self {
        let mut rows = vec![Vec::new(); phi.terms.len()];
        for (number, topic) in (0..).zip(&phi.topics) {
            for &(term, weight) in &topic.weights {
                let beyond = (f64::from(weight) - topic.absent_weight) as f32;
                if beyond >= SMALLEST {
                    rows[term as usize].push((number, beyond));
                }
            }
        }
        Self {
            terms: phi.terms,
            rows,
            smoothing: phi.topics.iter().map(|topic| topic.absent_weight).collect(),
            alpha: Some(phi.alpha),
            form: "the tables of a topicmill output".to_owned(),
        }
    }
}

fn numbers_of(path: &Path, batch: &RecordBatch, name: &str) -> Result<Float64Array, Failure> {
    filled(path, batch, name, "number", cells::numbers)
}

/// Returns a column without nulls, as `read` converts it; `kind` names what a cell should be.
fn filled<A: Array>(
    path: &Path,
    batch: &RecordBatch,
    name: &str,
    kind: &str,
    read: impl Fn(&dyn Array) -> Option<A>,
) -> Result<A, Failure> {
    let refuse = |problem: String| Failure::file(path, problem);
    let array = batch.column_by_name(name);
    let array = array.ok_or_else(|| refuse(format!("has no column {name}")))?;
    let array =
        read(array).ok_or_else(|| refuse(format!("column {name} does not contain {kind}s")))?;
    match array.null_count() {
        0 => Ok(array),
        nulls => Err(refuse(format!(
            "column {name} has values that are null or not {kind}s: {nulls} of {} in a batch",
            array.len()
        ))),
    }
}
