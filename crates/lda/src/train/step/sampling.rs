//! Sampling the topics of one document, and counting them: what all rounds but those of dense methods do.

use super::{StreamKey, Visit};
use crate::infer::sampler::Sampler;
use crate::infer::{Bag, ImpossibleDraw};
use crate::math::random::Stream;
use crate::model::factors::FactorTable;
use crate::model::statistics::{Assigned, Moves};
use crate::train::senses::{Senses, count_remembered};

/// A sampler of documents, one after another, and the statistics to which they add.
#[derive(Debug)]
pub struct Sampling {
    pub(crate) sampler: Sampler,
    senses: Senses,
    pub(crate) statistics: Moves,
}

impl Sampling {
    /// Creates one for `row_count` terms, or leaves of a tree, and `topic_count` topics.
    pub fn new(row_count: usize, topic_count: usize) -> Self {
        Self {
            sampler: Sampler::default(),
            senses: Senses::default(),
            statistics: Moves::new(row_count, topic_count),
        }
    }

    /// Samples a document from scratch: a sequential sweep, and `more_sweeps`. Nothing is counted.
    pub(super) fn burn_in(
        &mut self,
        visit: Visit<'_>,
        more_sweeps: u32,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        self.sampler.start(visit.bag, visit.table);
        self.restrict(visit.labels);
        for _ in 0..=more_sweeps {
            self.sampler.sweep(visit.table, stream)?;
        }
        Ok(())
    }

    /// Samples a document from scratch, and counts its last assignments, which it returns.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub(crate) fn assign(
        &mut self,
        visit: Visit<'_>,
        more_sweeps: u32,
    ) -> Result<&[u16], ImpossibleDraw> {
        let mut stream = visit.key.stream();
        self.burn_in(visit, more_sweeps, &mut stream)?;
        self.count(visit.table, 1, &mut stream);
        Ok(self.assigned(visit.table))
    }

    /// Assigns a document's tokens at random, in proportion to α, and counts them, for a model in which nothing is
    /// learnt yet.
    pub(super) fn scatter(&mut self, visit: Visit<'_>) -> &[u16] {
        let mut stream = visit.key.stream();
        self.sampler.scatter(visit.bag, visit.table, visit.labels, &mut stream);
        self.count(visit.table, 1, &mut stream);
        self.assigned(visit.table)
    }

    /// Counts the current assignments, each `weight` times.
    pub(super) fn count(&mut self, table: FactorTable<'_>, weight: u32, stream: &mut Stream) {
        let (sampler, statistics) = (&self.sampler, &mut self.statistics);
        if let Some(tree) = table.tree() {
            self.senses.count((sampler, weight), (table, tree), stream, statistics);
            return;
        }
        for (term, _, topics) in sampler.runs() {
            if weight == 1 {
                statistics.assigned(term, topics);
                continue;
            }
            for &topic in topics {
                statistics.add(term, topic, i64::from(weight));
            }
        }
    }

    /// Returns the assignments to be remembered of the document sampled last.
    pub(crate) fn assigned(&self, table: FactorTable<'_>) -> &[u16] {
        match table.tree() {
            Some(_) => self.senses.remembered(),
            None => self.sampler.assignments(),
        }
    }

    /// Resumes a document that counts in the model with the assignments `remembered`.
    pub fn resume(&mut self, bag: Bag<'_>, table: FactorTable<'_>, remembered: &[u16]) {
        self.sampler.resume(bag, table, remembered);
    }

    /// Restricts the document to `labels`, if there are any.
    pub(super) fn restrict(&mut self, labels: &[u16]) {
        self.sampler.restrict(labels);
    }

    /// Sweeps over the resumed document, for a Gibbs visit, and counts the changes. Returns the new assignments.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn redraw(
        &mut self,
        key: StreamKey,
        table: FactorTable<'_>,
        remembered: &[u16],
    ) -> Result<&[u16], ImpossibleDraw> {
        let mut stream = key.stream();
        self.sampler.sweep_own(table, &mut stream)?;
        let (sampler, statistics) = (&self.sampler, &mut self.statistics);
        if let Some(tree) = table.tree() {
            let (own, tree) = ((sampler, remembered), (table, tree));
            self.senses.recount(own, tree, &mut stream, statistics);
            return Ok(self.senses.remembered());
        }
        let mut rest = remembered;
        for (term, _, new) in sampler.runs() {
            let (old, others) = rest.split_at(new.len());
            statistics.moved(term, old, new);
            rest = others;
        }
        Ok(sampler.assignments())
    }

    /// Counts a document with the assignments `remembered`, without sampling it.
    pub(super) fn recount(&mut self, bag: Bag<'_>, table: FactorTable<'_>, remembered: &[u16]) {
        if let Some(tree) = table.tree() {
            let tree = (tree, table.topic_count());
            return count_remembered(bag, remembered, tree, &mut self.statistics);
        }
        let mut rest = remembered;
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            let (own, others) = rest.split_at(count as usize);
            self.statistics.assigned(term, own);
            rest = others;
        }
    }

    /// Passes the statistics since the last call to `emit`, as aggregated and sorted entries.
    pub fn finish(&mut self, emit: impl FnMut(Assigned)) {
        self.statistics.drain(emit);
    }
}
