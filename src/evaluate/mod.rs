//! Evaluation.
pub mod completion;
