//! The two ways to learn that are compared. They see the same minibatches and take the same steps
//! (Mimno 2012, Eq. 11); what differs is the local step, and what follows from it: sampled counts
//! are sparse, expected counts are dense.

use std::time::Instant;

use lda::bags::Bags;
use lda::infer::Bag;
use lda::infer::variational::{Effort, Variational};
use lda::math::draw;
use lda::math::random::{Stage, Stream};
use lda::math::special::{digamma, exp, exp_digamma};
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::{Entry, GlobalStep, Parameters};
use lda::train::round::{LocalStep, StreamKey, Visit};
use lda::train::settings::TrainSettings;
use lda::train::{TrainError, global_step};

/// Seconds of a round.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub factors: f64,
    pub local: f64,
    pub global: f64,
}

impl Spent {
    pub fn total(self) -> f64 {
        self.factors + self.local + self.global
    }

    pub fn add(&mut self, other: Self) {
        self.factors += other.factors;
        self.local += other.local;
        self.global += other.global;
    }
}

/// A round: its number, its minibatch, and its step.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    pub number: u64,
    pub documents: &'a Bags,
    pub minibatch: &'a [u32],
    /// With the weight D / |B|.
    pub step: GlobalStep,
}

/// Learns from one minibatch after the other.
pub trait Learner {
    fn learn(&mut self, round: Round<'_>) -> Result<Spent, TrainError>;
    /// What has been learnt, sparse.
    fn parameters(&self) -> Parameters;
}

/// Sampled online inference: the program's own.
pub struct Sampled {
    parameters: Parameters,
    priors: Priors,
    settings: TrainSettings,
    seed: u64,
    local: LocalStep,
    buffers: Option<Factors>,
}

impl Sampled {
    pub fn new(priors: Priors, vocabulary_size: usize, settings: TrainSettings, seed: u64) -> Self {
        let topics = priors.topic_count();
        Self {
            parameters: Parameters::new(topics, vocabulary_size, 0, 1),
            priors,
            settings,
            seed,
            local: LocalStep::new(vocabulary_size, topics),
            buffers: None,
        }
    }
}

impl Learner for Sampled {
    fn learn(&mut self, round: Round<'_>) -> Result<Spent, TrainError> {
        let start = Instant::now();
        let mut needed = vec![false; self.parameters.vocabulary_size()];
        for &index in round.minibatch {
            let terms = round.documents.bag(index as usize).0;
            terms.iter().for_each(|&term| needed[term as usize] = true);
        }
        let is_needed = |term| needed[term as usize];
        let buffers = self.buffers.take();
        let factors = Factors::prepare(&self.parameters, &self.priors, is_needed, buffers);
        let prepared = Instant::now();
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        for &index in round.minibatch {
            let (terms, counts) = round.documents.bag(index as usize);
            let key = StreamKey {
                seed: self.seed,
                stage: Stage::Train,
                round: round.number,
                document: round.documents.document(index as usize),
            };
            let visit = Visit {
                key,
                bag: Bag { terms, counts },
                table,
                weight: 1,
            };
            self.local.sample(visit, &self.settings)?;
        }
        self.buffers = Some(factors);
        let sampled = Instant::now();
        let mut entries = Vec::new();
        self.local.finish(|entry| entries.push(entry.word()));
        let step = GlobalStep {
            weight: round.step.weight / f64::from(self.settings.kept_sweeps),
            ..round.step
        };
        global_step(&mut self.parameters, step, &entries);
        if self.parameters.is_scale_small() {
            self.parameters.fold_scale(self.settings.prune);
            let mut totals = vec![0; self.parameters.topic_count()];
            self.parameters.fixed_point_totals(&mut totals);
            self.parameters.set_totals(&totals);
        }
        Ok(spent(start, prepared, sampled))
    }

    fn parameters(&self) -> Parameters {
        self.parameters.clone()
    }
}

fn spent(start: Instant, prepared: Instant, done: Instant) -> Spent {
    Spent {
        factors: (prepared - start).as_secs_f64(),
        local: (done - prepared).as_secs_f64(),
        global: done.elapsed().as_secs_f64(),
    }
}

/// Online variational Bayes (Hoffman 2010): the same with dense expected counts. Only the rows of
/// the minibatch's terms are read and written, as in `Sampled`; the rest decays by the scale.
pub struct OnlineVb {
    /// λ̃_kw divided by the scale, V × K.
    values: Vec<f32>,
    scale: f64,
    /// λ̃_k.
    totals: Vec<f64>,
    vocabulary_size: usize,
    priors: Priors,
    iterations: u32,
    local: Variational,
}

/// A λ̃_kw smaller than this does not reach a published φ.
const NEGLIGIBLE: f64 = 1e-6;

impl OnlineVb {
    /// λ_kw begins at random, Gamma(100, 1/100), as in Hoffman's program: unlike draws, expected
    /// counts would never tell equal topics apart.
    pub fn new(priors: Priors, vocabulary_size: usize, iterations: u32, seed: u64) -> Self {
        let topics = priors.topic_count();
        let mut values = Vec::with_capacity(vocabulary_size * topics);
        let mut totals = vec![0.0; topics];
        for term in 0..vocabulary_size {
            let mut stream = Stream::keyed(seed, Stage::Synth, 0, term as u64);
            for total in &mut totals {
                let parameter = draw::gamma(&mut stream, 100.0) / 100.0;
                let value = (parameter - priors.eta).max(0.0) as f32;
                *total += f64::from(value);
                values.push(value);
            }
        }
        Self {
            values,
            scale: 1.0,
            totals,
            vocabulary_size,
            priors,
            iterations,
            local: Variational::default(),
        }
    }

