//! Several processes on this machine: they join, agree, and end together.
//!
//! Each process of a run is this test binary, started with only the test `child` and with its
//! scenario (`results`) in the environment.

mod child;
#[cfg(feature = "tls")]
mod encryption;
mod ending;
mod joining;
mod launching;
mod links;
mod proxy;
mod results;
mod secrets;
mod strangers;
