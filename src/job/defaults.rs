//! Defaults that depend on more than one key: how a budget and a method infer documents. All others are in the
//! rows of [`keys`](super::keys).

use toml::Value;

use super::settings::Budget;
use super::words::Worded;
use lda::infer::settings::{Estimator, InferSettings, Method};

/// The sum of α for an external model whose files do not contain it: the value of a fixed α.
pub(crate) const FOREIGN_ALPHA_SUM: f64 = 5.0;

/// Returns `project.method` for a `project.budget`; docs/INFERENCE.md has the measurements behind this and
/// [`inference`].
pub(crate) fn method(budget: Budget) -> Method {
    match budget {
        Budget::Fast | Budget::Balanced => Method::Cvb0,
        Budget::Thorough => Method::Gibbs,
    }
}

/// Returns the settings of `[project]` that depend on budget and method: sweeps of a document, passes over
/// documents that are sampled together, iterations of methods that do not sample. More than two to five
/// iterations of CVB0 lead away from the posterior mean.
pub fn inference(budget: Budget, method: Method) -> InferSettings {
    let (burn_in_sweeps, kept_sweeps) = match (method.is_joint(), budget) {
        (false, Budget::Fast) => (1, 2),
        (false, Budget::Balanced) => (2, 4),
        (false, Budget::Thorough) => (10, 90),
        (true, Budget::Fast) => (10, 10),
        (true, Budget::Balanced) => (50, 50),
        (true, Budget::Thorough) => (500, 500),
    };
    let iterations = match (method, budget) {
        (Method::Variational, Budget::Fast) => 5,
        (Method::Variational, Budget::Balanced) => 20,
        (Method::Variational, Budget::Thorough) => 100,
        (_, Budget::Fast) => 2,
        (_, Budget::Balanced | Budget::Thorough) => 3,
    };
    InferSettings {
        method,
        burn_in_sweeps,
        kept_sweeps,
        chains: 1,
        estimator: Estimator::Soft,
        iterations,
        tolerance: 0.001,
        temperature: 1.0,
    }
}

/// Returns the values of `[project]` that a budget and a method imply; the method too, if it is the budget's.
pub(super) fn values(budget: Budget, chosen: Option<Method>) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    let usual = method(budget);
    if chosen == Some(usual) {
        values.push(("project.method", usual.word().into()));
    }
    if let Some(method) = chosen {
        let infer = inference(budget, method);
        values.extend([
            ("project.burn_in", infer.burn_in_sweeps.into()),
            ("project.sweeps", infer.kept_sweeps.into()),
            ("project.chains", infer.chains.into()),
            ("project.estimator", infer.estimator.word().into()),
            ("project.iterations", infer.iterations.into()),
            ("project.tolerance", infer.tolerance.into()),
            ("project.temperature", infer.temperature.into()),
        ]);
    }
    values
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::job::Job;
    use crate::job::keys::{self, Preset};
    use lda::train::settings::TrainSettings;

    #[test]
    fn a_job_that_says_nothing_trains_as_the_library_does() {
        let text = "[corpus]\ninput = [\"x.txt\"]\n[model]\ntopics = 2\n[output]\npath = \"out\"\n";
        let job = Job::parse(text, Path::new("job.toml"), &[]).unwrap();
        assert_eq!(job.train, TrainSettings::default());
    }

    #[test]
    fn an_evaluation_measures_as_training_does() {
        let default = keys::key("evaluate.completion_sweeps").unwrap().preset;
        let sweeps = lda::evaluate::completion::SWEEPS.to_string();
        assert_eq!(default, Preset::Default(sweeps.leak()));
    }
}
