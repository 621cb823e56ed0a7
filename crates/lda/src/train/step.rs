//! The local step of a round: visiting the documents of a minibatch against fixed factors, and counting their
//! assignments (Mimno 2012, Algorithm 1, inner loops, and Eq. 10) or the changes of these.
//!
//! A training method decides what an online round does with a document. A method is a file below this one, with its
//! description and its [`LocalStep`], and one line of [`METHODS`]. All else that a round may do with a document, such
//! as a Gibbs sweep, is the same for all methods ([`Visitor`](super::visitor::Visitor)).

pub mod batch_vb;
pub mod cvb0;
pub mod expected;
pub mod online_em;
pub mod online_vb;
pub mod sampled;
pub mod scvb0;
pub mod smc;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::document_schedule::DocumentSchedule;
use super::senses::{Senses, count_remembered};
use super::{TrainError, senses, units};
use crate::infer::sampler::Sampler;
use crate::infer::{Bag, ImpossibleDraw};
use crate::listed::listed;
use crate::math::random::{Stage, Stream};
use crate::model::Priors;
use crate::model::factors::FactorTable;
use crate::model::settings::Geometry;
use crate::model::statistics::{Assigned, Moves};

/// The training methods. The first is the default; the others are for comparison with the papers.
pub const METHODS: &[TrainingMethod] = &[
    sampled::METHOD,
    smc::METHOD,
    online_vb::METHOD,
    batch_vb::METHOD,
    scvb0::METHOD,
    online_em::METHOD,
    cvb0::METHOD,
];

/// What a method does with a document in an online round. A worker has one, with its buffers.
pub trait LocalStep: fmt::Debug + Send {
    /// Visits a document, and adds what it counts to the statistics of `sampling`. Returns the numbers to be
    /// remembered of it; `remembered` are those of its previous visit, if the method or the schedule remembers them.
    ///
    /// # Errors
    /// Returns an error if a term has no possible topic.
    fn visit<'s>(
        &'s mut self,
        visit: Visit<'_>,
        remembered: &[u16],
        sampling: &'s mut Sampling,
    ) -> Result<&'s [u16], ImpossibleDraw>;
}

/// A training method: what it needs of the settings, what it remembers and costs, and its local step.
#[derive(Clone, Copy)]
pub struct TrainingMethod {
    /// Its name: the word in a job's `train.method`.
    pub name: &'static str,
    /// What it does with a document.
    pub doc: &'static str,
    /// Settings to which it leaves no choice.
    pub requires: Requirements,
    /// Settings that have no effect with it.
    pub ignores: &'static [Unused],
    /// λ̃_kw below which weights are dropped, if the settings say nothing; `None`: the default of every job.
    pub prune: Option<f64>,
    /// What its statistics count.
    pub counts: Counts,
    /// How its statistics change the model.
    pub update: Update,
    /// The least and the most passes, if the settings leave them open.
    pub passes: [u64; 2],
    /// Whether Gibbs passes follow if assignments are remembered.
    pub has_gibbs_passes: bool,
    /// What is remembered of a document, if anything is.
    pub remembers: Remembered,
    /// Whether it can restrict a document to the topics of its labels.
    pub takes_labels: bool,
    /// Whether it can count the leaves of a tree.
    pub takes_tree: bool,
    /// Creates its local step.
    pub(crate) step: fn(Sweeps) -> Box<dyn LocalStep>,
}

/// The values of settings that a method needs; `None` where it leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirements {
    /// [`TrainSettings::memory`](super::settings::TrainSettings::memory).
    pub memory: Option<Memory>,
    /// [`TrainSettings::passes`](super::settings::TrainSettings::passes).
    pub passes: Option<u32>,
    /// [`TrainSettings::schedule`](super::settings::TrainSettings::schedule).
    pub schedule: Option<&'static DocumentSchedule>,
    /// [`ModelSettings::geometry`](crate::model::settings::ModelSettings::geometry).
    pub geometry: Option<Geometry>,
    /// True if each document must be visited once a pass, so that schedules that draw documents are refused.
    pub one_visit_a_pass: bool,
}

