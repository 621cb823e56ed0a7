//! Rounds after a warm start from a model with another prior over terms: passes visit the documents that the change
//! concerns; the counts of all others stay in the model unchanged.

use super::{Action, MINIBATCHES, Position, Schedule};
use crate::train::norms::Norms;
use crate::train::settings::{Memory, TrainSettings};
use crate::train::warm_start::Unassigned;

impl Schedule {
    /// Creates the schedule for a sample of `document_count` documents, of which passes visit `revisited` (their
    /// number and their tokens), with these norms. All passes are Gibbs passes, and α stays fixed.
    pub fn partial(
        settings: &TrainSettings,
        document_count: u64,
        revisited: [u64; 2],
        norms: Norms,
    ) -> Self {
        let settings = TrainSettings {
            memory: Memory::On,
            online_passes: 0,
            alpha_every: Some(0),
            ..settings.clone()
        };
        let visited = Self::new(&settings, revisited[0], revisited[1], norms);
        let minibatch = revisited[0].div_ceil(visited.minibatch_count);
        let others = document_count - revisited[0];
        Self {
            document_count,
            unvisited_count: others.div_ceil(minibatch.max(MINIBATCHES[0])).max(1),
            ..visited
        }
    }

    /// Returns whether passes visit only some documents.
    pub fn is_partial(&self) -> bool {
        self.unvisited_count > 0
    }

    /// Returns whether the documents that passes visit begin without assignments.
    pub fn unassigns_documents(&self) -> bool {
        self.is_partial() && self.settings.warm_start == Some(Unassigned::Documents)
    }

    /// Returns whether a round visits documents that have no assignments yet.
    pub fn visits_unassigned(&self, position: Position) -> bool {
        self.unassigns_documents()
            && self.action(position) == Action::Gibbs
            && position.taken <= self.gibbs_rounds
    }

    /// Returns whether the round visits the last of them, after which the first weights of the changed terms are no
    /// longer needed.
    pub fn forgets_first_weights_after(&self, position: Position) -> bool {
        self.visits_unassigned(position) && position.taken == self.gibbs_rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_revisited_documents_do_not_make_the_minibatches_of_the_others_small() {
        for revisited in [0, 1] {
            let settings = TrainSettings::default();
            let schedule = Schedule::partial(&settings, 640, [revisited; 2], Norms::default());
            assert_eq!((schedule.minibatch_count, schedule.unvisited_count), (1, 10));
        }
    }
}
