//! The remembered assignments of a process's documents, 2 bytes per token, or CVB0's γ, 2 bytes for each topic
//! of a distinct term: in memory or, beyond a limit, in a file.
//!
//! Documents are read and written whole, each by one thread at a time.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use lda::train::active::Influence;
use store::Scratch;

/// Bytes of an assignment.
const WIDTH: usize = 2;

/// z_di of all documents of some bags, or their γ.
#[derive(Debug)]
pub struct Assignments {
    /// Where each document's tokens begin, and where the last one's end.
    starts: Vec<usize>,
    store: Store,
    influences: Option<Arc<Influences>>,
}

/// The influence of each document on the schedule that draws documents; each is read and written by one
/// thread at a time.
#[derive(Debug)]
pub struct Influences(Vec<[AtomicU64; 2]>);

impl Influences {
    /// Returns about the bytes of this many documents: the influence, and its place in the schedule.
    pub(crate) fn bytes(documents: u64) -> u64 {
        documents * size_of::<[u64; 3]>() as u64
    }

    /// Stores the influence of each document.
    pub(crate) fn new(influences: impl Iterator<Item = Influence>) -> Self {
        let words = influences.map(bytemuck::cast::<_, [u64; 2]>);
        Self(words.map(|words| words.map(AtomicU64::new)).collect())
    }

    /// Returns a document's influence.
    pub(crate) fn get(&self, index: usize) -> Influence {
        let words = self.0[index].each_ref();
        bytemuck::cast(words.map(|word| word.load(Ordering::Relaxed)))
    }

    /// Replaces a document's influence.
    pub(crate) fn set(&self, index: usize, influence: Influence) {
        let words: [u64; 2] = bytemuck::cast(influence);
        for (place, word) in self.0[index].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
enum Store {
    Memory(Vec<AtomicU16>),
    Disk(Scratch),
}

impl Assignments {
    /// Returns the bytes of this many tokens or γ.
    pub(crate) fn bytes(tokens: u64) -> u64 {
        tokens * WIDTH as u64
    }

    /// Creates those of documents of `lengths` tokens or γ, all 0. If they take more than `most_bytes`,
    /// they are kept in a new file at `path`, which is unlinked immediately: it disappears with them.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new(
        lengths: impl Iterator<Item = usize>,
        most_bytes: u64,
        path: &Path,
    ) -> io::Result<Self> {
        let (mut starts, mut tokens) = (vec![0], 0);
        for length in lengths {
            tokens += length;
            starts.push(tokens);
        }
        let store = if (tokens * WIDTH) as u64 <= most_bytes {
            Store::Memory((0..tokens).map(|_| AtomicU16::new(0)).collect())
        } else {
            Store::Disk(Scratch::create(path, (tokens * WIDTH) as u64)?)
        };
        Ok(Self { starts, store, influences: None })
    }

    /// Adds the influences that a schedule that draws documents keeps.
    #[must_use]
    pub fn with_influences(mut self, influences: Arc<Influences>) -> Self {
        self.influences = Some(influences);
        self
    }

    /// Returns the influences, if the schedule draws documents.
    pub(crate) fn influences(&self) -> Option<&Influences> {
        self.influences.as_deref()
    }

    /// Returns the number of a document's tokens or γ.
    pub(crate) fn token_count(&self, index: usize) -> usize {
        self.starts[index + 1] - self.starts[index]
    }

    /// Reads a document's assignments into `assignments`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, index: usize, assignments: &mut Vec<u16>) -> io::Result<()> {
        let (start, end) = (self.starts[index], self.starts[index + 1]);
        assignments.clear();
        match &self.store {
            Store::Memory(all) => {
                let own = all[start..end].iter().map(|z| z.load(Ordering::Relaxed));
                assignments.extend(own);
            }
            Store::Disk(file) => {
                assignments.resize(end - start, 0);
                let bytes = bytemuck::cast_slice_mut(assignments);
                file.read(bytes, (start * WIDTH) as u64)?;
            }
        }
        Ok(())
    }

    /// Stores a document's assignments, one for each token.
    ///
    /// # Errors
    /// The file cannot be written.
    ///
    /// # Panics
    /// Panics if there are more or fewer.
    pub(crate) fn write(&self, index: usize, assignments: &[u16]) -> io::Result<()> {
        let (start, end) = (self.starts[index], self.starts[index + 1]);
        assert_eq!(assignments.len(), end - start, "one topic a token");
        match &self.store {
            Store::Memory(all) => {
                for (place, &topic) in all[start..end].iter().zip(assignments) {
                    place.store(topic, Ordering::Relaxed);
                }
                Ok(())
            }
            Store::Disk(file) => {
                file.write(bytemuck::cast_slice(assignments), (start * WIDTH) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_disk_remember_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assignments");
        for most_bytes in [1 << 20, 3] {
            let assignments = Assignments::new([3, 0, 4].into_iter(), most_bytes, &path).unwrap();
            assert_eq!(matches!(assignments.store, Store::Disk(_)), most_bytes == 3);
            if let Store::Memory(words) = &assignments.store {
                assert_eq!(size_of_val(&**words) as u64, Assignments::bytes(7));
            }
            assert!(!path.exists());
            assignments.write(2, &[7, 8, 9, 65_534]).unwrap();
            assignments.write(0, &[1, 2, 3]).unwrap();
            assignments.write(1, &[]).unwrap();
            let mut own = vec![9; 9];
            assignments.read(0, &mut own).unwrap();
            assert_eq!(own, [1, 2, 3]);
            assignments.read(2, &mut own).unwrap();
            assert_eq!(own, [7, 8, 9, 65_534]);
            assignments.read(1, &mut own).unwrap();
            assert_eq!((own.len(), assignments.starts.len()), (0, 4));
        }
    }
}
