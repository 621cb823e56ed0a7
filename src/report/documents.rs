//! The documents of each topic. Of the tables of documents, only parts with such a document are read, and only their rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Column;
use super::bounds::{Bounds, DOCUMENT_TOPICS, ID_CHARS, NAME_CHARS, clip, clip_middle};
use super::data::PageDocuments;
use crate::failure::Failure;
use crate::tables::document_topics::DocumentTopicRow;
use crate::tables::documents::DocumentId;
use crate::tables::output::{Output, is_gone, part_name};
use crate::tables::parts::visit_pieces;
use crate::tables::predictions::PredictionRow;
use crate::tables::records::{Records, records};
use crate::tables::topic_documents::TopicDocumentRow;
use corpus::collection::Collection;
use corpus::dates::day_of;
use corpus::labels::split;

/// What the tables have about a document.
#[derive(Default)]
struct ShownDocument {
    topics: Vec<u32>,
    values: Vec<Option<String>>,
    /// The topics of the labels that it is predicted to have.
    predicted: Vec<i32>,
}

/// Returns the documents in which topics are largest, with their values of `columns` of `documents`; and for each topic,
/// document (its place among them) and share in thousandths, alternating. None if nothing was projected, or if no
/// documents are listed per topic. `parts` are the numbers of documents in the parts of `documents`.
pub(super) fn documents(
    (output, parts): (&Output, &[u64]),
    collection: &Collection,
    topics: usize,
    columns: &[Column],
    bounds: &Bounds,
    threads: usize,
) -> Result<(PageDocuments, Vec<Vec<u32>>), Failure> {
    let is_shown = |row: &TopicDocumentRow| row.rank as usize <= bounds.documents;
    let lines = records(output.local_root(&[])?)?.only(is_shown)?;
    let ids: BTreeMap<i64, &str> =
        lines.iter().map(|line| (line.doc_id, &line.source_id[..])).collect();
    let front = common_folders(ids.values().copied());
    let places: BTreeMap<i64, u32> = ids.keys().copied().zip(0..).collect();
    let mut of_topics = vec![Vec::new(); topics];
    for line in &lines {
        if let Some(documents) = of_topics.get_mut(line.topic as usize) {
            documents.extend([places[&line.doc_id], thousandths(line.weight)]);
        }
    }
    let has_labels = !collection.labels.is_empty();
    let tables = ["documents", "document_topics", "predictions"];
    let tables = if has_labels { &tables[..] } else { &tables[..2] };
    let (mut pieces, mut first) = (Vec::new(), 0);
    for (number, &documents) in parts.iter().enumerate() {
        let after = first + documents as i64;
        let wanted: Arc<[i64]> = places.range(first..after).map(|(&id, _)| id).collect();
        if !wanted.is_empty() {
            let of_part = tables.iter().map(|table| fetch(output, table, number));
            pieces.push((of_part.collect::<Result<Vec<_>, _>>()?, wanted));
        }
        first = after;
    }
    let mut shown = PageDocuments {
        numbers: ids.keys().copied().collect(),
        texts: vec![Vec::new(); columns.len()],
        values: vec![vec![None; ids.len()]; columns.len()],
        topics: vec![Vec::new(); ids.len()],
        predicted: vec![Vec::new(); if has_labels { ids.len() } else { 0 }],
        front: front.to_owned(),
        ids: ids.values().map(|id| clip_middle(&id[front.len()..], ID_CHARS)).collect(),
        columns: columns.iter().map(|column| clip(&column.input, NAME_CHARS)).collect(),
    };
    let columns: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let read = |(parts, wanted): &(Vec<_>, _)| read(parts, wanted, &places, &columns);
    let read = visit_pieces(threads, &pieces, read)?;
    let mut known = vec![BTreeMap::new(); columns.len()];
    for (place, document) in read.into_iter().flatten() {
        let place = place as usize;
        shown.topics[place] = document.topics;
        for (column, value) in document.values.into_iter().enumerate() {
            shown.values[column][place] = value.map(|text| {
                let texts = &mut shown.texts[column];
                *known[column].entry(text).or_insert_with_key(|text: &String| {
                    texts.push(text.clone());
                    texts.len() as u32 - 1
                })
            });
        }
        if has_labels {
            shown.predicted[place] = document.predicted;
        }
    }
    Ok((shown, of_topics))
}

/// Finds a part of a table; of an output in an object store, fetches a copy.
fn fetch(output: &Output, table: &str, number: usize) -> Result<PathBuf, Failure> {
    let name = format!("{table}/{}", part_name(number as u64));
    if output.is_published(&name)? {
        output.local(&name)
    } else {
        Err(is_gone(&output.path(&name)))
    }
}

/// Returns what these parts of `documents`, `document_topics` and, with labels, `predictions` have about the wanted
/// documents, by their places.
fn read(
    parts: &[PathBuf],
    wanted: &Arc<[i64]>,
    places: &BTreeMap<i64, u32>,
    columns: &[String],
) -> Result<BTreeMap<u32, ShownDocument>, Failure> {
    let mut shown: BTreeMap<u32, ShownDocument> = BTreeMap::new();
    let mut rows = Records::<DocumentId>::of(parts[..1].to_vec(), columns).of_documents(wanted);
    while let Some(row) = rows.next().transpose()? {
        if let Some(&place) = places.get(&row.doc_id) {
            let texts = rows.texts();
            let values = texts.iter().map(|cell| shown_value(cell.as_deref()?)).collect();
            shown.insert(place, ShownDocument { values, ..ShownDocument::default() });
        }
    }
    for row in Records::<DocumentTopicRow>::of(parts[1..2].to_vec(), &[]).of_documents(wanted) {
        let row = row?;
        let document = places.get(&row.doc_id).and_then(|place| shown.get_mut(place));
        if let Some(document) = document.filter(|_| row.rank as usize <= DOCUMENT_TOPICS) {
            document.topics.extend([row.topic as u32, thousandths(row.weight)]);
        }
    }
    for row in Records::<PredictionRow>::of(parts[2..].to_vec(), &[]).of_documents(wanted) {
        let row = row?;
        let document = places.get(&row.doc_id).and_then(|place| shown.get_mut(place));
        if let Some(document) = document.filter(|_| row.predicted) {
            document.predicted.push(row.topic);
        }
    }
    Ok(shown)
}

/// Returns the folders that all these paths begin with, with the last separator; none of a single path.
fn common_folders<'p>(mut paths: impl Iterator<Item = &'p str>) -> &'p str {
    let (first, mut shared) = match (paths.next(), paths.next()) {
        (Some(first), Some(second)) => (first, shared_bytes(first, second)),
        _ => return "",
    };
    for path in paths {
        shared = shared.min(shared_bytes(first, path));
    }
    let is_last = |byte: &u8| matches!(byte, b'/' | b'\\');
    let folders = first.as_bytes()[..shared].iter().rposition(is_last);
    folders.map_or("", |last| &first[..=last])
}

fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
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
    fn the_folders_of_all_ids_are_left_out() {
        let of = |paths: &[&'static str]| common_folders(paths.iter().copied());
        assert_eq!(of(&["a/b/c1", "a/b/c2", "a/b/d/e"]), "a/b/");
        assert_eq!(of(&["C:\\texts\\x", "C:\\texts\\y"]), "C:\\texts\\");
        assert_eq!(
            (of(&["ä/x", "ö/x"]), of(&["a1", "a2"]), of(&["a/b"]), of(&[])),
            ("", "", "", "")
        );
    }

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
