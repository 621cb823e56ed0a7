//! The local step of a round: this worker's documents of the minibatch.

use std::time::Instant;

use timely::worker::Worker;

use super::report::lap;
use super::{TrainPlan, Trainer};
use crate::corpus::minibatches::Minibatch;
use crate::dataflow::error::RunError;
use crate::dataflow::process::{ASSIGNMENTS_FILE, TRAINING_FILE};
use crate::dataflow::process_model::Purpose;
use lda::infer::Bag;
use lda::math::random::Stage;
use lda::model::factors::FactorTable;
use lda::train::round::{LocalStep, StreamKey, Visit};
use lda::train::round_priors;
use lda::train::schedule::{Action, Position};

/// Documents that a worker samples before it merges what others have sent.
const DOCUMENTS_A_STEP: u64 = 64;

impl Trainer<'_> {
    /// Samples the documents of the round; gives the entries for each owner.
    pub(super) fn local_step(
        &mut self,
        worker: &mut Worker,
        position: Position,
        action: Action,
    ) -> Result<Vec<Vec<u64>>, RunError> {
        let plan = self.plan;
        let mut since = Instant::now();
        for number in plan.schedule.minibatches(position) {
            let loaded = plan.sample.training.load(number);
            let minibatch = loaded.map_err(|e| plan.process.scratch_error(TRAINING_FILE, e))?;
            self.prepare(action, &minibatch);
            self.spent.preparing += lap(&mut since);
            self.visit_documents(worker, (position, action), &minibatch)?;
            self.spent.sampling += lap(&mut since);
        }
        let mut entries = vec![Vec::new(); self.plan.process.placement.workers()];
        self.local
            .finish(|entry| entries[self.rounds.owner(entry.term)].push(entry.word()));
        self.spent.aggregating = lap(&mut since);
        Ok(entries)
    }

    /// Prepares the factors of a minibatch's terms.
    fn prepare(&mut self, action: Action, minibatch: &Minibatch) {
        let plan = self.plan;
        let priors = round_priors(&self.priors, action);
        self.purpose += 1;
        let purpose = Purpose::Train(self.purpose);
        plan.model
            .prepare_for(plan.process, self.part, minibatch.terms(), &priors, purpose);
    }

    /// Samples documents of a minibatch, and merges for others now and then.
    fn visit_documents(
        &mut self,
        worker: &mut Worker,
        (position, action): (Position, Action),
        minibatch: &Minibatch,
    ) -> Result<(), RunError> {
        let (plan, local) = (self.plan, &mut self.local);
        let gathers = plan.schedule.learns_alpha_in(position);
        let (mut remembered, mut visited) = (Vec::new(), 0u64);
        plan.model
            .for_my_documents(minibatch.len(), |index, table| {
                let document = minibatch.position(index);
                let visit = visit(plan, position, (minibatch, index), table);
                sample_document(plan, action, (document, visit), local, &mut remembered)?;
                if gathers {
                    local.add_to_histograms();
                }
                visited += 1;
                if visited.is_multiple_of(DOCUMENTS_A_STEP) {
                    worker.step();
                }
                Ok(())
            })
    }
}

/// A document in a round.
fn visit<'a>(
    plan: TrainPlan<'_>,
    position: Position,
    (minibatch, index): (&'a Minibatch, usize),
    table: FactorTable<'a>,
) -> Visit<'a> {
    let (terms, counts) = minibatch.bag(index);
    let key = StreamKey {
        seed: plan.process.job.model.seed,
        stage: Stage::Train,
        round: position.round,
        document: minibatch.document(index),
    };
    Visit {
        key,
        bag: Bag { terms, counts },
        table,
    }
}

/// Visits one document in the manner of the round, and remembers its assignments.
fn sample_document(
    plan: TrainPlan<'_>,
    action: Action,
    (index, visit): (usize, Visit<'_>),
    local: &mut LocalStep,
    remembered: &mut Vec<u16>,
) -> Result<(), RunError> {
    let refuse = |source| plan.process.scratch_error(ASSIGNMENTS_FILE, source);
    if let Some(assignments) = plan.assignments
        && matches!(action, Action::Count | Action::Gibbs)
    {
        assignments.read(index, remembered).map_err(refuse)?;
    }
    let drawn = local.visit(action, visit, remembered, &plan.process.job.train)?;
    match plan.assignments {
        Some(assignments) => assignments.write(index, drawn).map_err(refuse),
        None => Ok(()),
    }
}
