//! The bags of words for gensim: `corpus.mm` (MatrixMarket, read by `MmCorpus`), `dictionary.txt` (read by
//! `Dictionary.load_from_text`) and `documents.txt`, the documents' ids line by line. The first two use our term
//! ids. SciPy's `mmread` also reads the corpus.

use std::io::Write;

use super::{Sink, Source};
use crate::failure::Failure;
use corpus::shard::Columns;

const CORPUS: &str = "corpus.mm";
const DICTIONARY: &str = "dictionary.txt";
const DOCUMENTS: &str = "documents.txt";

/// Writes the three files; the corpus last.
pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), Failure> {
    sink.check(&[CORPUS, DICTIONARY, DOCUMENTS])?;
    let vocabulary = source.vocabulary()?;
    sink.named(DICTIONARY, |out| {
        writeln!(out, "{}", source.documents())?;
        for (id, term) in vocabulary.kept_terms().iter().enumerate() {
            writeln!(out, "{id}\t{}\t{}", line(&term.term), term.documents)?;
        }
        Ok(())
    })?;
    // The header counts the entries, so the shards are read twice; the first time writes the ids.
    let mut entries = 0;
    sink.named(DOCUMENTS, |out| {
        source.for_each_document(Columns::All, |_, document| {
            entries += document.terms.len();
            Ok(writeln!(out, "{}", line(&document.source_id))?)
        })
    })?;
    sink.named(CORPUS, |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate real general")?;
        let (documents, terms) = (source.documents(), vocabulary.kept());
        writeln!(out, "{documents} {terms} {entries}")?;
        source.for_each_document(Columns::Counts, |number, document| {
            for (term, count) in document.terms.iter().zip(&document.counts) {
                writeln!(out, "{} {} {count}", number + 1, term + 1)?;
            }
            Ok(())
        })
    })
}

/// Puts a text on one line, without tabs.
pub(super) fn line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
