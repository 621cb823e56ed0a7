//! The documents of a process in minibatches: in memory or, beyond a limit, in a file that stores each minibatch in one
//! piece, so that a round reads once.
//!
//! A minibatch is a range of [places](lda::train::minibatches): documents can be sorted before the number of
//! minibatches is known ([`MinibatchBuilder`]).

#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use lda::bags::{Bag, Bags};
use lda::train::minibatches::{Deal, minibatch_at};
use parking_lot::Mutex;
use store::Scratch;

/// Bytes of a word in the files.
const WIDTH: u64 = size_of::<u32>() as u64;

/// Words of a document besides its terms, counts and labels: its place and its number, low half first, and the numbers
/// of its terms and labels.
const HEADER: usize = 6;

/// The end of a minibatch, and its tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// Documents of all minibatches up to this one.
    documents: usize,
    /// Their bytes, if they are in a file.
    bytes: u64,
    tokens: u64,
}

/// The documents of a process.
#[derive(Debug)]
pub struct Minibatches {
    extents: Vec<Extent>,
    store: BagStore,
}

#[derive(Debug)]
enum BagStore {
    Memory(Arc<Bags>),
    Disk(Arc<Scratch>, Mutex<LoadedMinibatches>),
}

/// The threads' current minibatch, and the one that is being read ahead.
#[derive(Debug, Default)]
struct LoadedMinibatches {
    current: Option<(u64, Arc<Bags>)>,
    ahead: Option<(u64, JoinHandle<io::Result<Bags>>)>,
}

/// A minibatch in memory.
#[derive(Clone, Debug)]
pub struct Minibatch {
    bags: Arc<Bags>,
    chosen: ChosenDocuments,
    /// Documents of the process before the first of `bags`.
    before: usize,
}

/// The documents that are in a minibatch.
#[derive(Clone, Debug)]
enum ChosenDocuments {
    Range(Range<usize>),
    List(Arc<[u32]>),
}

impl Minibatch {
    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        match &self.chosen {
            ChosenDocuments::Range(range) => range.len(),
            ChosenDocuments::List(list) => list.len(),
        }
    }

    /// Returns whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of a document in `bags`.
    fn place(&self, index: usize) -> usize {
        match &self.chosen {
            ChosenDocuments::Range(range) => range.start + index,
            ChosenDocuments::List(list) => list[index] as usize,
        }
    }

    /// Returns the number of a document in the collection.
    pub fn document(&self, index: usize) -> u64 {
        self.bags.document(self.place(index))
    }

    /// Returns the terms and counts of a document.
    pub fn bag(&self, index: usize) -> Bag<'_> {
        self.bags.bag(self.place(index))
    }

    /// Returns the labels of a document, ascending.
    pub fn labels(&self, index: usize) -> &[u16] {
        self.bags.labels(self.place(index))
    }

    /// Returns the terms of each document.
    pub fn terms(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.bag(index).terms)
    }

    /// Returns the index of a document among all of the process.
    pub fn position(&self, index: usize) -> usize {
        self.before + self.place(index)
    }
}

impl Minibatches {
    /// Returns the number of minibatches, over all processes.
    pub fn count(&self) -> u64 {
        self.extents.len() as u64
    }

    /// Returns the number of documents of the process.
    pub fn document_count(&self) -> usize {
        self.extents.last().map_or(0, |extent| extent.documents)
    }

    /// Returns the numbers of the process's documents and tokens in some minibatches.
    pub fn share(&self, minibatches: Range<u64>) -> [u64; 2] {
        let mut share = [0; 2];
        for minibatch in minibatches {
            let documents = self.end(minibatch).documents - self.start(minibatch).documents;
            share[0] += documents as u64;
            share[1] += self.end(minibatch).tokens;
        }
        share
    }

