//! `[evaluate]`.

use toml::Value;

use super::super::defaults;
use super::super::error::JobError;
use super::super::section::{Entry, POSITIVE, Section, number};
use super::{COUNT, SWEEPS};
use crate::corpus::sample::Split;
use crate::evaluate::settings::{EvaluateSettings, Metric};
use crate::model::settings::Alpha;

/// The words for [`Metric`].
pub(in crate::job) const METRICS: &[(&str, Metric)] = &[
    ("completion", Metric::Completion),
    ("left-to-right", Metric::LeftToRight),
];
/// The words for the documents that are evaluated on; `None` is all.
pub(in crate::job) const SPLITS: &[(&str, Option<Split>)] = &[
    ("held_out", Some(Split::HeldOut)),
    ("sample", Some(Split::Sample)),
    ("projected", Some(Split::Projected)),
    ("all", None),
];

/// `[evaluate]`.
pub(in crate::job) fn evaluate(section: &Section) -> Result<EvaluateSettings, JobError> {
    Ok(EvaluateSettings {
        metrics: metrics(section)?,
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
    })
}

/// Words for metrics, each once, at least one.
fn metrics(section: &Section) -> Result<Vec<Metric>, JobError> {
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
        (Some(metrics), _) if !metrics.is_empty() && is_distinct(&metrics) => Ok(metrics),
        (_, Some(entry)) => {
            let names: Vec<String> = METRICS
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect();
            let allowed = format!("a list of {}, each once", names.join(", "));
            Err(section.invalid("metrics", entry, &allowed))
        }
        _ => Ok(defaults::METRICS.to_vec()),
    }
}

/// The model's number of topics is not known here: a list is held against it when it is read.
fn alpha(section: &Section, entry: &Entry) -> Result<Alpha, JobError> {
    let positive = |value: &Value| {
        let refuse = || {
            section.invalid(
                "alpha",
                entry,
                "a number above 0, a list of them, or \"auto\"",
            )
        };
        number(value)
            .filter(|x| (POSITIVE.holds)(*x))
            .ok_or_else(refuse)
    };
    match &entry.value {
        Value::Array(items) if !items.is_empty() => Ok(Alpha::Vector(
            items.iter().map(positive).collect::<Result<_, _>>()?,
        )),
        value => Ok(Alpha::Each(positive(value)?)),
    }
}
