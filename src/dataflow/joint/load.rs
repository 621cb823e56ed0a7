//! Loads the documents that are sampled together: each process loads those of its own shards.

use std::sync::Arc;

use timely::worker::Worker;

use super::{Documents, JointPlan, JointShared};
use crate::assignments::Assignments;
use crate::dataflow::process::TOGETHER_FILE;
use crate::dataflow::sample::for_each_document;
use crate::failure::Failure;
use corpus::sample::Split;
use corpus::shard::Columns;
use lda::bags::Bags;
use lda::infer::settings::Method;

/// Loads this process's documents; its workers share them.
pub(super) fn load<'a>(
    worker: &mut Worker,
    plan: JointPlan<'_>,
    shared: &'a JointShared,
) -> Result<&'a Arc<Documents>, Failure> {
    let process = plan.process;
    process.begin_documents("load", plan.collection);
    let takes_all = plan.infer.method == Method::Retrain;
    let mut mine = Bags::default();
    for_each_document(
        worker,
        process,
        &shared.shards,
        plan.collection,
        Columns::Counts,
        |number, document| {
            process.progress.add(1);
            let is_new = plan.rule.split(number) != Split::Sample;
            if document.status.has_terms() && (takes_all || is_new) {
                mine.push(number, &document.terms, &document.counts);
            }
            Ok(())
        },
    )?;
    shared.received.lock().append(&mine);
    drop(mine);
    process.meet();
    shared.documents.get(|| {
        let bags = std::mem::take(&mut *shared.received.lock()).sorted();
        let most_bytes = process.job.train.sample_bytes;
        let path = process.scratch_path(TOGETHER_FILE);
        let made = Assignments::new(bags.lengths(), most_bytes, &path);
        Ok(Arc::new(Documents {
            assignments: made.map_err(|source| process.scratch_error(TOGETHER_FILE, source))?,
            sums: (0..bags.len()).map(|_| Default::default()).collect(),
            bags,
        }))
    })
}
