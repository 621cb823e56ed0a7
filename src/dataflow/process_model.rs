//! The model of a process: one for all its workers, cut in one part a thread.
//!
//! Workers read all parts and write their own, in phases that [`Process::meet`] keeps apart: the
//! locks here are never waited for, they only let the compiler see it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::block::Block;
use super::process::{Process, Tickets};
use crate::checkpoint::Saved;
use crate::corpus::sample::Bags;
use crate::model::Priors;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::{GlobalStep, Parameters};
use crate::train::add_topic_counts;

/// Documents that a worker takes at a time: few enough to even out, enough to seldom meet.
const DOCUMENTS_A_TICKET: usize = 8;

/// Parameters and factors in one part a thread.
pub struct ProcessModel {
    parts: Vec<RwLock<Parameters>>,
    factors: Vec<RwLock<Option<Factors>>>,
    /// The last purpose that each term was marked for.
    marks: Vec<AtomicU64>,
    tickets: Tickets,
    checkpoint_due: AtomicBool,
}

impl ProcessModel {
    /// A model with nothing learnt, or the one that was saved.
    pub fn new(
        topic_count: usize,
        vocabulary_size: usize,
        threads: usize,
        saved: Option<&Saved>,
    ) -> Self {
        let part = |p| match saved {
            Some(saved) => saved.parameters(p, threads),
            None => Parameters::new(topic_count, vocabulary_size, p, threads),
        };
        Self {
            parts: (0..threads).map(|p| RwLock::new(part(p))).collect(),
            factors: (0..threads).map(|_| RwLock::new(None)).collect(),
            marks: (0..vocabulary_size).map(|_| AtomicU64::new(0)).collect(),
            tickets: Tickets::default(),
            checkpoint_due: AtomicBool::new(false),
        }
    }

    /// Tells the workers of the process whether the model is to be saved: one writes, all meet,
    /// all read.
    pub fn set_checkpoint_due(&self, is_due: bool) {
        self.checkpoint_due.store(is_due, Ordering::Relaxed);
    }

    /// Whether the model is to be saved.
    pub fn is_checkpoint_due(&self) -> bool {
        self.checkpoint_due.load(Ordering::Relaxed)
    }

    /// V.
    pub fn vocabulary_size(&self) -> usize {
        self.marks.len()
    }

    /// All parts, in order.
    pub fn read_parts(&self) -> Vec<RwLockReadGuard<'_, Parameters>> {
        self.parts
            .iter()
            .map(|p| p.read().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Prepares the factors of all terms of `documents`: worker `part` marks its share of them,
    /// then prepares its part. All workers of the process must call it, with another `purpose`
    /// than ever before.
    pub fn prepare_for(
        &self,
        process: &Process,
        part: usize,
        bags: &Bags,
        documents: &[u32],
        priors: &Priors,
        purpose: u64,
    ) {
        for &index in documents.iter().skip(part).step_by(self.parts.len()) {
            for &term in bags.bag(index as usize).0 {
                self.marks[term as usize].store(purpose, Ordering::Relaxed);
            }
        }
        process.meet();
        let marked = |w: u32| self.marks[w as usize].load(Ordering::Relaxed) == purpose;
        self.prepare(part, priors, marked);
        if part == 0 {
            self.tickets.reset();
        }
        process.meet();
    }

    /// Prepares the factors of the needed terms of one part.
    pub fn prepare(&self, part: usize, priors: &Priors, is_needed: impl Fn(u32) -> bool) {
        let parameters = self.parts[part]
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let mut slot = self.factors[part]
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let buffers = slot.take();
        *slot = Some(Factors::prepare(&parameters, priors, is_needed, buffers));
    }

    /// Gives the factors of all parts to `read`.
    pub fn with_table<T>(&self, read: impl FnOnce(FactorTable<'_>) -> T) -> T {
        let locks = self.factors.iter();
        let guards: Vec<_> = locks
            .map(|f| f.read().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let parts: Vec<&Factors> = guards.iter().filter_map(|f| f.as_ref()).collect();
        read(FactorTable::new(&parts))
    }

    /// Hands those of the documents to `visit` that this worker gets hold of: who is free takes
    /// the next. The factors must be prepared for them.
    pub fn for_my_documents<E>(
        &self,
        documents: &[u32],
        mut visit: impl FnMut(usize, FactorTable<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.with_table(|table| {
            loop {
                let from = self.tickets.take() * DOCUMENTS_A_TICKET;
                if from >= documents.len() {
                    return Ok(());
                }
                let to = (from + DOCUMENTS_A_TICKET).min(documents.len());
                for &index in &documents[from..to] {
                    visit(index as usize, table)?;
                }
            }
        })
    }

    /// Takes the step of a round for one part (Mimno 2012, Eq. 11), with the merged statistics;
    /// now and then the scale is folded back, and λ̃ below `prune` dropped. All workers of the
    /// process must call it.
    pub fn global_step(
        &self,
        process: &Process,
        part: usize,
        step: GlobalStep,
        merged: &[Block],
        prune: f64,
    ) {
        let mut parameters = self.parts[part]
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut topic_counts = vec![0; parameters.topic_count()];
        merged
            .iter()
            .for_each(|block| add_topic_counts(block.words(), &mut topic_counts));
        parameters.decay(step, &topic_counts);
        for block in merged
            .iter()
            .filter(|b| b.source() % self.parts.len() == part)
        {
            parameters.add(step, block.words());
        }
        let is_small = parameters.is_scale_small();
        if is_small {
            parameters.fold_scale(prune);
        }
        drop(parameters);
        process.meet();
        if is_small {
            self.add_up_totals(process, part);
        }
    }

    /// Row sums anew, after folding: over all parts, as integers.
    fn add_up_totals(&self, process: &Process, part: usize) {
        let mut totals = Vec::new();
        for parameters in self.read_parts() {
            totals.resize(parameters.topic_count(), 0);
            parameters.fixed_point_totals(&mut totals);
        }
        process.meet();
        self.parts[part]
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .set_totals(&totals);
        process.meet();
    }
}
