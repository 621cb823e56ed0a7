//! Blocks of files that are read whole (texts, volumes, and files shorter than a block): neighbours in the input's
//! order, enough of them to fill a block.

use crate::input::{Input, InputFile};
use crate::settings::Format;
use std::ops::Range;

/// The most files in a block, so that a million tiny ones still make many blocks.
const MAX_FILES: usize = 4096;

/// Returns whether one thread reads the whole file; a block may contain several such files.
pub(super) fn is_whole(file: &InputFile, block_bytes: u64) -> bool {
    matches!(file.format, Format::Text | Format::Htrc) || file.expected_bytes() < block_bytes
}

/// Splits the input into its sources: runs of neighbouring files that are read whole, and every other file alone.
pub(super) fn sources(input: &Input, block_bytes: u64) -> Vec<Range<usize>> {
    let is_whole = |file: &InputFile| is_whole(file, block_bytes);
    let mut next = 0;
    input
        .files
        .chunk_by(|a, b| is_whole(a) && is_whole(b))
        .map(|run| {
            let start = next;
            next += run.len();
            start..next
        })
        .collect()
}

/// Cuts a run of such files into blocks of at least `block_bytes` expected bytes or [`MAX_FILES`], except the last.
pub(super) fn cut(input: &Input, run: Range<usize>, block_bytes: u64) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut bytes) = (run.start, 0u64);
    for file in run.clone() {
        bytes = bytes.saturating_add(input.files[file].expected_bytes());
        if bytes >= block_bytes || file + 1 - start == MAX_FILES || file + 1 == run.end {
            blocks.push(start..file + 1);
            (start, bytes) = (file + 1, 0);
        }
    }
    blocks
}
