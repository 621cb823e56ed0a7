//! The labels of documents: read from one of the metadata columns, and numbered over the collection.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::settings::{CorpusSettings, LabelSettings};
use lda::model::MAX_TOPICS;

/// A label of the collection. Its number, and that of its topic, is its position in the list, which is sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The label.
    pub label: String,
    /// Documents that have it.
    pub documents: u64,
}

/// The number of documents that have each label.
#[derive(Clone, Debug, Default)]
pub struct LabelCounter(BTreeMap<String, u64>);

impl LabelCounter {
    /// Counts a document with this value in the labels' column.
    pub fn add(&mut self, value: &str, settings: &LabelSettings) {
        for label in split(value, &settings.separator) {
            match self.0.get_mut(&*label) {
                Some(documents) => *documents += 1,
                None => _ = self.0.insert(label.into_owned(), 1),
            }
        }
    }

    /// Encodes the counts for another worker.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("texts and numbers are JSON")
    }

    /// Returns the labels that enough documents have, given the counts of all workers, as returned by
    /// [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Fails if there is no such label, or more labels than a model can have topics; the text says what to do.
    pub fn finish(counted: &[Vec<u8>], settings: &LabelSettings) -> Result<Vec<Label>, String> {
        let mut all = BTreeMap::new();
        for bytes in counted {
            let one: BTreeMap<String, u64> = serde_json::from_slice(bytes).unwrap_or_default();
            for (label, documents) in one {
                *all.entry(label).or_insert(0) += documents;
            }
        }
        let (found, least) = (all.len(), settings.min_documents);
        let kept = all.into_iter().filter(|&(_, documents)| documents >= least);
        let labels: Vec<Label> =
            kept.map(|(label, documents)| Label { label, documents }).collect();
        match labels.len() {
            0 if found == 0 => Err(format!(
                "no document has a label: check corpus.labels (is {:?} the right key or column?)",
                settings.column
            )),
            0 => Err(format!(
                "none of the {found} labels has {least} documents: lower corpus.label_min_documents"
            )),
            1..=MAX_TOPICS => Ok(labels),
            count => Err(format!(
                "{count} labels are more than the {MAX_TOPICS} topics that a model can have: raise \
                 corpus.label_min_documents, or check corpus.label_separator"
            )),
        }
    }
}

/// A reader of documents' labels.
#[derive(Clone, Debug)]
pub struct LabelReader {
    /// The index of the labels' column in `corpus.metadata`.
    pub column: usize,
    separator: String,
    numbers: HashMap<String, u16>,
}

impl LabelReader {
    /// Creates a reader for a collection with these labels; `None` if the job has none.
    pub fn new(settings: &CorpusSettings, labels: &[Label]) -> Option<Self> {
        let (labelled, column) = settings.labels()?;
        let names = labels.iter().map(|label| label.label.clone());
        Some(Self {
            column,
            separator: labelled.separator.clone(),
            numbers: names.zip(0..).collect(),
        })
    }

    /// Writes the labels of a document with this metadata to `labels`, ascending. Labels that the collection has
    /// dropped are left out.
    pub fn read(&self, metadata: &[Option<String>], labels: &mut Vec<u16>) {
        labels.clear();
        if let Some(Some(value)) = metadata.get(self.column) {
            let known = split(value, &self.separator).into_iter();
            labels.extend(known.filter_map(|label| self.numbers.get(&*label)));
        }
        labels.sort_unstable();
    }
}

/// Returns the first labels that differ only by case.
pub fn differing_by_case(labels: &[Label]) -> Option<[&str; 2]> {
    let mut seen = HashMap::new();
    labels.iter().find_map(|Label { label, .. }| {
        let other: Option<&String> = seen.insert(label.to_lowercase(), label);
        other.map(|other| [other.as_str(), label])
    })
}

/// Returns the distinct labels of a value: the elements of a JSON list, else the parts between separators, without
/// spaces around them.
pub fn split<'v>(value: &'v str, separator: &str) -> Vec<Cow<'v, str>> {
    let list: Option<Vec<serde_json::Value>> =
        if value.starts_with('[') { serde_json::from_str(value).ok() } else { None };
    let mut labels: Vec<Cow<'v, str>> = match list {
        Some(list) => list
            .into_iter()
            .filter_map(|element| match element {
                serde_json::Value::Null => None,
                serde_json::Value::String(text) => Some(Cow::Owned(text.trim().to_owned())),
                other => Some(Cow::Owned(other.to_string())),
            })
            .collect(),
        None if separator.is_empty() => vec![Cow::Borrowed(value.trim())],
        None => value.split(separator).map(|part| Cow::Borrowed(part.trim())).collect(),
    };
    labels.retain(|label| !label.is_empty());
    labels.sort_unstable();
    labels.dedup();
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(min_documents: u64) -> LabelSettings {
        LabelSettings { column: "tags".to_owned(), separator: ";".to_owned(), min_documents }
    }

    #[test]
    fn lists_and_separated_texts_are_the_same_labels() {
        for value in ["[\"b\", \"a c\", \"b\", null, \"\"]", " b; a c ;;b", "a c;b"] {
            assert_eq!(split(value, ";"), ["a c", "b"], "{value}");
        }
        assert_eq!(split("[1, 2.5]", ";"), ["1", "2.5"]);
        assert_eq!(split("[not JSON; x", ";"), ["[not JSON", "x"]);
        assert_eq!(split("a; b", ""), ["a; b"]);
        assert!(split("", ";").is_empty());
    }

    #[test]
    fn labels_are_numbered_by_name_over_all_workers() {
        let mut counters = [LabelCounter::default(), LabelCounter::default()];
        for (place, value) in ["b;c", "c", "a;c", "b"].into_iter().enumerate() {
            counters[place % 2].add(value, &settings(1));
        }
        let counted = counters.each_ref().map(LabelCounter::to_bytes);
        let finish = |least| LabelCounter::finish(&counted, &settings(least));
        let label = |label: &str, documents| Label { label: label.to_owned(), documents };
        let all = [label("a", 1), label("b", 2), label("c", 3)];
        assert_eq!(finish(1).unwrap(), all);
        assert_eq!(finish(2).unwrap(), all[1..]);
        assert!(finish(4).unwrap_err().contains("lower corpus.label_min_documents"));
        let none = LabelCounter::finish(&[], &settings(1)).unwrap_err();
        assert!(none.contains("\"tags\""), "{none}");
    }

    #[test]
    fn a_document_has_the_labels_that_the_collection_knows() {
        let mut corpus = crate::formats::tests::settings("/".as_ref());
        corpus.metadata = vec!["year".to_owned(), "tags".to_owned()];
        assert!(LabelReader::new(&corpus, &[]).is_none());
        corpus.labels = Some(settings(1));
        let label = |label: &str| Label { label: label.to_owned(), documents: 1 };
        let reader = LabelReader::new(&corpus, &[label("a"), label("b"), label("d")]).unwrap();
        let mut labels = vec![7];
        for (value, expected) in [(Some("d;c;a"), &[0, 2][..]), (Some("c"), &[]), (None, &[])] {
            let metadata = [Some("a".to_owned()), value.map(str::to_owned)];
            reader.read(&metadata, &mut labels);
            assert_eq!(labels, expected);
        }
    }
}
