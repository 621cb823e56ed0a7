//! The documents of each topic. Of the tables with a part for each shard of the collection, only parts with such a
//! document are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::bounds::{Bounds, DOCUMENT_TOPICS, ID_CHARS, NAME_CHARS, clip};
use super::data::PageDocuments;
use crate::failure::Failure;
use crate::tables::output::{Output, is_gone, part_name};
use crate::tables::parts::visit_pieces;
use crate::tables::predictions::PredictionRow;
use crate::tables::projected::{ProjectedDocument, ProjectedReader};
use crate::tables::records::{Records, records};
use crate::tables::topic_documents::TopicDocumentRow;
use corpus::collection::Collection;
use corpus::dates::day_of;
use corpus::labels::split;

/// The documents in which topics are largest.
pub(super) struct Best {
    lines: Vec<TopicDocumentRow>,
    /// Document → its place among the shown ones.
    places: BTreeMap<i64, u32>,
}

/// The documents that are shown.
pub(super) struct Shown {
    /// The table of them.
    pub(crate) shown: PageDocuments,
    /// For each topic, document (its place there) and share in thousandths, alternating.
    pub(crate) of_topics: Vec<Vec<u32>>,
}

/// What a part has about a shown document.
enum OfDocument {
    /// Its topics and values.
    Inferred(Vec<u32>, Vec<Option<String>>),
    /// The topic of a label that it is predicted to have.
    Predicted(i32),
}

impl Best {
    /// Reads them; none if nothing was projected, or if no documents are listed per topic.
    pub(crate) fn read(root: &Path, bounds: &Bounds) -> Result<Self, Failure> {
        let is_shown = |row: &TopicDocumentRow| row.rank as usize <= bounds.documents;
        let lines = records(root)?.only(is_shown)?;
        let mut numbers: Vec<i64> = lines.iter().map(|line| line.doc_id).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let places = numbers.into_iter().zip(0..).collect();
        Ok(Self { lines, places })
    }

    /// Returns the shown documents, with their values of `columns` of `documents`.
    pub(crate) fn shown(
        &self,
        output: &Output,
        collection: &Collection,
        topics: usize,
        columns: &[String],
        threads: usize,
    ) -> Result<Shown, Failure> {
        let mut shown = self.listed(topics, columns);
        if !collection.labels.is_empty() {
            shown.shown.predicted = vec![Vec::new(); self.places.len()];
        }
        let mut parts = Vec::new();
        for (number, shard) in collection.shards.iter().enumerate() {
            let first = shard.first_document as i64;
            let end = first + shard.documents as i64;
            if self.places.range(first..end).next().is_some() {
                parts.push(Part::fetch(output, number, !collection.labels.is_empty())?);
            }
        }
        let table = &mut shown.shown;
        for found in visit_pieces(threads, &parts, |part| part.read(self, columns))? {
            for (place, found) in found {
                let place = place as usize;
                match found {
                    OfDocument::Predicted(topic) => table.predicted[place].push(topic),
                    OfDocument::Inferred(topics, values) => {
                        table.topics[place] = topics;
                        for (column, value) in table.values.iter_mut().zip(values) {
                            column[place] = value;
                        }
                    }
                }
            }
        }
        Ok(shown)
    }

    /// Returns the shown documents with what `topic_documents` has about them.
    fn listed(&self, topics: usize, columns: &[String]) -> Shown {
        let mut ids = vec![String::new(); self.places.len()];
        let mut of_topics = vec![Vec::new(); topics];
        for line in &self.lines {
            let place = self.places[&line.doc_id];
            ids[place as usize] = clip(&line.source_id, ID_CHARS);
            if let Some(documents) = of_topics.get_mut(line.topic as usize) {
                documents.extend([place, thousandths(line.weight)]);
            }
        }
        Shown {
            shown: PageDocuments {
                numbers: self.places.keys().copied().collect(),
                values: vec![vec![None; ids.len()]; columns.len()],
                topics: vec![Vec::new(); ids.len()],
                predicted: Vec::new(),
                ids,
                columns: columns.iter().map(|name| clip(name, NAME_CHARS)).collect(),
            },
            of_topics,
        }
    }
}

/// The parts of `documents`, `document_topics` and, with labels, `predictions` about a shard of the collection.
struct Part {
    documents: PathBuf,
    topics: PathBuf,
    predictions: Option<PathBuf>,
}

impl Part {
    /// Finds them; of an output in an object store, fetches copies.
    fn fetch(output: &Output, shard: usize, has_labels: bool) -> Result<Self, Failure> {
        let part = |table: &str| {
            let name = format!("{table}/{}", part_name(shard as u64));
            if output.is_published(&name)? {
                output.local(&name)
            } else {
                Err(is_gone(&output.path(&name)))
            }
        };
        Ok(Self {
            documents: part("documents")?,
            topics: part("document_topics")?,
            predictions: has_labels.then(|| part("predictions")).transpose()?,
        })
    }

    /// Returns what they have about shown documents, by the documents' places.
    fn read(&self, best: &Best, columns: &[String]) -> Result<Vec<(u32, OfDocument)>, Failure> {
        let mut found = Vec::new();
        let [documents, topics] = [&self.documents, &self.topics].map(|path| vec![path.clone()]);
        let mut reader = ProjectedReader::new(documents, topics, columns);
        let mut document = ProjectedDocument::default();
        while reader.read_into(&mut document)? {
            let Some(&place) = best.places.get(&document.document.doc_id) else { continue };
            let first = document.topics.iter().take(DOCUMENT_TOPICS);
            let topics = first.flat_map(|&(topic, weight)| [topic as u32, thousandths(weight)]);
            let values = document.values.iter().map(|cell| shown_value(cell.as_deref()?));
            found.push((place, OfDocument::Inferred(topics.collect(), values.collect())));
        }
        for line in Records::<PredictionRow>::of(self.predictions.iter().cloned().collect(), &[]) {
            let line = line?;
            if let Some(&place) = best.places.get(&line.doc_id).filter(|_| line.predicted) {
                found.push((place, OfDocument::Predicted(line.topic)));
            }
        }
        Ok(found)
    }
}

fn thousandths(weight: f32) -> u32 {
    (f64::from(weight) * 1000.0).round() as u32
}

/// Returns a cell as it is shown: the distinct elements of a JSON list, or the cell itself; of a moment, its day.
fn shown_value(cell: &str) -> Option<String> {
    let values = split(cell.trim(), "").into_iter();
    let mut values: Vec<String> = values.map(|value| day_of(&value).into_owned()).collect();
    values.sort_unstable();
    values.dedup();
    let text = values.join(", ");
    (!text.is_empty()).then(|| clip(&text, NAME_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_lists_days_or_texts() {
        let shown = |cell: &str| shown_value(cell).unwrap_or_default();
        assert_eq!(shown(r#"["b", "a"]"#), "a, b");
        assert_eq!(shown("[1998, null, 1999, 1998]"), "1998, 1999");
        assert_eq!(shown(r#"["2021-03-04T05:06:07Z", "2021-03-04T09:00:00Z"]"#), "2021-03-04");
        assert_eq!(shown("[not json"), "[not json");
        assert_eq!(shown("2021-03-04T05:06:07Z"), "2021-03-04");
        assert_eq!(shown("July 4, 2021"), "2021-07-04");
        assert_eq!(shown("7/4/2021 5:06"), "7/4/2021");
        assert_eq!(shown(" x "), "x");
        assert_eq!(shown(&"ä".repeat(90)).chars().count(), NAME_CHARS);
        assert_eq!(["", "[]"].map(shown_value), [None, None]);
    }
}
