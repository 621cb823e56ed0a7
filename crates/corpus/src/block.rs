//! Blocks: the units in which input is parsed and, later, stored and projected.
//!
//! A block contains complete documents and is identified by (source, number), where the source is the index of its file
//! in [`Input::files`]; ascending keys are the order of the documents. Block boundaries depend only on the input and
//! the settings, never on the reader. The n-th block of a file of lines owns the records that begin in bytes [n·B,
//! (n+1)·B) of its decompressed content, where B is [`block_bytes`]; a block of texts, volumes, or files shorter than B
//! is several files of at least B bytes in total; a block of Parquet or Arrow is several row groups of at least B
//! bytes; a block of a bag of words is a range of document numbers. A block may contain no document.

use super::boilerplate::{self, Gaps, LeftOut};
use super::formats::{Context, Cut, DocumentSink, InputFile, Part, adding};
use super::input::{Input, InputError};
use super::settings::{Boilerplate, CorpusSettings};
use super::{language, sections};
use crate::RawDocument;
use std::cell::Cell;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Blocks that a medium-sized input is cut into.
const WANTED_BLOCKS: u64 = 2048;

/// Bounds of the block size if the job does not set it.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=64 << 20;

/// The most files in a block, so that a million tiny ones still make many blocks.
const MAX_FILES: usize = 4096;

/// A unit of work: complete documents, or where to read them.
pub struct Block {
    /// The index of its (first) file in [`Input::files`].
    pub source: u32,
    /// Its number within the source: ascending, possibly with gaps.
    pub number: u32,
    input: Arc<Input>,
    content: BlockContent,
}

impl Block {
    /// Returns the block's position in the order of the documents.
    pub fn key(&self) -> (u32, u32) {
        (self.source, self.number)
    }

    /// Returns whether an id was made for a document without one, or a section of it: the name of a file of the input,
    /// and a place there.
    pub fn is_place(&self, id: &str) -> bool {
        let is_file = |name: &str| {
            let files = &self.input.files;
            files.binary_search_by(|file| file.name.as_str().cmp(name)).is_ok()
        };
        sections::without_number(id)
            .rsplit_once('@')
            .is_some_and(|(name, place)| place.parse::<u64>().is_ok() && is_file(name))
    }

    /// Returns the (first) file that the block's documents come from.
    fn file(&self) -> &InputFile {
        &self.input.files[self.source as usize]
    }

    /// Returns the approximate bytes of content, to show progress; measured like [`Input::expected_bytes`] where that
    /// is exact.
    pub fn content_bytes(&self) -> u64 {
        match &self.content {
            BlockContent::Files(files) => {
                self.input.files[files.clone()].iter().map(InputFile::expected_bytes).sum()
            }
            BlockContent::Part(part) => part.bytes(),
        }
    }

    /// Passes every document of the block to `emit`, in the input's order: texts without boilerplate, cut into sections
    /// and with their language, as the job says. Returns what was left out of texts.
    ///
    /// # Errors
    /// A file cannot be opened, has changed, or is damaged while the job says `on_damage = "fail"`; problems of single
    /// documents are in their bodies instead.
    pub fn read(
        &self,
        settings: &CorpusSettings,
        emit: DocumentSink<'_>,
    ) -> Result<Vec<LeftOut>, InputError> {
        let context = Context::new(self.file(), settings);
        let (format, mut left_out) = (Cell::new(self.file().format), Vec::new());
        let emit = &mut |document: RawDocument<'_>| {
            let mut document = context.within_limit(document);
            let gaps = match settings.boilerplate {
                Boilerplate::Auto => {
                    boilerplate::leave_out(&mut document, format.get(), &mut left_out)
                }
                Boilerplate::Keep => Gaps::default(),
            };
            let emit = &mut |mut document: RawDocument<'_>| {
                if let Some(kept) = &settings.languages {
                    language::add_to(&mut document, kept);
                }
                emit(document);
            };
            match settings.sections {
                Some(size) => sections::cut(document, size, settings.group.is_some(), &gaps, emit),
                None => emit(document),
            }
        };
        match &self.content {
            BlockContent::Part(part) => part.read(&context, &mut adding(&context, emit))?,
            BlockContent::Files(files) => {
                let mut held = Vec::new();
                for file in &self.input.files[files.clone()] {
                    format.set(file.format);
                    file.read(settings, &mut held, emit)?;
                }
            }
        }
        Ok(left_out)
    }
}

