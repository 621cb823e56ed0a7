//! The local step of a round: visiting the documents of a minibatch against fixed factors, and counting their
//! assignments (Mimno 2012, Algorithm 1, inner loops, and Eq. 10) or the changes of these.
//!
//! A training method decides what an online round does with a document. A method is a file below this one, with its
//! description and its [`LocalStep`], and one line of [`METHODS`]. All else that a round may do with a document, such
//! as a Gibbs sweep, is the same for all methods ([`Visitor`]).

pub mod batch_vb;
pub mod cvb0;
pub mod expected;
pub mod online_em;
pub mod online_vb;
pub mod sampled;
mod sampling;
pub mod scvb0;
pub mod smc;

use std::fmt;

use super::TrainError;
use super::active::{ActiveSchedule, Comparison};
use super::alpha::Histograms;
use super::document_schedule::{DocumentSchedule, Influence};
use super::schedule::{Action, Position, Schedule};
use super::settings::Memory;
use super::soft::SoftCounts;
use super::{senses, units};
use crate::infer::{Bag, ImpossibleDraw};
use crate::listed::listed;
use crate::math::random::{Stage, Stream};
use crate::model::Priors;
use crate::model::factors::FactorTable;
use crate::model::settings::Geometry;
use crate::model::statistics::Assigned;
pub use sampling::Sampling;

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

/// Visits documents, one after another, and adds up their statistics.
#[derive(Debug)]
pub struct Visitor {
    online: Box<dyn LocalStep>,
    sampling: Sampling,
    soft: SoftCounts,
    /// How often topics occur in the documents sampled again, if α is to be learnt.
    histograms: Histograms,
    comparison: Comparison,
    /// The numbers that the last document had before its visit.
    before: Vec<u16>,
    burn_in_sweeps: u32,
    topic_count: usize,
}

impl Visitor {
    /// Creates a visitor for `row_count` terms, or leaves of a tree, and `topic_count` topics.
    pub fn new(
        method: &TrainingMethod,
        sweeps: Sweeps,
        [row_count, topic_count]: [usize; 2],
    ) -> Self {
        Self {
            online: (method.step)(sweeps),
            sampling: Sampling::new(row_count, topic_count),
            soft: SoftCounts::default(),
            histograms: Histograms::new(topic_count),
            comparison: Comparison::new(topic_count),
            before: Vec::new(),
            burn_in_sweeps: sweeps.burn_in,
            topic_count,
        }
    }

    /// Visits a document as the round's action requires, counts the result, and returns the numbers to be remembered
    /// of it. `remembered` are those it had; if the action counts or redraws assignments and there are none, the
    /// document is assigned.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn visit<'s>(
        &'s mut self,
        action: Action,
        visit: Visit<'_>,
        remembered: &'s [u16],
    ) -> Result<&'s [u16], TrainError> {
        let Visit { bag, table, labels, key, .. } = visit;
        let sampling = &mut self.sampling;
        let visited = match action {
            Action::Online => self.online.visit(visit, remembered, sampling),
            // Cannot-links need the first weights, because a topic has one branch.
            Action::Scatter if table.tree().is_none() => Ok(sampling.scatter(visit)),
            Action::Assign | Action::Withdraw => sampling.assign(visit, self.burn_in_sweeps),
            Action::Gibbs if !remembered.is_empty() => {
                sampling.resume(bag, table, remembered);
                sampling.restrict(labels);
                sampling.redraw(key, table, remembered)
            }
            Action::Count if !remembered.is_empty() => {
                sampling.recount(bag, table, remembered);
                Ok(remembered)
            }
            Action::Scatter | Action::Gibbs | Action::Count => sampling.assign(visit, 0),
            Action::Estimate => {
                let (stream, statistics) = (&mut key.stream(), &mut sampling.statistics);
                self.soft.add(bag, table, labels, remembered, stream, statistics);
                Ok(remembered)
            }
        };
        visited.map_err(key.error())
    }

    /// Visits a document as a round of a schedule requires, counts the result, and replaces its `remembered` numbers,
    /// which are empty if it has none or the round does not [recall](Schedule::recalls) them. If documents are drawn,
    /// its influence changes.
    ///
    /// # Errors
    /// Returns an error if a draw has impossible masses.
    pub fn visit_in(
        &mut self,
        (schedule, position): (&Schedule, Position),
        visit: Visit<'_>,
        remembered: &mut Vec<u16>,
        active: Option<(&ActiveSchedule, &mut Influence)>,
    ) -> Result<(), TrainError> {
        let action = schedule.action(position);
        let is_first = active.as_ref().is_some_and(|(_, influence)| influence.is_unvisited());
        if is_first || schedule.visits_unassigned(position) {
            remembered.clear();
        }
        let mut drawn = std::mem::take(&mut self.before);
        drawn.clear();
        drawn.extend_from_slice(self.visit(action, visit, remembered)?);
        self.before = std::mem::replace(remembered, drawn);
        if let Some((active, influence)) = active
            && (is_first || !action.keeps_assignments())
        {
            let change = self.comparison.change(&self.before, remembered);
            *influence = active.after(*influence, change);
        }
        if schedule.learns_alpha_in(position) {
            let sampler = &mut self.sampling.sampler;
            let tokens = sampler.token_count();
            self.histograms.add(sampler.sample(), tokens);
        }
        Ok(())
    }

    /// Returns the histograms since the last call.
    pub fn take_histograms(&mut self) -> Histograms {
        std::mem::replace(&mut self.histograms, Histograms::new(self.topic_count))
    }

    /// Passes the statistics since the last call to `emit`, as aggregated and sorted entries.
    pub fn finish(&mut self, emit: impl FnMut(Assigned)) {
        self.sampling.finish(emit);
    }
}
