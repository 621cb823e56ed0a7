//! Settings that follow from a tree-structured prior.

use super::Values;
use crate::failure::Failure;
use crate::job::source::Source;
use lda::infer::settings::{Estimator, Method};
use lda::train::settings::{DocumentSchedule, LocalMethod};

impl Values {
    /// Whether the prior over terms is a tree.
    pub(super) fn has_tree(&self) -> bool {
        (self.value("tree.file")).is_some_and(|file| *file != "".into())
    }

    /// Only sampling supports a tree's leaves.
    pub(super) fn settle_tree(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.has_tree() {
            return Ok(());
        }
        let refuse =
            |path, allowed: &str| source.refuse(path, || format!("{allowed}, with tree.file"));
        let method: LocalMethod = self.get("train.method");
        if !matches!(method, LocalMethod::Sampled | LocalMethod::Smc) {
            refuse("train.method", "\"sampled\" or \"smc\"")?;
        }
        if self.get::<DocumentSchedule>("train.schedule").is_drawn() {
            refuse("train.schedule", "\"uniform\", \"sorted\" or \"influence\"")?;
        }
        if self.get::<Estimator>("train.estimator") == Estimator::Soft {
            refuse("train.estimator", "\"counts\"")?;
        }
        let method: Option<Method> = self.get("project.method");
        if method.is_some_and(Method::is_joint) {
            refuse("project.method", "one that infers each document alone")?;
        }
        Ok(())
    }
}
