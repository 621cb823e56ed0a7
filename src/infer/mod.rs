//! Inference for one document against a fixed model.

pub mod settings;
