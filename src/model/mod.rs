//! The topic model.

pub mod settings;
