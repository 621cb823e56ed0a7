//! Batch variational Bayes (Blei, Ng & Jordan 2003): the local step of [`online_vb`], for all documents together.

use super::{Requirements, TrainingMethod, Unused, Update, online_vb};
use crate::train::document_schedule::UNIFORM;

/// Approximates the topics of all documents together.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "batch-vb",
    doc: "approximates those of all documents at once, by coordinate ascent",
    requires: Requirements { schedule: Some(&UNIFORM), ..online_vb::METHOD.requires },
    ignores: &[Unused::Sweeps, Unused::Steps, Unused::Minibatch],
    prune: None,
    update: Update::Whole,
    ..online_vb::METHOD
};
