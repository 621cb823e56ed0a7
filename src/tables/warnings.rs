//! What a reader of a result should know before trusting it, each with its remedy: the end of a run prints these
//! warnings, `inspect` shows those about topics, and the report draws them.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use serde::Serialize;

use super::drift::DriftRow;
use super::topic_concentration::{DOCUMENT, GROUP, TopicConcentrationRow};
use super::topics::TopicLine;
use corpus::DocumentStatus;
use corpus::language;

/// The least shares of a topic's tokens from which it is said to be of one document, one language, one volume, or one
/// value of another column. Good topics have up to a half of their tokens from one long document or one book, and up to
/// 98.7 % from one newsgroup.
const ONE_DOCUMENT: f64 = 0.5;
const ONE_LANGUAGE: f64 = 0.9;
const ONE_GROUP: f64 = 0.8;
const ONE_VALUE: f64 = 0.99;
/// What has at least this share of the collection may have any share of a topic.
const HALF: f64 = 0.5;
/// The least share of a topic's top terms, for it to be rubbish, that look like no words. Those of encoded lines have 0.65
/// and more, those of documentation of programs up to 0.15.
const RUBBISH: f64 = 0.5;
/// With fewer documents than this, of at least this many tokens on average, topics are those of single documents.
const FEW_DOCUMENTS: u64 = 500;
const LONG_TOKENS: u64 = 1000;
/// Characters of a value that are shown.
const VALUE_CHARS: usize = 40;

/// Something that a reader of the result should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Warning {
    /// A word for programs: `dead`, `duplicate`, `junk`, `rubbish`, `one_document`, `one_group`, `one_language`,
    /// `one_value`, `untrained`, `few_documents`, `drift`, or the status of documents.
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
    let faults: [(&str, Fault, [&str; 2], &str); 5] = [
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
        (
            "rubbish",
            |topic| !topic.row.dead && topic.rubbish_share() >= RUBBISH,
            [
                "topic is rubbish: most of its top terms are no words",
                "topics are rubbish: most of their top terms are no words",
            ],
            "Look at their documents (inspect --topic): encoded or damaged text should not be in the input. A larger \
             vocabulary.min_documents leaves out terms of few documents.",
        ),
    ];
    let of = |(kind, has_it, [one, many], remedy): (_, Fault, [&str; 2], &str)| {
        let numbers = topics.iter().filter(|topic| has_it(topic));
        let topics: Vec<i32> = numbers.map(|topic| topic.row.topic).collect();
        let text = counted(topics.len() as u64, one, many)?;
        Some(Warning { topics, ..Warning::new(kind, text, remedy) })
    };
    let faults = faults.into_iter().filter_map(of);
    // A topic of a label has its documents by design.
    faults.chain(if is_labelled { Vec::new() } else { of_concentration(topics) }).collect()
}

/// Returns the warnings about topics of one document, one language, one volume or one value. A topic is named once, for
/// the first of these.
fn of_concentration(topics: &[TopicLine]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut left: Vec<&TopicLine> = topics.iter().filter(|topic| !topic.row.dead).collect();
    for name in concentrated_columns(topics) {
        let mut found: Vec<&TopicConcentrationRow> = Vec::new();
        left.retain(|topic| {
            let mut rows = topic.concentration.iter().filter(|row| row.name == name);
            let one = rows.find(|row| is_one(row));
            found.extend(one);
            one.is_none()
        });
        // Of equals, the first.
        let largest = found.iter().rev().max_by(|a, b| a.share.total_cmp(&b.share));
        let Some(TopicConcentrationRow { topic, value, share, collection_share, .. }) = largest
        else {
            continue;
        };
        let (kind, noun, remedy) = match name {
            DOCUMENT => (
                "one_document",
                "document",
                "Cut long texts by corpus.section_words, or leave the document out. With train.max_document_tokens, 1000 for \
                 example, the topic's words come from others, too, though most of its tokens remain the document's.",
            ),
            GROUP => (
                "one_group",
                "volume",
                "Add volumes, or train fewer topics; names that only one volume has can be stop words.",
            ),
            language::COLUMN => (
                "one_language",
                "language",
                "Topics seldom cross languages: keep one by corpus.languages, or train on each alone.",
            ),
            other => (
                "one_value",
                other,
                "Read them as topics of these documents, not of the collection.",
            ),
        };
        let value: String = value.chars().take(VALUE_CHARS).collect();
        let example = format!(
            "{:.0} % of topic {topic} is of {value:?}, which has {:.1} % of all tokens",
            100.0 * share,
            100.0 * collection_share
        );
        let one = format!("topic is mostly of one {noun}: {example}");
        let many = format!("topics are mostly of one {noun} each: {example}");
        let topics: Vec<i32> = found.iter().map(|row| row.topic).collect();
        let text = counted(topics.len() as u64, &one, &many).unwrap_or_default();
        warnings.push(Warning { topics, ..Warning::new(kind, text, remedy) });
    }
    warnings
}

