//! The timely dataflows: thin operators around the plain functions of the layers below.
//!
//! Workers exchange [`block`]s: plain words with a header. [`exchange`] moves blocks, each to one
//! worker or to all. [`gather`] synchronises all workers between two stages.

#[cfg(feature = "abomonation")]
pub(crate) mod abomonated;
pub mod block;
pub(crate) mod coherence;
pub(crate) mod evaluate;
pub mod exchange;
pub(crate) mod finish;
mod frequencies;
pub mod gather;
pub mod ingest;
pub(crate) mod joint;
mod merge;
mod outbox;
mod passages;
pub mod process;
pub mod process_model;
pub(crate) mod project;
pub(crate) mod record;
pub(crate) mod reference;
pub mod rounds;
pub(crate) mod run;
pub mod sample;
mod shares;
pub(crate) mod side_model;
pub mod train;
