//! Numbers that come out the same on every machine: random streams, draws and special functions.
//!
//! Nothing here knows of documents or topics. Whatever reaches a result goes through these functions: platform
//! mathematics (`f64::exp`, `f64::ln`, …) differ between systems, whereas `libm` does not, and other crates'
//! distributions change their streams between versions, whereas ours do not.

pub mod draw;
pub(crate) mod lanes;
pub mod random;
pub mod special;