    /// Returns whether they are in a file.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.store, BagStore::Disk(..))
    }

    fn end(&self, minibatch: u64) -> Extent {
        self.extents[minibatch as usize]
    }

    /// Returns where the previous one ends.
    fn start(&self, minibatch: u64) -> Extent {
        match minibatch.checked_sub(1) {
            Some(before) => self.end(before),
            None => Extent::default(),
        }
    }

    /// Takes the first of some minibatches for all threads of the process; in memory, takes all of them. The first
    /// thread to ask reads it from the file, or takes the one that was read ahead, and has the next one read.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    ///
    /// # Panics
    /// Panics if there are no minibatches.
    pub fn load(&self, minibatches: &mut Range<u64>) -> io::Result<Minibatch> {
        let (file, loaded) = match &self.store {
            BagStore::Disk(file, loaded) => (file, loaded),
            BagStore::Memory(bags) => {
                let all = std::mem::take(minibatches);
                let chosen = self.start(all.start).documents..self.end(all.end - 1).documents;
                let (bags, chosen) = (Arc::clone(bags), ChosenDocuments::Range(chosen));
                return Ok(Minibatch { bags, chosen, before: 0 });
            }
        };
        let minibatch = minibatches.next().expect("a minibatch to load");
        let mut loaded = loaded.lock();
        if let Some((number, bags)) = &loaded.current
            && *number == minibatch
        {
            return Ok(self.whole(minibatch, Arc::clone(bags)));
        }
        // Drop the last one before the next comes into memory.
        loaded.current = None;
        let bags = match loaded.ahead.take() {
            Some((number, reader)) if number == minibatch => reader
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the reading thread ended")))?,
            _ => read_bags(file, self.bytes(minibatch))?,
        };
        let bags = Arc::new(bags);
        loaded.current = Some((minibatch, Arc::clone(&bags)));
        let next = (minibatch + 1) % self.count();
        if next != minibatch {
            let (file, bytes) = (Arc::clone(file), self.bytes(next));
            let reader = std::thread::Builder::new().name("minibatch".to_owned());
            let reader = reader.spawn(move || read_bags(&file, bytes))?;
            loaded.ahead = Some((next, reader));
        }
        Ok(self.whole(minibatch, bags))
    }

    /// Returns the documents with these indices among all of the process; `None` if they are in a file.
    pub fn pick(&self, list: Arc<[u32]>) -> Option<Minibatch> {
        match &self.store {
            BagStore::Memory(bags) => Some(Minibatch {
                bags: Arc::clone(bags),
                chosen: ChosenDocuments::List(list),
                before: 0,
            }),
            BagStore::Disk(..) => None,
        }
    }

    /// Reads a minibatch for the caller alone.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(&self, minibatch: u64) -> io::Result<Minibatch> {
        match &self.store {
            BagStore::Memory(bags) => {
                let chosen = self.start(minibatch).documents..self.end(minibatch).documents;
                Ok(Minibatch {
                    bags: Arc::clone(bags),
                    chosen: ChosenDocuments::Range(chosen),
                    before: 0,
                })
            }
            BagStore::Disk(file, _) => {
                let bags = read_bags(file, self.bytes(minibatch))?;
                Ok(self.whole(minibatch, Arc::new(bags)))
            }
        }
    }

    /// Passes every document of the process to `visit`, in order, with its index.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `visit` fails.
    pub fn for_each(
        &self,
        mut visit: impl FnMut(usize, u64, Bag<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for minibatch in 0..self.count() {
            let minibatch = self.read(minibatch)?;
            for index in 0..minibatch.len() {
                let (document, bag) = (minibatch.document(index), minibatch.bag(index));
                visit(minibatch.position(index), document, bag)?;
            }
        }
        Ok(())
    }

    /// Returns the length of each document, in order, as `length` computes it from its counts and labels.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn lengths(&self, length: impl Fn(&[u32], &[u16]) -> usize) -> io::Result<Vec<usize>> {
        let mut lengths = Vec::with_capacity(self.document_count());
        for minibatch in 0..self.count() {
            let minibatch = self.read(minibatch)?;
            let length = |index| length(minibatch.bag(index).counts, minibatch.labels(index));
            lengths.extend((0..minibatch.len()).map(length));
        }
        Ok(lengths)
    }

    fn bytes(&self, minibatch: u64) -> Range<u64> {
        self.start(minibatch).bytes..self.end(minibatch).bytes
    }

    fn whole(&self, minibatch: u64, bags: Arc<Bags>) -> Minibatch {
        Minibatch {
            chosen: ChosenDocuments::Range(0..bags.len()),
            bags,
            before: self.start(minibatch).documents,
        }
    }
}

