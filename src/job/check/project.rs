//! `[project]`, and its `[maxent]`.

use super::super::defaults;
use super::super::error::JobError;
use super::super::section::{NOT_NEGATIVE, PART, POSITIVE, Section};
use super::super::settings::{Budget, MaxEntSettings, ProjectSettings};
use super::{COUNT, MIB, SWEEPS};
use lda::infer::settings::{Estimator, InferSettings, Method};

/// The words for [`Estimator`].
pub(in crate::job) const ESTIMATORS: &[(&str, Estimator)] =
    &[("soft", Estimator::Soft), ("counts", Estimator::Counts)];
/// The words for [`Method`]; `None` stops after training.
pub(in crate::job) const METHODS: &[(&str, Option<Method>)] = &[
    ("gibbs", Some(Method::Gibbs)),
    ("gibbs-joint", Some(Method::GibbsJoint)),
    ("retrain", Some(Method::Retrain)),
    ("variational", Some(Method::Variational)),
    ("cvb0", Some(Method::Cvb0)),
    ("maxent", Some(Method::MaxEnt)),
    ("naive-bayes", Some(Method::NaiveBayes)),
    ("hybrid", Some(Method::Hybrid)),
    ("none", None),
];

/// The words for [`Budget`].
pub(in crate::job) const BUDGETS: &[(&str, Budget)] = &[
    ("fast", Budget::Fast),
    ("balanced", Budget::Balanced),
    ("thorough", Budget::Thorough),
];

/// The keys of a file that only say what the budget means which it names, as all do in a resolved
/// job: another budget, or method, takes their place. What the file says otherwise is not among them.
pub(in crate::job) fn keys_of_budget(section: &Section) -> Vec<&'static str> {
    let (Some(_), Ok(budget)) = (
        section.get("budget"),
        section.choice("budget", BUDGETS, Budget::Balanced),
    ) else {
        return Vec::new();
    };
    let usual = Some(defaults::method(budget));
    // Errors are reported when the section is read.
    let Ok(method) = section.choice("method", METHODS, usual) else {
        return Vec::new();
    };
    let mut keys = Vec::new();
    if method == usual {
        keys.push("method");
    }
    if let Some(method) = method {
        let preset = defaults::inference(budget, method);
        let is = |key, value: u32| {
            let found = section.whole_if_set(key, 0..=COUNT);
            found.is_ok_and(|found| found == Some(value.into()))
        };
        let whole = [
            ("burn_in", preset.burn_in_sweeps),
            ("sweeps", preset.kept_sweeps),
            ("chains", preset.chains),
            ("iterations", preset.iterations),
        ];
        keys.extend(
            whole
                .into_iter()
                .filter(|&(key, value)| is(key, value))
                .map(|(key, _)| key),
        );
        let estimator = section.choice("estimator", ESTIMATORS, preset.estimator);
        if estimator.is_ok_and(|estimator| estimator == preset.estimator) {
            keys.push("estimator");
        }
    }
    keys
}

/// `[project]` and `[maxent]`.
pub(in crate::job) fn project(
    section: &Section,
    maxent: &Section,
) -> Result<ProjectSettings, JobError> {
    let budget = section.choice("budget", BUDGETS, Budget::Balanced)?;
    let method = section.choice("method", METHODS, Some(defaults::method(budget)))?;
    let sweeps = |key, least, default| section.whole(key, least..=SWEEPS, default);
    let infer = |method| {
        let preset = defaults::inference(budget, method);
        Ok(InferSettings {
            method,
            burn_in_sweeps: sweeps("burn_in", 0, preset.burn_in_sweeps.into())? as u32,
            kept_sweeps: sweeps("sweeps", 1, preset.kept_sweeps.into())? as u32,
            chains: section.whole("chains", 1..=1_000, preset.chains.into())? as u32,
            estimator: section.choice("estimator", ESTIMATORS, preset.estimator)?,
            iterations: sweeps("iterations", 1, preset.iterations.into())? as u32,
            tolerance: section.real("tolerance", NOT_NEGATIVE, preset.tolerance)?,
            temperature: section.real("temperature", POSITIVE, preset.temperature)?,
        })
    };
    Ok(ProjectSettings {
        budget,
        infer: method.map(infer).transpose()?,
        maxent: MaxEntSettings {
            documents: maxent.whole("documents", 1..=COUNT, defaults::MAXENT_DOCUMENTS)? as usize,
            prior_variance: maxent.real("prior_variance", POSITIVE, defaults::PRIOR_VARIANCE)?,
            iterations: maxent.whole("iterations", 1..=COUNT, defaults::MAXENT_ITERATIONS)? as u32,
            most_bytes: (maxent.real("memory_mib", POSITIVE, defaults::MAXENT_MEMORY_MIB)? * MIB)
                as u64,
        },
        threshold: section.real("threshold", PART, defaults::THRESHOLD)?,
        top: section.whole("top", 0..=65_535, defaults::TOP)? as usize,
        documents_per_topic: section.whole(
            "topic_documents",
            0..=COUNT,
            defaults::TOPIC_DOCUMENTS,
        )? as usize,
        top_terms: section.whole("top_terms", 1..=1_000, defaults::TOP_TERMS)? as usize,
    })
}
