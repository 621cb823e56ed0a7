//! A tree written by a user in TOML or JSON: nodes with words, and nodes below them.
//!
//! ```toml
//! [[children]]
//! name = "animals"
//! terms = ["animal", "pet"]
//!
//! [[children.children]]
//! name = "birds"
//! terms = ["wren", "robin", "bird"]
//! ```
//!
//! `prior` is β of the edge to a node, `leaf_prior` that of each edge from it to a word.
//!
//! Unless it has its own prior, an edge from the root has η for each leaf below it: before there are data, these
//! leaves are together as probable as if they were attached to the root. The edges from any other node sum to β_1,
//! shared by the leaves below them: every node thus draws its children with the same strength (the S of Boyd-Graber,
//! Blei & Zhu 2007, "A topic model for word sense disambiguation"), and a node with few leaves ties them closer than
//! one with many.

use std::collections::BTreeMap;

use crate::failure::Failure;
use lda::constraints::Strengths;
use lda::model::tree::{MAX_DEPTH, Node};
use serde::{Deserialize, Serialize};

use super::{EDGE_PRIORS, Lexicon, Pruned};

/// The nodes below the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outline {
    children: Vec<Branch<String>>,
}

/// A node as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBranch {
    name: Option<String>,
    prior: Option<f64>,
    leaf_prior: Option<f64>,
    #[serde(default)]
    terms: Vec<String>,
    #[serde(default)]
    children: Vec<Branch<String>>,
}

impl Outline {
    /// Returns how many words it names.
    pub(super) fn word_count(&self) -> usize {
        self.children.iter().map(Branch::leaves).sum()
    }

    /// Whether a node is below another one.
    pub(super) fn is_hierarchy(&self) -> bool {
        self.children.iter().any(|branch| !branch.children.is_empty())
    }
}

impl<'de> Deserialize<'de> for Branch<String> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The parser adds the line.
        WrittenBranch::deserialize(deserializer)?.checked().map_err(serde::de::Error::custom)
    }
}

impl WrittenBranch {
    fn checked(self) -> Result<Branch<String>, String> {
        let mut sorted: Vec<&str> = self.terms.iter().map(|term| term.trim()).collect();
        sorted.sort_unstable();
        let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        let named = self.name.clone().or_else(|| self.terms.first().cloned());
        let name = named.unwrap_or_else(|| "without a name".to_owned());
        let problem = if self.terms.is_empty() && self.children.is_empty() {
            "has neither terms nor children: leave it out".to_owned()
        } else if sorted.first() == Some(&"") {
            "has an empty term".to_owned()
        } else if let Some(pair) = repeated {
            format!("lists `{}` twice: one leaf is one sense", pair[0])
        } else if let Some(prior) =
            (self.prior.iter().chain(&self.leaf_prior)).find(|prior| !EDGE_PRIORS.contains(prior))
        {
            format!("has a prior of {prior:?}: it must be from 1e-30 to 1e30")
        } else {
            let branch = Branch {
                name,
                prior: self.prior,
                leaf_prior: self.leaf_prior,
                terms: self.terms,
                children: self.children,
            };
            if branch.height() < MAX_DEPTH {
                return Ok(branch);
            }
            return Err(format!(
                "node `{}` is too high: leaves are at most {MAX_DEPTH} levels below the root",
                branch.name
            ));
        };
        Err(format!("node `{name}` {problem}"))
    }
}

/// Parses a tree: JSON if it begins with `{`, else TOML.
///
/// # Errors
/// It is neither; it has unknown keys, empty nodes, a word twice in a node, invalid priors, or more than [`MAX_DEPTH`]
/// levels. Except for a few errors in TOML, the error names the line.
pub fn parse(file: &str, text: &str) -> Result<Outline, Failure> {
    let outline: Outline = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| {
            let whole = error.to_string();
            let message = whole.split(" at line ").next().unwrap_or(&whole);
            Failure::line(file, error.line(), message)
        })?
    } else {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..start].matches('\n').count();
            Failure::line(file, line, error.message())
        })?
    };
    if outline.children.is_empty() {
        Err(Failure::file(file, "no node: `children` is empty"))
    } else {
        Ok(outline)
    }
}

/// Returns the nodes of a tree that have terms below them.
pub(super) fn structures(
    outline: &Outline,
    lexicon: &mut Lexicon<'_>,
    strengths: Strengths,
) -> (Vec<Node>, Pruned) {
    let branches: Vec<_> = outline.children.iter().map(|b| look_up(b, lexicon)).collect();
    let entries = branches.iter().map(Branch::nodes).sum();
    let (nodes, dropped_entries) = pruned_nodes(branches, strengths);
    let pruned = Pruned { entries, dropped_entries, ..Pruned::of("nodes") };
    (nodes, pruned)
}

