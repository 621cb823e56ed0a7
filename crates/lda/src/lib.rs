//! The mathematics of latent Dirichlet allocation, as topicmill uses it.
//!
//! Modules stand in layers: each one uses only those above it in this list.

pub mod math;

pub mod regression;

pub mod bags;

pub mod model;

pub mod estimate;

pub mod infer;

pub mod evaluate;

pub mod train;
