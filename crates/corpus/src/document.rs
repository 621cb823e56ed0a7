//! A document at each stage of ingest: as a reader returns it, and as a shard stores it.
//!
//! Every input document keeps its row: if something goes wrong, its [`DocumentStatus`] says so; no row is ever missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use lda::infer::Bag;

/// The status of an input document. Written to the tables as its [`name`](Self::name).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DocumentStatus {
    /// Read, tokenized, and at least one token is in the vocabulary.
    Ok = 0,
    /// Like `Ok`, but bytes that are not UTF-8 were replaced by U+FFFD before tokenizing.
    Repaired = 1,
    /// The text is missing, null, or contains no token.
    #[default]
    Empty = 2,
    /// There are tokens, none of them in the vocabulary.
    NoVocabulary = 3,
    /// The record could not be parsed (a line that is not JSON, a row with too few columns, …).
    ParseError = 4,
    /// The document is larger than `corpus.max_document_bytes`; its text was not tokenized.
    TooLarge = 5,
    /// The file ended in the middle (a truncated gzip, an I/O error); represents what was lost.
    Truncated = 6,
    /// The job leaves it out, by `[htrc]` or by its language.
    Filtered = 7,
    /// It nearly repeats an earlier document, and the job drops such ones.
    Duplicate = 8,
    /// It has left the collection: an empty row, so that other documents keep their numbers. In no table.
    Removed = 9,
}

impl DocumentStatus {
    /// Every status, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Repaired,
        Self::Empty,
        Self::NoVocabulary,
        Self::ParseError,
        Self::TooLarge,
        Self::Truncated,
        Self::Filtered,
        Self::Duplicate,
        Self::Removed,
    ];

    /// Returns the name written to the tables.
    ///
    /// ```
    /// # use corpus::DocumentStatus;
    /// assert_eq!(DocumentStatus::NoVocabulary.name(), "no_vocabulary");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Repaired => "repaired",
            Self::Empty => "empty",
            Self::NoVocabulary => "no_vocabulary",
            Self::ParseError => "parse_error",
            Self::TooLarge => "too_large",
            Self::Truncated => "truncated",
            Self::Filtered => "filtered",
            Self::Duplicate => "duplicate",
            Self::Removed => "removed",
        }
    }

    /// Returns the status with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Returns the numbers of documents by name, as a collection lists them, given those of some shards, each indexed by
    /// `DocumentStatus as usize`.
    pub fn by_name<'a>(
        shards: impl Iterator<Item = &'a [u64; Self::ALL.len()]> + Clone,
    ) -> BTreeMap<String, u64> {
        let listed = Self::ALL.into_iter().filter(|&status| status != Self::Removed);
        let count = |status: Self| shards.clone().map(|counts| counts[status as usize]).sum();
        listed.map(|status| (status.name().to_owned(), count(status))).collect()
    }

    /// Returns how many of these documents, counted by status, have tokens in the vocabulary.
    pub fn with_terms(by_status: &[u64; Self::ALL.len()]) -> u64 {
        let statuses = Self::ALL.iter().zip(by_status);
        statuses.filter(|(status, _)| status.has_terms()).map(|(_, documents)| documents).sum()
    }

    /// Returns whether the document has tokens in the vocabulary, so that it can be sampled and projected.
    pub fn has_terms(self) -> bool {
        matches!(self, Self::Ok | Self::Repaired)
    }
}

impl fmt::Display for DocumentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One input document as a reader returns it, borrowing from the block it was parsed from.
#[derive(Clone, Debug)]
pub struct RawDocument<'a> {
    /// The input's own id; if it has none, `<file>@<byte or row>` where the record begins (from 0).
    pub source_id: Cow<'a, str>,
    /// The volume (`corpus.group`) this document is a section of.
    pub group: Option<Cow<'a, str>>,
    /// One value per column of metadata, in the job's order.
    pub metadata: Vec<Option<Cow<'a, str>>>,
    /// The text or counts, or why there are none.
    pub body: Body<'a>,
}

impl<'a> RawDocument<'a> {
    /// Returns a document that is a text, without an id, volume or metadata.
    pub fn of_text(text: &'a str) -> Self {
        let body = Body::Text { text: text.into(), repaired: false };
        Self { source_id: Cow::default(), group: None, metadata: Vec::new(), body }
    }
}

/// The content of a document.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// Text to be tokenized.
    Text {
        /// The text.
        text: Cow<'a, str>,
        /// Whether bytes that are not UTF-8 were replaced by U+FFFD.
        repaired: bool,
    },
    /// Terms that the input has already counted.
    Counts {
        /// Each term and its tokens, in the input's order; a term may occur again.
        counts: Vec<(Cow<'a, str>, u32)>,
        /// Whether the terms are words as in a text, to which `[tokens]` applies; else they are used unchanged.
        words: bool,
        /// Whether bytes that are not UTF-8 were replaced.
        repaired: bool,
    },
    /// No text, for a reason: [`DocumentStatus::ParseError`], `TooLarge`, `Truncated`, `Filtered` or `Empty`.
    Missing {
        /// The status of this document.
        status: DocumentStatus,
        /// The problem, for the log: file, line and remedy.
        reason: String,
    },
}

