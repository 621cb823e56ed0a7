//! Training on one thread.

use std::collections::VecDeque;

use super::active::{ActiveSchedule, Draw, Influence, InfluenceSums};
use super::norms::Norms;
use super::schedule::{AVERAGE_PRUNE, ModelChange, Position, Schedule};
use super::settings::TrainSettings;
use super::step::{StreamKey, Visit};
use super::visitor::Visitor;
use super::warm_start::WarmStart;
use super::{
    Exchange, StopRule, TrainError, TrainingProgress, heldout, minibatches, publish, run, spare,
    start,
};
use crate::bags::Bags;
use crate::evaluate::coherence::CoherenceCounter;
use crate::math::random::Stage;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::{Parameters, TermRow};
use crate::model::statistics::topic_counts;
use crate::model::{MAX_TOPICS, Priors};

/// The input of training, besides the documents.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The priors; they determine the number of topics, with the spare ones.
    pub priors: &'a Priors,
    /// How many of the topics are dissolved halfway through the Gibbs passes, if there are any ([`spare`]): the model
    /// has the others.
    pub spare_topics: usize,
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
    /// CVB0, γ ([`step::cvb0`](super::step::cvb0)).
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
    report: impl FnMut(u64, Option<f64>),
) -> Result<Trained, TrainError> {
    let &Setup { priors, spare_topics, settings, seed, vocabulary_size, warm_start } = setup;
    let topics = priors.topic_count();
    if topics > MAX_TOPICS {
        return Err(TrainError::TooManyTopics(topics));
    }
    let (documents, rows) = (sample.len() as u64, priors.row_count(vocabulary_size));
    let bags = || (0..sample.len()).map(|index| sample.bag(index));
    let visited = bags().filter(|&bag| warm_start.is_none_or(|start| start.revisits(bag)));
    let norms = Norms::of(visited);
    let schedule = match warm_start.filter(|start| start.is_partial()) {
        Some(start) => Schedule::partial(settings, documents, start.revisited(sample), norms),
        None => Schedule::new(settings, documents, sample.token_count(), norms)
            .with_spare_topics(spare_topics),
    };
    let place = |index| {
        let key = [seed, sample.document(index)];
        minibatches::scheduled_place(settings.schedule, warm_start, key, sample.bag(index))
    };
    let places: Vec<u64> = (0..sample.len()).map(place).collect();
    let active = ActiveSchedule::new(settings, sample.lengths().min().unwrap_or(0) as u64);
    let first = |schedule: ActiveSchedule| bags().map(move |bag| schedule.first(bag)).collect();
    let changed = |start: &WarmStart| start.changed_rows(priors, seed);
    let mut alone = Alone {
        sample,
        held_out,
        seed,
        schedule: &schedule,
        dealt: minibatches::deal(&schedule, &places),
        progress: TrainingProgress {
            priors: priors.clone(),
            next: schedule.start(),
            rounds: 0,
            averaged: 0,
            stop: StopRule::default(),
        },
        parameters: match warm_start {
            Some(warm) => warm.start(priors, seed, [0, 1]),
            None => start(settings.method, seed, priors, rows, [0, 1]),
        },
        changed_rows: warm_start.map(changed).unwrap_or_default(),
        average: None,
        assignments: vec![Vec::new(); sample.len()],
        influences: active.map_or_else(Vec::new, first),
        active,
        visitor: Visitor::new(settings.method, settings.sweeps(), [rows, topics]),
        report,
    };
    run(&schedule, settings, &mut alone)?;
    let mut parameters = alone.average.unwrap_or(alone.parameters);
    let (mut priors, mut assignments) = (alone.progress.priors, alone.assignments);
    if schedule.spare_topics > 0 {
        let kept = spare::kept(&priors.alpha);
        parameters.keep_topics(&kept);
        let number = |z: &mut u16| *z = kept.partition_point(|&k| k < usize::from(*z)) as u16;
        assignments.iter_mut().flatten().for_each(number);
        priors.alpha.retain(|&alpha| alpha > 0.0);
    }
    Ok(Trained { parameters, priors, assignments })
}

/// The state of training on one thread.
struct Alone<'a, R> {
    sample: &'a Bags,
    held_out: &'a Bags,
    seed: u64,
    schedule: &'a Schedule,
    /// The documents of each minibatch.
    dealt: Vec<Vec<u32>>,
    progress: TrainingProgress,
    /// λ̃; in Gibbs sampling, the counts of the sample's assignments.
    parameters: Parameters,
    changed_rows: Vec<TermRow>,
    /// The average of such counts, or of φ^p, over passes.
    average: Option<Parameters>,
    /// z_di of each document, once it is assigned.
    assignments: Vec<Vec<u16>>,
    active: Option<ActiveSchedule>,
    /// The influence of each document, if each round draws its own.
    influences: Vec<Influence>,
    visitor: Visitor,
    report: R,
}

