//! Drafts that outlast their run, so that a stopped ingest does not read their blocks again.
//!
//! In each run a worker has a folder of its own, with a draft for each block that it has read and a journal. An entry of
//! the journal declares a block done: the figures of its draft, the checksum, what else the block has shown, and the
//! terms that it was the first to contain, because a draft has its worker's own term ids. Nothing is synced: an entry
//! or a draft that is lost with its host does not match its checksum, and the block is read again.
//!
//! When ingest begins, each folder goes to one worker that sees it, which counts the drafts instead of their blocks.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::iter::{from_fn, zip};
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use crc32fast::Hasher;
use store::{Disk, Store, Writer};
use timely::worker::Worker;

use crate::dataflow::gather::{gather_records, gather_values};
use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::wire::{packed, unpacked};
use corpus::ShardDocument;
use corpus::shard::{Columns, ShardReader};
use corpus::terms::{DistinctTerms, TermCounter, hash};

/// The name of a journal in its folder.
const JOURNAL: &str = "journal";

/// A block that was drafted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Draft {
    /// The block's key, as one number in the order of the blocks.
    pub(super) key: u64,
    /// Its documents.
    pub(super) documents: u64,
    /// Those with a token.
    pub(super) documents_with_tokens: u64,
    /// Tokens found.
    pub(super) tokens: u64,
}

/// A draft of this worker, read in this run or taken over from a stopped one.
#[derive(Clone, Debug)]
pub(super) struct OwnDraft {
    /// Its figures; at least 1 document.
    pub(super) figures: Draft,
    path: PathBuf,
    /// The number of its shard and that of its first document, once the drafts of all workers are known.
    pub(super) number: usize,
    pub(super) first_document: u64,
}

impl OwnDraft {
    /// Passes each document, with its number, to `visit`, in the term ids of the draft's folder.
    pub(super) fn read(
        &self,
        columns: Columns,
        mut visit: impl FnMut(u64, &mut ShardDocument) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut reader = ShardReader::open(&self.path, columns)?;
        let (mut document, mut number) = (ShardDocument::default(), self.first_document);
        while reader.read_into(&mut document)? {
            liveness::tick();
            visit(number, &mut document)?;
            number += 1;
        }
        Ok(())
    }
}

/// A folder of drafts, which have term ids of their own.
#[derive(Debug)]
pub(super) struct DraftFolder {
    path: PathBuf,
    /// The drafts that have documents.
    pub(super) drafts: Vec<OwnDraft>,
    /// The terms by those ids, if they are in memory.
    pub(super) terms: Option<TermCounter>,
    /// Whether these have the counts of all drafts.
    pub(super) has_counts: bool,
    /// The terms that the drafts need.
    term_count: usize,
}

impl DraftFolder {
    fn new(path: PathBuf) -> Self {
        Self { path, drafts: Vec::new(), terms: None, has_counts: false, term_count: 0 }
    }

    /// Returns the path of a block's draft: no two blocks have the same.
    pub(super) fn draft(&self, key: u64) -> PathBuf {
        self.path.join(format!("{}-{}.parquet", key >> 32, key & u64::from(u32::MAX)))
    }

    fn push(&mut self, figures: Draft) {
        if figures.documents > 0 {
            let path = self.draft(figures.key);
            self.drafts.push(OwnDraft { figures, path, number: 0, first_document: 0 });
        }
    }

    /// Takes its terms out of memory, or reads them from the journal.
    ///
    /// # Errors
    /// The journal is not as it was.
    pub(super) fn take_terms(&mut self) -> Result<TermCounter, Failure> {
        if let Some(terms) = self.terms.take() {
            return Ok(terms);
        }
        let words = journal_words(&self.path)?;
        let mut terms = TermCounter::new();
        for entry in entries(frames(&words).skip(1)) {
            new_terms(&entry).for_each(|term| _ = terms.intern(term));
        }
        if terms.len() < self.term_count {
            return Err(Failure::data(format!(
                "{} has changed since ingest began: run the same command again",
                self.path.join(JOURNAL).display()
            )));
        }
        Ok(terms)
    }

    /// Forgets the counts of its terms, which are not those of its drafts any more.
    pub(super) fn forget_counts(&mut self) {
        self.terms.iter_mut().for_each(TermCounter::forget_counts);
        self.has_counts = false;
    }

    /// Removes the folder.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        store::remove_tree(&self.path).map_err(Failure::io(&self.path))
    }
}

