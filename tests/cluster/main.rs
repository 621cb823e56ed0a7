//! Several processes on this machine: they come together, agree, and end together.
//!
//! Each process of a run is this very test binary again, started with the test `child` alone and
//! its part (`scenarios`) in the environment.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of tests are tests, which clippy does not see"
)]

mod child;
mod encryption;
mod ending;
mod joining;
mod launching;
mod links;
mod proxy;
mod results;
mod secrets;
mod strangers;
