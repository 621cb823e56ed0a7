//! Samplers as their papers publish them, plain and exact, on one thread. Tests compare the ones that run with
//! these, examples and figures measure against them; no job uses them.

pub mod reference;
pub mod sparse_lda;
pub mod tree;

#[cfg(test)]
use lda::math;
