//! The settings of input, tokens, vocabulary and sample.
//!
//! The job file is parsed and validated in `config`; the values here are valid.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::encoding::TextEncoding;
use super::language;

/// The treatment of a file that ends in the middle (a truncated gzip, a read error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDamage {
    /// Stop with an error that names the file.
    Fail,
    /// Keep what could be read, and one document with status `truncated` for the rest.
    Keep,
}

/// The treatment of documents that nearly repeat an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repetitions {
    /// They are not counted in the vocabulary, nor trained on.
    Once,
    /// They are documents like any other; they are not looked for.
    #[default]
    Keep,
    /// They have no terms either.
    Drop,
}

/// The treatment of HTML and XML in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markup {
    /// Tags are text like any other.
    #[default]
    Keep,
    /// Tags, comments, scripts and styles are removed, and character references decoded.
    Remove,
}

/// The treatment of lines that are not what a text says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boilerplate {
    /// Licences of e-books, encoded files, page numbers, and quotations and signatures of mails are left out.
    #[default]
    Auto,
    /// They are text like any other.
    Keep,
}

/// What is kept of the texts, to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Snippets {
    /// Nothing.
    #[default]
    None,
    /// The first [`PASSAGE_CHARS`](crate::passages::PASSAGE_CHARS) characters.
    Start,
    /// The whole texts, of which passages are shown.
    Passage,
}

/// Section `[corpus]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CorpusSettings {
    /// The folder that relative patterns start from: the job file's.
    pub base: PathBuf,
    /// Files, folders (read recursively) and globs.
    pub input: Vec<String>,
    /// Whether the input is files that were found, some of many: what is no text is read, as if it had not been named.
    #[serde(skip)]
    pub are_found: bool,
    /// Globs of files to leave out.
    pub exclude: Vec<String>,
    /// The word of the format; guessed from each file's name when absent.
    pub format: Option<String>,
    /// The encoding of texts that are not UTF-8.
    pub encoding: TextEncoding,
    /// The treatment of HTML and XML in texts.
    pub markup: Markup,
    /// The treatment of licences, encoded files, page numbers and quotations.
    pub boilerplate: Boilerplate,
    /// Whether the first line of CSV and TSV names the columns; if not, their numbers do, from 1.
    pub header: bool,
    /// Column or key that holds the document's id.
    pub id: String,
    /// Columns or keys that hold the text; several are joined by a line break.
    pub text: Vec<String>,
    /// Key of JSON that holds the counts of a document's words, instead of its text; column of long tables that holds
    /// the count of a word.
    pub counts: Option<String>,
    /// Column or key that names the volume.
    pub group: Option<String>,
    /// Columns or keys carried into the `documents` table, including that of the labels.
    pub metadata: Vec<String>,
    /// The languages that are read (all, if empty); absent if texts' languages are not identified.
    #[serde(skip)]
    pub languages: Option<Vec<String>>,
    /// The size of the sections that texts are cut into; if absent, they are not cut.
    #[serde(skip)]
    pub sections: Option<TextSection>,
    /// The source of documents' labels, if each label is to be a topic.
    #[serde(skip)]
    pub labels: Option<LabelSettings>,
    /// Whether documents must be texts, because the order of their tokens matters.
    #[serde(skip)]
    pub needs_order: bool,
    /// Bytes of (decompressed) input in a block; chosen from the input's size when absent.
    #[serde(rename = "block_mib")]
    pub block_bytes: Option<u64>,
    /// A document with more bytes than this gets status `too_large`.
    #[serde(rename = "max_document_mib")]
    pub max_document_bytes: u64,
    /// The treatment of damaged files.
    pub on_damage: OnDamage,
    /// The treatment of documents that nearly repeat an earlier one.
    pub duplicates: Repetitions,
    /// The least resemblance of documents that repeat each other.
    pub duplicate_similarity: f64,
    /// What is kept of the texts.
    pub snippets: Snippets,
    /// Section `[htrc]`.
    pub htrc: HtrcSettings,
}

