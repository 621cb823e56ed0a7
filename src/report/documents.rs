//! The documents of each topic, and the pass over all documents that collects what is shown of them and adds up
//! the trends.

use std::collections::BTreeMap;
use std::path::Path;

use super::bounds::{Bounds, DOCUMENT_TOPICS, ID_CHARS, NAME_CHARS, clip};
use super::data::{Documents, Trend};
use super::trends::{Columns, LeftOut, Sums, values};
use crate::failure::Failure;
use crate::tables::parts::visit_pieces;
use crate::tables::projected::{Piece, ProjectedDocument, ProjectedReader};
use crate::tables::read::{TopicDocumentLine, predictions, topic_documents};
use corpus::sample::Split;

/// The documents in which topics are largest.
pub(super) struct Best {
    lines: Vec<TopicDocumentLine>,
    /// Document → its place among the shown ones.
    places: BTreeMap<i64, u32>,
}

/// The documents that are shown.
pub(super) struct Shown {
    /// The table of them.
    pub(crate) shown: Documents,
    /// For each topic, document (its place there) and share in thousandths, alternating.
    pub(crate) of_topics: Vec<Vec<u32>>,
    /// Whether there are documents beyond the sample.
    pub(crate) has_projected: bool,
}

impl Best {
    /// Reads them; none if nothing was projected, or if no documents are listed per topic.
    pub(crate) fn read(root: &Path, bounds: &Bounds) -> Result<Self, Failure> {
        let lines = topic_documents(root, bounds.documents)?;
        let mut numbers: Vec<i64> = lines.iter().map(|line| line.doc_id).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let places = numbers.into_iter().zip(0..).collect();
        Ok(Self { lines, places })
    }

    /// Returns the shown documents, before the pass fills them in.
    fn shown(&self, topics: usize, columns: &[String]) -> Shown {
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
            shown: Documents {
                numbers: self.places.keys().copied().collect(),
                values: vec![vec![None; ids.len()]; columns.len()],
                topics: vec![Vec::new(); ids.len()],
                predicted: Vec::new(),
                ids,
                columns: columns.iter().map(|name| clip(name, NAME_CHARS)).collect(),
            },
            of_topics,
            has_projected: false,
        }
    }

    /// Returns the topics of each document's predicted labels; none if topics are not labels.
    fn predicted(&self, root: &Path) -> Result<Vec<Vec<i32>>, Failure> {
        let lines = predictions(root, &self.places.keys().copied().collect())?;
        let mut predicted = match lines.is_empty() {
            true => Vec::new(),
            false => vec![Vec::new(); self.places.len()],
        };
        for line in lines.iter().filter(|line| line.predicted) {
            predicted[self.places[&line.doc_id] as usize].push(line.topic);
        }
        Ok(predicted)
    }
}

/// What a thread has found in its documents.
struct Found {
    sums: Sums,
    /// For each shown document, its place, topics and values.
    shown: Vec<(u32, Vec<u32>, Vec<Option<String>>)>,
    has_projected: bool,
}

impl Found {
    fn read(&mut self, document: &ProjectedDocument, columns: &Columns, best: &Best) {
        self.sums.add(columns, document);
        let is_projected = document.split == Some(Split::Projected) && !document.topics.is_empty();
        self.has_projected |= is_projected;
        let Some(&place) = best.places.get(&document.doc_id) else {
            return;
        };
        let first = document.topics.iter().take(DOCUMENT_TOPICS);
        let topics = first.flat_map(|&(topic, weight)| [topic as u32, thousandths(weight)]);
        let values = document.values.iter().map(|value| {
            let texts = values(value.as_deref().unwrap_or_default()).join(", ");
            (!texts.is_empty()).then(|| clip(&texts, NAME_CHARS))
        });
        self.shown.push((place, topics.collect(), values.collect()));
    }
}

/// Reads every document with its topics once; there are no trends if nothing was projected.
pub(super) fn pass(
    root: &Path,
    topics: usize,
    columns: Columns,
    best: &Best,
    threads: usize,
    seen: impl FnMut(u64),
) -> Result<(Vec<Trend>, Vec<LeftOut>, Shown), Failure> {
    let mut shown = best.shown(topics, columns.names());
    shown.shown.predicted = best.predicted(root)?;
    if !ProjectedReader::is_projected(root)? {
        return Ok((Vec::new(), Vec::new(), shown));
    }
    let nothing = || Found { sums: columns.sums(topics), shown: Vec::new(), has_projected: false };
    let read = |found: &mut Found, piece: &Piece| {
        let mut reader = ProjectedReader::of_piece(piece, columns.names());
        let mut document = ProjectedDocument::default();
        let mut documents = 0;
        while reader.read_into(&mut document)? {
            found.read(&document, &columns, best);
            documents += 1;
        }
        Ok(documents)
    };
    let mut sums = columns.sums(topics);
    for found in visit_pieces(threads, &Piece::all(root)?, nothing, read, seen)? {
        sums.merge(found.sums);
        shown.has_projected |= found.has_projected;
        for (place, topics, values) in found.shown {
            shown.shown.topics[place as usize] = topics;
            for (column, value) in shown.shown.values.iter_mut().zip(values) {
                column[place as usize] = value;
            }
        }
    }
    let (trends, left_out) = columns.trends(sums);
    Ok((trends, left_out, shown))
}

fn thousandths(weight: f32) -> u32 {
    (f64::from(weight) * 1000.0).round() as u32
}