/// The content of a block, or its location.
enum BlockContent {
    /// Files of the input that are read whole.
    Files(Range<usize>),
    /// A part of a file.
    Part(Box<dyn Part>),
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
        file if file.is_whole(block_bytes) => cut_run(input, files, block_bytes).len() as u64,
        file => file.expected_bytes().div_ceil(block_bytes),
    };
    let blocks = runs(input, block_bytes).into_iter().map(blocks_of).sum();
    Estimate { content_bytes: input.expected_bytes(), block_bytes, blocks }
}

/// Splits the input into its sources: runs of neighbouring files that are read whole, and every other file alone.
fn runs(input: &Input, block_bytes: u64) -> Vec<Range<usize>> {
    let is_whole = |file: &InputFile| file.is_whole(block_bytes);
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
fn cut_run(input: &Input, run: Range<usize>, block_bytes: u64) -> Vec<Range<usize>> {
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

/// With at least this many streamed files per process, each file goes whole to one process.
const FILES_PER_PROCESS: usize = 4;

/// The part of the blocks that this process takes; the shares of all processes cover each block once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// This process, from 0.
    pub process: usize,
    /// The number of processes, at least 1.
    pub processes: usize,
}

impl Share {
    /// The share of a single process: everything.
    pub const ALL: Self = Self { process: 0, processes: 1 };
}

/// The progress in reading a source.
enum CutProgress {
    Waiting,
    /// The blocks that are left of a run of files that are read whole.
    Runs(std::iter::Enumerate<std::vec::IntoIter<Range<usize>>>),
    /// A file that is being cut.
    Cut(Box<dyn Cut>),
    Done,
}

impl CutProgress {
    /// Returns the number and the content of the next block; `None` at the end.
    fn next(&mut self) -> Result<Option<(u64, BlockContent)>, InputError> {
        Ok(match self {
            Self::Waiting | Self::Done => None,
            Self::Runs(runs) => {
                runs.next().map(|(number, files)| (number as u64, BlockContent::Files(files)))
            }
            Self::Cut(cut) => cut.next()?.map(|(number, part)| (number, BlockContent::Part(part))),
        })
    }
}

/// A file, or a run of files that are read whole.
struct BlockSource {
    files: Range<usize>,
    /// The process that takes all of its blocks; if `None`, each block has its own.
    owner: Option<usize>,
    state: Mutex<CutProgress>,
}

/// This process's blocks, shared by its threads.
pub struct BlockQueue {
    input: Arc<Input>,
    settings: CorpusSettings,
    share: Share,
    block_bytes: u64,
    sources: Vec<BlockSource>,
    /// Sources before this one are done.
    first_open: AtomicUsize,
    failed: AtomicBool,
}

impl BlockQueue {
    /// Prepares the blocks of `input` for the process that `share` names; opens nothing yet.
    ///
    /// # Panics
    /// Panics if `share.process` is not below `share.processes`.
    pub fn new(input: Arc<Input>, settings: &CorpusSettings, share: Share) -> Self {
        assert!(share.process < share.processes, "process out of range: {share:?}");
        let block_bytes = block_bytes(&input, settings);
        let sources = sources(&input, block_bytes, share.processes);
        Self {
            block_bytes,
            input,
            settings: settings.clone(),
            share,
            sources,
            first_open: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// Returns the next block for the calling thread; `None` when there are no more.
    ///
    /// Blocks come in no particular order. After an error every later call, from any thread, fails with
    /// [`InputError::Stopped`].
    pub fn next_block(&self) -> Result<Option<Block>, InputError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(InputError::Stopped);
        }
        let block = self.find_block();
        if block.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        block
    }

    /// Asks each open source that no other thread is reading; then waits for the first of the others.
    fn find_block(&self) -> Result<Option<Block>, InputError> {
        loop {
            let first = self.first_open.load(Ordering::Acquire);
            let mut busy = None;
            let mut all_done = true;
            for (place, source) in self.sources.iter().enumerate().skip(first) {
                let state = match source.state.try_lock() {
                    Ok(state) => state,
                    Err(TryLockError::Poisoned(_)) => return Err(InputError::Stopped),
                    Err(TryLockError::WouldBlock) => {
                        busy = busy.or(Some(source));
                        all_done = false;
                        continue;
                    }
                };
                if let Some(block) = self.pull(source, state)? {
                    return Ok(Some(block));
                }
                if all_done {
                    self.first_open.fetch_max(place + 1, Ordering::AcqRel);
                }
            }
            let Some(source) = busy else {
                return Ok(None);
            };
            let state = liveness::waiting(|| source.state.lock());
            let state = state.map_err(|_| InputError::Stopped)?;
            if let Some(block) = self.pull(source, state)? {
                return Ok(Some(block));
            }
        }
    }

    /// Returns this process's next block of the source.
    fn pull(
        &self,
        source: &BlockSource,
        mut state: MutexGuard<'_, CutProgress>,
    ) -> Result<Option<Block>, InputError> {
        if let CutProgress::Waiting = *state {
            *state = match source.owner {
                Some(owner) if owner != self.share.process => CutProgress::Done,
                _ => self.open(&source.files)?,
            };
        }
        let place = source.files.start as u64;
        while let Some((number, content)) = state.next()? {
            let process = (place + number) % self.share.processes as u64;
            if source.owner.is_some() || process == self.share.process as u64 {
                return Ok(Some(Block {
                    source: u32::try_from(place).unwrap_or(u32::MAX),
                    number: u32::try_from(number).unwrap_or(u32::MAX),
                    input: Arc::clone(&self.input),
                    content,
                }));
            }
        }
        *state = CutProgress::Done;
        Ok(None)
    }

    fn open(&self, files: &Range<usize>) -> Result<CutProgress, InputError> {
        let file = &self.input.files[files.start];
        if !file.is_whole(self.block_bytes)
            && let Some(cut) = file.cut(&self.settings, self.block_bytes)?
        {
            return Ok(CutProgress::Cut(cut));
        }
        let blocks = cut_run(&self.input, files.clone(), self.block_bytes);
        Ok(CutProgress::Runs(blocks.into_iter().enumerate()))
    }
}

/// Returns the input's sources, each with the process that reads all of it, if one does.
///
/// Many files that must be read from their start go whole to the processes: the largest first, each to the process with
/// the fewest bytes so far. If they are few, every process reads each of them and takes its share of the blocks.
fn sources(input: &Input, block_bytes: u64, processes: usize) -> Vec<BlockSource> {
    let mut sources: Vec<BlockSource> = runs(input, block_bytes)
        .into_iter()
        .map(|files| BlockSource { files, owner: None, state: Mutex::new(CutProgress::Waiting) })
        .collect();
    let file_of = |source: &BlockSource| &input.files[source.files.start];
    let mut streamed: Vec<usize> = (0..sources.len())
        .filter(|&place| {
            let file = file_of(&sources[place]);
            !file.is_whole(block_bytes) && file.is_streamed()
        })
        .collect();
    if processes > 1 && streamed.len() >= FILES_PER_PROCESS * processes {
        streamed.sort_by_key(|&place| Reverse(file_of(&sources[place]).expected_bytes()));
        let mut loads = vec![0u64; processes];
        for place in streamed {
            let least = (0..processes).min_by_key(|&process| (loads[process], process));
            let owner = least.unwrap_or(0);
            loads[owner] += file_of(&sources[place]).expected_bytes();
            sources[place].owner = Some(owner);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::{one_file, read_share};
    use crate::input::discover;

    #[test]
    fn no_caller_waits_after_a_panic_within_a_source() {
        let (_folder, settings) = one_file("x.jsonl.gz", b"{}");
        let input = Arc::new(discover(&settings).unwrap());
        let queue = BlockQueue::new(input, &settings, Share::ALL);
        let panicked = std::thread::scope(|scope| {
            let panic = || {
                let _state = queue.sources[0].state.lock();
                std::panic::resume_unwind(Box::new("a decoder's bug"));
            };
            scope.spawn(panic).join()
        });
        assert!(panicked.is_err());
        assert!(matches!(queue.next_block(), Err(InputError::Stopped)));
    }

    #[test]
    fn many_streamed_files_go_whole_and_evenly_to_processes() {
        let (folder, mut settings) = one_file("0.csv", "id,text\n".repeat(100).as_bytes());
        settings.block_bytes = Some(1);
        for number in 1..8 {
            let rows = "id,text\n".repeat(10 * number);
            std::fs::write(folder.path().join(format!("{number}.csv")), rows).unwrap();
        }
        let input = discover(&settings).unwrap();
        let owners: Vec<_> = sources(&input, 1, 2).iter().map(|source| source.owner).collect();
        assert_eq!(owners.iter().flatten().count(), 8);
        let load = |process| -> u64 {
            let owned = |&(owner, _): &(&Option<usize>, _)| *owner == Some(process);
            owners.iter().zip(&input.files).filter(owned).map(|(_, file)| file.bytes).sum()
        };
        assert!(load(0).abs_diff(load(1)) <= 100 * 8 / 4);
        assert!(sources(&input, 1, 3).iter().all(|source| source.owner.is_none()));
        assert!(!read_share(&settings, Share { process: 1, processes: 2 }).unwrap().is_empty());
    }
}
