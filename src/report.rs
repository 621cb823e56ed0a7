//! The report: a finished result on one HTML page, without network access.
//!
//! [`report`] reads a result's tables and returns the page. It holds only aggregates and the first rows of each
//! topic (`bounds`), so that its size grows with the topics and not with the documents. Of the tables about documents,
//! only parts with a document that the page shows are read, once.
//! Nothing in it depends on time, place or workers: the same result gives the same page. `data` is the content of
//! the page, and `page` inserts it into the files below `page/`, which do all drawing.

mod bounds;
mod data;
mod documents;
mod page;
mod sweep;
mod topics;
mod trends;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::config::state::RECORD_FILE;
use crate::failure::Failure;
use crate::result::read_json;
use crate::tables::documents::metadata_columns;
use crate::tables::drift::DriftRow;
use crate::tables::output::{JOB_FILE, Output, is_gone};
use crate::tables::phi::PublishedPhi;
use crate::tables::read::table_schema;
use crate::tables::records::{records, rows};
use crate::tables::topic_passages::TopicPassageRow;
use crate::tables::topics::topic_lines;
use crate::tables::training_log::{CurvePoint, training_curve};
use crate::tables::vocabulary::kept_terms;
use crate::tables::warnings;
use bounds::Bounds;
pub(crate) use bounds::clip;
use corpus::DocumentStatus;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::settings::TextSection;
use data::{Facts, PageDrift, PageTopic, ReportData, Trend};
pub(crate) use sweep::sweep_page;

/// What the model was trained on, of the record of training.
#[derive(Deserialize)]
struct TrainedOn {
    training_documents: u64,
    training_tokens: u64,
}

/// A metadata column.
struct Column {
    /// Its name in `documents`.
    name: String,
    /// Its name in the input, which another column of `documents` may have.
    input: String,
}

/// The tables that are read whole.
const TABLES: [&str; 14] = [
    "drift",
    "evaluation",
    "labels",
    "topic_changes",
    "topic_concentration",
    "topic_documents",
    "topic_names",
    "topic_passages",
    "topic_stability",
    "topic_terms",
    "topic_trends",
    "topics",
    "training_log",
    "vocabulary",
];

/// Returns the page of an output whose tables are all published; `parts` are the numbers of documents in the parts of
/// `documents`. If it is in an object store, fetches copies of what it needs first. Documents are read on several threads.
///
/// # Errors
/// A table cannot be read, or they contradict each other.
pub(crate) fn report(output: &Output, parts: &[u64], threads: usize) -> Result<String, Failure> {
    for table in TABLES {
        for name in output.names(table)? {
            output.local(&format!("{table}/{name}"))?;
        }
    }
    if !output.is_published(COLLECTION_FILE)? {
        return Err(is_gone(&output.path(COLLECTION_FILE)));
    }
    let root = output.local_root(&[COLLECTION_FILE, JOB_FILE])?;
    let collection = Collection::read(root)?;
    let lines = topic_lines(root)?;
    if lines.is_empty() {
        let message = "has no table topics; rerun the job with --overwrite";
        return Err(Failure::file(root, message));
    }
    let bounds = Bounds::of(lines.len());
    let all = columns(&collection);
    let trends = trends::trends(root, lines.len(), &all)?;
    let columns = shown_columns(all, &trends);
    let place = (output, parts);
    let (documents, of_topics) = documents::documents(
        place,
        &collection,
        lines.len(),
        (&columns, &trends),
        &bounds,
        threads,
    )?;
    let drift = drift(root)?;
    let mut warnings = warnings::of_topics(&lines);
    let of_drift = |drift: &PageDrift| {
        warnings::of_drift(&drift.run, [drift.group_count, drift.groups_to_retrain])
    };
    warnings.extend(drift.as_ref().and_then(of_drift));
    let record = output.local(RECORD_FILE)?;
    let trained: TrainedOn = read_json(&record, &record)?;
    warnings.extend(warnings::of_size(trained.training_documents, trained.training_tokens));
    warnings.extend(warnings::of_documents(&collection.documents_by_status));
    warnings.iter_mut().for_each(|warning| warning.topics.truncate(bounds::NAMED_TOPICS));
    let (phi, kept) = (PublishedPhi::read(root)?, kept_terms(root)?);
    let (mut topics, terms) = topics::topics(lines, &phi, &kept, of_topics, &bounds);
    passages(root, &mut topics.topics, &bounds)?;
    Ok(page::page(&ReportData {
        facts: facts(root, &collection)?,
        warnings,
        topics: topics.topics,
        map_shown: topics.map_shown,
        map_landmarks: topics.map_landmarks,
        terms,
        documents,
        trends,
        curve: curve(training_curve(root)?),
        figures: rows(root)?,
        drift,
    }))
}

/// Returns the columns of `documents` with values of the input: the job's, and volumes if there are any.
fn columns(collection: &Collection) -> Vec<Column> {
    let names = metadata_columns(&collection.metadata).into_iter();
    let mut columns: Vec<Column> = names
        .zip(&collection.metadata)
        .map(|(name, input)| Column { name, input: input.clone() })
        .collect();
    if collection.grouped {
        let name = "group_id".to_owned();
        columns.push(Column { input: name.clone(), name });
    }
    columns
}

