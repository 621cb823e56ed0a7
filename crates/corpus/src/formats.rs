//! The formats of input files: one file each, and one line of [`LIST`].
//!
//! The file of a format says by which names and first bytes it is guessed, how a file is cut into parts that can be read
//! alone, how documents are read from a part, and which keys of a job it takes. What formats share is beside them:
//! `context` (documents and their problems), `cutter` and `records` (files of records), `counts` (bags of words),
//! `columnar` (Parquet and Arrow), `partition` (values in the names of folders).

pub mod columnar;
mod context;
pub mod counts;
pub mod csv;
pub mod cutter;
pub mod htrc;
pub mod json;
mod ldac;
pub mod mail;
pub mod mallet;
mod partition;
pub mod records;
mod svmlight;
pub mod text;
mod uci;
mod vocabulary;
mod vw;
mod wet;

pub(crate) use context::Context;
pub(crate) use partition::adding;
pub use partition::{FOLDER, folder, partitions};
pub use uci::most_documents;
pub use vocabulary::vocabulary_bytes;

use crate::RawDocument;
use crate::compression::{Compression, stripped};
use crate::encoding::is_utf_16;
use crate::error::InputError;
use crate::settings::{CorpusSettings, OnDamage};
use records::{ColumnNames, RecordsOf};
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::LazyLock;
use store::Source;

/// Every format. Of several that claim a file's name, the last one has it. A fingerprint of an input contains places in
/// this list: add formats at its end.
pub static LIST: &[&Format] = &[
    &text::TEXT,
    &json::JSON_LINES,
    &json::JSON,
    &csv::CSV,
    &csv::TSV,
    &columnar::PARQUET,
    &columnar::ARROW,
    &uci::UCI,
    &htrc::HTRC,
    &mail::MAIL,
    &mallet::MALLET,
    &svmlight::SVM_LIGHT,
    &vw::VW,
    &ldac::LDA_C,
    &uci::MATRIX_MARKET,
    &wet::WET,
];

/// The format of a file whose name no other format claims.
pub static FALLBACK: &Format = LIST[0];

/// A format of input files. The table of docs/FORMATS.md is made from the descriptions.
pub struct Format {
    /// Its word in `corpus.format`.
    pub name: &'static str,
    /// Endings of file names, in lower case, without that of the compression.
    pub endings: &'static [&'static str],
    /// What else the names and contents of its files must be, after the endings.
    pub names: &'static str,
    /// The part of a file that is a document.
    pub document: &'static str,
    /// The id of a document.
    pub id: &'static str,
    /// Of the keys and sections of a job that only some formats take, those that this format takes.
    pub keys: &'static [&'static str],
    /// Whether documents are counts of words, in no order, whatever the job says.
    pub is_counts: bool,
    /// The vocabulary beside a file, if its terms are numbers.
    pub vocabulary: Option<VocabularyName>,
    /// How a file is cut and read.
    pub cutting: Cutting,
    /// Returns whether a file of this name, in lower case, has the format.
    pub claims: fn(&Self, name: &str) -> bool,
    /// Returns the format of a file whose name has this format, if by its first bytes it is another: `start` is as stored,
    /// and `content` reads the first decompressed bytes.
    pub instead: Instead,
    /// Returns the kind of a file that cannot be read in this format, by its name, its first bytes as stored, and its
    /// compression; and the remedy.
    pub refusal: fn(name: &str, start: &[u8], Compression) -> Option<[&'static str; 2]>,
    /// The expected bytes of content for a byte of a file that is not compressed as a whole.
    pub expansion: u64,
}

impl Format {
    /// A format of texts by its endings.
    const PLAIN: Self = Self {
        name: "",
        endings: &[],
        names: "",
        document: "",
        id: "the key `corpus.id`",
        keys: &[],
        is_counts: false,
        vocabulary: None,
        cutting: Cutting::Whole(|_, _, _, _| Ok(())),
        claims: Self::has_ending,
        instead: |_, _| None,
        refusal: |_, start, _| {
            is_utf_16(start).then_some(["UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"])
        },
        expansion: 1,
    };

    fn has_ending(&self, name: &str) -> bool {
        let ends = |name: &str, ending: &str| {
            name.strip_suffix(ending).is_some_and(|before| before.ends_with('.'))
        };
        self.endings.iter().any(|ending| ends(name, ending) || ends(stripped(name), ending))
    }

