//! MALLET's topic diagnostics in XML, with the attributes, order and digits of `TopicModelDiagnostics.toXML`. The
//! figures are those of the tables `topics` and `topic_term_diagnostics`; a missing figure is NaN, as in MALLET.

use std::io::{self, Write};

use super::{Sink, Source};
use crate::failure::Failure;
use crate::tables::records::{Records, record};

record! {
    struct Topic {
        tokens: i64,
        document_entropy: Option<f64>,
        word_length: Option<f64>,
        coherence_umass: Option<f64>,
        uniform_distance: Option<f64>,
        corpus_distance: Option<f64>,
        effective_terms: Option<f64>,
        token_document_difference: Option<f64>,
        rank1_share: Option<f64>,
        allocation_ratio: Option<f64>,
        allocation_count: Option<f64>,
        exclusivity: Option<f64>,
    }
}

record! {
    struct Word {
        topic: i32,
        term: String,
        rank: i32,
        count: f64,
        weight: f32,
        cumulative: f64,
        documents: Option<i64>,
        word_length: i32,
        coherence: Option<f64>,
        uniform_distance: f64,
        corpus_distance: Option<f64>,
        token_document_difference: Option<f64>,
        exclusivity: f64,
    }
}

pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), Failure> {
    sink.check(&[])?;
    let words = words(source)?;
    let topics = source.require("topics")?;
    sink.file(|out| {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model>")?;
        for (number, topic) in Records::<Topic>::within(topics.path())?.enumerate() {
            write!(out, "<topic id='{number}'")?;
            topic?.write(out)?;
            writeln!(out, ">")?;
            out.write_all(words.get(number).map_or(b"", Vec::as_slice))?;
            writeln!(out, "</topic>")?;
        }
        Ok(writeln!(out, "</model>")?)
    })
}

/// Returns the lines of each topic's words. Words whose documents were not counted are left out: MALLET lists
/// only as many as it counts.
fn words(source: &Source) -> Result<Vec<Vec<u8>>, Failure> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let table = source.require("topic_term_diagnostics")?;
    for word in Records::<Word>::within(table.path())? {
        let word = word?;
        let topic = word.topic as usize;
        if let Some(documents) = word.documents {
            if topic >= words.len() {
                words.resize(topic + 1, Vec::new());
            }
            word.write(documents, &mut words[topic])?;
        }
    }
    Ok(words)
}

impl Topic {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let attributes = [
            ("tokens", Some(self.tokens as f64)),
            ("document_entropy", self.document_entropy),
            ("word-length", self.word_length),
            ("coherence", self.coherence_umass),
            ("uniform_dist", self.uniform_distance),
            ("corpus_dist", self.corpus_distance),
            ("eff_num_words", self.effective_terms),
            ("token-doc-diff", self.token_document_difference),
            ("rank_1_docs", self.rank1_share),
            ("allocation_ratio", self.allocation_ratio),
            ("allocation_count", self.allocation_count),
            ("exclusivity", self.exclusivity),
        ];
        attributes_of(out, &attributes)
    }
}

impl Word {
    fn write(&self, documents: i64, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            "<word rank='{}' count='{:.0}' prob='{:.5}' cumulative='{:.5}' docs='{documents}'",
            self.rank, self.count, self.weight, self.cumulative
        )?;
        let attributes = [
            ("word-length", Some(self.word_length.into())),
            ("coherence", self.coherence),
            ("uniform_dist", Some(self.uniform_distance)),
            ("corpus_dist", self.corpus_distance),
            ("token-doc-diff", self.token_document_difference),
            ("exclusivity", Some(self.exclusivity)),
        ];
        attributes_of(out, &attributes)?;
        writeln!(out, ">{}</word>", escaped(&self.term))
    }
}

fn attributes_of(out: &mut impl Write, attributes: &[(&str, Option<f64>)]) -> io::Result<()> {
    attributes.iter().try_for_each(|(name, figure)| {
        let figure = figure.unwrap_or(f64::NAN);
        write!(out, " {name}='{figure:.4}'")
    })
}

/// Escapes a text within an element. XML 1.0 cannot represent control characters at all.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;");
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}
