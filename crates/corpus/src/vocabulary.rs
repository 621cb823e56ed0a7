//! The vocabulary: pruning, term ids, and the rewriting of drafts with them.
//!
//! Pruning depends on the counts alone, never on their order. Kept terms are numbered by document
//! frequency, highest first, so that a rare term has a high id: the sampler relies on it. Terms
//! that are not kept remain listed with the reason, because the tables account for every token.

use std::collections::BTreeMap;
use std::iter::zip;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::document::{DocumentStatus, ShardDocument};
use super::names;
use super::settings::VocabularySettings;
use super::stop_words::StopList;
use super::terms::{TermCounter, hash};

/// The reason why a term is in the vocabulary or not. Written to the tables as its [`name`](Self::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum TermStatus {
    /// It has a term id and is modelled.
    Kept = 0,
    /// A stop word: on a list, or one of the `vocabulary.stop_top` most frequent.
    Stop = 1,
    /// In fewer than `vocabulary.min_documents` documents.
    Rare = 2,
    /// In more than `vocabulary.max_share` of the documents.
    Frequent = 3,
    /// Beyond the first `vocabulary.max_terms`.
    Capped = 4,
    /// Not in the collection whose terms are kept (`vocabulary.from`).
    Unknown = 5,
    /// Of documents that have left the collection: its number is not used again. In no table.
    Removed = 6,
}

impl TermStatus {
    /// Every status, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Kept,
        Self::Stop,
        Self::Rare,
        Self::Frequent,
        Self::Capped,
        Self::Unknown,
        Self::Removed,
    ];

    /// Returns the name written to the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Stop => "stop",
            Self::Rare => "rare",
            Self::Frequent => "frequent",
            Self::Capped => "capped",
            Self::Unknown => "unknown",
            Self::Removed => "removed",
        }
    }

    /// Returns the status with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A term with its status. A kept term's id is its index in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VocabularyTerm {
    /// The term.
    pub term: String,
    /// Its tokens in the collection.
    pub tokens: u64,
    /// The documents it is in.
    pub documents: u64,
    /// Kept, or the reason why not.
    pub status: TermStatus,
}

/// All terms of a collection: first the kept ones, by term id, then the others, by their bytes.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    terms: Vec<VocabularyTerm>,
    kept: usize,
    /// Indices in `terms`, by term.
    index: HashTable<u32>,
}

impl Vocabulary {
    /// Returns about the bytes of this many kept terms: texts and counts, and in training row headers and marks.
    pub fn bytes(terms: u64) -> u64 {
        terms * 160
    }

    /// Creates a vocabulary from terms read back, or received from another process: kept terms first, by term id.
    ///
    /// # Errors
    /// Fails if a kept term follows others, or a term is listed twice.
    pub fn from_terms(terms: Vec<VocabularyTerm>) -> Result<Self, String> {
        let kept = terms.iter().take_while(|term| term.status == TermStatus::Kept).count();
        let mut index = HashTable::with_capacity(terms.len());
        for (place, term) in terms.iter().enumerate() {
            if (place < kept) != (term.status == TermStatus::Kept) {
                return Err(format!(
                    "vocabulary: kept term \"{}\" follows terms that are not kept; ingest again, with --overwrite",
                    term.term
                ));
            }
            let hash = hash(&term.term);
            if index.find(hash, |&other: &u32| terms[other as usize].term == term.term).is_some() {
                return Err(format!(
                    "vocabulary: term \"{}\" is listed twice; ingest again, with --overwrite",
                    term.term
                ));
            }
            let place = u32::try_from(place)
                .expect("2^32 distinct terms need more memory than a process gets");
            let rehash = |&other: &u32| self::hash(&terms[other as usize].term);
            index.insert_unique(hash, place, rehash);
        }
        Ok(Self { terms, kept, index })
    }

    /// Returns all terms, kept ones first: a kept term's id is its index.
    pub fn terms(&self) -> &[VocabularyTerm] {
        &self.terms
    }

    /// Returns the kept terms, by term id.
    pub fn kept_terms(&self) -> &[VocabularyTerm] {
        &self.terms[..self.kept]
    }

    /// Returns the number of kept terms (V, `vocabulary_size`).
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Returns the term id, if the term is kept.
    ///
    /// ```
    /// # use corpus::vocabulary::{TermStatus, Vocabulary, VocabularyTerm};
    /// let term = |term: &str, status| VocabularyTerm {
    ///     term: term.into(), tokens: 9, documents: 5, status };
    /// let vocabulary = Vocabulary::from_terms(vec![
    ///     term("whale", TermStatus::Kept), term("the", TermStatus::Stop) ]).unwrap();
    /// assert_eq!(vocabulary.id("whale"), Some(0));
    /// assert_eq!(vocabulary.id("the"), None);
    /// ```
    pub fn id(&self, term: &str) -> Option<u32> {
        self.place(term).filter(|&place| (place as usize) < self.kept)
    }