/// Passes each folder and its terms to `visit`. Those of a single folder stay in memory.
pub(super) fn visit_folders(
    folders: &mut [DraftFolder],
    mut visit: impl FnMut(&mut DraftFolder, &mut TermCounter) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let is_one = folders.len() == 1;
    for folder in folders {
        let mut terms = folder.take_terms()?;
        visit(folder, &mut terms)?;
        if is_one {
            folder.terms = Some(terms);
        } else {
            folder.has_counts = false;
        }
    }
    Ok(())
}

/// Counts the terms of a draft's document, whose order is lost.
pub(super) fn count(terms: &mut TermCounter, document: &mut ShardDocument) -> u64 {
    terms.begin_document();
    zip(&document.terms, &document.counts).for_each(|(&id, &count)| terms.add_local(id, count));
    terms.end_document(&mut document.terms, &mut document.counts)
}

/// What a block has shown besides its documents.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    /// Bytes of the block's content.
    pub(super) content_bytes: u64,
    /// Places of keys or columns that no document of the worker has had so far.
    pub(super) missing: Vec<usize>,
    /// Why documents have no text: some of the block's reasons, each under its rank.
    pub(super) remarks: Vec<([u64; 3], String)>,
    /// What was left out of its texts, as JSON; empty for nothing.
    pub(super) left_out: String,
}

/// An entry of a journal: the draft's figures and checksum and the bytes of the content; missing places; remarks; what
/// was left out, the texts of new terms, one after the other, and the length of each.
type Entry<'w> = ([u64; 7], Vec<usize>, Vec<([u64; 3], String)>, (&'w str, &'w str, &'w [u32]));

/// Returns the terms that an entry was the first to contain.
fn new_terms<'e>((.., (_, texts, lengths)): &'e Entry<'_>) -> impl Iterator<Item = &'e str> {
    let ends = lengths.iter().scan(0, |end, &length| {
        *end += length as usize;
        Some((*end - length as usize, *end))
    });
    ends.map(|(start, end)| &texts[start..end])
}

/// A journal that this worker writes, and its folder.
pub(super) struct Journal {
    pub(super) folder: DraftFolder,
}

impl Journal {
    /// Creates the worker's folder of this `number` and its journal, whose drafts only an ingest with the same `key` takes
    /// over.
    pub(super) fn create(
        worker: &Worker,
        process: &Process,
        key: &str,
        number: usize,
    ) -> Result<Self, Failure> {
        let run = process.output.run_name()?.unwrap_or_default();
        let path = process.output.drafts().join(format!("{run}-{}-{number}", worker.index()));
        store::create_folder(&path).map_err(Failure::io(&path))?;
        let journal = Self { folder: DraftFolder::new(path) };
        journal.append(&packed([key]))?;
        Ok(journal)
    }

    /// Declares a block done, whose draft is complete, or absent if it has no documents. `terms` are all of the
    /// folder's.
    pub(super) fn add(
        &mut self,
        draft: Draft,
        findings: &Findings,
        terms: &TermCounter,
    ) -> Result<(), Failure> {
        let Draft { key, documents, documents_with_tokens, tokens } = draft;
        let path = self.folder.draft(key);
        let [bytes, sum] = checksum(&path).map_err(Failure::io(path))?;
        let Findings { content_bytes, missing, remarks, left_out } = findings.clone();
        let figures = [key, documents, documents_with_tokens, tokens, bytes, sum, content_bytes];
        let (mut texts, mut lengths) = (String::new(), Vec::new());
        for term in (self.folder.term_count..terms.len()).map(|id| terms.term(id as u32)) {
            texts.push_str(term);
            lengths.push(term.len() as u32);
        }
        let entry: Entry<'_> = (figures, missing, remarks, (&left_out, &texts, &lengths));
        self.append(&packed([entry]))?;
        self.folder.term_count = terms.len();
        self.folder.push(draft);
        Ok(())
    }

    fn append(&self, words: &[u64]) -> Result<(), Failure> {
        let framed = [&[words.len() as u64, checksum_of(words)], words].concat();
        let path = self.folder.path.join(JOURNAL);
        Writer::append(&path)
            .and_then(|mut file| file.write_all(bytemuck::cast_slice(&framed)))
            .map_err(Failure::io(path))
    }
}

/// The drafts that this worker takes over from stopped runs.
#[derive(Default)]
pub(super) struct TakenOver {
    /// Their folders, and others that are to be removed.
    pub(super) folders: Vec<DraftFolder>,
    /// The key of each block, and what it has shown.
    pub(super) findings: Vec<(u64, Findings)>,
    /// The keys of the blocks of which some worker has taken over a draft.
    pub(super) done: BTreeSet<u64>,
    /// The terms in the folders.
    pub(super) distinct: DistinctTerms,
}

