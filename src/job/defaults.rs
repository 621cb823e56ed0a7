//! Defaults that depend on another key: how a method infers documents. All others are in the rows of
//! [`keys`](super::keys).

use toml::Value;

use lda::infer::InferenceMethod;
use lda::infer::settings::{Estimator, InferSettings};

/// The sum of α for an external model whose files do not contain it: the value of a fixed α.
pub(crate) const FOREIGN_ALPHA_SUM: f64 = 5.0;

/// Returns the settings of `[project]` that depend on the method: sweeps of a document, passes over documents that are
/// sampled together, iterations of methods that do not sample. docs/measurements/DEFAULTS.md has the measurements behind them. More
/// than two to five iterations of CVB0 lead away from the posterior mean.
pub fn inference(method: &'static InferenceMethod) -> InferSettings {
    let [burn_in_sweeps, kept_sweeps] = method.sweeps;
    InferSettings {
        method,
        burn_in_sweeps,
        kept_sweeps,
        chains: 1,
        estimator: Estimator::Soft,
        iterations: method.iterations,
        tolerance: 0.001,
        temperature: 1.0,
    }
}

/// Returns the values of `[project]` that a method implies.
pub(super) fn values(method: &'static InferenceMethod) -> [(&'static str, Value); 7] {
    let infer = inference(method);
    [
        ("project.burn_in", infer.burn_in_sweeps.into()),
        ("project.sweeps", infer.kept_sweeps.into()),
        ("project.chains", infer.chains.into()),
        ("project.estimator", "soft".into()),
        ("project.iterations", infer.iterations.into()),
        ("project.tolerance", infer.tolerance.into()),
        ("project.temperature", infer.temperature.into()),
    ]
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
