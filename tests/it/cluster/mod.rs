//! Several processes on this machine: they come together, agree, and end together.
//!
//! Each process of a run is this very test binary again, started with the test `child` alone and
//! its part (`scenarios`) in the environment.

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
