//! Estimates of what a job will take, before it runs: the size of its input ([`survey`]), and the memory,
//! rounds and disk that follow from it ([`estimate`]); and what a first job for an input would be,
//! from its first records ([`preview`]). Nothing that runs depends on these.

pub(crate) mod estimate;
mod look;
pub(crate) mod preview;
pub mod survey;
