//! What a reader of a result should know before trusting it, each with its remedy.

use std::collections::BTreeMap;

use super::bounds::NAMED_TOPICS;
use super::data::{Drift, Warning};
use crate::tables::read::TopicLine;
use corpus::DocumentStatus;

/// Returns all warnings, the gravest kind first; `drift` is given if there are documents beyond the sample.
pub(super) fn warnings(
    statuses: &BTreeMap<String, u64>,
    topics: &[TopicLine],
    drift: Option<&Drift>,
) -> Vec<Warning> {
    let mut warnings = of_topics(topics);
    warnings.extend(drift.and_then(of_drift));
    let statuses = DocumentStatus::ALL.iter().filter_map(|&status| {
        let count = *statuses.get(status.name())?;
        of_status(status, count)
    });
    warnings.extend(statuses);
    warnings
}

fn plain(text: String, remedy: &str) -> Warning {
    Warning { text, remedy: remedy.to_owned(), topics: Vec::new() }
}

fn of_topics(topics: &[TopicLine]) -> Vec<Warning> {
    type Fault = fn(&TopicLine) -> bool;
    let is_labelled = topics.iter().any(|topic| topic.label.is_some());
    let remedy = |of_labels, other| if is_labelled { of_labels } else { other };
    let faults: [(Fault, [&str; 2], &str); 4] = [
        (
            TopicLine::is_untrained,
            [
                "label has no document in the sample: its topic has no terms",
                "labels have no document in the sample: their topics have no terms",
            ],
            "Raise sample.fraction, or drop rare labels by corpus.label_min_documents.",
        ),
        (
            |topic| topic.dead && !topic.is_untrained(),
            [
                "topic is dead: almost no token belongs to it",
                "topics are dead: almost no token belongs to them",
            ],
            remedy("Drop rare labels by corpus.label_min_documents.", "Train fewer topics."),
        ),
        (
            |topic| topic.duplicate_of.is_some(),
            ["topic repeats an earlier one", "topics repeat an earlier one"],
            remedy(
                "Read them as one: the labels have nearly the same words.",
                "Read them as one, or train fewer topics.",
            ),
        ),
        (
            |topic| topic.junk,
            ["topic is junk: its terms say nothing", "topics are junk: their terms say nothing"],
            "Leave them out of interpretations; add terms without meaning to vocabulary.stop_words.",
        ),
    ];
    let of = |(has_it, [one, many], remedy): (Fault, [&str; 2], &str)| {
        let numbers = topics.iter().filter(|topic| has_it(topic));
        let numbers: Vec<i32> = numbers.map(|topic| topic.topic).collect();
        let text = counted(numbers.len() as u64, one, many)?;
        Some(Warning {
            text,
            remedy: remedy.to_owned(),
            topics: numbers.into_iter().take(NAMED_TOPICS).collect(),
        })
    };
    faults.into_iter().filter_map(of).collect()
}

fn of_drift(drift: &Drift) -> Option<Warning> {
    const REMEDY: &str = "Train again with new documents in the sample.";
    if drift.run.retrain {
        let text = "The model knows fewer than 70 % of the distinct terms of the documents that it was not trained on.";
        return Some(plain(text.to_owned(), REMEDY));
    }
    (drift.groups_to_retrain > 0).then(|| {
        let (some, all) = (drift.groups_to_retrain, drift.group_count);
        let text = format!(
            "In {} of {} groups, the model knows fewer than 70 % of the distinct terms of new documents.",
            grouped(some as u64),
            grouped(all as u64)
        );
        plain(text, REMEDY)
    })
}

fn of_status(status: DocumentStatus, count: u64) -> Option<Warning> {
    let (one, many, remedy) = match status {
        DocumentStatus::Ok | DocumentStatus::Filtered => return None,
        DocumentStatus::Repaired => (
            "document has bytes or escapes that are no characters; they were replaced",
            "documents have bytes or escapes that are no characters; they were replaced",
            "Set or correct `corpus.encoding`, for example to \"windows-1252\", if words look damaged.",
        ),
        DocumentStatus::Empty => (
            "document is empty and has no topics",
            "documents are empty and have no topics",
            "Check corpus.text if there should be text.",
        ),
        DocumentStatus::NoVocabulary => (
            "document has no term of the vocabulary, and so no topics",
            "documents have no term of the vocabulary, and so no topics",
            "A smaller vocabulary.min_documents keeps more terms; a larger vocabulary.max_share keeps those of a text that \
             many documents share.",
        ),
        DocumentStatus::ParseError => (
            "record could not be parsed",
            "records could not be parsed",
            "The log says what is wrong with the first of them.",
        ),
        DocumentStatus::TooLarge => (
            "document is larger than corpus.max_document_mib and was not read",
            "documents are larger than corpus.max_document_mib and were not read",
            "Raise the limit, or cut them into sections.",
        ),
        DocumentStatus::Truncated => (
            "file ended in the middle; what is missing is not in the model",
            "files ended in the middle; what is missing is not in the model",
            "Copy them again, and run the job with --overwrite.",
        ),
    };
    Some(plain(counted(count, one, many)?, remedy))
}

/// Formats a count, as in "1 topic is dead."; `None` for 0.
fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}.")),
        n => Some(format!("{} {many}.", grouped(n))),
    }
}

/// Groups digits: 12345 → "12,345".
fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
