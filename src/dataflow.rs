//! The timely dataflows: thin operators around the plain functions of the layers below.
//!
//! [`block`] is what travels between workers: plain words with a header. [`exchange`] moves blocks,
//! each to one worker or to all. [`gather`] lets all workers meet between two stages.

#[cfg(feature = "abomonation")]
pub mod abomonated;
pub mod block;
pub mod coherence;
pub mod error;
pub mod evaluate;
mod examples;
pub mod exchange;
pub mod finish;
pub mod frequencies;
pub mod gather;
pub mod ingest;
pub mod joint;
mod label_model;
pub mod maxent;
mod merge;
mod names;
mod outbox;
pub mod process;
pub mod process_model;
pub mod profile;
pub mod progress;
pub mod project;
pub mod record;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod sample;
pub mod sum;
pub mod train;
