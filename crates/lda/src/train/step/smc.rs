//! Sequential Monte Carlo with one state (Ahmed et al. 2012; Mimno 2012, §4.3): a document's topics are sampled once,
//! for good, and counted in the model. λ = η + the counts of all documents seen.

use super::{LocalStep, Requirements, Sampling, TrainingMethod, Unused, Update, Visit, sampled};
use crate::infer::ImpossibleDraw;
use crate::train::step::Memory;

/// Samples topics once.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "smc",
    doc: "samples them once, for good",
    requires: Requirements {
        memory: Some(Memory::Off),
        passes: Some(1),
        one_visit_a_pass: true,
        ..Requirements::NONE
    },
    ignores: &[Unused::Steps],
    update: Update::Add,
    passes: [1, 1],
    has_gibbs_passes: false,
    takes_labels: false,
    step: |sweeps| Box::new(Once { sweeps: sweeps.burn_in + sweeps.kept }),
    ..sampled::METHOD
};

/// The sweeps of the only visit, after the first.
#[derive(Debug)]
struct Once {
    sweeps: u32,
}

impl LocalStep for Once {
    fn visit<'s>(
        &'s mut self,
        visit: Visit<'_>,
        _: &[u16],
        sampling: &'s mut Sampling,
    ) -> Result<&'s [u16], ImpossibleDraw> {
        sampling.assign(visit, self.sweeps)
    }
}
