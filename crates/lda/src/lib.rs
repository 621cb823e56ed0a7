#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! They stand in layers: each one uses only those above it in this list.
//!
//! - [`math`]: random streams, draws and special functions that are the same on every machine.
//! - [`regression`]: multinomial logistic regression, which evaluation and MaxEnt inference use.
//!   It takes as many threads as it is asked to; nothing else in this crate starts any.
//! - [`bags`]: documents in memory.
//! - [`model`]: priors, topic–term parameters, and the factors that documents are sampled with.
//! - [`estimate`]: from samples to proportions.
//! - [`infer`]: the topics of one document against a fixed model; [`infer::inferrer`] does it by any
//!   method.
//! - [`evaluate`]: how good topics are.
//! - [`train`]: from documents to a model, on one thread. Its parts are what a program calls that
//!   spreads training over threads and machines.
//! - [`tree`]: tree-structured priors, which correlate terms and tell senses apart; batch collapsed
//!   Gibbs sampling with them, on one thread.
//!
//! Settings are structs with public fields; nothing checks them here. topicmill's `docs/JOB.md` says
//! which values make sense, `docs/NOTATION.md` which symbol of which paper a name stands for.

pub mod math;

pub mod regression;

pub mod bags;

pub mod model;

pub mod estimate;

pub mod infer;

pub mod evaluate;

pub mod train;

pub mod tree;
