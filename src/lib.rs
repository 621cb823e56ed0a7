//! topicmill: topic models for collections that are too large for other tools.
//!
//! A job ingests a collection, trains latent Dirichlet allocation on a random sample by
//! sampled-online stochastic variational inference (Mimno, Hoffman & Blei 2012) followed by
//! collapsed Gibbs sampling, projects every document of the collection on the topics, and writes
//! Parquet tables. The same job writes the same bytes on any number of threads, processes and
//! hosts.
//!
//! Modules form layers: each one uses only those above it in this list. ARCHITECTURE.md describes
//! them; `tests/architecture.rs` enforces the order.

pub mod liveness;

pub mod math;

pub mod regression;

pub mod storage;

pub mod corpus;

pub mod model;

pub mod estimate;

pub mod infer;

pub mod evaluate;

pub mod train;

pub mod checkpoint;

pub mod tables;

pub mod job;

pub mod cluster;

pub mod dataflow;

pub mod stream;

pub mod cli;
