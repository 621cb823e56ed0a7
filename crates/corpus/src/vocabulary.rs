//! The vocabulary: pruning, term ids, and the rewriting of drafts with them.
//!
//! Pruning depends on the counts alone, never on their order. Kept terms are numbered by document
//! frequency, highest first, so that a rare term has a high id: the sampler relies on it. Terms
//! that are not kept remain listed with the reason, because the tables account for every token.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::document::{DocumentStatus, ShardDocument};
use super::settings::VocabularySettings;
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
}

impl TermStatus {
    /// Every status, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Kept, Self::Stop, Self::Rare, Self::Frequent, Self::Capped, Self::Unknown];

    /// Returns the name written to the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Stop => "stop",
            Self::Rare => "rare",
            Self::Frequent => "frequent",
            Self::Capped => "capped",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the status with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A term of the collection and how often it occurs, over all workers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TermCount {
    /// The term.
    pub term: String,
    /// Its tokens.
    pub tokens: u64,
    /// The documents it is in.
    pub documents: u64,
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

    /// Prunes the terms of a collection. The first of these rules that applies to a term decides its status:
    /// 1. on the stop list: `Stop`;
    /// 2. of the rest, the `stop_top` terms in most documents (ties: smaller bytes): `Stop`;
    /// 3. documents / `document_count` > `max_share`: `Frequent`;
    /// 4. documents < `min_documents`: `Rare`;
    /// 5. of the rest by (most documents, most tokens, smaller bytes), beyond `max_terms`: `Capped`.
    ///
    /// `counts` has each term once, in any order; `document_count` is the number of documents
    /// with at least one token.
    pub fn prune(
        counts: Vec<TermCount>,
        document_count: u64,
        settings: &VocabularySettings,
        stop_list: &BTreeSet<String>,
    ) -> Self {
        let mut terms: Vec<VocabularyTerm> = counts
            .into_iter()
            .map(|count| VocabularyTerm {
                status: judge(&count, document_count, settings, stop_list),
                term: count.term,
                tokens: count.tokens,
                documents: count.documents,
            })
            .collect();
        stop_most_frequent(&mut terms, settings.stop_top);
        let mut kept: Vec<_> =
            (terms.extract_if(.., |term| term.status == TermStatus::Kept)).collect();
        kept.sort_unstable_by(by_rank);
        let capped = kept.drain(settings.max_terms.min(kept.len())..);
        terms.extend(capped.map(|term| VocabularyTerm { status: TermStatus::Capped, ..term }));
        // The stable sort is the fast one: each worker's terms are sorted already.
        terms.sort_by(|a, b| a.term.cmp(&b.term));
        let kept_count = kept.len();
        terms.extend(kept);
        terms.rotate_right(kept_count);
        Self::from_terms(terms).expect("kept terms were sorted first, and each term comes once")
    }

    /// Creates the vocabulary of a collection with the kept terms of another, `before`: all of them, under the same
    /// term ids, also those that the collection lacks. Its other terms have the status that they have there; if they are
    /// not there, `Stop` on the stop list, otherwise `Unknown`.
    ///
    /// `counts` has each term once, in any order.
    pub fn with_terms_of(
        before: &Self,
        counts: Vec<TermCount>,
        stop_list: &BTreeSet<String>,
    ) -> Self {
        let kept = before.kept_terms().iter().map(|term| VocabularyTerm {
            tokens: 0,
            documents: 0,
            ..term.clone()
        });
        let (mut terms, mut others) = (kept.collect::<Vec<_>>(), Vec::new());
        for count in counts {
            let new = || {
                if stop_list.contains(&count.term) { TermStatus::Stop } else { TermStatus::Unknown }
            };
            let term = VocabularyTerm {
                status: before.status(&count.term).unwrap_or_else(new),
                tokens: count.tokens,
                documents: count.documents,
                term: count.term,
            };
            match before.id(&term.term) {
                Some(id) => terms[id as usize] = term,
                None => others.push(term),
            }
        }
        others.sort_unstable_by(|a, b| a.term.cmp(&b.term));
        terms.append(&mut others);
        Self::from_terms(terms).expect("kept terms come first, and each term comes once")
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

    fn place(&self, term: &str) -> Option<u32> {
        let same = |&place: &u32| self.terms[place as usize].term == term;
        self.index.find(hash(term), same).copied()
    }

    /// Returns the SHA-256 of the kept terms by id, each as its length in bytes (u64, little-endian) and its bytes; 64
    /// hexadecimal digits. Models and shards of one vocabulary have the same one.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for term in self.kept_terms() {
            hasher.update((term.term.len() as u64).to_le_bytes());
            hasher.update(term.term.as_bytes());
        }
        hex::encode(hasher.finalize())
    }
}

