//! The crate from outside: the samplers against exact posteriors, fast forms against plain ones,
//! and the examples.

#![allow(clippy::unwrap_used, reason = "helpers outside of #[test] functions may fail a test too")]

mod chi_square;
mod examples;
mod inference;
mod joint;
mod limits;
mod posterior;
mod serial;
mod tree;
