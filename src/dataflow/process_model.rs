//! The model of a process: one for all its workers, divided into one part per thread. In Gibbs
//! sampling there are two: the counts of the assignments, and the average over passes of them or of φ^p.
//!
//! Workers read all parts and write their own, in phases that [`Process::meet`] separates: the
//! locks here are never contended, they only prove that to the compiler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard};

use super::block::Block;
use super::process::{Process, Tickets};
use super::rounds::Merged;
use crate::checkpoint::Saved;
use lda::model::Priors;
use lda::model::factors::{Branches, FactorTable, Factors};
use lda::model::parameters::{Parameters, TermRow};
use lda::model::statistics::Assigned;
use lda::train::schedule::{AVERAGE_PRUNE, ModelChange, Phase};

/// The most documents that a worker takes at a time: enough that workers seldom contend.
const DOCUMENTS_A_TICKET: usize = 8;

/// Tickets that a worker takes before it handles messages of others.
const TICKETS_AT_ONCE: usize = 8;

/// Parameters and factors in one part per thread.
pub struct ProcessModel {
    parts: Vec<RwLock<Parameters>>,
    /// The average of counts or of φ^p over passes, if `is_averaged`.
    averages: Vec<RwLock<Parameters>>,
    is_averaged: AtomicBool,
    factors: Vec<RwLock<Option<Factors>>>,
    /// For a tree-structured prior, what each part's factors need of inner nodes.
    branches: Vec<RwLock<Option<Arc<Branches>>>>,
    /// The last number with which factors were prepared for each term.
    marks: Vec<AtomicU64>,
    tickets: Tickets,
}

impl ProcessModel {
    /// Creates an empty model, or the one that was saved.
    pub fn new(
        priors: &Priors,
        vocabulary_size: usize,
        threads: usize,
        saved: Option<&Saved>,
    ) -> Self {
        let size = [priors.topic_count(), priors.row_count(vocabulary_size)];
        let empty = |p| Parameters::new(size[0], size[1], p, threads);
        let part = |p| saved.map_or_else(|| empty(p), |saved| saved.parameters(p, threads));
        let locks = |part: &dyn Fn(usize) -> Parameters| -> Vec<_> {
            (0..threads).map(|p| RwLock::new(part(p))).collect()
        };
        let next = saved.and_then(|saved| saved.header.next);
        // Before the Gibbs phase has counted, the model is still that of the online phase.
        let is_gibbs = next.is_some_and(|next| next.phase == Phase::Gibbs && next.taken > 0);
        let (parts, averages) =
            if is_gibbs { (locks(&empty), locks(&part)) } else { (locks(&part), locks(&empty)) };
        Self {
            parts,
            averages,
            is_averaged: AtomicBool::new(
                is_gibbs && saved.is_some_and(|saved| saved.header.averaged > 0),
            ),
            factors: (0..threads).map(|_| RwLock::new(None)).collect(),
            branches: (0..threads).map(|_| RwLock::new(None)).collect(),
            marks: (0..vocabulary_size).map(|_| AtomicU64::new(0)).collect(),
            tickets: Tickets::default(),
        }
    }

    /// Replaces the parts by those that `part` returns for their numbers.
    #[must_use]
    pub fn starting_from(mut self, part: impl Fn(usize) -> Parameters) -> Self {
        let parts = 0..self.parts.len();
        self.parts = parts.map(|p| RwLock::new(part(p))).collect();
        self
    }

    /// V.
    pub(crate) fn vocabulary_size(&self) -> usize {
        self.marks.len()
    }

    /// Returns the number of rows of its parameters: V or, under a tree, the number of leaves.
    pub(crate) fn row_count(&self) -> usize {
        read_all(&self.parts)[0].vocabulary_size()
    }

