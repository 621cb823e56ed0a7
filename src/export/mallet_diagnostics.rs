//! MALLET's topic diagnostics in XML, with the attributes, order and digits of `TopicModelDiagnostics.toXML`. The
//! figures are those of the tables `topics` and `topic_term_diagnostics`; a missing figure is NaN, as in MALLET.

use std::io::{self, Write};

use super::{Sink, Source};
use crate::failure::Failure;
use crate::tables::columns::{Row, for_each_row};

/// The columns of `topics`, and the topic attributes that they become.
const TOPIC_COLUMNS: [&str; 12] = [
    "tokens",
    "document_entropy",
    "word_length",
    "coherence_umass",
    "uniform_distance",
    "corpus_distance",
    "effective_terms",
    "token_document_difference",
    "rank1_share",
    "allocation_ratio",
    "allocation_count",
    "exclusivity",
];
const TOPIC_ATTRIBUTES: [&str; 12] = [
    "tokens",
    "document_entropy",
    "word-length",
    "coherence",
    "uniform_dist",
    "corpus_dist",
    "eff_num_words",
    "token-doc-diff",
    "rank_1_docs",
    "allocation_ratio",
    "allocation_count",
    "exclusivity",
];

/// The columns of `topic_term_diagnostics`: the word's own, and from the eighth on its attributes.
const WORD_COLUMNS: [&str; 13] = [
    "topic",
    "term",
    "rank",
    "count",
    "weight",
    "cumulative",
    "documents",
    "word_length",
    "coherence",
    "uniform_distance",
    "corpus_distance",
    "token_document_difference",
    "exclusivity",
];
const WORD_ATTRIBUTES: [&str; 6] = [
    "word-length",
    "coherence",
    "uniform_dist",
    "corpus_dist",
    "token-doc-diff",
    "exclusivity",
];
const DOCUMENTS: usize = 6;

pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), Failure> {
    sink.check(&[])?;
    let words = words(source)?;
    let topics = source.require("topics")?;
    sink.file(|out| {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model>")?;
        let mut number = 0;
        for_each_row(topics.path(), &TOPIC_COLUMNS, |topic| {
            write!(out, "<topic id='{number}'")?;
            attributes(out, &TOPIC_ATTRIBUTES, |place| figure(&topic, place))?;
            writeln!(out, ">")?;
            out.write_all(words.get(number).map_or(b"", Vec::as_slice))?;
            writeln!(out, "</topic>")?;
            number += 1;
            Ok::<(), Failure>(())
        })?;
        Ok(writeln!(out, "</model>")?)
    })
}

/// Returns the lines of each topic's words. Words whose documents were not counted are left out: MALLET lists
/// only as many as it counts.
fn words(source: &Source) -> Result<Vec<Vec<u8>>, Failure> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let table = source.require("topic_term_diagnostics")?;
    for_each_row(table.path(), &WORD_COLUMNS, |word| {
        let Some(documents) = word.number(DOCUMENTS) else {
            return Ok(());
        };
        let topic = figure(&word, 0) as usize;
        if topic >= words.len() {
            words.resize(topic + 1, Vec::new());
        }
        let [rank, count, weight, cumulative] = [2, 3, 4, 5].map(|column| figure(&word, column));
        let out = &mut words[topic];
        write!(
            out,
            "<word rank='{rank}' count='{count:.0}' prob='{weight:.5}' cumulative='{cumulative:.5}' docs='{documents}'"
        )?;
        attributes(out, &WORD_ATTRIBUTES, |place| {
            figure(&word, DOCUMENTS + 1 + place)
        })?;
        writeln!(out, ">{}</word>", escaped(word.text(1)))?;
        Ok::<(), Failure>(())
    })?;
    Ok(words)
}

fn attributes(
    out: &mut impl Write,
    names: &[&str],
    figure: impl Fn(usize) -> f64,
) -> io::Result<()> {
    for (place, name) in names.iter().enumerate() {
        write!(out, " {name}='{:.4}'", figure(place))?;
    }
    Ok(())
}

fn figure(row: &Row<'_>, column: usize) -> f64 {
    row.number(column).unwrap_or(f64::NAN)
}

/// Escapes a text within an element. XML 1.0 cannot represent control characters at all.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;");
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}
