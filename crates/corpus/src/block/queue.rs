//! The blocks of an input, handed to the threads that ask for them.
//!
//! Each file (or run of files that are read whole) is a source with its own lock, so that threads decompress different
//! files in parallel and take turns if there is only one. A block's content does not depend on the thread that gets it.
//! After an error, or a panic within a source, every further call fails, so that no thread waits.

use super::columnar::GroupRuns;
use super::lines::{LineRanges, RecordStream, is_divisible};
use super::uci::CountStream;
use super::{Block, Content, Cut, block_bytes, files};
use crate::input::{Input, InputError, InputFile};
use crate::settings::{CorpusSettings, Format};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

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
enum State {
    Waiting,
    Open(Box<dyn Cut>),
    Done,
}

/// A file, or a run of files that are read whole.
struct Source {
    files: Range<usize>,
    /// The process that takes all of its blocks; if `None`, each block has its own.
    owner: Option<usize>,
    state: Mutex<State>,
}

/// This process's blocks, shared by its threads.
pub struct BlockQueue {
    input: Arc<Input>,
    settings: CorpusSettings,
    share: Share,
    block_bytes: u64,
    sources: Vec<Source>,
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
        source: &Source,
        mut state: MutexGuard<'_, State>,
    ) -> Result<Option<Block>, InputError> {
        if let State::Waiting = *state {
            *state = match source.owner {
                Some(owner) if owner != self.share.process => State::Done,
                _ => State::Open(self.open(&source.files)?),
            };
        }
        let place = source.files.start as u64;
        while let State::Open(cut) = &mut *state {
            let Some((number, content)) = cut.next()? else {
                *state = State::Done;
                break;
            };
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
        Ok(None)
    }

    fn open(&self, files: &Range<usize>) -> Result<Box<dyn Cut>, InputError> {
        let file = &self.input.files[files.start];
        let (settings, block_bytes) = (&self.settings, self.block_bytes);
        if files::is_whole(file, block_bytes) {
            let blocks = files::cut(&self.input, files.clone(), block_bytes);
            return Ok(Box::new(FileRuns(blocks.into_iter().enumerate())));
        }
        if is_divisible(file) {
            Ok(Box::new(LineRanges::open(file, settings, block_bytes)?))
        } else {
            open(file, settings, block_bytes)
        }
    }
}

/// Opens a file to be cut into blocks from its start.
pub(crate) fn open(
    file: &InputFile,
    settings: &CorpusSettings,
    block_bytes: u64,
) -> Result<Box<dyn Cut>, InputError> {
    Ok(match file.format {
        Format::Parquet | Format::Arrow => Box::new(GroupRuns::open(file, settings, block_bytes)?),
        Format::Uci | Format::MatrixMarket => {
            Box::new(CountStream::open(file, settings, block_bytes)?)
        }
        _ => Box::new(RecordStream::open(file, settings, block_bytes)?),
    })
}

/// The blocks of a run of files that are read whole.
struct FileRuns(std::iter::Enumerate<std::vec::IntoIter<Range<usize>>>);

impl Cut for FileRuns {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        let block = self.0.next();
        Ok(block.map(|(number, files)| (number as u64, Content::Files(files))))
    }
}

/// Returns the input's sources, each with the process that reads all of it, if one does.
///
/// Many files that must be read from their start go whole to the processes: the largest first, each to the process with
/// the fewest bytes so far. If they are few, every process reads each of them and takes its share of the blocks.
fn sources(input: &Input, block_bytes: u64, processes: usize) -> Vec<Source> {
    let mut sources: Vec<Source> = files::sources(input, block_bytes)
        .into_iter()
        .map(|files| Source { files, owner: None, state: Mutex::new(State::Waiting) })
        .collect();
    let file_of = |source: &Source| &input.files[source.files.start];
    let mut streamed: Vec<usize> = (0..sources.len())
        .filter(|&place| {
            let file = file_of(&sources[place]);
            !files::is_whole(file, block_bytes) && !file.format.is_columnar() && !is_divisible(file)
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
    use crate::input::discover;
    use crate::reader::tests::{one_file, read_share};

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
