//! Names of groups, volumes and terms as they travel.

use lda::math::random::{Stage, hash};

/// Maximum number of bytes of a name: one that is longer is not summed up.
pub(crate) const MOST_NAME_BYTES: usize = 1 << 16;

/// The same for every worker.
pub(crate) fn name_hash(name: &str) -> u64 {
    let chunks = name.as_bytes().chunks(8);
    let word = |chunk: &[u8]| {
        chunk
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    let start = hash(0, Stage::Synth, name.len() as u64, 0);
    chunks.fold(start, |state, chunk| {
        hash(state, Stage::Synth, word(chunk), 0)
    })
}

/// Its length, and its bytes.
pub(crate) fn pack_name(name: &str, words: &mut Vec<u64>) {
    words.push(name.len() as u64);
    words.extend(bytemuck::pod_collect_to_vec::<_, u64>(name.as_bytes()));
}

/// The name at the beginning of some words, and what follows it; `None` where words are missing.
pub(crate) fn unpack_name(words: &[u64]) -> Option<(String, &[u64])> {
    let (&length, others) = words.split_first()?;
    let length = length as usize;
    let (name, others) = others.split_at_checked(length.div_ceil(8))?;
    let name = &bytemuck::cast_slice(name)[..length];
    Some((String::from_utf8_lossy(name).into_owned(), others))
}
