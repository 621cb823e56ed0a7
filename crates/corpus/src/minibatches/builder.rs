//! Sorts a process's documents into minibatches, in little memory.
//!
//! Documents arrive in any order, and are spread over [`PARTITIONS`] by the first bits of their place. Beyond a limit,
//! the documents in memory go to a scratch file. Each partition is then sorted separately.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    Bags, Extent, HEADER, Minibatches, Piece, Scratch, Store, WIDTH, join_piece, split_piece,
};
use lda::train::minibatches::{Deal, minibatch_at};

/// Parts that are sorted one by one: for a sample of 10 GiB, each takes 40 MiB of memory.
const PARTITIONS: usize = 256;

/// The documents of a process, to be sorted.
#[derive(Debug)]
pub struct MinibatchBuilder {
    limit: u64,
    path: PathBuf,
    partitions: Vec<Partition>,
    buffered: u64,
    spilled: Option<Spilled>,
}

/// Documents whose places share their first bits, as words.
#[derive(Debug, Default)]
struct Partition {
    buffer: Vec<u32>,
    /// Earlier documents: ranges of bytes in the scratch file.
    spilled: Vec<Range<u64>>,
}

/// A scratch file and its end.
#[derive(Debug)]
struct Spilled {
    file: Scratch,
    end: u64,
}

impl Spilled {
    fn create(path: &Path) -> io::Result<Self> {
        let file = Scratch::create(path, 0)?;
        Ok(Self { file, end: 0 })
    }

    /// Appends words; returns their range in bytes.
    fn append(&mut self, words: &[u32]) -> io::Result<Range<u64>> {
        let start = self.end;
        self.file.write(bytemuck::cast_slice(words), start)?;
        self.end += words.len() as u64 * WIDTH;
        Ok(start..self.end)
    }
}

impl MinibatchBuilder {
    /// Creates a builder that keeps documents beyond `limit` bytes in files at `path`, which are unlinked immediately.
    pub fn new(limit: u64, path: PathBuf) -> Self {
        Self {
            limit,
            path,
            partitions: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            buffered: 0,
            spilled: None,
        }
    }

    /// Adds a document, given its place, or another piece of one: pieces follow each other in the order of terms.
    ///
    /// # Errors
    /// Fails if the scratch file cannot be written.
    pub fn push(
        &mut self,
        [place, document]: [u64; 2],
        labels: &[u16],
        terms: &[u32],
        counts: &[u32],
    ) -> io::Result<()> {
        let partition = minibatch_at(place, PARTITIONS as u64);
        let buffer = &mut self.partitions[partition as usize].buffer;
        let labels: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
        let piece = Piece { place, document, terms, counts, labels: &labels };
        join_piece(buffer, piece);
        self.buffered += (HEADER + 2 * terms.len() + labels.len()) as u64 * WIDTH;
        if self.buffered > self.limit { self.spill() } else { Ok(()) }
    }

    /// Moves the documents in memory to the scratch file.
    fn spill(&mut self) -> io::Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Spilled::create(&self.path)?),
        };
        for partition in &mut self.partitions {
            if !partition.buffer.is_empty() {
                partition.spilled.push(spilled.append(&partition.buffer)?);
                partition.buffer.clear();
            }
        }
        self.buffered = 0;
        Ok(())
    }

    /// Takes all documents out, in the minibatches of `deal`; no more can be pushed.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written.
    pub fn finish(&mut self, deal: &Deal) -> io::Result<Minibatches> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        let spilled = self.spilled.take();
        let store = match spilled {
            Some(_) => StoreWriter::Disk(Spilled::create(&self.path)?, Vec::new()),
            None => StoreWriter::Memory(Bags::default()),
        };
        let mut writer = Writer { store, extents: vec![Extent::default()] };
        for partition in std::mem::take(&mut self.partitions) {
            let words = partition.words(spilled.as_ref().map(|spilled| &spilled.file))?;
            for_each_sorted(&words, |document| {
                writer.advance_to(deal.minibatch(document.place))?;
                writer.push(document);
                Ok(())
            })?;
        }
        writer.finish(deal.count())
    }
}

