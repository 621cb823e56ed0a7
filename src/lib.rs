//! topicmill: topic models for collections that are too large for other tools.
//!
//! A job ingests a collection, trains latent Dirichlet allocation on a random sample by
//! sampled-online stochastic variational inference (Mimno, Hoffman & Blei 2012) followed by
//! collapsed Gibbs sampling, projects every document of the collection on the topics, and writes
//! Parquet tables. The same job writes the same bytes on any number of threads, processes and
//! hosts.
//!
//! Modules form layers: each one uses only those above it in this list. Below them all are crates that
//! stand alone, among them the mathematics, [`lda`]. ARCHITECTURE.md describes them;
//! `tests/it/architecture.rs` enforces the order.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "made for the program: most of it is read with `cargo doc --document-private-items`"
)]

pub use {corpus, lda, liveness, mesh, store};

pub mod failure;

pub mod assignments;

pub mod knowledge;

pub mod evaluate;

pub mod checkpoint;

pub mod tables;

pub mod job;

pub mod plan;

pub mod export;

pub mod report;

pub mod dataflow;

pub mod stream;

pub mod cli;