    /// Locks all parts, in order.
    pub(crate) fn read_parts(&self) -> Vec<RwLockReadGuard<'_, Parameters>> {
        read_all(&self.parts)
    }

    /// Locks all parts of what would be published now, in order: the average, if there is one.
    pub(crate) fn read_published(&self) -> Vec<RwLockReadGuard<'_, Parameters>> {
        if self.is_averaged.load(Ordering::Relaxed) {
            read_all(&self.averages)
        } else {
            read_all(&self.parts)
        }
    }

    /// Prepares the factors of all terms. All workers of the process must call this.
    pub(crate) fn prepare_all(&self, process: &Process, part: usize, priors: &Priors) {
        self.prepare(process, (&self.parts, part), priors, |_| true);
    }

    /// Prepares the factors of all terms of `documents`, given by their terms: worker `part` marks
    /// its share of them, then prepares its part. All workers of the process must call this, with a
    /// `number` never used before. `is_published`: the factors of the model as it would be published, instead of as it
    /// is trained.
    pub(crate) fn prepare_for<'b>(
        &self,
        process: &Process,
        part: usize,
        documents: impl Iterator<Item = &'b [u32]>,
        priors: &Priors,
        (number, is_published): (u64, bool),
    ) {
        for terms in documents.skip(part).step_by(self.parts.len()) {
            for &term in terms {
                // Writing would invalidate the cache line of threads that have marked the same term, or one beside it.
                let mark = &self.marks[term as usize];
                if mark.load(Ordering::Relaxed) != number {
                    mark.store(number, Ordering::Relaxed);
                }
            }
        }
        let is_average = is_published && self.is_averaged.load(Ordering::Relaxed);
        let parts = if is_average { &self.averages } else { &self.parts };
        let marked = |w: u32| self.marks[w as usize].load(Ordering::Relaxed) == number;
        self.prepare(process, (parts, part), priors, marked);
    }

    fn prepare(
        &self,
        process: &Process,
        (parts, part): (&[RwLock<Parameters>], usize),
        priors: &Priors,
        is_wanted: impl Fn(u32) -> bool,
    ) {
        let branches = with_all(parts, |parts| Factors::branches(parts, part, priors));
        *self.branches[part].write() = branches.map(Arc::new);
        process.meet();
        let branches = self.branches.iter().filter_map(|it| it.read().clone());
        let branches: Vec<_> = branches.collect();
        let buffers = self.factors[part].write().take();
        let factors = with_all(parts, |parts| {
            Factors::prepare_part(parts, part, priors, &branches, is_wanted, buffers)
        });
        *self.factors[part].write() = Some(factors);
        if part == 0 {
            self.tickets.reset();
        }
        process.meet();
    }

    /// Passes the factors of all parts to `read`.
    pub(crate) fn with_table<T>(&self, read: impl FnOnce(FactorTable<'_>) -> T) -> T {
        let guards = read_all(&self.factors);
        let parts: Vec<&Factors> = guards.iter().filter_map(|f| f.as_ref()).collect();
        read(FactorTable::new(&parts))
    }

    /// Does the same for a few of them; returns false once there are no more.
    pub(crate) fn for_some_documents<E>(
        &self,
        count: usize,
        mut visit: impl FnMut(usize, FactorTable<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.with_table(|table| {
            for _ in 0..TICKETS_AT_ONCE {
                let workers = self.parts.len();
                let Some(documents) = self.tickets.take_some(count, DOCUMENTS_A_TICKET, workers)
                else {
                    return Ok(false);
                };
                for index in documents {
                    liveness::tick();
                    visit(index, table)?;
                }
            }
            Ok(true)
        })
    }

    /// Changes one part by the merged statistics of a round; `changed` are the rows that the prior over terms has
    /// changed. All workers of the process must call this.
    pub(crate) fn change(
        &self,
        process: &Process,
        part: usize,
        change: ModelChange,
        merged: &Merged,
        changed: &[TermRow],
    ) {
        let parts = if change.is_of_average() {
            self.is_averaged.store(true, Ordering::Relaxed);
            &self.averages
        } else {
            &self.parts
        };
        let runs: Vec<&[u64]> = self.own_blocks(part, &merged.blocks).map(Block::words).collect();
        let is_stale = change.apply(&mut parts[part].write(), &runs, &merged.topic_counts, changed);
        process.meet();
        if is_stale {
            add_up_totals(parts, process, part);
        }
    }

    /// Rounds rows of one part to whole tokens. All workers of the process must call this.
    pub(crate) fn round_rows(&self, process: &Process, part: usize, rows: &[TermRow]) {
        self.parts[part].write().round_rows(rows);
        process.meet();
        add_up_totals(&self.parts, process, part);
    }

    /// Adds the counts of one part to their average, with a weight; 1 starts the average. All workers of
    /// the process must call this.
    pub(crate) fn average(&self, process: &Process, part: usize, weight: f64) {
        let counts = self.parts[part].read();
        let is_stale = self.averages[part].write().average(weight, &counts, AVERAGE_PRUNE);
        drop(counts);
        self.is_averaged.store(true, Ordering::Relaxed);
        process.meet();
        if is_stale {
            add_up_totals(&self.averages, process, part);
        }
    }

    /// Replaces the counts by their average, if there is one. All workers of the process must call this.
    pub(crate) fn settle(&self, process: &Process, part: usize) {
        // Others may still be reading the counts.
        process.meet();
        if self.is_averaged.load(Ordering::Relaxed) {
            std::mem::swap(&mut *self.parts[part].write(), &mut *self.averages[part].write());
            self.averages[part].write().clear();
        }
        process.meet();
        self.is_averaged.store(false, Ordering::Relaxed);
        process.meet();
    }

    /// Removes all topics but `topics` from one part. All workers of the process must call this.
    pub(crate) fn keep_topics(&self, process: &Process, part: usize, topics: &[usize]) {
        self.parts[part].write().keep_topics(topics);
        *self.factors[part].write() = None;
        process.meet();
    }

    /// Returns the blocks with entries of one part.
    fn own_blocks<'b>(&self, part: usize, blocks: &'b [Block]) -> impl Iterator<Item = &'b Block> {
        let count = self.parts.len();
        blocks.iter().filter(move |b| b.source() % count == part)
    }

    /// Sets one part to that of `fixed` + `counts`, for the terms that have `changed`, or all.
    pub(crate) fn set_sum(
        &self,
        part: usize,
        [fixed, counts]: [&Self; 2],
        changed: Option<&[Block]>,
    ) {
        let [fixed, counts] = [fixed, counts].map(|model| model.parts[part].read());
        let mut whole = self.parts[part].write();
        let Some(blocks) = changed else {
            let all = whole.terms();
            return whole.set_sum(&fixed, &counts, all);
        };
        let words = self.own_blocks(part, blocks).flat_map(|block| block.words());
        let mut terms: Vec<u32> = words.map(|&w| Assigned::from_word(w).term).collect();
        terms.dedup();
        whole.set_sum(&fixed, &counts, terms.into_iter());
    }
}

/// Passes all parts, locked, to `read`.
fn with_all<T>(parts: &[RwLock<Parameters>], read: impl FnOnce(&[&Parameters]) -> T) -> T {
    let guards = read_all(parts);
    let parts: Vec<_> = guards.iter().map(|part| &**part).collect();
    read(&parts)
}

fn read_all<T>(parts: &[RwLock<T>]) -> Vec<RwLockReadGuard<'_, T>> {
    parts.iter().map(RwLock::read).collect()
}

/// Recomputes the row sums over all parts, as integers.
fn add_up_totals(parts: &[RwLock<Parameters>], process: &Process, part: usize) {
    let mut totals = Vec::new();
    for parameters in read_all(parts) {
        totals.resize(parameters.topic_count(), 0);
        parameters.fixed_point_totals(&mut totals);
    }
    process.meet();
    parts[part].write().set_totals(&totals);
    process.meet();
}
