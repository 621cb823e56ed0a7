//! Training: sampled-online stochastic variational inference (Mimno 2012, Algorithm 1), which turns
//! into collapsed Gibbs sampling once it remembers the assignments of the sample (`schedule`).
//!
//! [`train`] is the whole algorithm on one thread: it documents the dataflow that distributes it over workers
//! (topicmill's `dataflow::train`), tests it (both produce the same bytes), and is the baseline of every claim
//! about scaling.

pub mod active;
pub mod alpha;
mod choices;
pub mod document_schedule;
pub mod joint;
pub mod labels;
pub mod minibatches;
pub mod norms;
mod position;
pub mod publish;
mod report;
pub mod schedule;
pub mod senses;
pub mod settings;
pub mod soft;
pub mod step;
pub mod stop;
pub mod units;
pub mod warm_start;

use std::collections::VecDeque;

use crate::bags::Bags;
use crate::infer::ImpossibleDraw;
use crate::math::random::Stage;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::{GlobalStep, Parameters};
use crate::model::statistics::Assigned;
use crate::model::{MAX_TOPICS, Priors};
use active::ActiveBags;
use norms::Norms;
pub use publish::heldout;
pub use report::{RoundReport, RoundSeconds};
use schedule::{Action, Position, Schedule};
use settings::TrainSettings;
pub use step::expected::start;
use step::{StreamKey, Visit, Visitor};
use stop::StopRule;
use warm_start::WarmStart;

/// The end of training by an error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// A draw has impossible masses.
    #[error("document {document}: {source}")]
    Draw {
        /// The document's number in the collection.
        document: u64,
        /// The masses.
        source: ImpossibleDraw,
    },
    /// The priors have too many topics.
    #[error("{0} topics are more than {MAX_TOPICS}: train with fewer")]
    TooManyTopics(usize),
}

/// The input of training, besides the documents.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The priors; they determine the number of topics.
    pub priors: &'a Priors,
    /// How to train.
    pub settings: &'a TrainSettings,
    /// The seed of every random choice.
    pub seed: u64,
    /// V, at most [`MAX_TERMS`](crate::model::statistics::MAX_TERMS).
    pub vocabulary_size: usize,
    /// The model to start from, if any; [`TrainSettings::warm_start`] must be its
    /// [`unassigned`](WarmStart::unassigned), or `None` without one.
    pub warm_start: Option<&'a WarmStart>,
}

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// λ̃: after Gibbs passes, counts or φ^p averaged over passes.
    pub parameters: Parameters,
    /// The priors, with α as learnt.
    pub priors: Priors,
    /// z_di of each document of the sample, in the order of
    /// [`Sampler::assignments`](crate::infer::sampler::Sampler::assignments); empty if none were remembered. For
    /// CVB0, γ ([`step::cvb0`]).
    pub assignments: Vec<Vec<u16>>,
}

/// Trains on `sample` on one thread. A phase ends after the requested passes, or when quality on the `held_out`
/// documents, which may be none, has stopped improving.
///
/// After each round, calls `report` with its number and, if the held-out documents were scored, their log-likelihood
/// per token in nats.
///
/// # Errors
/// Returns an error if a draw has impossible masses, because a prior is not a positive number or is extreme, or if
/// there are more than [`MAX_TOPICS`] topics.
///
/// # Panics
/// Panics if a document has a term that is not below
/// [`Setup::vocabulary_size`] or a label that is not below the number of topics, or a setting is invalid.
pub fn train(
    sample: &Bags,
    held_out: &Bags,
    setup: &Setup<'_>,
    mut report: impl FnMut(u64, Option<f64>),
) -> Result<Trained, TrainError> {
    if setup.priors.topic_count() > MAX_TOPICS {
        return Err(TrainError::TooManyTopics(setup.priors.topic_count()));
    }
    let documents = sample.len() as u64;
    let bags = (0..sample.len()).map(|index| sample.bag(index));
    let visited = bags.filter(|&bag| setup.warm_start.is_none_or(|start| start.revisits(bag)));
    let norms = Norms::of(visited);
    let schedule = match setup.warm_start.filter(|start| start.is_partial()) {
        Some(start) => Schedule::partial(setup.settings, documents, start.revisited(sample), norms),
        None => Schedule::new(setup.settings, documents, sample.token_count(), norms),
    };
    let mut trainer = Trainer::new(sample, setup, &schedule);
    let mut stop = StopRule::default();
    let mut next = schedule.start();
    while let Some(position) = next {
        trainer.take_round(position)?;
        let mut quality = None;
        if schedule.evaluates_after(position) {
            let eta = publish::provisional_eta(&trainer.priors);
            let (parameters, priors) = (trainer.published(), &trainer.priors);
            quality = heldout(held_out, parameters, priors, setup.seed, eta)?.per_token();
        }
        report(position.round, quality);
        let counts = schedule.may_settle_after(position);
        let has_settled =
            quality.is_some_and(|value| counts && stop.observe(value, setup.settings));
        next = schedule.next(position, has_settled);
        if next.is_some_and(|next| next.phase != position.phase) {
            stop = StopRule::default();
        }
    }
    Ok(Trained {
        parameters: trainer.published().clone(),
        priors: trainer.priors,
        assignments: trainer.assignments,
    })
}