/// Applies the rules for a term alone. Whether the term is one of `stop_top` is decided later, and overrides `Frequent`
/// and `Rare`.
fn judge(
    count: &TermCount,
    document_count: u64,
    settings: &VocabularySettings,
    stop_list: &BTreeSet<String>,
) -> TermStatus {
    // The quotient, not max_share × document_count: 29 of 100 documents are a share of 0.29.
    let share = count.documents as f64 / document_count.max(1) as f64;
    if stop_list.contains(&count.term) {
        TermStatus::Stop
    } else if share > settings.max_share {
        TermStatus::Frequent
    } else if count.documents < settings.min_documents {
        TermStatus::Rare
    } else {
        TermStatus::Kept
    }
}

fn stop_most_frequent(terms: &mut [VocabularyTerm], stop_top: usize) {
    if stop_top == 0 {
        return;
    }
    let mut left: Vec<&mut VocabularyTerm> =
        terms.iter_mut().filter(|term| term.status != TermStatus::Stop).collect();
    let last = stop_top.min(left.len()).saturating_sub(1);
    if last < left.len() {
        left.select_nth_unstable_by(last, |a, b| {
            (b.documents, &a.term).cmp(&(a.documents, &b.term))
        });
    }
    for term in left.into_iter().take(stop_top) {
        term.status = TermStatus::Stop;
    }
}

/// Compares terms in the order of term ids.
fn by_rank(a: &VocabularyTerm, b: &VocabularyTerm) -> Ordering {
    (b.documents, b.tokens, &a.term).cmp(&(a.documents, a.tokens, &b.term))
}

/// A map from one worker's local ids to indices in the vocabulary, which are the term ids of kept terms.
#[derive(Clone, Debug)]
pub struct TermMap {
    /// By local id: the term's index, or `STOPPED` or `DROPPED`.
    places: Vec<u32>,
    /// Kept terms.
    kept: u32,
}

const DROPPED: u32 = u32::MAX;
const STOPPED: u32 = u32::MAX - 1;

/// Returns where the tokens of a term go, given its index in the vocabulary and its status.
fn destination(place: u32, status: TermStatus) -> u32 {
    match status {
        TermStatus::Kept | TermStatus::Rare | TermStatus::Capped | TermStatus::Unknown => place,
        TermStatus::Stop => STOPPED,
        TermStatus::Frequent => DROPPED,
    }
}

impl TermMap {
    /// Maps a worker's terms. `vocabulary` has all terms of the vocabulary, in its order; other terms are dropped.
    pub fn new<T: Borrow<VocabularyTerm>>(
        counter: &TermCounter,
        vocabulary: impl IntoIterator<Item = T>,
    ) -> Self {
        let (mut places, mut kept) = (vec![DROPPED; counter.len()], 0);
        for (place, term) in (0..).zip(vocabulary) {
            let VocabularyTerm { term, status, .. } = term.borrow();
            kept += u32::from(*status == TermStatus::Kept);
            if let Some(local) = counter.id(term) {
                places[local as usize] = destination(place, *status);
            }
        }
        Self { places, kept }
    }

    /// Creates a map of no terms, to a vocabulary of `kept` kept terms.
    pub fn empty(kept: usize) -> Self {
        let kept = u32::try_from(kept).expect("term ids are 32 bits");
        Self { places: Vec::new(), kept }
    }

    /// Adds the terms that the counter has met since the map was made or last extended.
    pub fn extend(&mut self, counter: &TermCounter, vocabulary: &Vocabulary) {
        for local in self.places.len()..counter.len() {
            let place = vocabulary.place(counter.term(local as u32));
            self.places.push(place.map_or(DROPPED, |place| {
                destination(place, vocabulary.terms[place as usize].status)
            }));
        }
    }

    /// Rewrites a draft: local ids of kept terms become term ids, ascending; rare, capped and unknown terms move to
    /// `pruned`;
    /// others are dropped, and the tokens of stop words are added to `tokens_stopped`. A document that had a text and
    /// has no term left gets status `NoVocabulary`, or `Empty` if `tokens_total` is 0; other statuses stay. Every local
    /// id must be below the counter's length.
    pub fn remap(&self, document: &mut ShardDocument) {
        let mut stopped = 0_u64;
        // An id and its count in one number, which sorts twice as fast as a pair.
        let mut kept: Vec<u64> = Vec::with_capacity(document.terms.len());
        document.pruned.clear();
        for (&local, &count) in document.terms.iter().zip(&document.counts) {
            match self.places[local as usize] {
                DROPPED => {}
                STOPPED => stopped += u64::from(count),
                id if id < self.kept => kept.push(u64::from(id) << 32 | u64::from(count)),
                place => document.pruned.push(place),
            }
        }
        document.pruned.sort_unstable();
        kept.sort_unstable();
        document.terms.clear();
        document.terms.extend(kept.iter().map(|id_and_count| (id_and_count >> 32) as u32));
        document.counts.clear();
        document.counts.extend(kept.iter().map(|&id_and_count| id_and_count as u32));
        let stopped = u32::try_from(stopped).unwrap_or(u32::MAX);
        document.tokens_stopped = document.tokens_stopped.saturating_add(stopped);
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
