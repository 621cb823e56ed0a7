//! Measures quality on the held-out documents, and chooses the published η by it.

use std::rc::Rc;

use timely::worker::Worker;

use super::Trainer;
use crate::dataflow::process::HELD_OUT_FILE;
use crate::dataflow::process_model::Purpose;
use crate::failure::Failure;
use lda::evaluate::completion::{Completer, Completion};
use lda::model::factors::FactorTable;
use lda::train::schedule::Position;
use lda::train::{TrainError, publish};

impl Trainer {
    pub(super) fn evaluate_if_due(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<Option<f64>, Failure> {
        let is_due = self.plan.schedule.evaluates_after(position);
        if self.plan.sample.held_out_documents == 0 || !is_due {
            return Ok(None);
        }
        let eta = publish::provisional_eta(&self.priors());
        let heldout = self.score(worker, eta)?.per_token();
        if let Some(value) = heldout {
            self.report_evaluation(position, value);
        }
        Ok(heldout)
    }

    /// Chooses the η that φ is published with, and scores the model with it.
    pub(super) fn publish(&mut self, worker: &mut Worker) -> Result<(f64, Completion), Failure> {
        let (asked, priors) = (self.plan.process.job.model.published_eta, self.priors());
        let fallback = asked.unwrap_or(publish::provisional_eta(&priors));
        if self.plan.sample.held_out_documents == 0 {
            return Ok((fallback, Completion::default()));
        }
        match asked {
            Some(eta) => Ok((eta, self.score(worker, eta)?)),
            None => publish::choose(&priors, |eta| self.score(worker, eta)),
        }
    }

    /// Returns the held-out score of the model with φ published with `eta`.
    fn score(&mut self, worker: &mut Worker, eta: f64) -> Result<Completion, Failure> {
        let plan = Rc::clone(&self.plan);
        let (process, model) = (&plan.process, &plan.model);
        let seed = process.job.model.seed;
        let priors = publish::published_priors(&self.priors(), eta);
        let (mut completer, mut mine) = (Completer::default(), Completion::default());
        let held_out = &plan.sample.held_out;
        for number in 0..held_out.count() {
            let documents = held_out.load(&mut (number..number + 1));
            let documents = documents.map_err(|e| process.scratch_error(HELD_OUT_FILE, e))?;
            let purpose = Purpose::Publish(self.rounds.sampling().next_purpose());
            model.prepare_for(process, self.part, documents.terms(), &priors, purpose);
            let mut score = |index, table: FactorTable<'_>| {
                let (document, bag) = (documents.document(index), documents.bag(index));
                let scored = completer.score(seed, document, bag, table);
                let error = |source| TrainError::Draw { document, source };
                mine.merge(scored.map_err(error)?);
                Ok::<_, TrainError>(())
            };
            while model.for_some_documents(documents.len(), &mut score)? {}
        }
        let mine =
            [mine.log_likelihood, mine.tokens, mine.documents, mine.squares, mine.squared_tokens];
        let all = self.rounds.sum(worker, &mine)?;
        Ok(Completion {
            log_likelihood: all[0],
            tokens: all[1],
            documents: all[2],
            squares: all[3],
            squared_tokens: all[4],
        })
    }

    /// Reports a score of the held-out documents.
    fn report_evaluation(&self, position: Position, loglik_per_token: f64) {
        let mut sampling = self.rounds.sampling();
        if let Some(round) = sampling.log.last_mut() {
            round.heldout = Some(loglik_per_token);
        }
        let (progress, phase) = (&self.plan.process.progress, position.phase.name());
        progress.note(format!("{phase}, held-out {loglik_per_token:.3} nats per token"));
        if self.part > 0 {
            return;
        }
        let rounds = self.rounds_taken;
        progress.train(|training| training.evaluated(rounds, loglik_per_token));
        let (documents, seconds) = (sampling.seen.documents, sampling.seen.seconds);
        tracing::info!(rounds, phase, loglik_per_token, documents, seconds, "held-out evaluated");
    }
}
