//! topicmill: topic models over collections too large for the tools people have.
//!
//! A job ingests a collection, trains latent Dirichlet allocation on a random sample by
//! sampled-online stochastic variational inference (Mimno, Hoffman & Blei 2012), projects every
//! document of the collection on the topics, and writes Parquet tables. The same job gives the
//! same bytes on any number of threads, processes and hosts.
//!
//! Modules stand in layers: each one uses only those above it in this list. The mathematics is a
//! crate of its own below them all, [`lda`]. ARCHITECTURE.md walks through them;
//! `tests/it/architecture.rs` holds the order.

pub use lda;

pub mod liveness;

pub mod hex;

pub mod storage;

pub mod assignments;

pub mod corpus;

pub mod evaluate;

pub mod checkpoint;

pub mod tables;

pub mod job;

pub mod cluster;

pub mod dataflow;

pub mod stream;

pub mod cli;