impl TakenOver {
    /// Finds the drafts that stopped runs with the same `key` have left, and deals them to the workers; removes all
    /// others. Every worker must call this, before one creates its [`Journal`].
    pub(super) fn find(worker: &mut Worker, process: &Process, key: &str) -> Result<Self, Failure> {
        let (here, threads) = (process.placement.process, process.placement.threads);
        let root = process.output.drafts();
        let names =
            if worker.index().is_multiple_of(threads) { Disk.names(&root)? } else { Vec::new() };
        let names = names.into_iter().map(|name| (name, here)).collect();
        let mut names: Vec<(String, usize)> = gather_values(worker, names);
        names.sort();
        let mut taken = Self::default();
        for (number, sites) in names.chunk_by(|one, other| one.0 == other.0).enumerate() {
            let (name, site) = &sites[number % sites.len()];
            if site * threads + number / sites.len() % threads == worker.index() {
                taken.read(root.join(name), key)?;
            }
        }
        let index = worker.index() as u64;
        let keys: Vec<_> = taken.findings.iter().map(|&(key, _)| [key, index]).collect();
        let mut own = BTreeSet::new();
        for [key, owner] in gather_records(worker, &keys) {
            if taken.done.insert(key) && owner == index {
                own.insert(key);
            }
        }
        // The same worker may have found a block twice.
        let mut unseen = own.clone();
        taken.findings.retain(|(key, _)| unseen.remove(key));
        for folder in &mut taken.folders {
            folder.drafts.retain(|draft| own.remove(&draft.figures.key));
        }
        Ok(taken)
    }

    /// Takes the intact drafts of a folder.
    fn read(&mut self, path: PathBuf, key: &str) -> Result<(), Failure> {
        let mut folder = DraftFolder::new(path);
        let words = journal_words(&folder.path).unwrap_or_default();
        let mut frames = frames(&words);
        if frames.next().and_then(|frame| unpacked::<&str>(frame).next()) != Some(key) {
            return folder.remove();
        }
        for entry in entries(frames) {
            self.distinct.extend(new_terms(&entry).map(hash));
            folder.term_count += new_terms(&entry).count();
            let (figures, missing, remarks, (left_out, ..)) = entry;
            let [key, documents, documents_with_tokens, tokens, bytes, sum, content_bytes] =
                figures;
            if checksum(&folder.draft(key)).is_ok_and(|found| found == [bytes, sum]) {
                folder.push(Draft { key, documents, documents_with_tokens, tokens });
                let left_out = left_out.to_owned();
                self.findings.push((key, Findings { content_bytes, missing, remarks, left_out }));
            }
        }
        self.folders.push(folder);
        Ok(())
    }
}

/// Returns the words of the journal in a folder.
fn journal_words(folder: &Path) -> Result<Vec<u64>, Failure> {
    let path = folder.join(JOURNAL);
    let bytes = std::fs::read(&path).map_err(Failure::io(path))?;
    Ok(bytemuck::pod_collect_to_vec(&bytes[..bytes.len() / 8 * 8]))
}

/// Returns the entries of a journal, up to the first that is not intact.
fn entries<'w>(frames: impl Iterator<Item = &'w [u64]>) -> impl Iterator<Item = Entry<'w>> {
    frames.map_while(|frame| unpacked(frame).next())
}

/// Returns the contents of the frames of a journal, up to the first that is not intact.
fn frames(mut words: &[u64]) -> impl Iterator<Item = &[u64]> {
    from_fn(move || {
        let (&[length, sum], rest) = words.split_first_chunk()?;
        let (frame, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        words = rest;
        (checksum_of(frame) == sum).then_some(frame)
    })
}

fn checksum_of(words: &[u64]) -> u64 {
    crc32fast::hash(bytemuck::cast_slice(words)).into()
}

/// Returns the size of a draft and its checksum; zeros if there is no such file.
fn checksum(path: &Path) -> io::Result<[u64; 2]> {
    if !path.is_file() {
        return Ok([0; 2]);
    }
    let mut file = File::open(path)?;
    let (mut hasher, mut bytes) = (Hasher::new(), 0);
    let mut chunk = vec![0; 1 << 18];
    loop {
        liveness::tick();
        match file.read(&mut chunk)? {
            0 => return Ok([bytes, hasher.finalize().into()]),
            read => {
                hasher.update(&chunk[..read]);
                bytes += read as u64;
            }
        }
    }
}