/// The state of training on one thread.
struct Trainer<'a> {
    sample: &'a Bags,
    setup: &'a Setup<'a>,
    schedule: &'a Schedule,
    /// The documents of each minibatch.
    dealt: Vec<Vec<u32>>,
    priors: Priors,
    /// λ̃; in Gibbs sampling, the counts of the sample's assignments.
    parameters: Parameters,
    /// The average of such counts, or of φ^p, over passes.
    average: Option<Parameters>,
    /// z_di of each document, once it is assigned.
    assignments: Vec<Vec<u16>>,
    active: Option<ActiveBags>,
    /// The statistics of rounds that have not changed the model yet, oldest first.
    outstanding: VecDeque<(Position, Vec<u64>)>,
    visitor: Visitor,
}

impl<'a> Trainer<'a> {
    fn new(sample: &'a Bags, setup: &'a Setup<'a>, schedule: &'a Schedule) -> Self {
        let topics = setup.priors.topic_count();
        let rows = setup.priors.row_count(setup.vocabulary_size);
        let places: Vec<u64> = (0..sample.len())
            .map(|index| {
                let key = [setup.seed, sample.document(index)];
                let (order, warm) = (setup.settings.schedule, setup.warm_start);
                minibatches::scheduled_place(order, warm, key, sample.bag(index))
            })
            .collect();
        let parameters = match setup.warm_start {
            Some(warm) => warm.start(setup.priors, setup.seed, [0, 1]),
            None => start(setup.settings.method, setup.seed, setup.priors, rows, [0, 1]),
        };
        Self {
            sample,
            setup,
            schedule,
            dealt: minibatches::deal(schedule, &places),
            priors: setup.priors.clone(),
            parameters,
            average: None,
            assignments: vec![Vec::new(); sample.len()],
            active: ActiveBags::new(sample, setup),
            outstanding: VecDeque::new(),
            visitor: Visitor::new(setup.settings.method, setup.settings.sweeps(), [rows, topics]),
        }
    }

    /// Returns the parameters as they would be published now.
    fn published(&self) -> &Parameters {
        self.average.as_ref().unwrap_or(&self.parameters)
    }

    /// Returns the documents that a round samples.
    fn documents(&self, position: Position) -> Vec<u32> {
        if let Some(active) = &self.active
            && self.schedule.drawn(position).is_some()
        {
            return active.drawn.clone();
        }
        let minibatches = self.schedule.minibatches(position);
        self.dealt[minibatches.start as usize..minibatches.end as usize].concat()
    }

    /// Samples the minibatch of a round, and applies the statistics of the rounds that the next one needs.
    fn take_round(&mut self, position: Position) -> Result<(), TrainError> {
        if let Some(active) = &mut self.active {
            let length = self.schedule.expected_length(position);
            active.draw(self.sample, self.setup.seed, position.round, length);
        }
        let entries = self.local_step(position)?;
        self.outstanding.push_back((position, entries));
        while self.outstanding.len() > self.schedule.lag_after(position)
            && let Some((position, entries)) = self.outstanding.pop_front()
        {
            self.change_model(position, &entries);
        }
        self.end_pass(position);
        Ok(())
    }