impl<R> Alone<'_, R> {
    /// Returns the documents that a round samples, and how they were drawn, if they were.
    fn documents(&self, position: Position) -> (Vec<u32>, Option<Draw>) {
        let minibatches = self.schedule.minibatches(position);
        let Some(active) = self.active.filter(|_| self.schedule.drawn(position).is_some()) else {
            return (
                self.dealt[minibatches.start as usize..minibatches.end as usize].concat(),
                None,
            );
        };
        let mut sums = InfluenceSums::default();
        self.influences.iter().for_each(|&influence| sums.add(influence));
        let draw = active.draw(&sums, self.schedule.expected_length(position));
        let is_taken = |&index: &u32| {
            let key = [self.seed, position.round, self.sample.document(index as usize)];
            draw.takes(self.influences[index as usize], key)
        };
        ((0..self.sample.len() as u32).filter(is_taken).collect(), Some(draw))
    }

    /// Samples the documents of a round; returns their number and their statistics.
    fn local_step(&mut self, position: Position) -> Result<(u64, Vec<u64>), TrainError> {
        let priors = self.schedule.round_priors(position, &self.progress.priors);
        let factors = Factors::prepare(&self.parameters, &priors, |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let (documents, draw) = self.documents(position);
        for &index in &documents {
            let index = index as usize;
            let key = StreamKey {
                seed: self.seed,
                stage: Stage::Train,
                round: position.round,
                document: self.sample.document(index),
            };
            let influence = self.influences.get_mut(index);
            let weight = match (draw, &influence) {
                (Some(draw), Some(own)) => draw.weight(**own, [key.seed, key.round, key.document]),
                _ => 1,
            };
            let (bag, labels) = (self.sample.bag(index), self.sample.labels(index));
            let visit = Visit { key, bag, labels, table, weight };
            let own = &mut self.assignments[index];
            let active = self.active.as_ref().zip(influence);
            self.visitor.visit_in((self.schedule, position), visit, own, active)?;
            if !self.schedule.remembers() {
                own.clear();
            }
        }
        let mut entries = Vec::new();
        self.visitor.finish(|entry| entries.push(entry.word()));
        Ok((documents.len() as u64, entries))
    }

    /// Applies the statistics of a round to the model.
    fn change(&mut self, change: ModelChange, entries: &[u64]) {
        let [topics, rows] = [self.parameters.topic_count(), self.parameters.vocabulary_size()];
        let parameters = if change.is_of_average() {
            self.average.get_or_insert_with(|| Parameters::new(topics, rows, 0, 1))
        } else {
            &mut self.parameters
        };
        let counts = topic_counts(entries, topics);
        if change.apply(parameters, &[entries], &counts, &self.changed_rows) {
            add_up_totals(parameters);
        }
    }
}

impl<R: FnMut(u64, Option<f64>)> Exchange for Alone<'_, R> {
    type Error = TrainError;

    fn progress(&mut self) -> &mut TrainingProgress {
        &mut self.progress
    }

    fn take(&mut self, rounds: VecDeque<Position>) -> Result<(), TrainError> {
        let mut outstanding = VecDeque::new();
        for position in rounds {
            let (documents, entries) = self.local_step(position)?;
            outstanding.push_back((self.schedule.changes(position, documents), entries));
            let lag = self.schedule.lag_after(position);
            while outstanding.len() > lag
                && let Some((changes, entries)) = outstanding.pop_front()
            {
                changes.into_iter().for_each(|change| self.change(change, &entries));
            }
            if lag > 0 {
                (self.report)(position.round, None);
            }
        }
        Ok(())
    }

    fn forget_first_weights(&mut self) {
        self.parameters.round_rows(&self.changed_rows);
        add_up_totals(&mut self.parameters);
    }

    fn evidence(&mut self) -> Vec<i64> {
        self.visitor.take_histograms().evidence(&self.progress.priors.alpha)
    }

    fn coherence(&mut self) -> Result<CoherenceCounter, TrainError> {
        let parameters = self.average.as_ref().unwrap_or(&self.parameters);
        let mut counter = spare::counter(&[parameters]);
        (0..self.sample.len()).for_each(|index| counter.add_document(self.sample.bag(index).terms));
        Ok(counter)
    }

    fn average(&mut self, weight: f64) {
        let average = self.average.get_or_insert_with(|| self.parameters.clone());
        if average.average(weight, &self.parameters, AVERAGE_PRUNE) {
            add_up_totals(average);
        }
    }

    fn end(&mut self, last: Position, is_scored: bool) -> Result<Option<f64>, TrainError> {
        let mut quality = None;
        if is_scored {
            let priors = &self.progress.priors;
            let eta = publish::provisional_eta(priors);
            let parameters = self.average.as_ref().unwrap_or(&self.parameters);
            quality = heldout(self.held_out, parameters, priors, self.seed, eta)?.per_token();
        }
        (self.report)(last.round, quality);
        Ok(quality)
    }

    fn save(&mut self, _: Position) -> Result<(), TrainError> {
        Ok(())
    }
}

/// Recomputes the row sums of a model in one part, where they are stale.
fn add_up_totals(parameters: &mut Parameters) {
    let mut totals = vec![0; parameters.topic_count()];
    parameters.fixed_point_totals(&mut totals);
    parameters.set_totals(&totals);
}
