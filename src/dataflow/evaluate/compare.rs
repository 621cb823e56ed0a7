//! Compares the job's result with another one, by `tables::compare`.

use std::path::Path;

use crate::evaluate::measure::Figure;
use crate::failure::Failure;
use crate::job::Job;
use crate::tables::compare::{Comparison, compare};
use crate::tables::output::{View, Wanted};
use corpus::sample::Split;

/// Its method in tables.
const METHOD: &str = "comparison";

/// Compares the documents of the job's result, the reference, with those of another; returns the
/// figures, and remarks on them for the user.
///
/// # Errors
/// A result cannot be read or has no projected documents; no document is in both.
pub(super) fn figures(job: &Job, other: &Path) -> Result<(Vec<Figure>, Vec<String>), Failure> {
    let split = job.evaluate.split;
    let (a, b) = (View::open(&job.output.path, Wanted::All)?, View::open(other, Wanted::All)?);
    let found = compare(a.path(), b.path(), split)?;
    if found.documents == 0 {
        return Err(Failure::data(format!(
            "{} and {} have no document in common that is in evaluate.split \"{}\" of both ({} of the \
             first are not in the second): choose another split, or results of the same documents",
            job.output.path.display(),
            other.display(),
            job.evaluate.split_name(),
            found.unmatched + found.ambiguous,
        )));
    }
    let mut notes = vec![format!(
        "compared with {}: {} documents; {} are not in both, {} share their id with others",
        other.display(),
        found.documents,
        found.unmatched,
        found.ambiguous
    )];
    notes.push(match &found.topics {
        None => "both results have the same model: topics are matched by number".to_owned(),
        Some(topics) => format!(
            "{} pairs of topics matched on {} terms; {} within a Hellinger distance of 0.3",
            topics.partners.iter().flatten().count(),
            topics.shared_terms,
            topics.same
        ),
    });
    Ok((rows(&found, split), notes))
}

/// Returns the rows of `evaluation`.
fn rows(found: &Comparison, split: Option<Split>) -> Vec<Figure> {
    let row = |metric, unit, value, standard_error| Figure {
        metric,
        method: METHOD.to_owned(),
        split: split.map_or("all", Split::name),
        unit,
        value,
        standard_error,
        documents: found.documents,
        tokens: 0,
    };
    let mean = |metric, unit, figure: lda::evaluate::comparison::Figure| {
        row(metric, unit, figure.mean, figure.standard_error)
    };
    let mut rows = vec![
        mean("cosine", "1", found.cosine),
        mean("kl_divergence", "nats", found.kl_divergence),
        mean("f1", "1", found.f1),
    ];
    if let Some(topics) = &found.topics {
        let matched = topics.partners.iter().flatten().count();
        rows.push(row("topics_matched", "topics", matched as f64, None));
        rows.push(row("topics_same", "topics", topics.same as f64, None));
        rows.push(row("topic_hellinger", "1", topics.mean_distance, None));
    }
    let skipped = found.unmatched + found.ambiguous;
    rows.push(row("documents_scored", "documents", found.documents as f64, None));
    rows.push(row("documents_skipped", "documents", skipped as f64, None));
    rows
}
