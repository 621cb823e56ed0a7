//! `[evaluate]`.

use std::path::PathBuf;

use toml::Value;

use super::super::defaults;
use super::super::error::JobError;
use super::super::section::{Entry, Section, number};
use super::{COUNT, SWEEPS};
use crate::corpus::sample::Split;
use crate::corpus::settings::CorpusSettings;
use crate::evaluate::settings::{EvaluateSettings, Metric};
use lda::evaluate::coherence::MOST_TERMS;
use lda::model::settings::Alpha;

/// The words for [`Metric`].
pub(in crate::job) const METRICS: &[(&str, Metric)] = &[
    ("completion", Metric::Completion),
    ("left-to-right", Metric::LeftToRight),
    ("umass", Metric::Umass),
    ("npmi", Metric::Npmi),
    ("c_v", Metric::CV),
];
/// The words for the documents that are evaluated on; `None` is all.
pub(in crate::job) const SPLITS: &[(&str, Option<Split>)] = &[
    ("held_out", Some(Split::HeldOut)),
    ("sample", Some(Split::Sample)),
    ("projected", Some(Split::Projected)),
    ("all", None),
];

/// `[evaluate]`. Labels are a column that ingest keeps, as `corpus` says.
pub(in crate::job) fn evaluate(
    section: &Section,
    corpus: &CorpusSettings,
) -> Result<EvaluateSettings, JobError> {
    let labels = labels(section, corpus)?;
    let compare = section.text("compare")?.filter(|path| !path.is_empty());
    Ok(EvaluateSettings {
        metrics: metrics(section, labels.is_some() || compare.is_some())?,
        split: section.choice("split", SPLITS, Some(defaults::EVALUATE_SPLIT))?,
        documents: section.whole("documents", 0..=COUNT, defaults::EVALUATE_DOCUMENTS)?,
        particles: section.whole("particles", 1..=100_000, defaults::PARTICLES)? as u32,
        resample: section.flag("resample", false)?,
        completion_sweeps: section.whole(
            "completion_sweeps",
            1..=SWEEPS,
            defaults::COMPLETION_SWEEPS,
        )? as u32,
        alpha: section
            .get_unless_auto("alpha")
            .map(|entry| alpha(section, entry))
            .transpose()?,
        coherence_terms: coherence_terms(section)?,
        reference: reference(section)?,
        labels,
        folds: section.whole("folds", 2..=1_000, defaults::FOLDS)? as usize,
        compare: compare.map(PathBuf::from),
    })
}

/// 0, or as many as make a pair and as a counter takes.
fn coherence_terms(section: &Section) -> Result<usize, JobError> {
    let terms = section.whole("coherence_terms", 0..=MOST_TERMS as u64, 0)?;
    match section.get("coherence_terms") {
        Some(entry) if terms == 1 => {
            let allowed = format!("0, or a whole number from 2 to {MOST_TERMS}");
            Err(section.invalid("coherence_terms", entry, &allowed))
        }
        _ => Ok(terms as usize),
    }
}

/// Names of files; an empty list means that there is no reference corpus.
fn reference(section: &Section) -> Result<Vec<String>, JobError> {
    let names = section.texts("reference")?.unwrap_or_default();
    match section.get("reference") {
        Some(entry) if names.iter().any(String::is_empty) => {
            Err(section.invalid("reference", entry, "a list of files, none of them empty"))
        }
        _ => Ok(names),
    }
}

/// A column that ingest has kept.
fn labels(section: &Section, corpus: &CorpusSettings) -> Result<Option<String>, JobError> {
    let columns: Vec<&str> = corpus.label_columns().collect();
    let name = section.text("labels")?.filter(|name| !name.is_empty());
    match (name, section.get("labels")) {
        (Some(name), Some(entry)) if !columns.contains(&&name[..]) => {
            let allowed = match &columns[..] {
                [] => "a column of corpus.metadata or corpus.group, which are empty; the collection must be \
                       ingested with it"
                    .to_owned(),
                columns => format!("one of corpus.metadata or corpus.group: {}", columns.join(", ")),
            };
            Err(section.invalid("labels", entry, &allowed))
        }
        (name, _) => Ok(name),
    }
}

/// Words for metrics, each once; at least one, unless there is something else to do.
fn metrics(section: &Section, may_be_none: bool) -> Result<Vec<Metric>, JobError> {
    let Some(words) = section.texts("metrics")? else {
        return Ok(defaults::METRICS.to_vec());
    };
    let metric = |word: &String| {
        let found = METRICS.iter().find(|(name, _)| name == word);
        found.map(|(_, metric)| *metric)
    };
    let metrics: Option<Vec<Metric>> = words.iter().map(metric).collect();
    let is_distinct = |m: &Vec<Metric>| (1..m.len()).all(|i| !m[..i].contains(&m[i]));
    match (metrics, section.get("metrics")) {
        (Some(metrics), _) if is_distinct(&metrics) && (may_be_none || !metrics.is_empty()) => {
            Ok(metrics)
        }
        (_, Some(entry)) => {
            let names: Vec<String> = METRICS
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect();
            let allowed = format!("a list of {}, without repetition", names.join(", "));
            Err(section.invalid("metrics", entry, &allowed))
        }
        _ => Ok(defaults::METRICS.to_vec()),
    }
}

/// The model's number of topics is not known here: a list is held against it when it is read.
fn alpha(section: &Section, entry: &Entry) -> Result<Alpha, JobError> {
    let positive = |value: &Value| {
        let allowed = "a number above 0 (from 1e-10 to 1e10), a list of them, or \"auto\"";
        // Products with φ are of 32 bits, and keep within them.
        number(value)
            .filter(|x| (1e-10..=1e10).contains(x))
            .ok_or_else(|| section.invalid("alpha", entry, allowed))
    };
    match &entry.value {
        Value::Array(items) if !items.is_empty() => Ok(Alpha::Vector(
            items.iter().map(positive).collect::<Result<_, _>>()?,
        )),
        value => Ok(Alpha::Each(positive(value)?)),
    }
}