    /// exp E[log β_kw] of some terms: terms × K.
    fn factors(&self, terms: &[u32]) -> Vec<f64> {
        let (topics, eta) = (self.totals.len(), self.priors.eta);
        let smoothing = self.vocabulary_size as f64 * eta;
        let totals = self.totals.iter();
        let scales: Vec<f64> = totals.map(|t| exp(-digamma(smoothing + t))).collect();
        let mut factors = Vec::with_capacity(terms.len() * topics);
        for &term in terms {
            let row = &self.values[term as usize * topics..][..topics];
            let entries = row.iter().zip(&scales);
            factors.extend(entries.map(|(&v, f)| f * exp_digamma(eta + f64::from(v) * self.scale)));
        }
        factors
    }

    /// Eq. 11: everything decays, the rows of `terms` grow by `expected`, terms × K.
    fn step(&mut self, step: GlobalStep, terms: &[u32], expected: &[f64]) {
        let topics = self.totals.len();
        self.scale *= 1.0 - step.step_size;
        self.totals
            .iter_mut()
            .for_each(|t| *t *= 1.0 - step.step_size);
        let coefficient = step.step_size * step.weight / self.scale;
        for (&term, counts) in terms.iter().zip(expected.chunks_exact(topics)) {
            let row = &mut self.values[term as usize * topics..][..topics];
            for ((value, count), total) in row.iter_mut().zip(counts).zip(&mut self.totals) {
                *value = (f64::from(*value) + coefficient * count) as f32;
                *total += step.step_size * step.weight * count;
            }
        }
        if self.scale < 1e-6 {
            let scale = self.scale as f32;
            self.values.iter_mut().for_each(|v| *v *= scale);
            self.scale = 1.0;
        }
    }
}

impl Learner for OnlineVb {
    fn learn(&mut self, round: Round<'_>) -> Result<Spent, TrainError> {
        let start = Instant::now();
        let topics = self.totals.len();
        let bags = || {
            round
                .minibatch
                .iter()
                .map(|&i| round.documents.bag(i as usize))
        };
        let mut terms: Vec<u32> = bags().flat_map(|bag| bag.0).copied().collect();
        terms.sort_unstable();
        terms.dedup();
        let mut places = vec![0; self.vocabulary_size];
        (0..)
            .zip(&terms)
            .for_each(|(place, &w)| places[w as usize] = place * topics);
        let factors = self.factors(&terms);
        let mut expected = vec![0.0; factors.len()];
        let prepared = Instant::now();
        let effort = Effort {
            iterations: self.iterations,
            tolerance: 0.0,
        };
        for (terms, counts) in bags() {
            let range = |w: &u32| places[*w as usize]..places[*w as usize] + topics;
            let rows: Vec<&[f64]> = terms.iter().map(|w| &factors[range(w)]).collect();
            self.local.infer(counts, &rows, &self.priors.alpha, effort);
            for (index, term) in terms.iter().enumerate() {
                let own = &mut expected[range(term)];
                self.local.add_expected_counts(index, rows[index], own);
            }
        }
        let inferred = Instant::now();
        self.step(round.step, &terms, &expected);
        Ok(spent(start, prepared, inferred))
    }

    fn parameters(&self) -> Parameters {
        let topics = self.totals.len();
        let empty = Parameters::new(topics, self.vocabulary_size, 0, 1);
        empty.restore(1.0, self.totals.clone(), |term| {
            let row = &self.values[term as usize * topics..][..topics];
            let unsmoothed = row.iter().map(|&v| (f64::from(v) * self.scale) as f32);
            let entries = (0..)
                .zip(unsmoothed)
                .map(|(topic, value)| Entry { topic, value });
            entries
                .filter(|e| f64::from(e.value) >= NEGLIGIBLE)
                .collect()
        })
    }
}
