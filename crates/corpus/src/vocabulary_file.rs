//! A vocabulary on disk: `corpus/vocabulary.tsv`, one term per line in the vocabulary's own order.
//!
//! The columns are `tokens documents status term`; the term is last, so that only a line break
//! would need quoting. A removed term has no text: it is read as its number after U+0000. Memory is that of the
//! vocabulary.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::CorpusError;
use super::vocabulary::{TermStatus, Vocabulary, VocabularyTerm};
use store::Writer;

/// Path of the vocabulary in the output folder.
pub const VOCABULARY_FILE: &str = "corpus/vocabulary.tsv";

const HEADER: &str = "tokens\tdocuments\tstatus\tterm";

/// Writes a vocabulary, term by term.
pub struct VocabularyWriter {
    path: PathBuf,
    file: BufWriter<Writer>,
}

impl VocabularyWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// Fails if the disk does.
    pub fn create(path: &Path) -> Result<Self, CorpusError> {
        let create = || -> io::Result<_> {
            let mut file = BufWriter::with_capacity(1 << 16, Writer::create(path)?);
            writeln!(file, "{HEADER}")?;
            Ok(file)
        };
        let file = create().map_err(CorpusError::io(path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes the next term: first the kept ones.
    ///
    /// # Errors
    /// Fails if the disk does, or the term has a line break, which no reader and no tokenizer makes.
    pub fn write(
        &mut self,
        term: &str,
        [tokens, documents]: [u64; 2],
        status: TermStatus,
    ) -> Result<(), CorpusError> {
        let written = if term.contains('\n') {
            let message = format!("the term {term:?} contains a line break");
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        } else {
            let term = if status == TermStatus::Removed { "" } else { term };
            writeln!(self.file, "{tokens}\t{documents}\t{}\t{term}", status.name())
        };
        written.map_err(CorpusError::io(&self.path))
    }

    /// Ends the file. It is not synced: publishing it does that.
    ///
    /// # Errors
    /// Fails if the disk does.
    pub fn finish(self) -> Result<(), CorpusError> {
        let finished = self.file.into_inner().map_err(io::Error::from);
        finished.map(drop).map_err(CorpusError::io(&self.path))
    }
}

/// Reads what a [`VocabularyWriter`] wrote.
///
/// # Errors
/// Fails if the file is missing, damaged, or not a vocabulary.
pub fn read(path: &Path) -> Result<Vocabulary, CorpusError> {
    let io = |source| CorpusError::io(path)(source);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(io)?);
    let mut terms = Vec::new();
    let mut text = String::new();
    for line in 1.. {
        text.clear();
        if file.read_line(&mut text).map_err(io)? == 0 {
            break;
        }
        let content = text.strip_suffix('\n');
        match (line, content, content.and_then(parse)) {
            (1, Some(HEADER), _) => {}
            (2.., _, Some(mut term)) => {
                if term.status == TermStatus::Removed {
                    term.term = format!("\0{}", terms.len());
                }
                terms.push(term);
            }
            _ => {
                let path = path.display();
                return Err(CorpusError::Data(format!(
                    "{path}, line {line}: invalid vocabulary line; ingest again, with --overwrite"
                )));
            }
        }
    }
    Vocabulary::from_terms(terms).map_err(|problem| CorpusError::data(path, problem))
}

fn parse(line: &str) -> Option<VocabularyTerm> {
    let mut fields = line.splitn(4, '\t');
    Some(VocabularyTerm {
        tokens: fields.next()?.parse().ok()?,
        documents: fields.next()?.parse().ok()?,
        status: TermStatus::from_name(fields.next()?)?,
        term: fields.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(term: &str, status: TermStatus) -> VocabularyTerm {
        VocabularyTerm {
            term: term.to_owned(),
            tokens: 7 + term.len() as u64,
            documents: 5,
            status,
        }
    }

    #[test]
    fn terms_come_back_whatever_they_hold() {
        let terms = vec![
            term("whale", TermStatus::Kept),
            term("a\tb \\ \"c\"", TermStatus::Kept),
            term("città\r", TermStatus::Kept),
            term("", TermStatus::Stop),
            term("the", TermStatus::Stop),
            term("x", TermStatus::Capped),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.tsv");
        let write = |terms: &[VocabularyTerm]| {
            let mut writer = VocabularyWriter::create(&path)?;
            for VocabularyTerm { term, tokens, documents, status } in terms {
                writer.write(term, [*tokens, *documents], *status)?;
            }
            writer.finish()
        };
        write(&terms).unwrap();
        let read_back = read(&path).unwrap();
        assert_eq!(read_back.terms(), terms);
        assert_eq!(read_back.kept(), 3);
        let broken = [term("a\nb", TermStatus::Kept)];
        assert!(write(&broken).unwrap_err().to_string().contains("line break"));
    }

    #[test]
    fn damage_is_named_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.tsv");
        let message = |content: &str| {
            std::fs::write(&path, content).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(message("tokens\n").contains("line 1"));
        assert!(message(&format!("{HEADER}\n3\t2\tkept\tx\n3\t2\tke")).contains("line 3"));
        assert!(message(&format!("{HEADER}\n3\t2\tkept\tcut")).contains("line 2"));
        let twice = format!("{HEADER}\n3\t2\tkept\tx\n3\t2\tkept\tx\n");
        assert!(message(&twice).contains("listed twice"));
    }
}