impl CorpusSettings {
    /// Returns the columns of a document: `metadata`, then the start of a section, if texts are cut, and the language,
    /// if it is identified.
    pub fn columns(&self) -> Vec<String> {
        let start = self.sections.map(|_| TextSection::COLUMN.to_owned());
        let language = self.languages.as_ref().map(|_| language::COLUMN.to_owned());
        self.metadata.iter().cloned().chain(start).chain(language).collect()
    }

    /// Returns the columns of a shard; `metadata` are those of a document.
    pub fn shard_columns<'a>(&self, metadata: &'a [String]) -> ShardColumns<'a> {
        ShardColumns { metadata, has_texts: self.snippets != Snippets::None }
    }

    /// Returns whether documents have groups whatever their files are.
    pub fn has_groups(&self) -> bool {
        self.group.is_some() || self.sections.is_some()
    }

    /// Returns the settings of labels, and the index of their column in `metadata`.
    pub fn labels(&self) -> Option<(&LabelSettings, usize)> {
        let labels = self.labels.as_ref()?;
        let place = self.metadata.iter().position(|name| *name == labels.column);
        Some((labels, place?))
    }
}

/// The columns of a shard that depend on the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShardColumns<'a> {
    /// The names of the metadata, in the order of every document's `metadata`.
    pub metadata: &'a [String],
    /// Whether texts are kept.
    pub has_texts: bool,
}

/// The labels of documents.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabelSettings {
    /// Their key or column.
    #[serde(rename = "labels")]
    pub column: String,
    /// The separator, if they are in one text.
    #[serde(rename = "label_separator")]
    pub separator: String,
    /// A label with fewer documents is dropped.
    #[serde(rename = "label_min_documents")]
    pub min_documents: u64,
}

/// Section `[htrc]` of a job: the parts of Extracted Features that are read, and the size of a document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HtrcSettings {
    /// The size of a document.
    #[serde(flatten)]
    pub section: SectionSize,
    /// Pages at the start of each volume that are not read.
    pub skip_first_pages: usize,
    /// Pages at the end of each volume that are not read.
    pub skip_last_pages: usize,
    /// Languages of volumes (three letters) and of pages (two) that are read; all, if empty.
    pub languages: Vec<String>,
    /// The first year of publication that is read.
    pub first_year: u32,
    /// The last year of publication that is read.
    pub last_year: u32,
    /// Keys of the metadata in which copies of a volume agree, so that one is read; all are, if empty.
    pub unique_by: Vec<String>,
    /// Parts of speech whose tokens are read, with `*` for any ending; all, if empty.
    pub parts_of_speech: Vec<String>,
}

impl HtrcSettings {
    /// The first and last year of jobs that read volumes of any year, and those without one.
    pub(crate) const ANY_YEAR: RangeInclusive<u32> = 0..=9999;
}

/// The size of the sections that volumes are cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum SectionSize {
    /// This many pages.
    #[serde(rename = "section_pages")]
    Pages(usize),
    /// Whole pages that together have at least this many words.
    #[serde(rename = "section_words")]
    Words(u64),
    /// Not cut.
    #[serde(skip)]
    Volume,
}

/// The size of the sections that texts are cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSection {
    /// At least this many words.
    Words(u64),
    /// This many paragraphs.
    Paragraphs(u64),
}

impl TextSection {
    /// The column of `documents` with the byte of its text at which a section starts.
    pub const COLUMN: &str = "section_start";
}

/// The rule that cuts text into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenRule {
    /// Words of Unicode's UAX #29 that contain a letter or a digit.
    Words,
    /// Like `Words`, but words of a dictionary in scripts without spaces between words: Chinese, Japanese, Thai, Lao,
    /// Khmer and Burmese. These are kept from two characters on, whatever `min_length` is.
    Dictionary,
    /// Maximal runs of alphabetic characters (and digits, if `numbers`).
    Letters,
    /// Everything between white space: for text that is already tokenized.
    Whitespace,
}

