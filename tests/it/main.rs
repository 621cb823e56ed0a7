//! Tests of the whole: the program as users run it, and the library across its layers. One binary,
//! so that the program is linked once.
//!
//! Some tests need separate processes: they start the program ([`workdir`]), or this binary with one
//! of its tests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers outside of #[test] functions may fail a test, or speak for it, too"
)]

mod add;
mod agreement;
mod architecture;
#[cfg(target_os = "linux")]
mod bombs;
mod cli;
mod cluster;
mod constrain;
#[cfg(debug_assertions)]
mod copies;
mod crash_points;
mod drift;
mod duplicates;
mod evaluate;
mod export;
mod faults;
mod findings;
mod follow;
mod ingest;
mod jobs;
mod joint;
mod labels;
mod languages;
#[cfg(target_os = "linux")]
mod launch;
mod leftovers;
mod maxent;
mod messy;
mod new_documents;
#[cfg(feature = "s3")]
mod object_store;
mod observe;
mod others;
mod pages;
mod parsers;
mod passages;
mod phrases;
mod rare_terms;
mod remove;
mod report;
mod resume;
mod retrain;
mod rollups;
mod sections;
#[cfg(target_os = "linux")]
mod signals;
mod stores;
mod stream;
mod sweep;
mod topics;
mod training;
mod tree;
mod workdir;