impl Requirements {
    /// No requirements.
    pub const NONE: Self = Self {
        memory: None,
        passes: None,
        schedule: None,
        geometry: None,
        one_visit_a_pass: false,
    };
}

/// Settings of [`TrainSettings`](super::settings::TrainSettings) that a method may not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// Sweeps over a document.
    Sweeps,
    /// The size of steps, and pruning after them.
    Steps,
    /// The size of minibatches.
    Minibatch,
    /// Those of Gibbs passes.
    Gibbs,
}

/// Whether training remembers the assignments of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// If all of them, over all processes, fit in
    /// [`TrainSettings::memory_bytes`](super::settings::TrainSettings::memory_bytes), or the schedule needs them.
    Auto,
    /// Always.
    On,
    /// Never: the algorithm of Mimno 2012 alone.
    Off,
}

/// What the statistics of a method count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Assignments, once for each kept sweep: few of all topics and terms. A visit takes time by its draws.
    Assignments,
    /// Expected assignments, in [`units`] of 2⁻¹² token, of every topic: topics begin at random, because equal
    /// ones would never be separated. A visit takes time by its distinct terms and all topics.
    Expected,
}

impl Counts {
    /// Returns how much a token counts in all.
    pub(super) fn of_token(self, sweeps: Sweeps) -> f64 {
        match self {
            Self::Assignments => f64::from(sweeps.kept),
            Self::Expected => units::TOKEN,
        }
    }
}

/// The sweeps of an online visit, after the sequential first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweeps {
    /// Those that are discarded.
    pub burn_in: u32,
    /// Those that count.
    pub kept: u32,
}

impl Sweeps {
    /// Returns how often a visit draws each token.
    pub fn draws(self) -> u64 {
        1 + u64::from(self.burn_in) + u64::from(self.kept)
    }
}

/// How the statistics of a method change the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// By a step towards them, of decreasing size.
    Step,
    /// By a whole step, ρ = 1: a round visits all documents.
    Whole,
    /// They are added to it.
    Add,
}

/// What is remembered of a document: numbers of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The topic of each token, which is redrawn.
    Topics,
    /// γ of each distinct term and each topic that the document may have. It is always remembered.
    Gamma,
}

impl Remembered {
    /// Returns how many numbers are remembered of a document with these counts of terms.
    pub fn length(self, counts: &[u32], labels: &[u16], topic_count: usize) -> usize {
        match (self, labels) {
            (Self::Gamma, []) => counts.len() * topic_count,
            (Self::Gamma, labels) => counts.len() * labels.len(),
            (Self::Topics, _) => counts.iter().map(|&n| n as usize).sum(),
        }
    }

    /// Returns how many values a number can have.
    pub fn bound(self, priors: &Priors) -> usize {
        match (self, &priors.tree) {
            (Self::Gamma, _) => units::UNITS,
            (Self::Topics, Some(tree)) => senses::number_count(tree, priors.topic_count()),
            (Self::Topics, None) => priors.topic_count(),
        }
    }
}

impl TrainingMethod {
    /// Returns whether it always remembers something, whatever the settings say.
    pub fn always_remembers(&self) -> bool {
        self.remembers == Remembered::Gamma
    }
}

listed!(TrainingMethod in METHODS);

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
    pub(crate) fn stream(self) -> Stream {
        Stream::keyed(self.seed, self.stage, self.round, self.document)
    }

    pub(crate) fn error(self) -> impl Fn(ImpossibleDraw) -> TrainError {
        move |source| TrainError::Draw { document: self.document, source }
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

// Sampling the topics of one document, and counting them: what all rounds but those of dense methods do.

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
    fn burn_in(
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
    fn count(&mut self, table: FactorTable<'_>, weight: u32, stream: &mut Stream) {
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
