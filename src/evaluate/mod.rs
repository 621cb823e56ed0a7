//! What `topicmill evaluate` computes, by the measures of [`lda::evaluate`]: its settings, figures
//! added up over workers (`measure`), and models of other programs (`foreign`).

pub mod foreign;
pub mod measure;
pub mod settings;
