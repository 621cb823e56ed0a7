//! What is tested from outside the crate.

mod examples;
