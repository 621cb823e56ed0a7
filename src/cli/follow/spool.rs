//! Records from standard input, in files beside a result until it has them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use corpus::collection::in_order;
use store::{Disk, Store, StoreError, Writer, create_folder};

/// Bytes of records that are read before those that came first are added: then reading waits.
const FULL: u64 = 64 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// How often the age of records is checked.
const TICK: Duration = Duration::from_millis(200);
/// The name of the file that grows.
const GROWING: &str = "growing";

/// What the names of files that could not be added begin with.
const REFUSED: &str = "refused-";

/// A folder of records: a file that grows, at most one that is complete and is being added, and those that could not be
/// added.
pub(super) struct Spool {
    folder: PathBuf,
    ending: &'static str,
    incoming: Mutex<Incoming>,
    changed: Condvar,
}

/// The records that are not in a complete file.
#[derive(Default)]
struct Incoming {
    file: Option<Writer>,
    bytes: u64,
    /// When the first of them came.
    since: Option<Instant>,
    /// How reading has ended.
    end: Option<io::Result<()>>,
}

impl Spool {
    /// Opens the folder, whose files get names with this ending. What a killed process has read is in it.
    ///
    /// # Errors
    /// The folder cannot be read or created.
    pub(super) fn open(folder: PathBuf, ending: &'static str) -> io::Result<Self> {
        create_folder(&folder)?;
        let mut incoming = Incoming::default();
        if let Ok(metadata) = folder.join(GROWING).metadata() {
            incoming.grow(Writer::append(&folder.join(GROWING))?, metadata.len());
        }
        Ok(Self { folder, ending, incoming: Mutex::new(incoming), changed: Condvar::new() })
    }

    /// Returns the file that a killed process was adding.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn complete(&self) -> Result<Option<PathBuf>, StoreError> {
        let names = Disk.names(&self.folder)?.into_iter();
        let mut complete = names.filter(|name| name != GROWING && !name.starts_with(REFUSED));
        Ok(complete.next().map(|name| self.folder.join(name)))
    }

    /// Reads standard input on a thread of its own.
    pub(super) fn read(self: Arc<Self>) {
        thread::spawn(move || {
            let end = self.fill(io::stdin());
            self.incoming.lock().end = Some(end);
            self.changed.notify_all();
        });
    }

    /// Appends all lines.
    fn fill(&self, input: impl Read) -> io::Result<()> {
        let mut input = BufReader::with_capacity(CHUNK, input);
        let mut lines = Vec::new();
        loop {
            let chunk = input.fill_buf()?;
            let (length, is_end) = (chunk.len(), chunk.is_empty());
            let whole = chunk.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            lines.extend_from_slice(&chunk[..whole]);
            if is_end && !lines.is_empty() {
                lines.push(b'\n');
            }
            if whole > 0 || is_end {
                self.append(&lines)?;
                lines.clear();
            }
            if is_end {
                return Ok(());
            }
            lines.extend_from_slice(&chunk[whole..]);
            input.consume(length);
        }
    }

    /// Appends lines to the file that grows, once it is not full.
    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut incoming = self.incoming.lock();
        self.changed.wait_while(&mut incoming, |incoming| incoming.bytes >= FULL);
        if lines.is_empty() {
            return Ok(());
        }
        let mut file = match incoming.file.take() {
            Some(file) => file,
            None => Writer::append(&self.folder.join(GROWING))?,
        };
        file.write_all(lines)?;
        incoming.grow(file, lines.len() as u64);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until there are many records, or some of this age; returns a file of them, with this number as its name.
    /// `None` when all records are in complete files and no more will come.
    ///
    /// # Errors
    /// Standard input cannot be read, or the folder not be written.
    pub(super) fn next(&self, age: Duration, number: u64) -> Result<Option<PathBuf>, StoreError> {
        let mut incoming = self.incoming.lock();
        let is_due = |incoming: &Incoming| {
            let is_old = incoming.since.is_some_and(|since| since.elapsed() >= age);
            is_old || incoming.bytes >= FULL || incoming.end.is_some()
        };
        while !is_due(&incoming) {
            self.changed.wait_for(&mut incoming, TICK);
        }
        let error = |source| StoreError { path: self.folder.clone(), source };
        let Some(file) = incoming.file.take() else {
            return incoming.end.take().unwrap_or(Ok(())).map(|()| None).map_err(error);
        };
        file.sync().map_err(error)?;
        let [growing, path] = [GROWING.to_owned(), format!("{}.{}", in_order(number), self.ending)]
            .map(|name| self.folder.join(name));
        store::rename(&growing, &path).map_err(error)?;
        (incoming.bytes, incoming.since) = (0, None);
        self.changed.notify_all();
        Ok(Some(path))
    }

    /// Keeps a file that cannot be added under another name, which it returns.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn keep(&self, file: &Path) -> io::Result<PathBuf> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut names = (1..).map(|number| self.folder.join(format!("{REFUSED}{number}-{name}")));
        let free = names.find(|path| !path.exists()).expect("numbers do not end");
        store::rename(file, &free)?;
        Ok(free)
    }
}

impl Incoming {
    /// Records that the file has grown.
    fn grow(&mut self, file: Writer, bytes: u64) {
        self.file = Some(file);
        self.bytes += bytes;
        self.since.get_or_insert_with(Instant::now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_whole_lines_and_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Spool::open(folder.path().join("spool"), "jsonl").unwrap();
        let spool = open();
        let long = "x".repeat(3 * CHUNK);
        spool.fill(format!("a\n{long}\nb").as_bytes()).unwrap();
        let first = spool.next(Duration::ZERO, 7).unwrap().unwrap();
        assert!(first.ends_with("00007.jsonl"));
        assert_eq!(std::fs::read_to_string(&first).unwrap(), format!("a\n{long}\nb\n"));
        spool.fill(&b"c"[..]).unwrap();
        let again = open();
        assert_eq!(again.complete().unwrap().as_ref(), Some(&first));
        for number in 1..3 {
            let kept = again.keep(&first).unwrap();
            assert!(kept.ends_with(format!("refused-{number}-00007.jsonl")), "{kept:?}");
            std::fs::copy(kept, &first).unwrap();
        }
        std::fs::remove_file(first).unwrap();
        assert_eq!(again.complete().unwrap(), None);
        again.fill(&b"d\n"[..]).unwrap();
        let second = again.next(Duration::ZERO, 7).unwrap().unwrap();
        assert_eq!(std::fs::read(second).unwrap(), b"c\nd\n");
        again.incoming.lock().end = Some(Ok(()));
        assert_eq!(again.next(Duration::from_secs(9), 9).unwrap(), None);
    }

    #[test]
    fn reading_waits_while_the_file_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path().to_owned(), "jsonl").unwrap();
        spool.append(&vec![b'\n'; FULL as usize]).unwrap();
        thread::scope(|scope| {
            let more = scope.spawn(|| spool.append(b"more\n"));
            thread::sleep(Duration::from_millis(100));
            assert!(!more.is_finished());
            let full = spool.next(Duration::from_secs(9), 0).unwrap().unwrap();
            assert_eq!(full.metadata().unwrap().len(), FULL);
            more.join().unwrap().unwrap();
        });
        assert_eq!(spool.incoming.lock().bytes, 5);
    }
}