impl Partition {
    /// Returns all its words, in the order in which they were added.
    fn words(self, file: Option<&Scratch>) -> io::Result<Vec<u32>> {
        let Some(file) = file else {
            return Ok(self.buffer);
        };
        let bytes: u64 = self.spilled.iter().map(|range| range.end - range.start).sum();
        let mut words = vec![0u32; (bytes / WIDTH) as usize];
        let mut rest = words.as_mut_slice();
        for range in self.spilled {
            let (own, others) = rest.split_at_mut(((range.end - range.start) / WIDTH) as usize);
            file.read(bytemuck::cast_slice_mut(own), range.start)?;
            rest = others;
        }
        Ok(words)
    }
}

/// Passes the documents in `words` to `visit`, ascending by place, with their pieces joined.
fn for_each_sorted(
    words: &[u32],
    mut visit: impl FnMut(Piece<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (mut pieces, mut rest) = (Vec::new(), words);
    while let Some((piece, others)) = split_piece(rest) {
        pieces.push(piece);
        rest = others;
    }
    // Stable: the pieces of a document stay in their order.
    pieces.sort_by_key(|piece| (piece.place, piece.document));
    let (mut terms, mut counts) = (Vec::new(), Vec::new());
    for pieces in pieces.chunk_by(|a, b| a.document == b.document) {
        let first = pieces[0];
        if pieces.len() == 1 {
            visit(first)?;
            continue;
        }
        terms.clear();
        counts.clear();
        for piece in pieces {
            terms.extend_from_slice(piece.terms);
            counts.extend_from_slice(piece.counts);
        }
        visit(Piece { terms: &terms, counts: &counts, ..first })?;
    }
    Ok(())
}

/// A writer of documents, ascending by place.
struct Writer {
    store: StoreWriter,
    /// The minibatches so far; the last is incomplete.
    extents: Vec<Extent>,
}

enum StoreWriter {
    Memory(Bags),
    /// The file, and the words of the current minibatch.
    Disk(Spilled, Vec<u32>),
}

impl Writer {
    /// Completes the minibatches before `minibatch`.
    fn advance_to(&mut self, minibatch: u64) -> io::Result<()> {
        while (self.extents.len() as u64) <= minibatch {
            let bytes = match &mut self.store {
                StoreWriter::Memory(_) => 0,
                StoreWriter::Disk(file, words) => {
                    file.append(words)?;
                    words.clear();
                    file.end
                }
            };
            let last = self.extents.len() - 1;
            self.extents[last].bytes = bytes;
            let next = Extent { tokens: 0, ..self.extents[last] };
            self.extents.push(next);
        }
        Ok(())
    }

    fn push(&mut self, document: Piece<'_>) {
        match &mut self.store {
            StoreWriter::Memory(bags) => {
                bags.push(document.document, document.terms, document.counts);
                let labels = document.labels.iter().map(|&label| label as u16);
                bags.label(&labels.collect::<Vec<u16>>());
            }
            StoreWriter::Disk(_, words) => join_piece(words, document),
        }
        let last = self.extents.len() - 1;
        self.extents[last].documents += 1;
        self.extents[last].tokens += document.counts.iter().map(|&n| u64::from(n)).sum::<u64>();
    }

    fn finish(mut self, count: u64) -> io::Result<Minibatches> {
        self.advance_to(count)?;
        self.extents.truncate(count as usize);
        let store = match self.store {
            StoreWriter::Memory(bags) => Store::Memory(Arc::new(bags)),
            StoreWriter::Disk(spilled, _) => Store::Disk(Arc::new(spilled.file), Mutex::default()),
        };
        Ok(Minibatches { extents: self.extents, store })
    }
}
