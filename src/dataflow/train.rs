//! Training, spread over workers: the same rounds as `train::train`, and the same bytes.
//!
//! A round, on every worker:
//!
//! 1. the workers of a process prepare the factors of their minibatch's terms, each those of its
//!    part of the model (`process_model`, `model::factors`);
//! 2. they sample the minibatch's documents, whoever is free the next ones (`train::round`);
//! 3. statistics are merged over all workers (`rounds`);
//! 4. each worker takes the global step for its part (`model::parameters`).
//!
//! Nothing else is exchanged but lengths of minibatches and scores of held-out documents.

use std::time::Instant;

use timely::worker::Worker;

use super::error::RunError;
use super::process::Process;
use super::process_model::ProcessModel;
use super::rounds::Rounds;
use super::sample::Sample;
use super::sum::sum;
use crate::checkpoint::{self, Header, Saved};
use crate::cluster::bytes_sent;
use crate::evaluate::completion::{Completer, Completion};
use crate::infer::Bag;
use crate::job::state::CHECKPOINT_FILE;
use crate::model::Priors;
use crate::model::parameters::Parameters;
use crate::train::round::{LocalStep, StreamKey};
use crate::train::schedule::{Schedule, StopRule};
use crate::train::{RoundReport, TrainError, publish};

/// What training ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Everything about the model but its numbers per term; the log is worker 0's.
    pub header: Header,
    /// Score of the held-out documents with the φ that is published.
    pub heldout: Completion,
    /// True if training ended because quality had stopped improving.
    pub stopped_early: bool,
}

/// What is trained, and for whom.
#[derive(Clone, Copy)]
pub struct TrainPlan<'a> {
    /// The process.
    pub process: &'a Process,
    /// Its model.
    pub model: &'a ProcessModel,
    /// The documents.
    pub sample: Sample<'a>,
    /// The priors.
    pub priors: &'a Priors,
    /// Hash of the settings the model depends on.
    pub settings_hash: &'a str,
    /// Fingerprint of the vocabulary.
    pub vocabulary_hash: &'a str,
}

/// Trains, from the start or from what was saved, and leaves the result in the process's model.
pub fn train(
    worker: &mut Worker,
    plan: TrainPlan<'_>,
    saved: Option<&Saved>,
) -> Result<Trained, RunError> {
    let settings = &plan.process.job.train;
    let mut trainer = Trainer::new(worker, plan, saved);
    let rounds = trainer.schedule.round_count();
    plan.process.progress.begin("train", "rounds", Some(rounds));
    let mut stopped_early = trainer.stop.has_stopped(settings);
    while !stopped_early && trainer.round < rounds {
        let heldout = trainer.take_round(worker)?;
        stopped_early = heldout.is_some_and(|value| trainer.stop.observe(value, settings));
        trainer.round += 1;
        plan.process.progress.set(trainer.round);
        if !stopped_early {
            trainer.checkpoint_if_due()?;
        }
    }
    let (published_eta, heldout) = trainer.publish(worker)?;
    let header = Header {
        published_eta: Some(published_eta),
        ..trainer.header()
    };
    Ok(Trained {
        header,
        heldout,
        stopped_early,
    })
}

/// One worker's state between rounds.
struct Trainer<'a> {
    plan: TrainPlan<'a>,
    schedule: Schedule,
    rounds: Rounds,
    local: LocalStep,
    stop: StopRule,
    /// One report a round, on worker 0; empty on the others.
    log: Vec<RoundReport>,
    round: u64,
    seen: Seen,
    /// Minibatches of the pass in hand: this process's documents.
    dealt: Vec<Vec<u32>>,
    /// Documents and tokens of each minibatch, over all processes.
    lengths: Vec<[i64; 2]>,
    /// This worker's number, and its part of its process's model.
    index: usize,
    part: usize,
    purpose: u64,
    /// When the last checkpoint was written.
    checkpointed: Instant,
}

/// What the log adds up.
#[derive(Clone, Copy, Default)]
struct Seen {
    seconds: f64,
    documents: u64,
    tokens: u64,
}

impl<'a> Trainer<'a> {
    fn new(worker: &mut Worker, plan: TrainPlan<'a>, saved: Option<&Saved>) -> Self {
        let job = &plan.process.job;
        let (topics, terms) = (plan.priors.topic_count(), plan.model.vocabulary_size());
        let log = saved.map(|s| s.header.log.clone()).unwrap_or_default();
        let seen = log.last().map_or(Seen::default(), |last| Seen {
            seconds: last.seconds,
            documents: last.documents_seen,
            tokens: last.tokens_seen,
        });
        Self {
            plan,
            schedule: Schedule::new(&job.train, job.model.seed, plan.sample.training_documents),
            rounds: Rounds::new(worker, terms, topics),
            local: LocalStep::new(terms, topics),
            stop: saved.map(|s| s.header.stop).unwrap_or_default(),
            round: saved.map_or(0, |s| s.header.rounds),
            seen,
            log,
            dealt: Vec::new(),
            lengths: Vec::new(),
            index: worker.index(),
            part: worker.index() % plan.process.placement.threads,
            purpose: 0,
            checkpointed: Instant::now(),
        }
    }