    /// Returns the names of files, as documentation has them.
    pub fn file_names(&self) -> String {
        let endings = self.endings.iter().map(|ending| format!("`.{ending}`"));
        endings.collect::<Vec<_>>().join(", ") + self.names
    }

    /// Returns its place in [`LIST`], a byte of every fingerprint.
    pub(crate) fn number(&self) -> u8 {
        LIST.iter().position(|format| *format == self).unwrap_or_default() as u8
    }

    /// Returns whether it takes a key, or a section, that only some formats take.
    pub fn takes(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }

    /// Returns the source of the names of columns in a file of records; the schema of a columnar file is another.
    pub fn column_names(&self) -> Option<ColumnNames> {
        match self.cutting {
            Cutting::Records(of, _) => Some(of(b"").names()),
            _ => None,
        }
    }

    /// Returns whether records are rows of a table whose first line may name the columns.
    pub fn has_header(&self) -> bool {
        self.column_names() == Some(ColumnNames::Header)
    }

    /// Returns whether records are objects, whose keys are the columns.
    pub fn has_keys(&self) -> bool {
        self.column_names() == Some(ColumnNames::Keys)
    }

    /// Returns whether documents are counts, in no order, in a job with these settings.
    pub fn gives_counts(&self, settings: &CorpusSettings) -> bool {
        self.is_counts || settings.counts.is_some() && self.takes("corpus.counts")
    }

    /// Returns whether a file is a volume, whose documents are its sections.
    pub fn is_volume(&self) -> bool {
        self.takes("htrc")
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The name of the vocabulary beside a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VocabularyName {
    /// The file's name, with `vocab` for `docword`.
    ForDocword,
    /// The file's name with another ending.
    WithEnding {
        /// Whether a file may have none.
        is_optional: bool,
    },
}

/// How the files of a format are cut into parts, and read.
#[derive(Clone, Copy)]
pub enum Cutting {
    /// Not at all: one thread reads a file.
    Whole(ReadFile),
    /// Into runs of the records that a file which begins with certain bytes has; and whether every line break ends one,
    /// so that a plain file can be read from any place.
    Records(RecordsOf, bool),
    /// From the start, into ranges of documents whose entries are sorted by document, below a header with totals.
    Entries(OpenCut),
    /// Into groups of rows; only the file's layout is read.
    RowGroups(OpenCut),
}

/// Returns another format of a file, by its first bytes as stored and those of its content.
pub type Instead = fn(&[u8], &dyn Fn() -> Vec<u8>) -> Option<&'static Format>;

/// Reads a whole file; the buffer is for one file after the other.
pub type ReadFile =
    fn(&InputFile, &CorpusSettings, &mut Vec<u8>, DocumentSink<'_>) -> Result<(), InputError>;

/// Opens a file to be cut into parts of about this many bytes.
pub type OpenCut = fn(&InputFile, &CorpusSettings, u64) -> Result<Box<dyn Cut>, InputError>;

/// A receiver of documents, one after the other.
pub type DocumentSink<'s> = &'s mut dyn FnMut(RawDocument<'_>);

/// A part of a file, and its number within the file: ascending, possibly with gaps.
pub type Numbered = (u64, Box<dyn Part>);

/// A cutter of one file into parts, in order.
pub trait Cut: Send {
    /// Returns the next part; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    fn next(&mut self) -> Result<Option<Numbered>, InputError>;
}

/// Complete documents of a file, or where to read them.
pub trait Part: Send {
    /// Returns about the bytes of content, to show progress.
    fn bytes(&self) -> u64;

    /// Passes every document to `emit`, in order, without the values of its folders.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError>;
}

/// Returns the words of `corpus.format`, except the one for guessing.
pub fn words() -> &'static [&'static str] {
    static WORDS: LazyLock<Vec<&str>> =
        LazyLock::new(|| LIST.iter().map(|format| format.name).collect());
    &WORDS
}

/// Returns the format with this word.
pub fn named(word: &str) -> Option<&'static Format> {
    LIST.iter().copied().find(|format| format.name == word)
}

/// Returns the format of a file by its name.
pub fn guess(name: &str) -> &'static Format {
    let name = name.to_ascii_lowercase();
    LIST.iter().rev().copied().find(|format| (format.claims)(format, &name)).unwrap_or(FALLBACK)
}

/// The UTF-8 byte order mark that some programs put before a file's content.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the content of a file after its byte order mark, if it has one.
pub fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content)
}

