//! The weights of a model.

use super::topic_count;
use crate::job::Job;
use crate::job::state::MODEL_FILE;
use lda::infer::settings::Estimator;
use lda::math::special::ln;
use lda::model::parameters::Entry;
use lda::train::step::Update;

/// Numbers of weights of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// λ̃_kw > 0 in training.
    pub(super) stored: u64,
    /// Those that remain at its end: half or fewer, if the model is sparse.
    pub(super) left: u64,
    /// Whether every term is in every topic.
    pub(super) is_dense: bool,
    /// Those in dense rows, K each, which terms in enough topics also get.
    pub(super) dense: u64,
}

pub(super) fn weight_count(job: &Job, kept: u64, sample_tokens: u64) -> Weights {
    if let Some(folder) = &job.model_from {
        let bytes = std::fs::metadata(folder.join(MODEL_FILE)).map_or(0, |file| file.len());
        let stored = bytes / size_of::<Entry>() as u64;
        return Weights { stored, left: stored, is_dense: false, dense: stored };
    }
    let is_dense =
        job.train.estimator == Estimator::Soft || job.train.method.update == Update::Whole;
    let topics = topic_count(job) as f64;
    let terms = kept as f64;
    // The term of rank r is in reach / r topics, at most K.
    let reach = match job.train.prune {
        0.0 => f64::INFINITY,
        _ if is_dense => f64::INFINITY,
        prune => sample_tokens as f64 / (prune * ln(terms.max(3.0))),
    };
    let full = (reach / topics).min(terms).max(1.0);
    let tail = if full < terms { reach * ln(terms / full) } else { 0.0 };
    let stored = (topics * full + tail).min(topics * terms);
    let dense_from = (topics / 5.0).clamp(16.0, 512.0);
    let dense = (reach / dense_from).min(terms) * topics;
    let is_dense = reach == f64::INFINITY;
    Weights {
        stored: stored as u64,
        left: if is_dense { stored } else { stored / 2.0 } as u64,
        is_dense,
        dense: dense as u64,
    }
}
