//! Blocks: the units in which input is parsed and, later, stored and projected.
//!
//! A block contains complete documents and is identified by (source, number), where the source is the index of its file
//! in [`Input::files`]; ascending keys are the order of the documents. Block boundaries depend only on the input and
//! the settings, never on the reader. The n-th block of a file of lines owns the records that begin in bytes [n·B,
//! (n+1)·B) of its decompressed content, where B is [`block_bytes`]; a block of texts, volumes, or files shorter than B
//! is several files of at least B bytes in total; a block of Parquet or Arrow is several row groups of at least B
//! bytes; a block of a bag of words is a range of document numbers. A block may contain no document.

pub mod columnar;
pub mod cutter;
mod files;
pub mod header;
mod lines;
pub mod nested;
mod queue;
pub(crate) mod uci;

pub(crate) use lines::{check_damage, keeps_damaged};
pub(crate) use queue::open;
pub use queue::{BlockQueue, Share};
pub use uci::most_documents;

use super::input::{Input, InputError, InputFile};
use super::settings::CorpusSettings;
use columnar::RowGroups;
use cutter::Piece;
use header::Header;
use std::ops::Range;
use std::sync::Arc;

/// Blocks that a medium-sized input is cut into.
const WANTED_BLOCKS: u64 = 2048;

/// Bounds of the block size if the job does not set it.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=64 << 20;

/// A unit of work: complete documents, or where to read them.
pub struct Block {
    /// The index of its (first) file in [`Input::files`].
    pub source: u32,
    /// Its number within the source: ascending, possibly with gaps.
    pub number: u32,
    pub(crate) input: Arc<Input>,
    pub(crate) content: Content,
}

impl Block {
    /// Returns the block's position in the order of the documents.
    pub fn key(&self) -> (u32, u32) {
        (self.source, self.number)
    }

    /// Returns whether an id was made for a document without one: the name of a file of the input, and a place there.
    pub fn is_place(&self, id: &str) -> bool {
        let is_file = |name: &str| {
            let files = &self.input.files;
            files.binary_search_by(|file| file.name.as_str().cmp(name)).is_ok()
        };
        id.rsplit_once('@')
            .is_some_and(|(name, place)| place.parse::<u64>().is_ok() && is_file(name))
    }

    /// Returns the (first) file that the block's documents come from.
    pub(crate) fn file(&self) -> &InputFile {
        &self.input.files[self.source as usize]
    }

    /// Returns the approximate bytes of content, to show progress; measured like [`Input::expected_bytes`] where that
    /// is exact.
    pub fn content_bytes(&self) -> u64 {
        match &self.content {
            Content::Files(files) => {
                self.input.files[files.clone()].iter().map(InputFile::expected_bytes).sum()
            }
            Content::Lines(range) => range.end.min(self.file().bytes).saturating_sub(range.begin),
            Content::Pieces { pieces, .. } => pieces.iter().map(Piece::content_bytes).sum(),
            Content::Counts(counts) => counts.bags.iter().map(|bag| bag.bytes).sum(),
            Content::RowGroups(groups) => groups.content_bytes(),
        }
    }
}

/// The content of a block, or its location.
pub(crate) enum Content {
    /// Files of the input that are read whole.
    Files(Range<usize>),
    /// A range of a plain file of lines, read by the thread that parses it.
    Lines(LineRange),
    /// Records cut from a stream.
    Pieces { pieces: Vec<Piece>, header: Option<Arc<Header>> },
    /// Documents of a bag of words.
    Counts(uci::Counts),
    /// Row groups of a columnar file.
    RowGroups(RowGroups),
}

/// A cutter of one source into blocks, in order.
pub(crate) trait Cut: Send {
    /// Returns the next block's number and content; `None` at the end.
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError>;
}

/// The records of a plain file that begin in a range of bytes.
pub(crate) struct LineRange {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Whether a record begins at `begin`; else the first one begins after a line break.
    pub(crate) begins_record: bool,
    pub(crate) header: Option<Arc<Header>>,
}

/// Returns the size of this input's blocks, in bytes of decompressed content.
///
/// This is `corpus.block_bytes`, or else a 2048th of the input's expected content, between 4 and 64 MiB.
pub fn block_bytes(input: &Input, settings: &CorpusSettings) -> u64 {
    let fitting = || {
        let share = input.expected_bytes() / WANTED_BLOCKS;
        share.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end())
    };
    settings.block_bytes.unwrap_or_else(fitting).max(1)
}

/// The expected size of an input, without opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of content: exact for plain files, four times the size for compressed ones, twice for Parquet.
    pub content_bytes: u64,
    /// The block size.
    pub block_bytes: u64,
    /// The approximate number of blocks (exact for plain files of text, and of lines without empty ranges).
    pub blocks: u64,
}

/// Estimates an input's content and blocks, for a plan.
pub fn estimate(input: &Input, settings: &CorpusSettings) -> Estimate {
    let block_bytes = block_bytes(input, settings);
    let blocks_of = |files: Range<usize>| match &input.files[files.start] {
        file if files::is_whole(file, block_bytes) => {
            files::cut(input, files, block_bytes).len() as u64
        }
        file => file.expected_bytes().div_ceil(block_bytes),
    };
    let blocks = files::sources(input, block_bytes).into_iter().map(blocks_of).sum();
    Estimate { content_bytes: input.expected_bytes(), block_bytes, blocks }
}
