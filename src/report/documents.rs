//! The documents of each topic and of each value of a trend. Of the tables of documents, only parts with such a document
//! are read, and only their rows; and of `documents`, to find those of values, columns of a limited number of parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::Column;
use super::bounds::{
    Bounds, DOCUMENT_TOPICS, ID_CHARS, NAME_CHARS, VALUE_DOCUMENTS, VALUE_PARTS, clip, clip_middle,
};
use super::data::{PageDocuments, Trend};
use crate::failure::Failure;
use crate::tables::document_topics::DocumentTopicRow;
use crate::tables::documents::{DocumentKey, DocumentTokens};
use crate::tables::output::{Output, is_gone, part_name};
use crate::tables::parts::visit_pieces;
use crate::tables::predictions::PredictionRow;
use crate::tables::records::{Records, records};
use crate::tables::topic_documents::TopicDocumentRow;
use corpus::collection::Collection;
use corpus::dates::day_of;
use corpus::labels::split;
use corpus::memo::Memo;

/// What the tables have about a document.
#[derive(Default)]
struct ShownDocument {
    id: String,
    topics: Vec<u32>,
    values: Vec<Option<String>>,
    /// The topics of the labels that it is predicted to have.
    predicted: Vec<i32>,
}

/// Returns the documents in which topics are largest and others that have the values of the trends, with their values of
/// `columns` of `documents`; and for each topic, document (its place among them) and share in thousandths, alternating.
/// None if nothing was projected, or if no documents are listed per topic. `parts` are the numbers of documents in the
/// parts of `documents`.
pub(super) fn documents(
    (output, parts): (&Output, &[u64]),
    collection: &Collection,
    topics: usize,
    (columns, trends): (&[Column], &[Trend]),
    bounds: &Bounds,
    threads: usize,
) -> Result<(PageDocuments, Vec<Vec<u32>>), Failure> {
    let is_shown = |row: &TopicDocumentRow| row.rank as usize <= bounds.documents;
    let lines = records(output.local_root(&[])?)?.only(is_shown)?;
    let mut numbers: BTreeSet<i64> = lines.iter().map(|line| line.doc_id).collect();
    if !lines.is_empty() {
        let of_values = of_values((output, parts), columns, trends, threads)?;
        add_in_turn(&mut numbers, &of_values, bounds.value_documents);
    }
    let places: BTreeMap<i64, u32> = numbers.iter().copied().zip(0..).collect();
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
        texts: vec![Vec::new(); columns.len()],
        values: vec![vec![None; numbers.len()]; columns.len()],
        topics: vec![Vec::new(); numbers.len()],
        predicted: vec![Vec::new(); if has_labels { numbers.len() } else { 0 }],
        ids: vec![String::new(); numbers.len()],
        front: String::new(),
        numbers: numbers.into_iter().collect(),
        columns: columns.iter().map(|column| clip(&column.input, NAME_CHARS)).collect(),
    };
    let columns: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let read = |(parts, wanted): &(Vec<_>, _)| read(parts, wanted, &places, &columns);
    let read = visit_pieces(threads, &pieces, read)?;
    let mut known = vec![BTreeMap::new(); columns.len()];
    for (place, document) in read.into_iter().flatten() {
        let place = place as usize;
        shown.ids[place] = document.id;
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
    shown.front = common_folders(shown.ids.iter().map(String::as_str)).to_owned();
    let rest = |id: &String| clip_middle(&id[shown.front.len()..], ID_CHARS);
    shown.ids = shown.ids.iter().map(rest).collect();
    Ok((shown, of_topics))
}

/// Returns, for each value of the trends, documents with it and with tokens, at most [`VALUE_DOCUMENTS`], from the whole
/// collection: those whose scattered numbers are the smallest.
fn of_values(
    (output, parts): (&Output, &[u64]),
    columns: &[Column],
    trends: &[Trend],
    threads: usize,
) -> Result<Vec<Vec<i64>>, Failure> {
    let column = |trend: &Trend| columns.iter().find(|column| column.input == trend.name);
    let named = trends.iter().filter_map(|trend| Some((column(trend)?.name.clone(), trend)));
    let (names, trends): (Vec<String>, Vec<&Trend>) = named.unzip();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let step = parts.len().div_ceil(VALUE_PARTS).max(1);
    let pieces = (0..parts.len()).step_by(step).map(|part| fetch(output, "documents", part));
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    let empty: Vec<Vec<BTreeMap<u64, i64>>> =
        trends.iter().map(|trend| vec![BTreeMap::new(); trend.values.len()]).collect();
    let keep = |kept: &mut BTreeMap<u64, i64>, document: i64| {
        kept.insert(scattered(document), document);
        if kept.len() > VALUE_DOCUMENTS {
            kept.pop_last();
        }
    };
    let found = visit_pieces(threads, &pieces, |part| {
        let mut found = empty.clone();
        let mut memos = vec![Memo::default(); trends.len()];
        let mut rows = Records::<DocumentTokens>::of(vec![part.clone()], &names);
        while let Some(row) = rows.next().transpose()? {
            let texts = if row.tokens_in_vocabulary > 0 { rows.texts() } else { Vec::new() };
            for (column, cell) in texts.into_iter().enumerate() {
                let places = |cell: &str| {
                    let text = shown_value(cell);
                    text.map_or(Vec::new(), |text| trends[column].places_of(&text))
                };
                for &place in memos[column].get(cell.as_deref().unwrap_or(""), places) {
                    keep(&mut found[column][place], row.doc_id);
                }
            }
        }
        Ok(found)
    })?;
    let mut merged = empty.concat();
    for (all, of_part) in found.iter().flat_map(|of_part| of_part.iter().flatten().enumerate()) {
        of_part.values().for_each(|&document| keep(&mut merged[all], document));
    }
    Ok(merged.into_iter().map(|of_value| of_value.into_values().collect()).collect())
}

/// Returns a number in an order in which neighbours are far from each other.
fn scattered(document: i64) -> u64 {
    document.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Adds one document of each value in turn, until there are `most` more.
fn add_in_turn(documents: &mut BTreeSet<i64>, of_values: &[Vec<i64>], most: usize) {
    let most = documents.len() + most;
    for turn in 0..VALUE_DOCUMENTS {
        for &document in of_values.iter().filter_map(|of_value| of_value.get(turn)) {
            if documents.len() < most {
                documents.insert(document);
            }
        }
    }
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
    let mut rows = Records::<DocumentKey>::of(parts[..1].to_vec(), columns).of_documents(wanted);
    while let Some(row) = rows.next().transpose()? {
        if let Some(&place) = places.get(&row.doc_id) {
            let texts = rows.texts();
            let values = texts.iter().map(|cell| shown_value(cell.as_deref()?)).collect();
            let id = row.source_id;
            shown.insert(place, ShownDocument { id, values, ..ShownDocument::default() });
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
    fn values_get_documents_in_turn_from_the_whole_collection() {
        let mut documents = BTreeSet::from([3]);
        add_in_turn(&mut documents, &[vec![3, 4, 5], vec![], vec![9, 4, 8, 7]], 3);
        assert_eq!(documents, BTreeSet::from([3, 4, 5, 9]));
        let mut order: Vec<i64> = (0..1000).collect();
        order.sort_by_key(|&document| scattered(document));
        order.truncate(10);
        order.sort_unstable();
        assert!(order.windows(2).all(|pair| (40..200).contains(&(pair[1] - pair[0]))), "{order:?}");
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
