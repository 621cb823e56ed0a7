//! Estimates made before a job runs: the size of its input ([`survey`]), and the memory, rounds and disk that
//! follow from it ([`estimate`]). Also a first job for an input, proposed from its first records ([`preview`]).
//! Nothing that runs depends on these.

pub(crate) mod estimate;
pub(crate) mod preview;
pub mod survey;
