//! The settings of input, tokens, vocabulary and sample, already checked.
//!
//! The job file is parsed and validated in `job`; the values here cannot be wrong.

use std::path::PathBuf;

/// Formats that `reader` understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A file is a document.
    Text,
    /// A line is a JSON object.
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Parquet with text columns.
    Parquet,
    /// UCI bag of words: `docword*` beside `vocab*`.
    Uci,
}

/// What to do with a file that ends in the middle (a truncated gzip, a read error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDamage {
    /// Stop with an error that names the file.
    Fail,
    /// Keep what could be read, and one document with status `truncated` for the rest.
    Keep,
}

/// Section `[corpus]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusSettings {
    /// The folder that relative patterns start from: the job file's.
    pub base: PathBuf,
    /// Files, folders (taken recursively) and globs.
    pub input: Vec<String>,
    /// Globs of files to leave out.
    pub exclude: Vec<String>,
    /// The format; guessed from each file's name when absent.
    pub format: Option<Format>,
    /// Column or key that holds the document's id.
    pub id: String,
    /// Columns or keys that hold the text; several are joined by a line break.
    pub text: Vec<String>,
    /// Column or key that names the volume.
    pub group: Option<String>,
    /// Columns or keys carried into the `documents` table.
    pub metadata: Vec<String>,
    /// Bytes of (decompressed) input in a block; chosen from the input's size when absent.
    pub block_bytes: Option<u64>,
    /// A document with more bytes than this gets status `too_large`.
    pub max_document_bytes: u64,
    /// What to do with damaged files.
    pub on_damage: OnDamage,
}

impl CorpusSettings {
    /// The columns that may hold a document's label: `metadata`, then `group`.
    pub fn label_columns(&self) -> impl Iterator<Item = &str> {
        let metadata = self.metadata.iter().map(String::as_str);
        metadata.chain(self.group.as_deref())
    }
}

/// How text is cut into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenRule {
    /// Words of Unicode's UAX #29 that contain a letter or a digit.
    Words,
    /// Maximal runs of alphabetic characters (and digits, if `numbers`).
    Letters,
    /// Everything between white space: for text that is already tokenized.
    Whitespace,
}

/// Section `[tokens]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenSettings {
    /// How text is cut.
    pub rule: TokenRule,
    /// Lower-case every token.
    pub lower_case: bool,
    /// Shortest token kept, in characters.
    pub min_length: usize,
    /// Longest token kept, in characters.
    pub max_length: usize,
    /// Keep tokens without a letter.
    pub numbers: bool,
    /// Split snake_case and camelCase, for source code.
    pub identifiers: bool,
}

/// Where stop words come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopWords {
    /// A language's list, by ISO 639-1 code.
    Language(String),
    /// A file, one word per line, `#` comments.
    File(PathBuf),
}

/// Section `[vocabulary]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct VocabularySettings {
    /// Lists of words never kept.
    pub stop_words: Vec<StopWords>,
    /// This many of the most frequent terms (by documents) are stop words too.
    pub stop_top: usize,
    /// A term must be in at least this many documents.
    pub min_documents: u64,
    /// And in at most this share of them.
    pub max_share: f64,
    /// At most this many of the remaining terms are kept, by document frequency.
    pub max_terms: usize,
}

/// How many documents are trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// This share of the documents that have terms.
    Fraction(f64),
    /// This many of them (all, if there are fewer).
    Documents(u64),
}

/// Section `[sample]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleSettings {
    /// How many documents are in the sample.
    pub size: SampleSize,
    /// The share of the sample that is never trained on.
    pub held_out: f64,
}
