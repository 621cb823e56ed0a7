//! Sampled-online variational inference (Mimno, Hoffman & Blei 2012, Algorithm 1): a document's topics are sampled
//! from scratch at every visit, and all kept sweeps are counted. Gibbs passes follow.

use super::{
    Counts, LocalStep, Remembered, Requirements, Sampling, Sweeps, TrainingMethod, Update, Visit,
};
use crate::infer::ImpossibleDraw;

/// Samples topics.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "sampled",
    doc: "samples its topics",
    requires: Requirements::NONE,
    ignores: &[],
    prune: None,
    counts: Counts::Assignments,
    update: Update::Step,
    passes: [1, 20],
    has_gibbs_passes: true,
    remembers: Remembered::Topics,
    takes_labels: true,
    takes_tree: true,
    step: |sweeps| Box::new(sweeps),
};

impl LocalStep for Sweeps {
    fn visit<'s>(
        &'s mut self,
        visit: Visit<'_>,
        _: &[u16],
        sampling: &'s mut Sampling,
    ) -> Result<&'s [u16], ImpossibleDraw> {
        let mut stream = visit.key.stream();
        sampling.burn_in(visit, self.burn_in, &mut stream)?;
        for _ in 0..self.kept {
            sampling.sampler.sweep(visit.table, &mut stream)?;
            sampling.count(visit.table, visit.weight, &mut stream);
        }
        Ok(sampling.assigned(visit.table))
    }
}
