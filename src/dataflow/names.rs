//! Names of groups, volumes and terms, in messages.

use lda::math::random::{Stage, hash};

/// The most bytes in a name of a group or volume; a longer one is left out.
pub(crate) const MOST_NAME_BYTES: usize = 1 << 16;

/// Hashes a name, alike on every worker.
pub(crate) fn name_hash(name: &str) -> u64 {
    let chunks = name.as_bytes().chunks(8);
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let start = hash(0, Stage::Synth, name.len() as u64, 0);
    chunks.fold(start, |state, chunk| hash(state, Stage::Synth, word(chunk), 0))
}

/// Appends a name: its length, and its bytes.
pub(crate) fn pack_name(name: &str, words: &mut Vec<u64>) {
    words.push(name.len() as u64);
    words.extend(bytemuck::pod_collect_to_vec::<_, u64>(name.as_bytes()));
}

/// Returns the name at the start of `words`, and the words after it; `None` if words are missing.
pub(crate) fn unpack_name(words: &[u64]) -> Option<(String, &[u64])> {
    let (&length, others) = words.split_first()?;
    let length = length as usize;
    let (name, others) = others.split_at_checked(length.div_ceil(8))?;
    let name = &bytemuck::cast_slice(name)[..length];
    Some((String::from_utf8_lossy(name).into_owned(), others))
}