    /// One round; gives the held-out log-likelihood per token where it is evaluated.
    fn take_round(&mut self, worker: &mut Worker) -> Result<Option<f64>, RunError> {
        let started = Instant::now();
        let sent = bytes_sent();
        self.deal_if_new_pass(worker);
        let batch = (self.round % self.schedule.minibatch_count) as usize;
        let minibatch = std::mem::take(&mut self.dealt[batch]);
        self.prepare_for(self.plan.sample.training, &minibatch, self.plan.priors);
        let entries = self.sample_minibatch(&minibatch)?;
        let merged = self.rounds.exchange(worker, entries);
        let [documents, tokens] = self.lengths[batch].map(|n| n as u64);
        let step = self.schedule.step(self.round, documents);
        if documents > 0 {
            let prune = self.plan.process.job.train.prune;
            let process = self.plan.process;
            self.plan
                .model
                .global_step(process, self.part, step, &merged, prune);
        }
        self.seen.documents += documents;
        self.seen.tokens += tokens;
        self.seen.seconds += started.elapsed().as_secs_f64();
        let bytes_exchanged = bytes_sent() - sent;
        let heldout = self.evaluate_if_due(worker)?;
        if self.index == 0 {
            self.log.push(RoundReport {
                round: self.round,
                pass: self.schedule.pass(self.round),
                documents_seen: self.seen.documents,
                tokens_seen: self.seen.tokens,
                step_size: step.step_size,
                heldout,
                nonzero_share: self.nonzero_share(),
                seconds: self.seen.seconds,
                bytes_exchanged,
            });
        }
        Ok(heldout)
    }

    /// At the first round of a pass, and after a resume, the documents are dealt anew.
    fn deal_if_new_pass(&mut self, worker: &mut Worker) {
        let starts = self.round.is_multiple_of(self.schedule.minibatch_count);
        if !starts && !self.dealt.is_empty() {
            return;
        }
        let training = self.plan.sample.training;
        let documents = (0..training.len()).map(|i| training.document(i));
        self.dealt = self
            .schedule
            .deal(self.schedule.pass(self.round), documents);
        let length = |batch: &Vec<u32>| {
            let tokens = |&i: &u32| training.bag(i as usize).1.iter().map(|&n| i64::from(n));
            [batch.len() as i64, batch.iter().flat_map(tokens).sum()]
        };
        let mine: Vec<[i64; 2]> = match self.part {
            0 => self.dealt.iter().map(length).collect(),
            _ => vec![[0; 2]; self.dealt.len()],
        };
        self.lengths = bytemuck::pod_collect_to_vec(&sum(worker, bytemuck::cast_slice(&mine)));
    }

    fn prepare_for(&mut self, bags: &crate::corpus::sample::Bags, which: &[u32], priors: &Priors) {
        self.purpose += 1;
        let process = self.plan.process;
        self.plan
            .model
            .prepare_for(process, self.part, bags, which, priors, self.purpose);
    }

    /// Samples documents of the minibatch; gives the entries for each owner.
    fn sample_minibatch(&mut self, minibatch: &[u32]) -> Result<Vec<Vec<u64>>, RunError> {
        let job = &self.plan.process.job;
        let (training, round) = (self.plan.sample.training, self.round);
        let local = &mut self.local;
        self.plan
            .model
            .for_my_documents(minibatch, |index, table| {
                let (terms, counts) = training.bag(index);
                let document = training.document(index);
                let key = StreamKey {
                    seed: job.model.seed,
                    round,
                    document,
                };
                local.sample(key, Bag { terms, counts }, table, &job.train)
            })?;
        let mut entries = vec![Vec::new(); self.plan.process.placement.workers()];
        local.finish(|entry| entries[self.rounds.owner(entry.term)].push(entry.word()));
        Ok(entries)
    }

