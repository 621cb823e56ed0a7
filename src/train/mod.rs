//! Training by sampled-online stochastic variational inference (Mimno 2012, Algorithm 1).
//!
//! [`train`] is the whole algorithm on one thread, as the paper states it: it documents the
//! dataflow that spreads it over workers (`dataflow::train`), tests it (both give the same bytes),
//! and is the yardstick of every claim about scaling.

pub mod publish;
pub mod round;
pub mod schedule;
pub mod settings;

use crate::corpus::sample::Bags;
use crate::evaluate::completion::{Completer, Completion};
use crate::infer::{Bag, ImpossibleDraw};
use crate::model::Priors;
use crate::model::factors::{FactorTable, Factors};
use crate::model::parameters::{GlobalStep, Parameters};
use crate::model::statistics::Assigned;
use round::{LocalStep, StreamKey};
use schedule::{Schedule, StopRule};
use settings::TrainSettings;

/// Why training stopped short.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// A draw with impossible masses.
    #[error("document {document}: {source}")]
    ImpossibleDraw {
        /// The document's number in the collection.
        document: u64,
        /// The masses.
        source: ImpossibleDraw,
    },
}

/// What training starts from.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The priors.
    pub priors: &'a Priors,
    /// Section `[train]` of the job.
    pub settings: &'a TrainSettings,
    /// The job's seed.
    pub seed: u64,
    /// V.
    pub vocabulary_size: usize,
}

/// A round as the training log tells it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RoundReport {
    /// The round, from 0.
    pub round: u64,
    /// The pass, from 0.
    pub pass: u64,
    /// Documents sampled so far.
    pub documents_seen: u64,
    /// Tokens sampled so far (each counted once a round, not once a sweep).
    pub tokens_seen: u64,
    /// ρ_t.
    pub step_size: f64,
    /// Held-out log-likelihood per token by document completion, where it was evaluated.
    pub heldout: Option<f64>,
    /// The share of the K · V parameters with λ̃ > 0.
    pub nonzero_share: f64,
    /// Cumulative seconds of training; not reproducible.
    pub seconds: f64,
    /// Bytes this round's statistics took on the wire; not reproducible.
    pub bytes_exchanged: u64,
}

/// Trains on `sample` on one thread, reporting each round. Ends after the passes asked for, or
/// when quality on the `held_out` documents has stopped improving.
pub fn train(
    sample: &Bags,
    held_out: &Bags,
    setup: &Setup<'_>,
    mut report: impl FnMut(u64, Option<f64>),
) -> Result<Parameters, TrainError> {
    let topic_count = setup.priors.topic_count();
    let schedule = Schedule::new(setup.settings, setup.seed, sample.len() as u64);
    let mut parameters = Parameters::new(topic_count, setup.vocabulary_size, 0, 1);
    let mut local = LocalStep::new(setup.vocabulary_size, topic_count);
    let mut stop = StopRule::default();
    for round in 0..schedule.round_count() {
        let minibatch = minibatch(&schedule, round, sample);
        let entries = local_step(&mut local, &minibatch, sample, &parameters, setup, round)?;
        global_step(
            &mut parameters,
            schedule.step(round, minibatch.len() as u64),
            &entries,
        );
        if parameters.is_scale_small() {
            fold_scale(&mut parameters, setup.settings.prune);
        }
        let mut quality = None;
        if schedule.evaluates_after(round) {
            let eta = publish::provisional_eta(setup.priors);
            quality = heldout(held_out, &parameters, setup, eta)?.per_token();
        }
        report(round, quality);
        if quality.is_some_and(|value| stop.observe(value, setup.settings)) {
            break;
        }
    }
    Ok(parameters)
}

/// The documents of a round, as indices in the sample.
fn minibatch(schedule: &Schedule, round: u64, sample: &Bags) -> Vec<u32> {
    let documents = (0..sample.len()).map(|i| sample.document(i));
    let mut dealt = schedule.deal(schedule.pass(round), documents);
    dealt.swap_remove((round % schedule.minibatch_count) as usize)
}

/// Samples the documents of a minibatch; gives their statistics.
fn local_step(
    local: &mut LocalStep,
    minibatch: &[u32],
    sample: &Bags,
    parameters: &Parameters,
    setup: &Setup<'_>,
    round: u64,
) -> Result<Vec<u64>, TrainError> {
    let factors = Factors::prepare(parameters, setup.priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    for &index in minibatch {
        let document = sample.document(index as usize);
        let (terms, counts) = sample.bag(index as usize);
        let key = StreamKey {
            seed: setup.seed,
            round,
            document,
        };
        local.sample(key, Bag { terms, counts }, table, setup.settings)?;
    }
    let mut entries = Vec::new();
    local.finish(|entry| entries.push(entry.word()));
    Ok(entries)
}

/// Takes the step of a round (Eq. 11) with the statistics of its minibatch; none is no step.
pub fn global_step(parameters: &mut Parameters, step: GlobalStep, entries: &[u64]) {
    let mut topic_counts = vec![0; parameters.topic_count()];
    add_topic_counts(entries, &mut topic_counts);
    if step.weight.is_finite() {
        parameters.decay(step, &topic_counts);
        parameters.add(step, entries);
    }
}

/// Adds S·N̂_k of some entries to `topic_counts`.
pub fn add_topic_counts(entries: &[u64], topic_counts: &mut [u64]) {
    for &word in entries {
        let entry = Assigned::from_word(word);
        topic_counts[usize::from(entry.topic)] += u64::from(entry.count);
    }
}

/// Folds the scale of a model that is one part.
fn fold_scale(parameters: &mut Parameters, prune: f64) {
    parameters.fold_scale(prune);
    let mut totals = vec![0; parameters.topic_count()];
    parameters.fixed_point_totals(&mut totals);
    parameters.set_totals(&totals);
}

/// The score of the held-out documents with φ published with `eta`.
pub fn heldout(
    documents: &Bags,
    parameters: &Parameters,
    setup: &Setup<'_>,
    eta: f64,
) -> Result<Completion, TrainError> {
    let priors = publish::published(setup.priors, eta);
    let factors = Factors::prepare(parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let mut completer = Completer::default();
    let mut sum = Completion::default();
    for index in 0..documents.len() {
        let document = documents.document(index);
        let (terms, counts) = documents.bag(index);
        let error = |source| TrainError::ImpossibleDraw { document, source };
        let bag = Bag { terms, counts };
        sum.merge(
            completer
                .score(setup.seed, document, bag, table)
                .map_err(error)?,
        );
    }
    Ok(sum)
}
