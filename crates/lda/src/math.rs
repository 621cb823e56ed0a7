//! Numbers that are the same on every machine: random streams, draws and special functions.
//!
//! Nothing here uses other modules of the crate. Every number that reaches a result goes through these functions:
//! platform mathematics (`f64::exp`, `f64::ln`, …) differs between systems, whereas `libm` does not, and other
//! crates' distributions change their streams between versions, whereas ours do not.

pub mod draw;
pub(crate) mod lanes;
pub mod random;
pub mod special;

/// Numbers that workers add up are integers in units of 2⁻²⁰, so that their order does not matter.
pub const FIXED_POINT: f64 = (1u64 << 20) as f64;
