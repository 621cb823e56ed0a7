//! Topics with a tree-structured prior (Hu & Boyd-Graber 2012, "Efficient tree-based topic
//! modeling"): a topic draws a term by walking from the root of a tree to a leaf, with a Dirichlet
//! prior at each node. Terms near each other in the tree are correlated; a term on several leaves has
//! several senses.
//!
//! [`Tree`] is the prior: the skeleton and an edge prior β for every edge. [`lda::constraints`] builds one
//! from must-link and cannot-link lists. [`gibbs`] trains by batch collapsed Gibbs sampling, on one
//! thread, with any of the paper's six samplers ([`sampler`]):
//!
//! ```text
//! p(z = k, l = λ | rest) ∝ (α_k + n_dk) Π_{(i→j)∈λ} (β_{i→j} + n_{i→j|k}) / Σ_j' (β_{i→j'} + n_{i→j'|k})     (Eq. 1)
//! ```
//!
//! [`lda::model::factors`] has the same prior for rounds, whose parameters stay fixed
//! while documents are sampled.
//!
//! An edge is named by the node that it leads to, so n_{i→j|k} is the count of node j. A walk that
//! reaches an inner node i continues to one of its children, so Σ_j' n_{i→j'|k} is the count of node i
//! and need not be summed.
//!
//! ```
//! use lda::bags::Bags;
//! use lda::model::tree::Tree;
//! use lda::constraints::{Strengths, structures};
//! use published::tree::{gibbs::Gibbs, sampler::Variant};
//!
//! // Terms 1 and 4 belong together, although no document has both.
//! let strengths = Strengths { ordinary: 0.05, must: 100.0, cannot: 1e-12 };
//! let structures = structures(6, &[vec![1, 4]], &[], strengths)?;
//! let tree = Tree::new(6, strengths.ordinary, &structures)?;
//! let mut documents = Bags::default();
//! documents.push(0, &[0, 1], &[2, 3]);
//! documents.push(1, &[4, 5], &[3, 2]);
//! let mut gibbs = Gibbs::new(&documents, &tree, vec![0.1; 2], Variant::FastRbSw, 1);
//! for _ in 0..20 {
//!     gibbs.pass()?;
//! }
//! for topic in 0..2 {
//!     let [one, four] = [1, 4].map(|term| gibbs.counts().term_probability(&tree, term, topic));
//!     assert!((one / four - 1.0).abs() < 0.1);
//! }
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod buckets;
pub mod counts;
mod document;
#[cfg(test)]
mod examples;
pub mod gibbs;
mod naive;
mod normalizers;
mod observed;
pub mod sampler;
mod state;

#[cfg(test)]
use lda::model::tree::Node;
use lda::model::tree::{ROOT, Tree};

#[cfg(test)]
#[path = "../../lda/src/model/tree/examples.rs"]
mod random_trees;
#[cfg(test)]
mod tests;
