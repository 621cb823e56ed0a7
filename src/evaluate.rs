//! The computations of `topicmill evaluate`, by the measures of [`lda::evaluate`]: its settings, figures
//! summed over workers (`measure`), models of other programs (`foreign`), and norms of word association
//! (`norms`).

pub mod foreign;
pub(crate) mod measure;
pub mod norms;
pub(crate) mod settings;
