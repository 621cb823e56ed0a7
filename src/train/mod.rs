//! Training.

pub mod settings;