fn look_up(branch: &Branch<String>, lexicon: &mut Lexicon<'_>) -> Branch<u32> {
    Branch {
        name: branch.name.clone(),
        prior: branch.prior,
        leaf_prior: branch.leaf_prior,
        terms: lexicon.find_all(&branch.terms),
        children: branch.children.iter().map(|child| look_up(child, lexicon)).collect(),
    }
}

/// A node whose leaves are words or terms.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Branch<T> {
    name: String,
    /// β of the edge that leads to it, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<f64>,
    /// β of the edges to its own leaves, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf_prior: Option<f64>,
    terms: Vec<T>,
    children: Vec<Self>,
}

impl<T> Branch<T> {
    /// Returns the number of nodes, including this one.
    fn nodes(&self) -> usize {
        1 + self.children.iter().map(Self::nodes).sum::<usize>()
    }

    /// Returns the number of edges on the longest path to a leaf.
    fn height(&self) -> usize {
        1 + self.children.iter().map(Self::height).max().unwrap_or(0)
    }

    /// Returns the number of its own leaves and those of all nodes below.
    fn leaves(&self) -> usize {
        self.terms.len() + self.children.iter().map(Self::leaves).sum::<usize>()
    }
}

impl Branch<u32> {
    /// Removes what has no term below, and nodes that leave no choice: a node with one child is replaced by it. `None`
    /// if nothing is left. `empty` counts nodes without a term.
    fn prune(mut self, empty: &mut usize) -> Option<Self> {
        for child in std::mem::take(&mut self.children) {
            let Some(child) = child.prune(empty) else {
                continue;
            };
            match child.children.is_empty().then_some(&child.terms[..]) {
                Some(&[term]) if self.takes(term, &child) => self.terms.push(term),
                _ => self.children.push(child),
            }
        }
        match (&self.terms[..], self.children.len()) {
            ([], 0) => {
                *empty += 1;
                None
            }
            ([], 1) => {
                let only = self.children.pop()?;
                let prior = self.prior;
                Some(Self { prior, ..only })
            }
            _ => Some(self),
        }
    }

    /// Whether a child's only leaf can be attached to this node instead.
    fn takes(&self, term: u32, child: &Self) -> bool {
        child.prior.is_none() && self.leaf_prior.is_none() && !self.terms.contains(&term)
    }

    /// Makes the node; `above` is the number of leaves of the node above, unless that is the root.
    fn into_node(self, above: Option<usize>, strengths: Strengths) -> Node {
        let leaves = self.leaves();
        let usual = match above {
            None => strengths.ordinary * leaves as f64,
            Some(above) => strengths.must * leaves as f64 / above as f64,
        };
        let below = |child: Self| child.into_node(Some(leaves), strengths);
        Node {
            name: self.name,
            prior: self.prior.unwrap_or(usual),
            leaf_prior: self.leaf_prior.unwrap_or(strengths.must / leaves as f64),
            children: self.children.into_iter().map(below).collect(),
            terms: self.terms,
        }
    }
}

/// Returns the nodes of a hierarchy, pruned, and how many of its nodes have no terms left, or a single one that
/// makes no difference.
fn pruned_nodes(branches: Vec<Branch<u32>>, strengths: Strengths) -> (Vec<Node>, usize) {
    let mut empty = 0;
    let branches = branches.into_iter().filter_map(|b| b.prune(&mut empty));
    let branches: Vec<_> = branches.collect();
    let mut leaves = BTreeMap::new();
    branches.iter().for_each(|branch| count(branch, &mut leaves));
    // Nothing distinguishes such a term from an ordinary one.
    let is_ordinary = |branch: &Branch<u32>| {
        let term = branch.terms.first();
        branch.prior.is_none() && branch.leaves() == 1 && term.is_some_and(|t| leaves[t] == 1)
    };
    let (ordinary, kept): (Vec<_>, Vec<_>) = branches.into_iter().partition(is_ordinary);
    let nodes = kept.into_iter().map(|branch| branch.into_node(None, strengths));
    (nodes.collect(), empty + ordinary.len())
}

/// Counts the leaves of each term.
fn count(branch: &Branch<u32>, leaves: &mut BTreeMap<u32, usize>) {
    for &term in &branch.terms {
        *leaves.entry(term).or_default() += 1;
    }
    branch.children.iter().for_each(|child| count(child, leaves));
}

#[cfg(test)]
mod tests;
