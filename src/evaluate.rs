//! The computations of `topicmill evaluate`, by the measures of [`lda::evaluate`]: its settings, figures
//! summed over workers (`measure`), and models of other programs (`foreign`).

pub mod foreign;
pub(crate) mod measure;
pub(crate) mod settings;