    /// Samples the documents of a minibatch; returns their statistics.
    fn local_step(&mut self, position: Position) -> Result<Vec<u64>, TrainError> {
        let action = self.schedule.action(position);
        let priors = round_priors(&self.priors, action);
        let factors = Factors::prepare(&self.parameters, &priors, |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        for index in self.documents(position) {
            let index = index as usize;
            let bag = self.sample.bag(index);
            let key = StreamKey {
                seed: self.setup.seed,
                stage: Stage::Train,
                round: position.round,
                document: self.sample.document(index),
            };
            let weight = self
                .active
                .as_ref()
                .map_or(1, |active| active.weight(index, [key.seed, key.round, key.document]));
            let visit = Visit { key, bag, labels: self.sample.labels(index), table, weight };
            let own = &self.assignments[index];
            let drawn = self.visitor.visit(action, visit, own)?;
            if let Some(active) = &mut self.active
                && (!action.keeps_assignments() || own.is_empty())
            {
                let change = active.comparison.change(own, drawn);
                let influence = &mut active.influences[index];
                *influence = active.schedule.after(*influence, change);
            }
            let is_withdrawn = action == Action::Withdraw && self.schedule.unassigns_documents();
            if self.schedule.remembers() && !is_withdrawn {
                self.assignments[index] = drawn.to_vec();
            }
            if self.schedule.learns_alpha_in(position) {
                self.visitor.add_to_histograms();
            }
        }
        let mut entries = Vec::new();
        self.visitor.finish(|entry| entries.push(entry.word()));
        Ok(entries)
    }

    /// Applies the statistics of a round to the model.
    fn change_model(&mut self, position: Position, entries: &[u64]) {
        match self.schedule.action(position) {
            Action::Online if self.schedule.adds_counts() => {
                replace(&mut self.parameters, entries);
            }
            Action::Online => {
                let documents = self.documents(position).len() as u64;
                let step = self.schedule.step(position, documents);
                global_step(&mut self.parameters, step, entries);
                if self.parameters.is_scale_small() {
                    fold_scale(&mut self.parameters, self.setup.settings.prune);
                }
            }
            Action::Scatter | Action::Assign | Action::Count => {
                self.parameters.clear();
                replace(&mut self.parameters, entries);
            }
            Action::Withdraw => {
                self.parameters.withdraw(entries);
                let start = self.setup.warm_start.expect("there is a warm start");
                self.parameters.set_rows(&start.changed_rows(&self.priors, self.setup.seed));
                add_up_totals(&mut self.parameters);
                if !self.schedule.unassigns_documents() {
                    replace(&mut self.parameters, entries);
                }
            }
            Action::Gibbs => replace(&mut self.parameters, entries),
            Action::Estimate => {
                let [topics, rows] =
                    [self.parameters.topic_count(), self.parameters.vocabulary_size()];
                let average =
                    (self.average).get_or_insert_with(|| Parameters::new(topics, rows, 0, 1));
                global_step(average, self.schedule.step(position, 0), entries);
                if average.is_scale_small() {
                    fold_scale(average, AVERAGE_PRUNE);
                }
            }
        }
    }

    /// At the end of a Gibbs pass, learns α and adds the counts to their average; also rounds first weights away
    /// when they are no longer needed.
    fn end_pass(&mut self, position: Position) {
        if self.schedule.forgets_first_weights_after(position) {
            let start = self.setup.warm_start.expect("there is a warm start");
            self.parameters.round_rows(&start.changed_rows(&self.priors, self.setup.seed));
            add_up_totals(&mut self.parameters);
        }
        if self.schedule.ends_pass(position) && self.schedule.learns_alpha_in(position) {
            let evidence = self.visitor.take_histograms().evidence(&self.priors.alpha);
            alpha::step(&mut self.priors.alpha, &evidence);
        }
        let weight = self.schedule.average_after(position);
        let Some(weight) = weight.filter(|_| !position.is_estimate) else {
            return;
        };
        match &mut self.average {
            None => self.average = Some(self.parameters.clone()),
            Some(average) => {
                average.blend(weight, &self.parameters);
                if average.is_scale_small() {
                    fold_scale(average, AVERAGE_PRUNE);
                }
            }
        }
    }
}

/// Averaged counts below this are dropped: they are assignments that did not last.
pub const AVERAGE_PRUNE: f64 = 0.01;

/// Returns the priors that a round is sampled with: collapsed Gibbs sampling has only the mean geometry.
pub fn round_priors(priors: &Priors, action: Action) -> Priors {
    Priors {
        exp_psi: priors.exp_psi && !matches!(action, Action::Gibbs | Action::Estimate),
        ..priors.clone()
    }
}

/// Replaces the counts of a model in one part, given their changes.
fn replace(parameters: &mut Parameters, entries: &[u64]) {
    let mut topic_changes = vec![0; parameters.topic_count()];
    add_topic_counts(entries, &mut topic_changes);
    parameters.replace(entries);
    parameters.replace_totals(&topic_changes);
}

/// Takes the step of a round (Eq. 11) with the statistics of its minibatch; an empty minibatch takes no step.
pub fn global_step(parameters: &mut Parameters, step: GlobalStep, entries: &[u64]) {
    let mut topic_counts = vec![0; parameters.topic_count()];
    add_topic_counts(entries, &mut topic_counts);
    if step.weight.is_finite() {
        parameters.decay(step, &topic_counts);
        parameters.add(step, entries);
    }
}

/// Adds S·N̂_k of some entries to `topic_counts`.
fn add_topic_counts(entries: &[u64], topic_counts: &mut [i64]) {
    for &word in entries {
        let entry = Assigned::from_word(word);
        topic_counts[usize::from(entry.topic)] += i64::from(entry.count);
    }
}

/// Folds the scale of a model in one part.
fn fold_scale(parameters: &mut Parameters, prune: f64) {
    parameters.fold_scale(prune);
    add_up_totals(parameters);
}

/// Recomputes the row sums of a model in one part, where they are stale.
fn add_up_totals(parameters: &mut Parameters) {
    let mut totals = vec![0; parameters.topic_count()];
    parameters.fixed_point_totals(&mut totals);
    parameters.set_totals(&totals);
}
