//! Terms, as the workers of ingest send them to each other.
//!
//! Terms follow each other without a gap and may be cut between any two words.

use crate::dataflow::block::MAX_BLOCK_WORDS;
use crate::wire::Wire;
use corpus::vocabulary::{TermStatus, VocabularyTerm};

/// A term: its tokens, its documents, its status, and its name.
type Words<'w> = ([u64; 3], &'w str);

/// Appends a term.
pub(super) fn push(words: &mut Vec<u64>, term: &str, tokens: u64, documents: u64, status: u8) {
    ([tokens, documents, status.into()], term).pack(words);
}

/// Takes a block's worth of words, if there are as many.
pub(super) fn full_block(waiting: &mut Vec<u64>) -> Option<Vec<u64>> {
    (waiting.len() >= MAX_BLOCK_WORDS).then(|| {
        let rest = waiting.split_off(MAX_BLOCK_WORDS);
        std::mem::replace(waiting, rest)
    })
}

/// Terms reassembled from words that arrive in pieces, in order.
#[derive(Debug, Default)]
pub(super) struct Terms {
    rest: Vec<u64>,
}

impl Terms {
    /// Visits the terms that are complete now. The status of a term is one of
    /// [`TermStatus::ALL`].
    pub(super) fn take(&mut self, words: &[u64], visit: &mut impl FnMut(VocabularyTerm)) {
        self.rest.extend_from_slice(words);
        let mut complete = 0;
        let mut rest = &self.rest[..];
        while let Some(([tokens, documents, status], term)) = Words::unpack(&mut rest) {
            complete = self.rest.len() - rest.len();
            let status = TermStatus::ALL[status as usize];
            visit(VocabularyTerm { term: term.to_owned(), tokens, documents, status });
        }
        self.rest.drain(..complete);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_survive_cuts_at_every_word() {
        let mut sent = Vec::new();
        let mut words = Vec::new();
        for (number, term) in ["", "a", "sieben…", "zwölf-zeichen", "x"].iter().enumerate() {
            let status = TermStatus::ALL[number % 5];
            let (tokens, documents) = (u64::MAX - number as u64, number as u64);
            push(&mut words, term, tokens, documents, status as u8);
            sent.push(VocabularyTerm { term: (*term).to_owned(), tokens, documents, status });
        }
        for length in 1..=words.len() {
            let mut received = Vec::new();
            let mut terms = Terms::default();
            for piece in words.chunks(length) {
                terms.take(piece, &mut |term| received.push(term));
            }
            assert_eq!(received, sent);
            assert!(terms.rest.is_empty());
        }
    }
}