/// Reads the documents in a range of bytes.
fn read_bags(file: &Scratch, bytes: Range<u64>) -> io::Result<Bags> {
    let mut words = vec![0u32; ((bytes.end - bytes.start) / WIDTH) as usize];
    file.read(bytemuck::cast_slice_mut(&mut words), bytes.start)?;
    let (mut bags, mut labels, mut rest) = (Bags::default(), Vec::new(), words.as_slice());
    while let Some((piece, others)) = split_piece(rest) {
        bags.push(piece.document, piece.terms, piece.counts);
        labels.clear();
        labels.extend(piece.labels.iter().map(|&label| label as u16));
        bags.label(&labels);
        rest = others;
    }
    Ok(bags)
}

/// A document, or a piece of one.
#[derive(Clone, Copy)]
struct DocumentPiece<'a> {
    /// Its place in the order of minibatches.
    place: u64,
    document: u64,
    terms: &'a [u32],
    counts: &'a [u32],
    /// Labels of the whole document, in its first piece.
    labels: &'a [u32],
}

/// Appends a piece to some words.
fn join_piece(words: &mut Vec<u32>, piece: DocumentPiece<'_>) {
    for number in [piece.place, piece.document] {
        words.extend([number as u32, (number >> 32) as u32]);
    }
    words.push(piece.terms.len() as u32);
    words.push(piece.labels.len() as u32);
    words.extend_from_slice(piece.terms);
    words.extend_from_slice(piece.counts);
    words.extend_from_slice(piece.labels);
}

/// Splits off the piece at the beginning of some words.
fn split_piece(words: &[u32]) -> Option<(DocumentPiece<'_>, &[u32])> {
    let &[p, q, low, high, length, labels, ref rest @ ..] = words else {
        return None;
    };
    let whole = |low, high| u64::from(low) | u64::from(high) << 32;
    let (terms, rest) = rest.split_at(length as usize);
    let (counts, rest) = rest.split_at(length as usize);
    let (labels, rest) = rest.split_at(labels as usize);
    let piece =
        DocumentPiece { place: whole(p, q), document: whole(low, high), terms, counts, labels };
    Some((piece, rest))
}

// Sorts a process's documents into minibatches, in little memory.
//
// Documents arrive in any order, and are spread over [`PARTITIONS`] by the first bits of their place. Beyond a limit,
// the documents in memory go to a scratch file. Each partition is then sorted separately.

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
        let piece = DocumentPiece { place, document, terms, counts, labels: &labels };
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
        let mut writer = MinibatchWriter { store, extents: vec![Extent::default()] };
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
    mut visit: impl FnMut(DocumentPiece<'_>) -> io::Result<()>,
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
        visit(DocumentPiece { terms: &terms, counts: &counts, ..first })?;
    }
    Ok(())
}

/// A writer of documents, ascending by place.
struct MinibatchWriter {
    store: StoreWriter,
    /// The minibatches so far; the last is incomplete.
    extents: Vec<Extent>,
}

enum StoreWriter {
    Memory(Bags),
    /// The file, and the words of the current minibatch.
    Disk(Spilled, Vec<u32>),
}

impl MinibatchWriter {
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

    fn push(&mut self, document: DocumentPiece<'_>) {
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
            StoreWriter::Memory(bags) => BagStore::Memory(Arc::new(bags)),
            StoreWriter::Disk(spilled, _) => {
                BagStore::Disk(Arc::new(spilled.file), Mutex::default())
            }
        };
        Ok(Minibatches { extents: self.extents, store })
    }
}
