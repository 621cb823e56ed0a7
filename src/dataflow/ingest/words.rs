//! The messages between the workers of ingest, as words for blocks: terms and fixed records.
//!
//! A term is its tokens, its documents, its status and length in one word, and its bytes padded to
//! whole words. Terms follow each other without a gap and may be cut between any two words.

use bytemuck::Pod;
use timely::worker::Worker;

use crate::dataflow::block::MAX_BLOCK_WORDS;
use crate::dataflow::gather::all_gather_blocks;
use corpus::vocabulary::{TermStatus, VocabularyTerm};

/// Words of a term before its bytes.
const HEAD: usize = 3;

/// Appends a term.
pub(super) fn push(words: &mut Vec<u64>, term: &str, tokens: u64, documents: u64, status: u8) {
    let bytes = term.as_bytes();
    words.extend([
        tokens,
        documents,
        u64::from(status) << 56 | bytes.len() as u64,
    ]);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        words.push(u64::from_ne_bytes(word));
    }
}

/// Terms put together again from words that come in pieces, in order.
#[derive(Debug, Default)]
pub(super) struct Terms {
    rest: Vec<u64>,
}

impl Terms {
    /// Visits the terms that are complete now. The status of a term is one of
    /// [`TermStatus::ALL`].
    pub(super) fn take(&mut self, words: &[u64], visit: &mut impl FnMut(VocabularyTerm)) {
        self.rest.extend_from_slice(words);
        let mut at = 0;
        while let Some((term, after)) = first(&self.rest[at..]) {
            visit(term);
            at += after;
        }
        self.rest.drain(..at);
    }
}

/// The first term and its words, if it is complete.
fn first(words: &[u64]) -> Option<(VocabularyTerm, usize)> {
    let [tokens, documents, shape, rest @ ..] = words else {
        return None;
    };
    let length = (shape & (u64::MAX >> 8)) as usize;
    let bytes = rest.get(..length.div_ceil(8))?;
    let bytes: &[u8] = &bytemuck::cast_slice(bytes)[..length];
    let status = TermStatus::ALL[(shape >> 56) as usize];
    let term = std::str::from_utf8(bytes)
        .expect("terms are sent as UTF-8")
        .to_owned();
    let term = VocabularyTerm {
        term,
        tokens: *tokens,
        documents: *documents,
        status,
    };
    Some((term, HEAD + length.div_ceil(8)))
}

/// Every worker passes records of whole words and gets those of all, in the order of the workers.
pub(super) fn gather_records<T: Pod>(worker: &mut Worker, mine: &[T]) -> Vec<T> {
    let words = size_of::<T>() / size_of::<u64>();
    let pieces = mine
        .chunks(MAX_BLOCK_WORDS / words)
        .map(|some| bytemuck::cast_slice(some).to_vec());
    let gathered = all_gather_blocks(worker, pieces.collect());
    let blocks = gathered.iter().flatten();
    blocks
        .flat_map(|block| bytemuck::cast_slice(block.words()).iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mesh::{ClusterSettings, Failure, Placement, execute};

    #[test]
    fn terms_survive_cuts_at_every_word() {
        let mut sent = Vec::new();
        let mut words = Vec::new();
        for (number, term) in ["", "a", "sieben…", "zwölf-zeichen", "x"]
            .iter()
            .enumerate()
        {
            let status = TermStatus::ALL[number % 5];
            let (tokens, documents) = (u64::MAX - number as u64, number as u64);
            push(&mut words, term, tokens, documents, status as u8);
            sent.push(VocabularyTerm {
                term: (*term).to_owned(),
                tokens,
                documents,
                status,
            });
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

    #[test]
    fn records_are_gathered_in_the_order_of_the_workers() {
        let gathered = execute(
            &Placement::single(3),
            &ClusterSettings::default(),
            |worker| {
                let index = worker.index() as u64;
                let count = [0, 70_000, 1][worker.index()];
                let mine: Vec<[u64; 3]> = (0..count).map(|number| [index, number, 7]).collect();
                Ok::<_, Failure>(gather_records(worker, &mine))
            },
        )
        .unwrap();
        let mut expected: Vec<[u64; 3]> = (0..70_000).map(|number| [1, number, 7]).collect();
        expected.push([2, 0, 7]);
        assert!(gathered.iter().all(|records| *records == expected));
    }
}