/// Section `[tokens]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TokenSettings {
    /// The rule that cuts text.
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
    /// Keep web and e-mail addresses, cut like any text.
    pub addresses: bool,
    /// Drop elided words before an apostrophe (`l'`, `dell'`).
    pub elisions: bool,
    /// Join words that are hyphenated at the end of a line.
    pub join_hyphens: bool,
}

impl TokenSettings {
    /// The settings of a job that says nothing about tokens.
    pub const DEFAULT: Self = Self {
        rule: TokenRule::Dictionary,
        lower_case: true,
        min_length: 3,
        max_length: 40,
        numbers: false,
        identifiers: false,
        addresses: false,
        elisions: false,
        join_hyphens: false,
    };
}

/// Section `[phrases]` of a job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PhraseSettings {
    /// A file of phrases, and of tokens that others replace.
    pub replacements: Option<PathBuf>,
    /// A file of sequences of tokens that are deleted.
    pub deletions: Option<PathBuf>,
    /// The collection of a result, whose phrases are joined.
    pub found: Option<PathBuf>,
    /// The conditions for phrases in the texts, if they are detected.
    #[serde(skip)]
    pub detection: Option<DetectionSettings>,
}

impl PhraseSettings {
    /// Returns whether the order of tokens matters.
    pub fn need_order(&self) -> bool {
        *self != Self::default()
    }
}

/// The conditions under which tokens that follow each other are a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct DetectionSettings {
    /// They follow each other at least this often.
    pub min_count: u64,
    /// Their NPMI is above this.
    pub threshold: f64,
    /// The phrase has at most this many words.
    pub max_words: usize,
}

/// The source of stop words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum StopWords {
    /// A language's list, by ISO 639-1 code.
    Language(String),
    /// A file, one word per line, `#` comments.
    File(PathBuf),
    /// For each document, the list of the language that it is in.
    ByLanguage,
}

impl StopWords {
    /// The word for [`ByLanguage`](Self::ByLanguage).
    pub const BY_LANGUAGE: &str = "by-language";

    /// Whether a list of this name is a file rather than a language's.
    pub fn is_file(name: &str) -> bool {
        name.contains('/') || name.ends_with(".txt")
    }
}

impl From<String> for StopWords {
    fn from(name: String) -> Self {
        match &*name {
            Self::BY_LANGUAGE => Self::ByLanguage,
            _ if Self::is_file(&name) => Self::File(name.into()),
            _ => Self::Language(name),
        }
    }
}

/// The treatment of words that texts capitalise within sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// They are terms like any other.
    #[default]
    Keep,
    /// They are never kept.
    Drop,
}

/// Section `[vocabulary]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VocabularySettings {
    /// Lists of words that are never kept.
    pub stop_words: Vec<StopWords>,
    /// The treatment of names.
    pub names: Names,
    /// This many of the most frequent terms (by documents) are also stop words.
    pub stop_top: usize,
    /// A term must be in at least this many documents.
    pub min_documents: u64,
    /// It must be in at most this share of them.
    pub max_share: f64,
    /// At most this many of the remaining terms are kept, by document frequency.
    pub max_terms: usize,
    /// If there are more distinct terms, about, those in fewer than `min_documents` documents are not listed.
    pub max_distinct: u64,
}

/// The size of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleSize {
    /// This share of the documents that have terms.
    Fraction(f64),
    /// This many of them (all, if there are fewer).
    Documents(u64),
}

/// Section `[sample]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SampleSettings {
    /// How many documents are in the sample.
    #[serde(flatten)]
    pub size: SampleSize,
    /// The share of the sample that is never trained on.
    pub held_out: f64,
    /// The seed of its draw, if it is not that of everything else.
    pub seed: Option<u64>,
}
