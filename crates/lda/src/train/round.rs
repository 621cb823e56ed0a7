//! The local step of a round: sampling the documents of a minibatch against fixed factors, and counting the
//! assignments (Mimno 2012, Algorithm 1, inner loops, and Eq. 10) or their changes.

use super::TrainError;
use super::alpha::Histograms;
use super::cvb0::Cvb0;
use super::expectation::Expectation;
use super::schedule::Action;
use super::senses::{Senses, count_remembered};
use super::settings::{LocalMethod, TrainSettings};
use super::soft::SoftCounts;
use crate::infer::sampler::Sampler;
use crate::infer::{Bag, ImpossibleDraw};
use crate::math::random::{Stage, Stream};
use crate::model::factors::FactorTable;
use crate::model::statistics::{Assigned, Moves};

/// The key of a document's random stream, which depends on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// The job's seed.
    pub seed: u64,
    /// The purpose of the draws.
    pub stage: Stage,
    /// The round.
    pub round: u64,
    /// The document's number in the collection.
    pub document: u64,
}

impl StreamKey {
    fn stream(self) -> Stream {
        Stream::keyed(self.seed, self.stage, self.round, self.document)
    }

    fn error(self) -> impl Fn(ImpossibleDraw) -> TrainError {
        move |source| TrainError { document: self.document, source }
    }
}

/// A document to be visited.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The key of its random draws.
    pub key: StreamKey,
    /// Its terms.
    pub bag: Bag<'a>,
    /// The topics that it may have, ascending; if there are none, all.
    pub labels: &'a [u16],
    /// The factors that it is sampled with.
    pub table: FactorTable<'a>,
    /// How often an assignment counts, in online rounds.
    pub weight: u32,
}

/// The local step: samples documents, one after another, and adds up their statistics.
#[derive(Debug)]
pub struct LocalStep {
    sampler: Sampler,
    expectation: Expectation,
    cvb0: Cvb0,
    soft: SoftCounts,
    senses: Senses,
    statistics: Moves,
    /// How often topics occur in the documents sampled again, if α is to be learnt.
    histograms: Histograms,
    topic_count: usize,
}

impl LocalStep {
    /// Creates a local step for `row_count` terms, or leaves of a tree, and `topic_count` topics.
    pub fn new(row_count: usize, topic_count: usize) -> Self {
        Self {
            sampler: Sampler::default(),
            expectation: Expectation::default(),
            cvb0: Cvb0::default(),
            soft: SoftCounts::default(),
            senses: Senses::default(),
            statistics: Moves::new(row_count, topic_count),
            histograms: Histograms::new(topic_count),
            topic_count,
        }
    }