    /// Returns the status of the term, if the collection has it.
    pub fn status(&self, term: &str) -> Option<TermStatus> {
        self.place(term).map(|place| self.terms[place as usize].status)
    }

    /// Returns the term's index in [`terms`](Self::terms), if the collection has it.
    pub fn place(&self, term: &str) -> Option<u32> {
        let same = |&place: &u32| self.terms[place as usize].term == term;
        self.index.find(hash(term), same).copied()
    }

    /// Returns the [`Fingerprint`] of the kept terms.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::default();
        self.kept_terms().iter().for_each(|term| fingerprint.add(&term.term));
        fingerprint.finish()
    }
}

/// The SHA-256 of the kept terms by id, each as its length in bytes (u64, little-endian) and its bytes. Models and shards
/// of one vocabulary have the same one.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds the next term.
    pub fn add(&mut self, term: &str) {
        self.0.update((term.len() as u64).to_le_bytes());
        self.0.update(term.as_bytes());
    }

    /// Returns 64 hexadecimal digits.
    pub fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}

/// A term's place in an order of terms: two numbers, then its bytes.
pub type Rank<'t> = ([u64; 2], &'t str);

impl VocabularyTerm {
    /// Returns the term's place in the order of term ids: most documents, most tokens, smaller bytes.
    pub fn rank(&self) -> Rank<'_> {
        ([!self.documents, !self.tokens], &self.term)
    }

    /// Returns the numbers by which terms are ordered in a vocabulary, before their bytes: kept terms by rank or, if those
    /// of another are kept, as in that one; others last.
    pub fn order(&self, kept: Option<&Vocabulary>) -> [u64; 2] {
        match (self.status, kept) {
            (TermStatus::Kept, None) => self.rank().0,
            (TermStatus::Kept, Some(kept)) => [kept.id(&self.term).map_or(u64::MAX, u64::from), 0],
            _ => [u64::MAX; 2],
        }
    }

    /// Returns its place among the most frequent: most documents, smaller bytes.
    fn frequency_rank(&self) -> Rank<'_> {
        ([!self.documents, 0], &self.term)
    }
}

/// Prunes the terms of a collection, or one worker's share of them. The first of these rules that applies to a term
/// decides its status:
/// 1. on the stop list: `Stop`;
/// 2. of the rest, the `stop_top` terms in most documents (ties: smaller bytes): `Stop`;
/// 3. documents / `document_count` > `max_share`: `Frequent`;
/// 4. documents < `min_documents`: `Rare`;
/// 5. of the rest by [`rank`](VocabularyTerm::rank), beyond `max_terms`: `Capped`.
///
/// Each term comes once; `document_count` is the number of documents with at least one token. `nth` is given ranks of
/// these terms in any order and a number n; it returns the rank that exactly n ranks precede, in the shares of all
/// workers, or `None` if there are no more than n. How often it is called depends on the settings alone.
pub fn prune(
    terms: &mut [VocabularyTerm],
    document_count: u64,
    settings: &VocabularySettings,
    stop_list: &StopList,
    mut nth: impl FnMut(Vec<Rank<'_>>, usize) -> Option<([u64; 2], String)>,
) {
    for term in &mut *terms {
        term.status = status_alone(term, document_count, settings, stop_list);
    }
    let precedes = |rank: Rank<'_>, bound: &Option<([u64; 2], String)>| {
        bound.as_ref().is_none_or(|(numbers, term)| rank < (*numbers, term))
    };
    if settings.stop_top > 0 {
        let may_stop = |term: &&VocabularyTerm| term.status != TermStatus::Stop;
        let ranks = terms.iter().filter(may_stop).map(VocabularyTerm::frequency_rank);
        let bound = nth(ranks.collect(), settings.stop_top);
        for term in terms.iter_mut().filter(|term| precedes(term.frequency_rank(), &bound)) {
            term.status = TermStatus::Stop;
        }
    }
    let kept = |term: &&VocabularyTerm| term.status == TermStatus::Kept;
    let bound =
        nth(terms.iter().filter(kept).map(VocabularyTerm::rank).collect(), settings.max_terms);
    for term in terms.iter_mut().filter(|term| term.status == TermStatus::Kept) {
        if !precedes(term.rank(), &bound) {
            term.status = TermStatus::Capped;
        }
    }
}

/// Applies the rules for a term alone.
fn status_alone(
    term: &VocabularyTerm,
    document_count: u64,
    settings: &VocabularySettings,
    stop_list: &StopList,
) -> TermStatus {
    // The quotient, not max_share × document_count: 29 of 100 documents are a share of 0.29.
    let share = term.documents as f64 / document_count.max(1) as f64;
    if stop_list.contains(&term.term) {
        TermStatus::Stop
    } else if share > settings.max_share {
        TermStatus::Frequent
    } else if term.documents < settings.min_documents {
        TermStatus::Rare
    } else {
        TermStatus::Kept
    }
}

/// Returns the tokens of each word as a name, over these terms.
pub fn names_among(terms: &[VocabularyTerm]) -> BTreeMap<&str, u64> {
    let named = terms.iter().filter_map(|term| Some((names::word_of(&term.term)?, term.tokens)));
    named.collect()
}

