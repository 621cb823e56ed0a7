//! What a job will take, told before it runs: the size of its input ([`survey`]), and the memory,
//! rounds and disk that follow from it ([`estimate`]). Nothing that runs depends on these.

pub mod estimate;
pub mod survey;
