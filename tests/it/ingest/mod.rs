//! Ingest from end to end: files in, shards, vocabulary and `collection.json` out, for any number
//! of workers.

mod counts;
mod documents;
mod fixture;
#[cfg(debug_assertions)]
mod journal;
mod output;
mod processes;
mod refusals;
mod remedies;
mod totals;
