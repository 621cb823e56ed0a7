//! `[project]`, and `[maxent]` that belongs to it.

use super::super::defaults;
use super::super::error::JobError;
use super::super::section::{NOT_NEGATIVE, PART, POSITIVE, Section};
use super::{COUNT, MIB, SWEEPS};
use crate::infer::settings::{
    Budget, Estimator, InferSettings, MaxEntSettings, Method, ProjectSettings,
};

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
