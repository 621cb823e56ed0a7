//! Which minibatch a document belongs to: a function of the seed and its number alone.

use crate::math::random::{Stage, hash};

/// The place of a document in the order of minibatches: a 64-bit hash.
pub fn place(seed: u64, document: u64) -> u64 {
    hash(seed, Stage::Minibatch, 0, document)
}

/// The minibatch, of `count`, that a place belongs to: each is a range of places, all are of the
/// same size.
pub fn minibatch_at(place: u64, count: u64) -> u64 {
    ((u128::from(place) * u128::from(count)) >> u64::BITS) as u64
}

/// Deals documents, given by their numbers, to `count` minibatches; as indices.
pub fn deal(seed: u64, count: u64, documents: impl Iterator<Item = u64>) -> Vec<Vec<u32>> {
    let mut minibatches = vec![Vec::new(); count as usize];
    for (index, document) in documents.enumerate() {
        let minibatch = minibatch_at(place(seed, document), count);
        minibatches[minibatch as usize].push(index as u32);
    }
    minibatches
}