/// Returns whether the job keeps the readable part of damaged files.
pub(crate) fn keeps_damaged(settings: &CorpusSettings) -> bool {
    settings.on_damage == OnDamage::Keep
}

/// Bytes of a file of records that are held at a time.
const STRETCH_BYTES: u64 = 1 << 20;

/// One file of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The name for ids, errors and the order: the path from the base folder, else the whole path.
    pub name: String,
    /// Where to open it.
    pub path: PathBuf,
    /// Its format.
    pub format: &'static Format,
    /// How it is compressed, by its first bytes.
    pub compression: Compression,
    /// Its size on disk.
    pub bytes: u64,
    /// The vocabulary beside a bag of words whose terms are numbers.
    pub vocabulary: Option<PathBuf>,
    /// A tag that changes with the content, if the file is in an object store.
    pub tag: Option<String>,
    /// Whether it is a volume with another copy, which the job reads instead.
    pub is_copy: bool,
}

impl InputFile {
    /// Returns a stream of this name that is not compressed, in a format without a vocabulary.
    pub(crate) fn stream(name: &str, format: &'static Format) -> Self {
        Self {
            name: name.to_owned(),
            path: name.into(),
            format,
            compression: Compression::Plain,
            bytes: 0,
            vocabulary: None,
            tag: None,
            is_copy: false,
        }
    }

    /// Opens the file, which must not have changed since it was found.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has changed.
    pub(crate) fn open(&self) -> Result<Source, InputError> {
        let unreadable = || InputError::unreadable(&self.path);
        let source = Source::open(&self.path).map_err(unreadable())?;
        let bytes = source.length().map_err(unreadable())?;
        if bytes != self.bytes || source.tag() != self.tag.as_deref() {
            let problem = "changed while it was being read; rerun once it is complete";
            return Err(InputError::refused(&self.path, problem));
        }
        Ok(source)
    }

    /// Opens the file in the same way, for reading its content, decompressed on the fly.
    pub(crate) fn content(&self) -> Result<Box<dyn Read + Send>, InputError> {
        let decoded = self.compression.decode(self.open()?);
        decoded.map_err(InputError::unreadable(&self.path))
    }

    /// Returns the expected bytes of content: compressed files are counted four times, Parquet twice.
    pub fn expected_bytes(&self) -> u64 {
        let content = self.compression.expected_bytes(self.bytes);
        content.saturating_mul(self.format.expansion)
    }

    /// Returns whether one thread reads the whole file, if parts have this many bytes.
    pub(crate) fn is_whole(&self, part_bytes: u64) -> bool {
        matches!(self.format.cutting, Cutting::Whole(_)) || self.expected_bytes() < part_bytes
    }

    /// Returns whether a part can be read only after the content before it.
    pub(crate) fn is_streamed(&self) -> bool {
        match self.format.cutting {
            Cutting::Records(_, is_divisible) => {
                !is_divisible || self.compression != Compression::Plain
            }
            Cutting::Entries(_) => true,
            Cutting::Whole(_) | Cutting::RowGroups(_) => false,
        }
    }

    /// Reads a whole file; `held` is a buffer for one file after the other.
    pub(crate) fn read(
        &self,
        settings: &CorpusSettings,
        held: &mut Vec<u8>,
        emit: DocumentSink<'_>,
    ) -> Result<(), InputError> {
        let context = Context::new(self, settings);
        let emit = &mut adding(&context, emit);
        let mut parts = match self.format.cutting {
            Cutting::Whole(read) => return read(self, settings, held, emit),
            Cutting::Records(of, _) => return records::read_file(of, self, settings, emit),
            Cutting::Entries(open) | Cutting::RowGroups(open) => {
                open(self, settings, STRETCH_BYTES)?
            }
        };
        while let Some((_, part)) = parts.next()? {
            part.read(&context, emit)?;
        }
        Ok(())
    }

    /// Opens a file that is not read whole, to be cut; `None` if its format does not cut files.
    pub(crate) fn cut(
        &self,
        settings: &CorpusSettings,
        part_bytes: u64,
    ) -> Result<Option<Box<dyn Cut>>, InputError> {
        match self.format.cutting {
            Cutting::Whole(_) => Ok(None),
            Cutting::Records(of, _) => {
                records::cut(of, self.is_streamed(), self, settings, part_bytes).map(Some)
            }
            Cutting::Entries(open) | Cutting::RowGroups(open) => {
                open(self, settings, part_bytes).map(Some)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