/// Adds to a stop list those of these terms that are names in most of their tokens, given the tokens of names.
pub fn stop_names(terms: &[VocabularyTerm], named: &BTreeMap<&str, u64>, stop_list: &mut StopList) {
    for term in terms {
        if named.get(&*term.term).is_some_and(|&tokens| tokens > term.tokens) {
            stop_list.insert(&term.term);
        }
    }
}

/// Keeps the kept terms of another vocabulary, `before`. Other terms have the status that they have there; if they are
/// not there, `Stop` on the stop list, otherwise `Unknown`.
pub fn keep_those_of(before: &Vocabulary, terms: &mut [VocabularyTerm], stop_list: &StopList) {
    for term in terms {
        let new = || {
            if stop_list.contains(&term.term) { TermStatus::Stop } else { TermStatus::Unknown }
        };
        term.status = before.status(&term.term).unwrap_or_else(new);
    }
}

/// A map from one worker's local ids to indices in the vocabulary, which are the term ids of kept terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermMap {
    /// By local id: the term's [`destination`], or `DROPPED` if the vocabulary lacks it.
    destinations: Vec<u32>,
    /// Kept terms.
    kept: u32,
}

/// The terms of a vocabulary are fewer: a [`destination`] has 30 bits for their indices.
pub const TERMS_LIMIT: u32 = 1 << 30;

const STOPPED: u32 = 1 << 31;
const FREQUENT: u32 = 1;
const DROPPED: u32 = u32::MAX;

/// Returns where the tokens of a term go, given its index in the vocabulary and its status. From the highest bit: whether
/// it is in `stopped`, the index, whether it is frequent.
pub fn destination(place: u32, status: TermStatus) -> u32 {
    place << 1
        | match status {
            TermStatus::Kept | TermStatus::Rare | TermStatus::Capped | TermStatus::Unknown => 0,
            TermStatus::Stop => STOPPED,
            TermStatus::Frequent | TermStatus::Removed => STOPPED | FREQUENT,
        }
}

impl TermMap {
    /// Drops each of this many local ids, to a vocabulary of `kept` kept terms.
    pub fn new(terms: usize, kept: usize) -> Self {
        let kept = u32::try_from(kept).expect("term ids are 32 bits");
        Self { destinations: vec![DROPPED; terms], kept }
    }

    /// Sets where the tokens of a local id go: its [`destination`].
    pub fn set(&mut self, local: u32, destination: u32) {
        self.destinations[local as usize] = destination;
    }

    /// Adds the terms that the counter has met since the map was made or last extended.
    pub fn extend(&mut self, counter: &TermCounter, vocabulary: &Vocabulary) {
        for local in self.destinations.len()..counter.len() {
            let place = vocabulary.place(counter.term(local as u32));
            self.destinations.push(place.map_or(DROPPED, |place| {
                destination(place, vocabulary.terms[place as usize].status)
            }));
        }
    }

    /// Rewrites a draft: local ids of kept terms become term ids, ascending; rare, capped and unknown terms move to
    /// `pruned`, stop words and frequent terms to `stopped`. `tokens_stopped` becomes the tokens of stop words. Terms that
    /// the vocabulary lacks are dropped. A document that had a text and has no term left gets status `NoVocabulary`, or
    /// `Empty` if `tokens_total` is 0; other statuses stay. Every local id must be below the counter's length.
    pub fn remap(&self, document: &mut ShardDocument) {
        // A destination and a count in one number, which sorts twice as fast as a pair.
        let entry = |(&local, &count): (&u32, &u32)| {
            u64::from(self.destinations[local as usize]) << 32 | u64::from(count)
        };
        let mut entries: Vec<u64> = zip(&document.terms, &document.counts).map(entry).collect();
        entries.sort_unstable();
        let mut rest = &entries[..];
        let bounds = [self.kept << 1, STOPPED, DROPPED];
        for (bound, [ids, counts]) in zip(bounds, document.lists_mut()) {
            let before = rest.partition_point(|entry| entry >> 32 < u64::from(bound));
            let (these, others) = rest.split_at(before);
            ids.clear();
            ids.extend(these.iter().map(|entry| (entry >> 33) as u32 % TERMS_LIMIT));
            counts.clear();
            counts.extend(these.iter().map(|&entry| entry as u32));
            rest = others;
        }
        let is_stop = |entry: &&u64| (*entry >> 32) as u32 & (STOPPED | FREQUENT) == STOPPED;
        let tokens = entries.iter().filter(is_stop).map(|&entry| u64::from(entry as u32));
        document.tokens_stopped = u32::try_from(tokens.sum::<u64>()).unwrap_or(u32::MAX);
        if document.status.has_terms() && document.terms.is_empty() {
            document.status = match document.tokens_total {
                0 => DocumentStatus::Empty,
                _ => DocumentStatus::NoVocabulary,
            };
        }
    }
}

#[cfg(test)]
mod tests;
