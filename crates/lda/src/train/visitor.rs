//! Visits to the documents of a round: the method's own online, the same for all methods in the other rounds.

use super::TrainError;
use super::active::{ActiveSchedule, Comparison, Influence};
use super::alpha::Histograms;
use super::schedule::{Action, Position, Schedule};
use super::soft::SoftCounts;
use super::step::{LocalStep, Sampling, Sweeps, TrainingMethod, Visit};
use crate::model::statistics::Assigned;

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