/// Returns the columns whose values are shown: those with trends first, so that a value's documents can be listed.
fn shown_columns(mut columns: Vec<Column>, trends: &[Trend]) -> Vec<Column> {
    // Bytes of texts say nothing to a reader.
    columns.retain(|column| column.input != TextSection::COLUMN);
    columns.sort_by_key(|column| !trends.iter().any(|trend| trend.name == column.input));
    columns.truncate(bounds::MOST_COLUMNS);
    columns
}

/// Adds the passages of the first documents of each topic.
fn passages(root: &Path, topics: &mut [PageTopic], bounds: &Bounds) -> Result<(), Failure> {
    let is_shown = |row: &TopicPassageRow| row.rank as usize <= bounds.passages;
    for row in records(root)?.only(is_shown)? {
        let place = row.rank as usize;
        if let Some(topic) = topics.get_mut(row.topic as usize) {
            topic.passages.resize(place, None);
            topic.passage_words.resize(place, Vec::new());
            topic.passages[place - 1] = Some(row.passage);
            topic.passage_words[place - 1] = row.words;
        }
    }
    Ok(())
}

fn facts(root: &Path, collection: &Collection) -> Result<Facts, Failure> {
    let written = table_schema(&root.join("topics"))?.metadata;
    let written: BTreeMap<String, String> = written.into_iter().collect();
    let said = |key: &str| written.get(key).cloned().unwrap_or_default();
    let statuses = DocumentStatus::ALL.iter().filter_map(|status| {
        let count = *collection.documents_by_status.get(status.name())?;
        (count > 0).then(|| (status.name().to_owned(), count))
    });
    let link = saved_value(root, "output", "link");
    Ok(Facts {
        inputs: inputs(root, collection),
        link: link
            .and_then(|link| link.as_str().map(str::to_owned))
            .filter(|link| !link.is_empty()),
        documents: collection.documents,
        sections: collection.grouped,
        statuses: statuses.collect(),
        left_out: collection.left_out.clone(),
        tokens: collection.tokens_total,
        tokens_in_vocabulary: collection.tokens_in_vocabulary,
        tokens_stopped: collection.tokens_stopped,
        terms: collection.terms_kept,
        version: said("version"),
        job: said("job_id"),
        seed: said("seed"),
        threshold: said("threshold"),
    })
}

/// Returns a value of the saved job, if it can be read.
fn saved_value(root: &Path, section: &str, key: &str) -> Option<toml::Value> {
    let text = std::fs::read_to_string(root.join(JOB_FILE)).ok()?;
    text.parse::<toml::Table>().ok()?.get(section)?.get(key).cloned()
}

/// Returns the last path segments of `corpus.input` and of what was added.
fn inputs(root: &Path, collection: &Collection) -> Vec<String> {
    let input = saved_value(root, "corpus", "input");
    let all = match &input {
        Some(toml::Value::Array(all)) => all.iter().collect(),
        other => other.iter().collect::<Vec<_>>(),
    };
    let added = collection.generations.iter().flat_map(|generation| &generation.input);
    let names = all.into_iter().filter_map(toml::Value::as_str).chain(added.map(String::as_str));
    let last = |name: &str| {
        let name = name.trim_end_matches('/');
        clip(name.rsplit('/').next().unwrap_or(name), bounds::NAME_CHARS)
    };
    names.map(last).take(bounds::MOST_INPUTS).collect()
}

/// Returns at most [`bounds::CURVE_POINTS`] points of the curve, evenly spaced, including the last.
fn curve(points: Vec<CurvePoint>) -> Vec<CurvePoint> {
    let step = points.len().div_ceil(bounds::CURVE_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let chosen = points.into_iter().enumerate();
    let chosen = chosen.filter(|(place, _)| (last - place).is_multiple_of(step));
    chosen.map(|(_, point)| point).collect()
}

/// Returns the run's drift, and the groups that are furthest from what the model knows.
fn drift(root: &Path) -> Result<Option<PageDrift>, Failure> {
    let (run, mut groups): (Vec<DriftRow>, Vec<DriftRow>) =
        rows::<DriftRow>(root)?.into_iter().partition(|line| line.group_id.is_none());
    let Some(run) = run.into_iter().next() else {
        return Ok(None);
    };
    let group_count = groups.len();
    let groups_to_retrain = groups.iter().filter(|group| group.retrain).count();
    let known = |line: &DriftRow| line.known_term_share.unwrap_or(1.0);
    groups.sort_by(|a, b| known(a).total_cmp(&known(b)).then(a.group_id.cmp(&b.group_id)));
    groups.truncate(bounds::DRIFT_GROUPS);
    for name in groups.iter_mut().filter_map(|group| group.group_id.as_mut()) {
        *name = clip(name, bounds::NAME_CHARS);
    }
    Ok(Some(PageDrift { run, groups, group_count, groups_to_retrain }))
}
