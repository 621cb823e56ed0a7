//! topicmill: topic models for collections that are too large for other tools.
//!
//! A job ingests a collection, trains latent Dirichlet allocation on a random sample by
//! sampled-online stochastic variational inference (Mimno, Hoffman & Blei 2012) followed by
//! collapsed Gibbs sampling, infers the topics of every document of the collection, and writes
//! Parquet tables. The same job writes the same bytes on any number of threads, processes and
//! hosts.
//!
//! Modules form layers: each one uses only those above it in this list. All build on standalone crates,
//! among them [`lda`], the mathematics. ARCHITECTURE.md describes them; `tests/it/architecture.rs`
//! enforces the order.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "made for the program: most of it is read with `cargo doc --document-private-items`"
)]

#[cfg(target_endian = "big")]
compile_error!(
    "the words of files and messages are little-endian, and written as they are in memory"
);

pub use {corpus, lda, liveness, mesh, store};

pub mod failure;

mod wire;

pub mod assignments;

pub mod knowledge;

pub mod evaluate;

pub mod checkpoint;

pub mod tables;

pub mod observe;

pub mod config;

pub mod result;

pub mod grow;

pub mod plan;

pub mod export;

pub mod report;

pub mod sweep;

pub mod dataflow;

pub mod serve;

pub mod cli;