/// Whether a topic is of what a row is about alone, more than the collection is.
fn is_one(row: &TopicConcentrationRow) -> bool {
    let least = match &row.name[..] {
        DOCUMENT => ONE_DOCUMENT,
        language::COLUMN => ONE_LANGUAGE,
        GROUP => ONE_GROUP,
        _ => ONE_VALUE,
    };
    row.share >= least && row.collection_share < HALF
}

/// Returns the columns of which something has much of a topic, in the order in which topics are looked for in them. Where
/// no language has half of the collection, each topic is of one: languages are not among them.
fn concentrated_columns(topics: &[TopicLine]) -> Vec<&str> {
    let mut rows = topics.iter().flat_map(|topic| &topic.concentration);
    let mut names: Vec<&str> = rows.clone().map(|row| &row.name[..]).collect();
    let place = |name: &str| [DOCUMENT, language::COLUMN, GROUP].iter().position(|it| *it == name);
    // If there are any, documents were counted too.
    names.extend(names.first().map(|_| DOCUMENT));
    let is_main =
        |row: &TopicConcentrationRow| row.name == language::COLUMN && row.collection_share >= HALF;
    let has_main = rows.any(is_main);
    names.retain(|name| has_main || *name != language::COLUMN);
    names.sort_unstable_by_key(|&name| (place(name).unwrap_or(usize::MAX), name));
    names.dedup();
    names
}

/// Says what topics without a warning are not, as in "none dead, duplicate, junk or rubbish": what was looked at.
pub(crate) fn soundness(topics: &[TopicLine]) -> String {
    let mut kinds: Vec<String> = ["dead", "duplicate", "junk", "rubbish"].map(Into::into).into();
    let is_labelled = topics.iter().any(|topic| topic.label.is_some());
    let names = if is_labelled { Vec::new() } else { concentrated_columns(topics) };
    kinds.extend(names.into_iter().map(|name| match name {
        DOCUMENT => "of one document".to_owned(),
        GROUP => "of one volume".to_owned(),
        other => format!("of one {other}"),
    }));
    let last = kinds.pop().unwrap_or_default();
    format!("none {} or {last}", kinds.join(", "))
}