    /// Visits a document as the round's action requires, counts the result, and returns the document's assignments.
    /// `remembered` are those it had; if the action counts or redraws assignments and there are none, the document
    /// is assigned.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn visit<'s>(
        &'s mut self,
        action: Action,
        visit: Visit<'_>,
        remembered: &'s [u16],
        settings: &TrainSettings,
    ) -> Result<&'s [u16], TrainError> {
        let Visit { bag, table, .. } = visit;
        match action {
            Action::Online if settings.method == LocalMethod::Cvb0 => {
                let (stream, statistics) = (&mut visit.key.stream(), &mut self.statistics);
                let labels = visit.labels;
                let updated =
                    (self.cvb0).update(bag, table, labels, remembered, stream, statistics);
                return updated.map_err(visit.key.error());
            }
            Action::Online if settings.method.is_dense() => {
                let draws = (visit.weight, &mut visit.key.stream());
                let (method, statistics) = (settings.method, &mut self.statistics);
                let added = (self.expectation).add(method, bag, table, draws, statistics);
                added.map_err(visit.key.error())?;
                return Ok(self.expectation.assignments());
            }
            Action::Online => self.sample(visit, settings)?,
            Action::Smc => {
                let sweeps = settings.burn_in_sweeps + settings.kept_sweeps;
                let mut stream = visit.key.stream();
                self.burn_in(visit, sweeps, &mut stream)?;
                self.count_assignments(table, 1, &mut stream);
            }
            // Cannot-links need the first weights, because a topic has one branch.
            Action::Scatter if visit.table.tree().is_some() => {
                self.assign(visit)?;
            }
            Action::Scatter => self.scatter(visit),
            Action::Assign | Action::Withdraw => {
                let mut stream = visit.key.stream();
                self.burn_in(visit, settings.burn_in_sweeps, &mut stream)?;
                self.count_assignments(table, 1, &mut stream);
            }
            Action::Gibbs | Action::Count if remembered.is_empty() => {
                self.assign(visit)?;
            }
            Action::Gibbs => {
                self.resume(bag, table, remembered);
                self.sampler.restrict(visit.labels);
                self.redraw(visit.key, table, remembered)?;
            }
            Action::Count => {
                self.recount(bag, table, remembered);
                return Ok(remembered);
            }
            Action::Estimate => {
                let (stream, statistics) = (&mut visit.key.stream(), &mut self.statistics);
                (self.soft).add(bag, table, visit.labels, remembered, stream, statistics);
                return Ok(remembered);
            }
        }
        Ok(self.assigned(table))
    }

    /// Returns the assignments to be remembered of the document sampled last.
    pub(super) fn assigned(&self, table: FactorTable<'_>) -> &[u16] {
        match table.tree() {
            Some(_) => self.senses.remembered(),
            None => self.sampler.assignments(),
        }
    }

    /// Samples a document in an online round: the sequential first sweep, the burn-in sweeps, and the sweeps that
    /// are kept and counted.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn sample(&mut self, visit: Visit<'_>, settings: &TrainSettings) -> Result<(), TrainError> {
        let mut stream = visit.key.stream();
        self.burn_in(visit, settings.burn_in_sweeps, &mut stream)?;
        for _ in 0..settings.kept_sweeps {
            let swept = self.sampler.sweep(visit.table, &mut stream);
            swept.map_err(visit.key.error())?;
            self.count_assignments(visit.table, visit.weight, &mut stream);
        }
        Ok(())
    }

    /// Assigns a document's tokens at random, in proportion to α, and counts them, for a model in which nothing is
    /// learnt yet.
    fn scatter(&mut self, visit: Visit<'_>) {
        let mut stream = visit.key.stream();
        (self.sampler).scatter(visit.bag, visit.table, visit.labels, &mut stream);
        self.count_assignments(visit.table, 1, &mut stream);
    }

    /// Assigns a document by one sequential sweep, and counts it; returns the assignments.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn assign(&mut self, visit: Visit<'_>) -> Result<&[u16], TrainError> {
        let mut stream = visit.key.stream();
        self.burn_in(visit, 0, &mut stream)?;
        self.count_assignments(visit.table, 1, &mut stream);
        Ok(self.assigned(visit.table))
    }

    fn burn_in(
        &mut self,
        visit: Visit<'_>,
        more_sweeps: u32,
        stream: &mut Stream,
    ) -> Result<(), TrainError> {
        self.sampler.start(visit.bag, visit.table);
        self.sampler.restrict(visit.labels);
        for _ in 0..=more_sweeps {
            let swept = self.sampler.sweep(visit.table, stream);
            swept.map_err(visit.key.error())?;
        }
        Ok(())
    }

    fn count_assignments(&mut self, table: FactorTable<'_>, weight: u32, stream: &mut Stream) {
        let (sampler, statistics) = (&self.sampler, &mut self.statistics);
        if let Some(tree) = table.tree() {
            (self.senses).count((sampler, weight), (table, tree), stream, statistics);
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

    /// Resumes a document that counts in the model with the assignments `remembered`.
    pub fn resume(&mut self, bag: Bag<'_>, table: FactorTable<'_>, remembered: &[u16]) {
        self.sampler.resume(bag, table, remembered);
    }

    /// Sweeps over the resumed document, for a Gibbs visit, and counts the changes. Returns the new assignments.
    pub fn redraw(
        &mut self,
        key: StreamKey,
        table: FactorTable<'_>,
        remembered: &[u16],
    ) -> Result<&[u16], TrainError> {
        let mut stream = key.stream();
        let swept = self.sampler.sweep_own(table, &mut stream);
        swept.map_err(key.error())?;
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

    /// Returns the sampler, with the document sampled last.
    pub fn sampler(&mut self) -> &mut Sampler {
        &mut self.sampler
    }

    /// Counts the document sampled last for learning α.
    pub fn add_to_histograms(&mut self) {
        let tokens = self.sampler.token_count();
        self.histograms.add(self.sampler.sample(), tokens);
    }

    /// Returns the histograms since the last call.
    pub fn take_histograms(&mut self) -> Histograms {
        std::mem::replace(&mut self.histograms, Histograms::new(self.topic_count))
    }

    /// Counts a document with the assignments `remembered`, without sampling it.
    fn recount(&mut self, bag: Bag<'_>, table: FactorTable<'_>, remembered: &[u16]) {
        if let Some(tree) = table.tree() {
            let tree = (tree, self.topic_count);
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
