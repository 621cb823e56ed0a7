#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Modules form layers: each one uses only those above it in this list.
//!
//! - [`math`]: random streams, draws and special functions that are the same on every machine.
//! - [`regression`]: multinomial logistic regression, which MaxEnt inference uses.
//!   It uses the requested number of threads; nothing else in this crate starts threads.
//! - [`bags`]: documents in memory.
//! - [`model`]: priors, topic–term parameters, and the factors that documents are sampled with.
//! - [`estimate`]: topic proportions from samples.
//! - [`infer`]: the topics of one document against a fixed model, by every method of [`infer::METHODS`].
//! - [`evaluate`]: the quality of topics.
//! - [`train`]: models from documents, on one thread. A program that distributes training over threads and machines
//!   calls its parts.
//! - [`constraints`]: trees over terms ([`model::tree`]) from must-link and cannot-link lists.
//!
//! Settings are structs with public fields and are not validated here. topicmill's `docs/JOB.md` lists the valid
//! values, and `docs/NOTATION.md` the papers' symbols for each name.

mod listed;
pub mod math;

pub mod regression;

pub mod bags;

pub mod model;

pub mod estimate;

pub mod infer;

pub mod evaluate;

pub mod train;

pub mod constraints;