/// Returns the warning about a model that is trained on few long documents, given their number and their tokens.
pub(crate) fn of_size(documents: u64, tokens: u64) -> Option<Warning> {
    let is_small = documents < FEW_DOCUMENTS && tokens >= documents.max(1) * LONG_TOKENS;
    is_small.then(|| {
        let texts = counted(documents, "document is", "documents are").unwrap_or_default();
        let texts = texts.trim_end_matches('.');
        let text = format!(
            "Only {texts} trained on, and they are long: topics will be those of single documents."
        );
        let remedy = "Cut them into sections (corpus.section_words = 1000), or raise sample.fraction if it is below 1.";
        Warning::new("few_documents", text, remedy)
    })
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
        DocumentStatus::Ok
        | DocumentStatus::Filtered
        | DocumentStatus::Duplicate
        | DocumentStatus::Removed => return None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::labels::LabelRow;
    use crate::tables::topics::TopicRow;

    /// The column, the value, its share of a topic, and that of the collection.
    type Part = (&'static str, &'static str, f64, f64);

    /// Returns topics, each with what holds much of it.
    fn topics(parts: &[&[Part]]) -> Vec<TopicLine> {
        let topic = |(topic, parts): (i32, &&[Part])| TopicLine {
            row: TopicRow { topic, ..TopicRow::default() },
            concentration: parts
                .iter()
                .map(|&(name, value, share, collection_share)| TopicConcentrationRow {
                    topic,
                    name: name.to_owned(),
                    value: value.to_owned(),
                    documents: 1,
                    share,
                    collection_share,
                })
                .collect(),
            ..TopicLine::default()
        };
        (0..).zip(parts).map(topic).collect()
    }

    fn kinds(topics: &[TopicLine]) -> Vec<(&'static str, Vec<i32>)> {
        of_topics(topics).into_iter().map(|warning| (warning.kind, warning.topics)).collect()
    }

    #[test]
    fn a_topic_of_one_document_volume_or_value_is_named_once() {
        let found = topics(&[
            &[("group_id", "b", 0.97, 0.1), ("source_id", "x", 0.96, 0.02)],
            &[("author", "Verne", 0.99, 0.1), ("group_id", "b", 0.91, 0.1)],
            &[
                ("group_id", "c", 1.0, 0.2),
                ("language", "it", 0.94, 0.2),
                ("source_id", "x", 0.2, 0.02),
            ],
            &[("author", "Verne", 0.996, 0.1), ("year", "1870", 0.99, 0.6)],
            &[
                ("author", "Hugo", 0.98, 0.1),
                ("group_id", "b", 0.7, 0.1),
                ("language", "en", 1.0, 0.95),
            ],
            &[("source_id", "y", 0.51, 0.01)],
        ]);
        let expected = [
            ("one_document", vec![0, 5]),
            ("one_language", vec![2]),
            ("one_group", vec![1]),
            ("one_value", vec![3]),
        ];
        assert_eq!(kinds(&found), expected);
        let warnings = of_topics(&found);
        assert_eq!(
            warnings[0].text,
            "2 topics are mostly of one document each: 96 % of topic 0 is of \"x\", which has 2.0 % of all tokens."
        );
        assert!(warnings[3].text.starts_with("1 topic is mostly of one author: 100 %"));
    }

    #[test]
    fn topics_of_one_language_are_named_where_the_collection_has_a_main_one() {
        let of = |share| {
            kinds(&topics(&[&[("language", "de", 1.0, 0.4)], &[("language", "en", 1.0, share)]]))
        };
        assert_eq!((of(0.6), of(0.4)), (vec![("one_language", vec![0])], Vec::new()));
    }

    #[test]
    fn topics_that_are_dead_or_of_labels_are_not_said_to_be_of_one_document() {
        let mut found = topics(&[&[("source_id", "x", 1.0, 0.01)]]);
        found[0].row.dead = true;
        assert_eq!(kinds(&found), [("dead", vec![0])]);
        found[0].row.dead = false;
        found[0].row.top_terms = vec!["word".to_owned()];
        found[0].label = Some(LabelRow::default());
        assert!(kinds(&found).is_empty());
        assert_eq!(soundness(&found), "none dead, duplicate, junk or rubbish");
    }

    #[test]
    fn what_was_not_looked_at_is_not_said_to_be_sound() {
        let parts: &[_] = &[("year", "1", 0.2, 0.2)];
        assert_eq!(
            soundness(&topics(&[parts, parts])),
            "none dead, duplicate, junk, rubbish, of one document or of one year"
        );
    }

    #[test]
    fn most_terms_of_rubbish_are_no_words() {
        let mut found = topics(&[&[], &[]]);
        let terms = |terms: &str| terms.split(' ').map(str::to_owned).collect();
        found[0].row.top_terms = terms("max air b86 1d9l");
        found[1].row.top_terms = terms("hwnd wm_paint dword win32");
        assert!(kinds(&found).is_empty());
        found[0].row.top_terms = terms("max g9v 34u 1d9l");
        assert_eq!(kinds(&found), [("rubbish", vec![0])]);
    }

    #[test]
    fn few_documents_are_too_few_if_they_are_long() {
        let warning = of_size(289, 289 * 4000).expect("few and long");
        assert!(warning.text.starts_with("Only 289 documents are trained on, "), "{warning:?}");
        assert!(of_size(289, 289 * 100).is_none() && of_size(5230, 1 << 30).is_none());
        assert!(of_size(0, 0).is_none());
    }
}
