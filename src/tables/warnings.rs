//! What a reader of a result should know before trusting it, each with its remedy: the end of a run prints these
//! warnings, `inspect` shows those about topics, and the report draws them.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use serde::Serialize;

use super::drift::DriftRow;
use super::topics::TopicLine;
use corpus::DocumentStatus;

/// Something that a reader of the result should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Warning {
    /// A word for programs: `dead`, `duplicate`, `junk`, `untrained`, `drift`, or the status of documents.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) remedy: String,
    /// The topics that it concerns.
    pub(crate) topics: Vec<i32>,
}

impl Warning {
    fn new(kind: &'static str, text: String, remedy: &str) -> Self {
        Self { kind, text, remedy: remedy.to_owned(), topics: Vec::new() }
    }
}

/// Returns the warnings about topics, the gravest kind first.
pub(crate) fn of_topics(topics: &[TopicLine]) -> Vec<Warning> {
    type Fault = fn(&TopicLine) -> bool;
    let is_labelled = topics.iter().any(|topic| topic.label.is_some());
    let remedy = |of_labels, other| if is_labelled { of_labels } else { other };
    let faults: [(&str, Fault, [&str; 2], &str); 4] = [
        (
            "untrained",
            TopicLine::is_untrained,
            [
                "label has no document in the sample: its topic has no terms",
                "labels have no document in the sample: their topics have no terms",
            ],
            "Raise sample.fraction, or drop rare labels by corpus.label_min_documents.",
        ),
        (
            "dead",
            |topic| topic.row.dead && !topic.is_untrained(),
            [
                "topic is dead: almost no token belongs to it",
                "topics are dead: almost no token belongs to them",
            ],
            remedy("Drop rare labels by corpus.label_min_documents.", "Train fewer topics."),
        ),
        (
            "duplicate",
            |topic| topic.row.duplicate_of.is_some(),
            ["topic repeats an earlier one", "topics repeat an earlier one"],
            remedy(
                "Read them as one: the labels have nearly the same words.",
                "Read them as one, or train fewer topics.",
            ),
        ),
        (
            "junk",
            |topic| topic.row.junk,
            ["topic is junk: its terms say nothing", "topics are junk: their terms say nothing"],
            "Leave them out of interpretations; add terms without meaning to vocabulary.stop_words.",
        ),
    ];
    let of = |(kind, has_it, [one, many], remedy): (_, Fault, [&str; 2], &str)| {
        let numbers = topics.iter().filter(|topic| has_it(topic));
        let topics: Vec<i32> = numbers.map(|topic| topic.row.topic).collect();
        let text = counted(topics.len() as u64, one, many)?;
        Some(Warning { topics, ..Warning::new(kind, text, remedy) })
    };
    faults.into_iter().filter_map(of).collect()
}

/// Returns the warning about the drift of the new documents: of all, and the numbers of their groups and of those to be
/// trained on.
pub(crate) fn of_drift(run: &DriftRow, [groups, to_retrain]: [usize; 2]) -> Option<Warning> {
    let text = if run.retrain {
        "The model knows fewer than 70 % of the distinct terms of the documents that it was not trained on.".to_owned()
    } else if to_retrain > 0 {
        let [to_retrain, groups] = [to_retrain, groups].map(|count| HumanCount(count as u64));
        format!(
            "In {to_retrain} of {groups} groups, the model knows fewer than 70 % of the distinct terms of new documents."
        )
    } else {
        return None;
    };
    Some(Warning::new("drift", text, "Train again with new documents in the sample."))
}

/// Returns the warnings about documents, given their numbers by status.
pub(crate) fn of_documents(statuses: &BTreeMap<String, u64>) -> Vec<Warning> {
    let all = DocumentStatus::ALL.iter();
    all.filter_map(|&status| of_status(status, *statuses.get(status.name())?)).collect()
}

fn of_status(status: DocumentStatus, count: u64) -> Option<Warning> {
    let (one, many, remedy) = match status {
        DocumentStatus::Ok | DocumentStatus::Filtered | DocumentStatus::Removed => return None,
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
    Some(Warning::new(status.name(), counted(count, one, many)?, remedy))
}

/// Formats a count, as in "1 topic is dead."; `None` for 0.
fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}.")),
        n => Some(format!("{} {many}.", HumanCount(n))),
    }
}
