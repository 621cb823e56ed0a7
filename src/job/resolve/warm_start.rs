//! Settings that follow from a warm start.

use toml::Value;

use super::Values;
use crate::failure::Failure;
use crate::job::source::Source;

impl Values {
    /// Whether training starts from a finished result.
    pub(in crate::job) fn starts_warm(&self) -> bool {
        (self.value("train.warm_start")).is_some_and(|folder| *folder != "".into())
    }

    /// Documents are assigned once by the topics of that result, and then visited by Gibbs passes.
    pub(super) fn settle_warm_start(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.starts_warm() {
            return Ok(());
        }
        let fixed: [(&'static str, Value); 5] = [
            ("train.method", "sampled".into()),
            ("train.schedule", "uniform".into()),
            ("train.memory", "on".into()),
            ("train.online_passes", 0.into()),
            ("train.estimator", "counts".into()),
        ];
        for (path, value) in fixed {
            self.fix(source, path, value, "train.warm_start")?;
        }
        if self.is_labelled() {
            source.refuse("corpus.labels", || "absent, with train.warm_start".into())?;
        }
        Ok(())
    }
}