    /// The held-out score of the model with φ published with `eta`.
    fn score(&mut self, worker: &mut Worker, eta: f64) -> Result<Completion, RunError> {
        let held_out = self.plan.sample.held_out;
        let documents: Vec<u32> = (0..held_out.len() as u32).collect();
        self.prepare_for(
            held_out,
            &documents,
            &publish::published(self.plan.priors, eta),
        );
        let seed = self.plan.process.job.model.seed;
        let (mut completer, mut mine) = (Completer::default(), Completion::default());
        self.plan
            .model
            .for_my_documents(&documents, |index, table| {
                let (terms, counts) = held_out.bag(index);
                let document = held_out.document(index);
                let scored = completer.score(seed, document, Bag { terms, counts }, table);
                mine.merge(
                    scored.map_err(|source| TrainError::ImpossibleDraw { document, source })?,
                );
                Ok::<_, TrainError>(())
            })?;
        let all = sum(worker, &[mine.log_likelihood, mine.tokens, mine.documents]);
        Ok(Completion {
            log_likelihood: all[0],
            tokens: all[1],
            documents: all[2],
        })
    }

    fn evaluate_if_due(&mut self, worker: &mut Worker) -> Result<Option<f64>, RunError> {
        let is_due = self.schedule.evaluates_after(self.round);
        if self.plan.sample.held_out_documents == 0 || !is_due {
            return Ok(None);
        }
        let eta = publish::provisional_eta(self.plan.priors);
        let heldout = self.score(worker, eta)?.per_token();
        if let Some(value) = heldout {
            self.plan
                .process
                .progress
                .note(format!("held-out {value:.4} nats a token"));
        }
        Ok(heldout)
    }

    /// Chooses the η that φ is published with, and scores the model with it.
    fn publish(&mut self, worker: &mut Worker) -> Result<(f64, Completion), RunError> {
        let asked = self.plan.process.job.model.published_eta;
        let fallback = asked.unwrap_or(publish::provisional_eta(self.plan.priors));
        if self.plan.sample.held_out_documents == 0 {
            return Ok((fallback, Completion::default()));
        }
        let candidates = asked.map_or_else(|| publish::candidates(self.plan.priors), |e| vec![e]);
        let mut scores = Vec::new();
        for &eta in &candidates {
            scores.push(self.score(worker, eta)?);
        }
        let figures: Vec<_> = scores.iter().map(Completion::per_token).collect();
        let eta = publish::choose(&candidates, &figures, fallback);
        let chosen = candidates.iter().position(|&c| c == eta);
        Ok((eta, chosen.map(|i| scores[i]).unwrap_or_default()))
    }

    fn nonzero_share(&self) -> f64 {
        let parts = self.plan.model.read_parts();
        let nonzero: u64 = parts.iter().map(|p| p.nonzero_count()).sum();
        let cells = self.plan.model.vocabulary_size() * self.plan.priors.topic_count();
        nonzero as f64 / (cells as f64).max(1.0)
    }

    /// Everything about the model but its numbers per term.
    fn header(&self) -> Header {
        Header {
            settings_hash: self.plan.settings_hash.to_owned(),
            vocabulary_hash: self.plan.vocabulary_hash.to_owned(),
            topic_count: self.plan.priors.topic_count(),
            vocabulary_size: self.plan.model.vocabulary_size(),
            priors: self.plan.priors.clone(),
            published_eta: None,
            scale: self.plan.model.read_parts()[0].scale(),
            rounds: self.round,
            stop: self.stop,
            log: self.log.clone(),
        }
    }

    /// Now and then worker 0 writes a checkpoint, while the others of its process wait. It alone
    /// looks at the clock.
    fn checkpoint_if_due(&mut self) -> Result<(), RunError> {
        let (process, model) = (self.plan.process, self.plan.model);
        if self.index == 0 {
            let minutes = process.job.train.checkpoint_minutes;
            let waited = self.checkpointed.elapsed().as_secs_f64() / 60.0;
            let is_due = self.schedule.checkpoints_after(self.round - 1)
                || (minutes > 0.0 && waited >= minutes);
            model.set_checkpoint_due(is_due);
        }
        process.meet();
        if !model.is_checkpoint_due() {
            return Ok(());
        }
        if self.index == 0 {
            save(process, model, &self.header(), CHECKPOINT_FILE)?;
            self.checkpointed = Instant::now();
        }
        process.meet();
        Ok(())
    }
}

/// Writes the process's model under its final name; gives the hash that names it.
pub fn save(
    process: &Process,
    model: &ProcessModel,
    header: &Header,
    relative: &str,
) -> Result<String, RunError> {
    let temporary = process.output.temporary_path("model");
    let guards = model.read_parts();
    let parts: Vec<&Parameters> = guards.iter().map(|part| &**part).collect();
    let hash = checkpoint::write(&temporary, header, &parts)?;
    process.output.publish(&temporary, relative)?;
    Ok(hash)
}