impl Body<'_> {
    /// Returns a [`Missing`](Self::Missing) for the document with this id, or the record at this place.
    pub(crate) fn missing(
        status: DocumentStatus,
        id: impl fmt::Display,
        problem: impl fmt::Display,
    ) -> Self {
        let reason = format!("{id}: {problem}");
        Self::Missing { status, reason }
    }
}

/// One document as a shard stores it: a row with a bag of words. Owned, so that buffers are reused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardDocument {
    /// The input's own id.
    pub source_id: String,
    /// The volume this document is a section of.
    pub group: Option<String>,
    /// One value per column of metadata.
    pub metadata: Vec<Option<String>>,
    /// The status of the document.
    pub status: DocumentStatus,
    /// Tokens the tokenizer found.
    pub tokens_total: u32,
    /// Of those, stop words.
    pub tokens_stopped: u32,
    /// Distinct terms in the vocabulary, ascending.
    pub terms: Vec<u32>,
    /// Tokens of each term, ≥ 1; as long as `terms`.
    pub counts: Vec<u32>,
    /// Distinct terms that are rare, capped or unknown, by their index in the vocabulary, ascending.
    pub pruned: Vec<u32>,
    /// Tokens of each, ≥ 1; as long as `pruned`.
    pub pruned_counts: Vec<u32>,
    /// Distinct stop words and frequent terms, by their index in the vocabulary, ascending.
    pub stopped: Vec<u32>,
    /// Tokens of each, ≥ 1; as long as `stopped`.
    pub stopped_counts: Vec<u32>,
    /// The number of the earlier document that it nearly repeats: it is not counted in the vocabulary, nor trained on.
    pub duplicate_of: Option<u64>,
    /// Its text, or the beginning of it, if the job keeps texts.
    pub text: Option<String>,
    /// Its [`Signature`](crate::minhash::Signature), in drafts only; empty without one.
    pub signature: Vec<u8>,
}

impl ShardDocument {
    /// Returns the number of tokens in the vocabulary (N_d).
    pub fn tokens_in_vocabulary(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }

    /// Returns all its terms, kept or not, and their tokens.
    pub fn all_terms(&self) -> impl Iterator<Item = (u32, u32)> {
        self.lists()
            .into_iter()
            .flat_map(|[terms, counts]| terms.iter().copied().zip(counts.iter().copied()))
    }

    /// Returns its kept terms and their counts.
    pub fn bag(&self) -> Bag<'_> {
        Bag { terms: &self.terms, counts: &self.counts }
    }

    /// Returns the ids and counts of kept, pruned and stopped terms.
    pub(crate) fn lists(&self) -> [[&Vec<u32>; 2]; 3] {
        let Self { terms, counts, pruned, pruned_counts, stopped, stopped_counts, .. } = self;
        [[terms, counts], [pruned, pruned_counts], [stopped, stopped_counts]]
    }

    /// Returns the same, for changing them.
    pub fn lists_mut(&mut self) -> [[&mut Vec<u32>; 2]; 3] {
        let Self { terms, counts, pruned, pruned_counts, stopped, stopped_counts, .. } = self;
        [[terms, counts], [pruned, pruned_counts], [stopped, stopped_counts]]
    }
}

/// A counter of the documents within each volume. Documents without a volume may be among those of one.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    group: Option<String>,
    next: u64,
}

impl Sections {
    /// Starts where the next document with a volume is this section of it.
    pub fn starting(first: u64) -> Self {
        Self { group: None, next: first }
    }

    /// Returns the volume of the last document that had one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Returns the index of the next document in its volume, from 0; `None` without a volume.
    ///
    /// ```
    /// # use corpus::Sections;
    /// let mut sections = Sections::starting(7);
    /// let numbers = [Some("a"), None, Some("a"), Some("b")].map(|volume| sections.number(volume));
    /// assert_eq!(numbers, [Some(7), None, Some(8), Some(0)]);
    /// ```
    pub fn number(&mut self, group: Option<&str>) -> Option<u64> {
        let group = group?;
        if self.group() != Some(group) && self.group.replace(group.to_owned()).is_some() {
            self.next = 0;
        }
        self.next += 1;
        Some(self.next - 1)
    }
}

/// Copies a text into a buffer, reusing its memory.
pub(crate) fn set(buffer: &mut Option<String>, text: Option<&str>) {
    match text {
        Some(text) => {
            let buffer = buffer.get_or_insert_default();
            buffer.clear();
            buffer.push_str(text);
        }
        None => *buffer = None,
    }
}

/// Converts a number to a count, if it is one: whole, not negative, and not beyond 32 bits.
pub(crate) fn whole(number: f64) -> Option<u32> {
    let is_count = (0.0..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.0;
    is_count.then_some(number as u32)
}

/// Parses a count: `2`, or `2.0` as written by programs that keep counts as floats.
pub(crate) fn count_of(text: &str) -> Option<u32> {
    let exact = text.parse().ok();
    exact.or_else(|| whole(text.parse().ok()?))
}
